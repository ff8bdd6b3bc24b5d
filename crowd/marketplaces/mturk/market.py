"""Mechanical Turk as a marketplace of one study."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property

from crowd.marketplaces import launch as doors
from crowd.marketplaces.checklist import DESCRIPTION, Lines, Study, check_page, hourly
from crowd.marketplaces.mturk import client as mturk
from crowd.marketplaces.mturk.entrance import mturk_sites
from crowd.marketplaces.settling import Listed, State
from crowd.web.serving import hit_of
from dialogue.errors import InputError
from dialogue.records import Source

STATES: dict[str, State] = {"Submitted": "waiting", "Approved": "approved"}
GRACE = 3600.0  # seconds beyond the time MTurk gives a worker


class MTurkMarket:
    """See `crowd.marketplaces.market.Market`."""

    name = "Mechanical Turk"
    source: Source = "mturk"

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.path = args, args.study / "mturk.json"
        self.launch: mturk.Launch | None = doors.read_launch(self.path, mturk.Launch)

    @cached_property
    def client(self) -> mturk.Client:
        """Connected when it is first needed: to the place where the launch is."""
        sandbox = self.launch.sandbox if self.launch else self.args.sandbox
        return mturk.connect(sandbox=sandbox)

    @property
    def there(self) -> mturk.Launch:
        """The launch, which must exist by now."""
        if self.launch is None:
            raise InputError(f"{self.path} does not exist: launch the study on Mechanical Turk first.")
        return self.launch

    def plan(self, study: Study) -> tuple[Lines, doors.Estimate]:
        """Reads the account and the running server; writes nothing."""
        args, hit = self.args, study.hit
        url = doors.check_public_url(args.public_url)
        reward = doors.reward_of(hit.pay_per_sitting, hit.currency, ("USD",), self.name)
        fresh = mturk.new_launch(
            sandbox=args.sandbox,
            public_url=url,
            pairs=study.digest,
            reward=reward,
            minutes=self._limit(),
            sittings=study.sittings,
        )
        self.launch = self.launch or fresh
        self._check_same(fresh)
        doors.check_pairs(study.pairs, self.launch.pairs)
        page = check_page(url, mturk_sites("sandbox" if args.sandbox else "live")[-1])
        cost = self.more(sum(planned["places"] for planned in self.launch.hits if not planned["hit"]))
        lines = [
            ("place", "the sandbox: no money, no real workers" if args.sandbox else "LIVE: real workers, real money"),
            ("page", page),
            ("pay", f"{reward} USD a sitting, {hourly(hit.pay_per_sitting, args.minutes)}"),
            ("workers", self._asked()),
            ("HITs", f"{len(self.launch.hits)} of at most {mturk.PLACES} places (20 % fee), open {args.days} days"),
            ("balance", f"{self._balance(cost)} USD"),
        ]
        return lines, cost

    def create(self) -> str:
        """Step by step, each on disk before the next."""
        hit = hit_of(self.args.study, None)
        self._carry_out(self.there, hit.title)
        return f"{len(self.there.hits)} HITs are open. Settle with: python -m crowd pay {self.args.study}"

    def _carry_out(self, launch: mturk.Launch, title: str = "") -> None:
        args = self.args
        wanted = mturk.Wanted(
            title,
            DESCRIPTION,
            days=args.days,
            locales=self._locales() if title else (),
            approval_rate=args.approval_rate if title else 0,
            approved_hits=args.approved_hits if title else 0,
        )
        doors.write_launch(self.path, launch)
        for step in mturk.carry_out(self.client, launch, wanted):
            doors.write_launch(self.path, step)
            self.launch = step

    def _check_same(self, fresh: mturk.Launch) -> None:
        for name in ("sandbox", "public_url", "reward"):
            before, now = getattr(self.there, name), getattr(fresh, name)
            if before != now:
                raise InputError(
                    f"this study was launched with {name} {before}, not {now}. Launch it as before, or copy "
                    "pairs.jsonl and hit.toml to a study folder of their own and launch that."
                )

    def _limit(self) -> int:
        """Minutes that a worker gets: four times the guess, an hour at least."""
        return max(60, 4 * int(self.args.minutes))

    def _locales(self) -> tuple[str, ...]:
        return tuple(filter(None, self.args.locale.upper().split(",")))

    def _asked(self) -> str:
        args = self.args
        asked = [" or ".join(self._locales())] if args.locale else []
        asked += [f"{args.approval_rate} % approved"] if args.approval_rate else []
        asked += [f"{args.approved_hits} HITs approved"] if args.approved_hits else []
        return ", ".join(asked) or "anybody (--locale, --approval-rate, --approved-hits narrow it)"

    def _balance(self, cost: doors.Estimate) -> Decimal:
        held = mturk.balance(self.client)
        if held < cost.total:
            raise InputError(f"The account holds {held} USD, but this may cost {cost.total}. Nothing was created.")
        return held

    def listed(self) -> Iterator[Listed]:
        """Assignments that were submitted."""
        for row in mturk.listed(self.client, self.there):
            yield Listed(row.assignment, row.worker, STATES.get(row.status, "other"), row.hit)

    def deadline(self) -> float:
        """The time of a HIT and an hour."""
        return self.there.minutes * 60 + GRACE

    def approve(self, rows: Sequence[Listed]) -> None:
        """One by one: MTurk knows no other way."""
        for row in rows:
            mturk.approve(self.client, row.key)

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
        new = set(workers) - mturk.closed_to(self.client, self.there)
        for worker in sorted(new):
            mturk.close_to(self.client, self.there, worker)
        return len(new)

    def more(self, sittings: int) -> doors.Estimate:
        """At the reward of the launch."""
        return mturk.estimate(sittings, Decimal(self.there.reward))

    def extend(self, sittings: int) -> str:
        """HITs of the same type; those there are keep their number of places, and so their fee."""
        hits = tuple({"places": n, "hit": ""} for n in mturk.places(sittings))
        self._balance(self.more(sittings))
        self._carry_out(replace(self.there, hits=(*self.there.hits, *hits)))
        return f"{len(hits)} HITs with {sittings} places were added."

    def close(self) -> str:
        """Expire every HIT; who is at work may finish."""
        return f"{mturk.set_expiry(self.client, self.there, mturk.in_days(0))} HITs take no new workers."

    def open(self, days: int) -> str:
        """Give every HIT a new expiry."""
        return f"{mturk.set_expiry(self.client, self.there, mturk.in_days(days))} HITs are open for {days} days."
