"""Mechanical Turk as a marketplace of one study."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import TYPE_CHECKING

from seedvote.crowd.marketplaces.checklist import DESCRIPTIONS, Lines, Planned
from seedvote.crowd.marketplaces.launch import (
    check_pairs,
    check_public_url,
    check_same,
    existing_launch,
    read_launch,
    stands_in,
    write_launch,
)
from seedvote.crowd.marketplaces.ledger import Act, OneByOne, PayoutLedger, Purpose, SingleAct, check_cap, is_extra
from seedvote.crowd.marketplaces.money import Price, reward_of
from seedvote.crowd.marketplaces.mturk import acts
from seedvote.crowd.marketplaces.mturk import client as mturk
from seedvote.crowd.marketplaces.mturk.acts import OwedHit
from seedvote.crowd.marketplaces.mturk.connecting import Client, connect_to_mturk
from seedvote.crowd.marketplaces.mturk.entrance import MTURK_ENDPOINT, mturk_sites
from seedvote.crowd.marketplaces.mturk.options import MTurkOptions, read_locales
from seedvote.crowd.marketplaces.settling import Listed, ListedState, LookUp
from seedvote.crowd.study_folder import hit_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Source

if TYPE_CHECKING:
    from seedvote.crowd.marketplaces.self_test import Visitor
    from seedvote.crowd.store.store import Store

CLOSING = "Mechanical Turk closed on 30 September 2026; this is kept for replications"
MTURK_STATES: dict[str, ListedState] = {"Submitted": "waiting", "Approved": "approved", "Rejected": "rejected"}
GRACE = 3600.0  # seconds beyond the time MTurk gives a worker


class MTurkMarket:
    """See `crowd.marketplaces.market.Market`."""

    title = "Mechanical Turk"
    source: Source = "mturk"
    currency = "USD"
    screen_out = Decimal(0)
    least_hourly: Mapping[str, Decimal] = {"USD": Decimal("7.25")}  # the least hourly wage of the United States

    def __init__(self, options: MTurkOptions, store: Store) -> None:
        self.options, self.store = options, store
        self.workers: dict[str, str] = {}  # by assignment, of the last look
        self.launch: mturk.MTurkLaunch | None = read_launch(store, self.source, mturk.MTurkLaunch)

    @cached_property
    def client(self) -> Client:
        """Connected when it is first needed: to the place where the launch is."""
        return connect_to_mturk(sandbox=self.launch.sandbox if self.launch else self.sandbox)

    @property
    def sandbox(self) -> bool:
        """Where nobody said --live, no money moves."""
        return not self.options.live

    @property
    def reward(self) -> Decimal:
        """What one approved assignment is paid."""
        return Decimal(self.existing.reward)

    @property
    def existing(self) -> mturk.MTurkLaunch:
        """The launch, which must exist by now."""
        return existing_launch(self.launch, self.title)

    # Launch

    def plan_launch(self, study: Planned) -> tuple[Lines, Price]:
        """Reads the account; writes nothing."""
        hit = study.hit
        url = self.page_address()
        reward = reward_of(hit.pay_per_sitting, hit.currency, ("USD",), self.title)
        fresh = mturk.MTurkLaunch(
            sandbox=self.sandbox,
            public_url=url,
            pairs=study.digest,
            reward=f"{reward:.2f}",
            minutes=self._minute_limit(),
            hits=mturk.planned_hits(study.sittings),
        )
        self.launch = self.launch or fresh
        check_same(self.launch, fresh, "sandbox", "public_url", "reward")
        check_pairs(study.pairs, self.launch.pairs)
        # HITs that exist are paid for already: only those that an interrupted launch has not made yet cost anything.
        price = self.price_sittings(sum(planned["places"] for planned in self.launch.hits if not planned["hit"]))
        lines = [
            ("closing", CLOSING),
            ("place", "the sandbox: no money, no real workers" if self.sandbox else "LIVE: real workers, real money"),
            ("workers", self._requirements_text()),
            ("HITs", self._count_hits(len(self.existing.hits))),
            ("balance", f"{self._check_balance(price)} USD"),
        ]
        return lines, price

    def _count_hits(self, number: int) -> str:
        return f"{number} with up to {mturk.PLACES_PER_HIT} places each (20 % fee), open for {self.options.days} days"

    def page_address(self) -> str:
        """Https, or this machine where no real worker comes."""
        return check_public_url(self.options.public_url, rehearsal=self.sandbox or stands_in(MTURK_ENDPOINT))

    def make_visitor(self) -> Visitor:
        """How a worker arrives and leaves, for the self-test."""
        from seedvote.crowd.marketplaces.self_test import Visitor

        place = "sandbox" if self.sandbox else "live"
        sites = mturk_sites(place)
        query = {"workerId": "SELFTEST", "assignmentId": "SELFTEST", "hitId": "SELFTEST", "turkSubmitTo": sites[0]}
        return Visitor(query, f"{sites[0]}/mturk/externalSubmit", f"--mturk {place}", frame=sites[-1])

    def create_launch(self, store: Store) -> str:
        """Step by step, each on disk before the next."""
        hit = hit_of(self.options.study, None)
        self._carry_out(store, self.existing, hit.title)
        return f"{len(self.existing.hits)} HITs are open."

    def list_tasks(self) -> list[str]:
        """Workers are let in whatever their HIT: it has no name before it exists, and they come at once."""
        return []

    def _carry_out(self, store: Store, launch: mturk.MTurkLaunch, title: str = "") -> None:
        options = self.options
        # Without a title the HIT type exists already and keeps its requirements, so none are asked for.
        terms = mturk.MTurkTerms(
            title,
            DESCRIPTIONS[hit_of(options.study, None).form],
            locales=self._read_locales() if title else (),
            approval_rate=options.approval_rate if title else 0,
            approved_hits=options.approved_hits if title else 0,
        )
        ledger, reward = PayoutLedger(store, self.source), Decimal(launch.reward)
        bought = [acts.purchase(f"{launch.key}-{n}", hit["places"], reward) for n, hit in enumerate(launch.hits)]
        check_cap(store, [payout for payout, hit in zip(bought, launch.hits, strict=True) if not hit["hit"]])

        def buy_hit(known: mturk.MTurkLaunch, token: str, places: int) -> str:
            act = acts.BoughtHit(self.client, known, options.days, places)
            ledger.buy_places(acts.purchase(token, places, reward), act)
            return act.made or mturk.find_hit(self.client, known, token)

        write_launch(store, self.source, launch)
        self.launch = launch
        for step in mturk.create_missing(self.client, launch, terms, buy_hit):
            write_launch(store, self.source, step)
            self.launch = step

    def _minute_limit(self) -> int:
        """Minutes that a worker gets: four times the estimate, an hour at least."""
        return max(60, 4 * self.options.minutes)

    def _read_locales(self) -> tuple[str, ...]:
        return read_locales(self.options.locale)

    def _requirements_text(self) -> str:
        options = self.options
        conditions = [" or ".join(self._read_locales())] if options.locale else []
        conditions += [f"{options.approval_rate} % approved"] if options.approval_rate else []
        conditions += [f"{options.approved_hits} HITs approved"] if options.approved_hits else []
        return ", ".join(conditions) or "anybody (to narrow it: --locale, --approval-rate, --approved-hits)"

    def _check_balance(self, price: Price) -> Decimal:
        balance = mturk.balance(self.client)
        if balance < price.total:
            raise InputError(f"The account holds {balance} USD, but this may cost {price.total}. Nothing was created.")
        return balance

    # While it runs

    def look_up(self) -> LookUp:
        """Assignments that were submitted, HIT by HIT; one that cannot be read stops no other."""
        rows, problems = [], []
        for hit in mturk.hits_of(self.existing):
            try:
                submitted = mturk.assignments(self.client, hit)
            except InputError as error:
                problems.append(str(error))
                continue
            rows += [_listed_row(row) for row in submitted]
        self.workers = {row.key: row.worker for row in rows}
        return LookUp(rows, problems)

    def visit_deadline(self) -> float:
        """The time of a HIT and an hour."""
        return self.existing.minutes * 60 + GRACE

    def make_act(self, ledger: PayoutLedger, purpose: Purpose, reason: str) -> Act | None:
        """How MTurk pays for this."""
        act = self._single_act(ledger, purpose, reason)
        return None if act is None else OneByOne(act)

    def _single_act(self, ledger: PayoutLedger, purpose: Purpose, reason: str) -> SingleAct | None:
        if purpose == "reward":
            return acts.MTurkApproval(self.client)
        if purpose == "places":
            return acts.BoughtHit(self.client, self.existing, self.options.days, 0)
        if purpose == "compensation":
            return OwedHit(self.client, self.existing, self.workers)
        if not is_extra(purpose):
            return None
        return acts.MTurkBonus(self.client, self.workers, reason, lambda row: ledger.equal_paid(row, handle=row.handle))

    def book_changes(self, store: Store) -> list[str]:
        """Nothing: MTurk's own page makes HITs of other types, which are not of this study."""
        del store
        return []

    def bonus_cost(self, amount: Decimal) -> Decimal:
        """With MTurk's fee."""
        return mturk.bonus_cost(amount)

    def close_to(self, workers: Iterable[str]) -> tuple[int, list[str]]:
        """By qualification; the account stays untouched, and one failure stops no other."""
        new, problems = 0, list[str]()
        try:
            known = mturk.closed_to(self.client, self.existing)
        except InputError as error:  # e.g. the qualification was deleted by hand: everybody is to be paid all the same
            return 0, [str(error)]
        for worker in sorted(set(workers) - known):
            try:
                mturk.close_to(self.client, self.existing, worker)
                new += 1
            except InputError as error:
                problems.append(str(error))
        return new, problems

    def price_sittings(self, sittings: int) -> Price:
        """At the reward of the launch."""
        return mturk.mturk_price(sittings, self.reward)

    def open_places(self) -> int:
        """Places that nobody has handed in from yet: free, or at work."""
        return mturk.open_places(self.client, self.existing) + self._planned_places()

    def _planned_places(self) -> int:
        return sum(planned["places"] for planned in self.existing.hits if not planned["hit"])

    def add_sittings(self, store: Store, sittings: int) -> str:
        """HITs of the same type; those there are keep their number of places, and so their fee."""
        hits = mturk.planned_hits(sittings)
        self._check_balance(self.price_sittings(sittings))
        self._carry_out(store, replace(self.existing, hits=(*self.existing.hits, *hits)))
        return f"{len(hits)} HITs with {sittings} places were added."

    def finish_extension(self, store: Store) -> int:
        """Make the HITs that an interrupted command has planned; how many places."""
        if planned := self._planned_places():
            self._carry_out(store, self.existing)
        return planned

    def stop_entry(self) -> str:
        """Expire every HIT; who is at work may finish."""
        return f"{mturk.set_expiry(self.client, self.existing, mturk.in_days(0))} HITs take no new workers."

    def allow_entry(self) -> str:
        """Give every HIT a new expiry."""
        days = self.options.days
        return f"{mturk.set_expiry(self.client, self.existing, mturk.in_days(days))} HITs are open for {days} days."


def _listed_row(row: mturk.Assignment) -> Listed:
    return Listed(row.assignment, row.worker, MTURK_STATES.get(row.status, "other"), row.hit)
