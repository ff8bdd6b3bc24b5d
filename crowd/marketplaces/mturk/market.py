"""Mechanical Turk as a marketplace of one study."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property

from crowd.marketplaces.checklist import DESCRIPTION, Lines, Planned, check_page, hourly
from crowd.marketplaces.launch import check_pairs, check_public_url, read_launch, write_launch
from crowd.marketplaces.money import Price, reward_of
from crowd.marketplaces.mturk import client as mturk
from crowd.marketplaces.mturk.entrance import mturk_sites
from crowd.marketplaces.mturk.options import MTurkOptions
from crowd.marketplaces.settling import Listed, ListedState
from crowd.study_folder import hit_of
from dialogue.errors import InputError
from dialogue.records import Source

MTURK_STATES: dict[str, ListedState] = {"Submitted": "waiting", "Approved": "approved"}
GRACE = 3600.0  # seconds beyond the time MTurk gives a worker


class MTurkMarket:
    """See `crowd.marketplaces.market.Market`."""

    title = "Mechanical Turk"
    source: Source = "mturk"

    def __init__(self, options: MTurkOptions) -> None:
        self.options, self.path = options, options.study / "mturk.json"
        self.launch: mturk.MTurkLaunch | None = read_launch(self.path, mturk.MTurkLaunch)

    @cached_property
    def client(self) -> mturk.Client:
        """Connected when it is first needed: to the place where the launch is."""
        sandbox = self.launch.sandbox if self.launch else self.options.sandbox
        return mturk.connect_to_mturk(sandbox=sandbox)

    @property
    def existing(self) -> mturk.MTurkLaunch:
        """The launch, which must exist by now."""
        if self.launch is None:
            raise InputError(f"{self.path} does not exist: launch the study on Mechanical Turk first.")
        return self.launch

    def plan(self, study: Planned) -> tuple[Lines, Price]:
        """Reads the account and the running server; writes nothing."""
        options, hit = self.options, study.hit
        url = check_public_url(options.public_url)
        reward = reward_of(hit.pay_per_sitting, hit.currency, ("USD",), self.title)
        fresh = mturk.new_mturk_launch(
            sandbox=options.sandbox,
            public_url=url,
            pairs=study.digest,
            reward=reward,
            minutes=self._limit(),
            sittings=study.sittings,
        )
        self.launch = self.launch or fresh
        self._check_same(fresh)
        check_pairs(study.pairs, self.launch.pairs)
        # HITs that exist are paid for already: only those that an interrupted launch has not made yet cost anything.
        price = self.more(sum(planned["places"] for planned in self.launch.hits if not planned["hit"]))
        pay = f"{reward} USD a sitting, {hourly(hit.pay_per_sitting, options.minutes)}"
        return self._points(url, pay, price), price

    def _points(self, url: str, pay: str, price: Price) -> Lines:
        sandbox = self.options.sandbox
        return [
            ("place", "the sandbox: no money, no real workers" if sandbox else "LIVE: real workers, real money"),
            ("page", check_page(url, mturk_sites("sandbox" if sandbox else "live")[-1])),
            ("pay", pay),
            ("workers", self._asked()),
            ("HITs", self._hits(len(self.existing.hits))),
            ("balance", f"{self._balance(price)} USD"),
        ]

    def _hits(self, number: int) -> str:
        return f"{number} with up to {mturk.PLACES_PER_HIT} places each (20 % fee), open for {self.options.days} days"

    def create(self) -> str:
        """Step by step, each on disk before the next."""
        hit = hit_of(self.options.study, None)
        self._carry_out(self.existing, hit.title)
        return f"{len(self.existing.hits)} HITs are open."

    def _carry_out(self, launch: mturk.MTurkLaunch, title: str = "") -> None:
        options = self.options
        # Without a title the HIT type exists already and keeps its requirements, so none are asked for.
        terms = mturk.MTurkTerms(
            title,
            DESCRIPTION,
            days=options.days,
            locales=self._locales() if title else (),
            approval_rate=options.approval_rate if title else 0,
            approved_hits=options.approved_hits if title else 0,
        )
        write_launch(self.path, launch)
        for step in mturk.create_missing(self.client, launch, terms):
            write_launch(self.path, step)
            self.launch = step

    def _check_same(self, fresh: mturk.MTurkLaunch) -> None:
        old = self.existing
        for name, before, now in (
            ("sandbox", old.sandbox, fresh.sandbox),
            ("public_url", old.public_url, fresh.public_url),
            ("reward", old.reward, fresh.reward),
        ):
            if before != now:
                raise InputError(
                    f"this study was launched with {name} {before}, not {now}. Launch it as before, or copy "
                    "pairs.jsonl and hit.toml to a study folder of their own and launch that."
                )

    def _limit(self) -> int:
        """Minutes that a worker gets: four times the estimate, an hour at least."""
        return max(60, 4 * self.options.minutes)

    def _locales(self) -> tuple[str, ...]:
        return tuple(filter(None, self.options.locale.upper().split(",")))

    def _asked(self) -> str:
        options = self.options
        asked = [" or ".join(self._locales())] if options.locale else []
        asked += [f"{options.approval_rate} % approved"] if options.approval_rate else []
        asked += [f"{options.approved_hits} HITs approved"] if options.approved_hits else []
        return ", ".join(asked) or "anybody (to narrow it: --locale, --approval-rate, --approved-hits)"

    def _balance(self, price: Price) -> Decimal:
        held = mturk.balance(self.client)
        if held < price.total:
            raise InputError(f"The account holds {held} USD, but this may cost {price.total}. Nothing was created.")
        return held

    def listed(self) -> Iterator[Listed]:
        """Assignments that were submitted."""
        for row in mturk.assignments(self.client, self.existing):
            yield Listed(row.assignment, row.worker, MTURK_STATES.get(row.status, "other"), row.hit)

    def deadline(self) -> float:
        """The time of a HIT and an hour."""
        return self.existing.minutes * 60 + GRACE

    def approve(self, rows: Sequence[Listed]) -> None:
        """One by one: MTurk has no call for several."""
        for row in rows:
            mturk.approve_assignment(self.client, row.key)

    def bonus_cost(self, amount: Decimal) -> Decimal:
        """With MTurk's fee."""
        return mturk.bonus_cost(amount)

    def owed_bonus(self, rows: Sequence[Listed], reason: str) -> list[Listed]:
        """By MTurk's own list of bonuses."""
        had = {bonus for hit in {row.group for row in rows} for bonus in mturk.bonuses(self.client, hit)}
        return [row for row in rows if (row.key, reason) not in had]

    def pay_bonus(self, rows: Sequence[Listed], amount: Decimal, reason: str) -> None:
        """With a token for each, so that none is paid twice."""
        for row in rows:
            mturk.send_bonus(self.client, row.key, row.worker, amount, reason)

    def close_to(self, workers: Iterable[str]) -> int:
        """By qualification; the account stays untouched."""
        new = set(workers) - mturk.closed_to(self.client, self.existing)
        for worker in sorted(new):
            mturk.close_to(self.client, self.existing, worker)
        return len(new)

    def more(self, sittings: int) -> Price:
        """At the reward of the launch."""
        return mturk.mturk_price(sittings, Decimal(self.existing.reward))

    def extend(self, sittings: int) -> str:
        """HITs of the same type; those there are keep their number of places, and so their fee."""
        hits = tuple({"places": n, "hit": ""} for n in mturk.places(sittings))
        self._balance(self.more(sittings))
        self._carry_out(replace(self.existing, hits=(*self.existing.hits, *hits)))
        return f"{len(hits)} HITs with {sittings} places were added."

    def close(self) -> str:
        """Expire every HIT; who is at work may finish."""
        return f"{mturk.set_expiry(self.client, self.existing, mturk.in_days(0))} HITs take no new workers."

    def open(self) -> str:
        """Give every HIT a new expiry."""
        days = self.options.days
        return f"{mturk.set_expiry(self.client, self.existing, mturk.in_days(days))} HITs are open for {days} days."
