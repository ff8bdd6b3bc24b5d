"""What is due to the people of one launch, and paying it person by person.

Making a bill spends nothing. Only verified visits are due anything, each payment goes through the ledger, and one that
fails stops no other. Nobody is rejected. What the researcher says of a payment is its terms; a visit that somebody
wants to look at first is held.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, ROUND_UP, Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from seedvote.crowd.marketplaces.ledger import ZERO, Payout, PayoutLedger, Purpose, State
from seedvote.crowd.marketplaces.market import launched_on
from seedvote.crowd.marketplaces.money import CENT, money
from seedvote.crowd.marketplaces.settling import (
    Listed,
    LookUp,
    MarketVisit,
    Recorded,
    Settlement,
    compare_lists,
    record,
    visits,
)
from seedvote.crowd.rating.identities import siblings
from seedvote.crowd.rating.moment import rules_in_force
from seedvote.crowd.store.store import Store
from seedvote.crowd.store.tables import holds, payments
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Source
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import cell_text

if TYPE_CHECKING:
    from seedvote.crowd.marketplaces.market import Market

SETTLES: tuple[Purpose, ...] = ("reward", "screen-out", "compensation")  # a visit that had one of these had its pay
Kept = Mapping[tuple[str, Purpose], State]  # what the ledger says, by submission and purpose


@dataclass(frozen=True, slots=True)
class PayTerms:
    """What the researcher says of this payment."""

    bonus: Decimal = ZERO  # for each worked visit
    bonuses: Mapping[str, Decimal] = field(default_factory=dict)  # of a list: by visit or by worker
    bonus_name: str = ""  # a visit has one bonus of each name
    per_answer: Decimal = ZERO  # the same for each answer
    compensation: Decimal = ZERO  # for each answer of who could not hand in
    least_hourly: Decimal | None = None  # the least pay an hour; None: that of the marketplace
    top_up: bool = False  # everybody is raised to it where the median pay is below
    min_answers: int = 1  # below it a visit is listed and left to the researcher
    reason: str = ""  # what a person reads with a bonus
    only: Collection[str] = ()  # visits; empty: all
    without: Collection[str] = ()  # visits

    @property
    def bonus_purpose(self) -> Purpose:
        """The purpose of the bonus in the ledger."""
        return f"bonus {self.bonus_name}" if self.bonus_name else "bonus"

    def takes(self, visit: str) -> bool:
        """Whether this payment is about the visit."""
        return visit not in self.without and (not self.only or visit in self.only)


def read_visits(text: str | None) -> Collection[str]:
    """Ids with commas between them, or the words of a file."""
    if not text:
        return ()
    path = Path(text)
    words = path.read_text(encoding="utf-8-sig") if path.is_file() else text
    return frozenset(words.replace(",", " ").split())


def read_bonuses(path: Path) -> Mapping[str, Decimal]:
    """A table with two columns: whom, and how much."""
    table = read_table(path)
    if len(table.names) != 2:
        raise InputError(f"{path} has {len(table.names)} columns; it must have two: whom, and the amount.")
    whom, amounts = (table.columns[name] for name in table.names)
    bonuses: dict[str, Decimal] = {}
    for cell, amount in zip(whom, amounts, strict=True):
        name = cell_text(cell).strip()
        if name in bonuses:
            raise InputError(f"{path} names {name} twice. Give each visit one amount.")
        bonuses[name] = money(cell_text(amount).strip())
    return bonuses


@dataclass(frozen=True, slots=True)
class Due:
    """One payment that a visit is due, and the visit."""

    visit: MarketVisit
    payout: Payout
    begun: bool = False  # sent and not settled: asked about, not sent again


@dataclass(frozen=True, slots=True)
class Pace:
    """How long finished visits took, and what their reward is an hour."""

    visits: int
    minutes: float  # the median
    hourly: Decimal

    def top_up_to(self, floor: Decimal) -> Decimal:
        """What each visit lacks of this pay an hour, in whole cents."""
        lacking = (floor - self.hourly) * Decimal(str(self.minutes)) / 60
        return max(ZERO, lacking).quantize(CENT, ROUND_UP)


def pace_of(visits: Iterable[MarketVisit], reward: Decimal) -> Pace | None:
    """By the median, as Prolific reckons it; None before anybody has finished."""
    minutes = [visit.minutes for visit in visits if visit.minutes and visit.answers]
    if not minutes:
        return None
    median = statistics.median(minutes)
    return Pace(len(minutes), median, (reward * 60 / Decimal(str(median))).quantize(CENT, ROUND_HALF_UP))


@dataclass(frozen=True, slots=True)
class Bill:
    """What paying at this moment would do."""

    look: LookUp
    settlement: Settlement
    dues: Sequence[Due]
    short: Sequence[MarketVisit]  # handed in with fewer answers than asked: left to the researcher
    unjudged: Sequence[MarketVisit]  # handed in with checks alone: paid where the researcher names them
    unable: Sequence[MarketVisit]  # worked, and could not hand in: compensation
    overdue: Sequence[MarketVisit]  # never listed although their time is over
    before: int  # payments that would be due and are confirmed already
    on_hold: Mapping[MarketVisit, str]  # would be due, and somebody wants to look first: why
    pace: Pace | None  # of the visits that were finished
    floor: Decimal  # the least pay an hour that is usual there
    terms: PayTerms
    at: float

    @property
    def fresh(self) -> list[Due]:
        """Those that would be sent."""
        return [due for due in self.dues if not due.begun]

    @property
    def cost(self) -> Decimal:
        """What the bill adds to what is spent; rewards were paid for with their places."""
        return sum((due.payout.cost for due in self.fresh), ZERO)


def bill_of(market: Market, store: Store, terms: PayTerms, now: float) -> Bill:
    """Hold the marketplace's list against ours."""
    with store.read() as connection:
        arrived = visits(connection, market.source)
    look = market.look_up()
    settlement = compare_lists(arrived, look.rows)
    worked = [(visit, row) for visit, row in settlement.verified if visit.answers]
    unjudged = [v for v, row in worked if row.state == "waiting" and not (v.is_paid or v.key in terms.only)]
    enough = [(v, row) for v, row in worked if v.answers >= terms.min_answers and v not in unjudged]
    _check_known(terms, worked, market.title)
    states = {(row.submission, row.purpose): row.state for row in PayoutLedger(store, market.source).read_payouts()}
    pace = pace_of((visit for visit, _ in worked), market.reward)
    usual = market.least_hourly.get(market.currency, ZERO)
    floor = usual if terms.least_hourly is None else terms.least_hourly
    lacking = pace.top_up_to(floor) if pace and terms.top_up else ZERO
    all_due = [due for pair in enough for due in _dues_of(market, *pair, terms, lacking, states)]
    open_ = [due for due in all_due if _payout_state(states, due.payout) != "confirmed"]
    reasons = holds_of(store, market.source)
    dues = [due for due in open_ if due.visit.key not in reasons]
    few = [v for v, row in worked if v.answers < terms.min_answers and row.state == "waiting"]
    short = [visit for visit in few if visit not in unjudged]
    unable = [v for v, row in worked if row.state in ("returned", "timed out")]
    # Where a question failed, silence says nothing about anybody.
    overdue = [] if look.problems else [v for v in settlement.unlisted if _is_overdue(v, market, now)]
    on_hold = {due.visit: reasons[due.visit.key] for due in open_ if due.visit.key in reasons}
    before = len(all_due) - len(open_)
    return Bill(look, settlement, dues, short, unjudged, unable, overdue, before, on_hold, pace, floor, terms, now)


def _check_known(terms: PayTerms, worked: Sequence[tuple[MarketVisit, Listed]], title: str) -> None:
    """A name that is nobody's may be a slip that leaves somebody unpaid."""
    keys = {visit.key for visit, _ in worked}
    names = keys | {visit.worker for visit, _ in worked}
    unknown = {*terms.only, *terms.without} - keys | set(terms.bonuses) - names
    if unknown:
        few = ", ".join(sorted(unknown)[:5])
        raise InputError(f"{few}: no visit with answers that {title} lists has this name. Nothing was paid.")


def _payout_state(states: Kept, payout: Payout) -> State | None:
    return states.get((payout.submission, payout.purpose))


def _is_overdue(visit: MarketVisit, market: Market, now: float) -> bool:
    return visit.withdrawn is None and now - visit.begun > market.visit_deadline()


def _dues_of(
    market: Market, visit: MarketVisit, row: Listed, terms: PayTerms, lacking: Decimal, states: Kept
) -> Iterator[Due]:
    """What one visit is due; `lacking`: what its reward lacks of the pay that everybody is raised to."""

    def make_due(purpose: Purpose, amount: Decimal, cost: Decimal) -> Due:
        payout = Payout(market.source, row.key, purpose, amount, cost, market.currency)
        return Due(visit, payout, begun=_payout_state(states, payout) in ("sent", "uncertain"))

    if not terms.takes(visit.key):
        return
    reward = make_due("reward", market.reward, ZERO)
    if row.state == "waiting" or (row.state == "approved" and _payout_state(states, reward.payout) != "confirmed"):
        yield reward
    if row.state == "screened":
        yield make_due("screen-out", market.screen_out, ZERO)
    if row.state in ("waiting", "approved"):
        bonus = terms.bonuses.get(visit.key, terms.bonuses.get(visit.worker, terms.bonus))
        if bonus:
            yield make_due(terms.bonus_purpose, bonus, market.bonus_cost(bonus))
        if lacking:
            yield make_due("top-up", lacking, market.bonus_cost(lacking))
        if terms.per_answer:
            amount = terms.per_answer * visit.answers
            yield make_due("answers", amount, market.bonus_cost(amount))
    if row.state in ("returned", "timed out") and terms.compensation:
        amount = terms.compensation * visit.answers
        yield make_due("compensation", amount, market.bonus_cost(amount))


def record_look(store: Store, bill: Bill) -> Recorded:
    """Write which visits the marketplace confirms, and which it has taken back."""
    with store.write() as connection:
        return record(connection, rules_in_force(connection), bill.settlement, bill.overdue, bill.at)


@dataclass(frozen=True, slots=True)
class Receipt:
    """What paying a bill has done."""

    paid: Sequence[Due]
    open: Sequence[Payout]  # sent or uncertain, whatever bill they were on
    recorded: Recorded
    closed: int  # workers who are offered no further work from now on
    problems: Sequence[str]
    booked: Sequence[str]  # sentences of what the marketplace did without these commands


def pay_bill(market: Market, store: Store, bill: Bill) -> Receipt:
    """Book, record, pay and ask, in this order: what is settled by then stands in nobody's way."""
    booked = market.book_changes(store)
    recorded = record_look(store, bill)
    closed, problems = shut_out(market, store)
    ask_about_the_rest(market, store)
    paid = list(pay(market, store, bill))
    open_ = ask_about_the_rest(market, store)
    problems = [*bill.look.problems, *problems]
    return Receipt(refresh_sent(market, store, paid), open_, recorded, closed, problems, booked)


def pay(market: Market, store: Store, bill: Bill) -> Iterator[Due]:
    """Pay what is due, many at once where the marketplace can; each as the ledger has it afterwards."""
    ledger = PayoutLedger(store, market.source)
    listed = {row.key: row for row in bill.look.rows}
    for (purpose, _), dues in _group_dues(bill.dues, listed).items():
        act = market.make_act(ledger, purpose, bill.terms.reason)
        for due in dues:
            # done by the marketplace itself, or by hand on its page
            if act is None or (purpose == "reward" and listed[due.payout.submission].state == "approved"):
                ledger.note_payment(due.payout)
        payouts = [due.payout for due in dues]
        rows = ledger.refresh_rows(payouts) if act is None else ledger.carry_out_all(payouts, act)
        yield from (replace(due, payout=row) for due, row in zip(dues, rows, strict=True))


def _group_dues(dues: Sequence[Due], listed: Mapping[str, Listed]) -> dict[tuple[Purpose, str], list[Due]]:
    """Those that one call may pay: for one purpose, of one task of the marketplace."""
    groups: dict[tuple[Purpose, str], list[Due]] = defaultdict(list)
    for due in dues:
        groups[due.payout.purpose, listed[due.payout.submission].group].append(due)
    return groups


def ask_about_the_rest(market: Market, store: Store, submission: str | None = None) -> list[Payout]:
    """Ask about whatever was sent and is not settled, also what is not due any more; what is still open afterwards.

    With a submission, about nothing else.
    """
    ledger = PayoutLedger(store, market.source)
    open_: dict[Purpose, list[Payout]] = defaultdict(list)
    for row in ledger.read_payouts("sent", "uncertain"):
        if submission in (None, row.submission):
            open_[row.purpose].append(row)
    for purpose, rows in open_.items():
        if act := market.make_act(ledger, purpose, ""):
            ledger.ask_all(rows, act)
    return ledger.read_payouts("sent", "uncertain")


def refresh_sent(market: Market, store: Store, paid: Sequence[Due]) -> list[Due]:
    """Those that were sent, as the ledger has them since the marketplace was asked."""
    rows = PayoutLedger(store, market.source).refresh_rows([due.payout for due in paid])
    return [
        replace(due, payout=row) if due.payout.state == "sent" else due for due, row in zip(paid, rows, strict=True)
    ]


def shut_out(market: Market, store: Store) -> tuple[int, list[str]]:
    """Offer no further work to anybody whom the gate has blocked in a verified visit; how many were new, and problems.

    Our page refuses them in any case. It is done before work is added, so that they do not accept it in vain.
    """
    with store.read() as connection:
        arrived = visits(connection, market.source)
    blocked = {v.worker for v in arrived if v.blocked and v.listed and v.withdrawn is None}
    return market.close_to(blocked) if blocked else (0, [])


def unsettled_payments(store: Store, rater: str) -> list[str]:
    """The marketplaces' ids of this person's visits for which something was sent and may have been paid."""
    with store.read() as connection:
        query = sa.select(payments).where(payments.c.rater.in_(siblings(connection, rater)))
        own_visits = {(row.source, row.key) for row in connection.execute(query)}
    rows = [
        row
        for source in {source for source, _ in own_visits}
        for row in PayoutLedger(store, source).read_payouts("sent", "uncertain")
    ]
    return sorted({row.submission for row in rows if (row.market, row.submission) in own_visits})


def unpaid_visits(store: Store, rater: str) -> list[str]:
    """The marketplaces' ids of this person's visits with answers that no reward is confirmed for."""
    owed = []
    for row in launched_on(store):
        if row.market is None:
            continue
        confirmed = PayoutLedger(store, row.source).read_payouts("confirmed")
        paid = {payout.submission for payout in confirmed if payout.purpose in SETTLES}
        with store.read() as connection:
            names = siblings(connection, rater)
            own_visits = [visit for visit in visits(connection, row.source) if visit.rater in names]
        owed += [v.key for v in own_visits if v.answers and v.withdrawn is None and v.key not in paid]
    return owed


# What a person saw on the marketplace's page


def settle_by_hand(market: Market, store: Store, submission: str, *, paid: bool) -> Iterator[str]:
    """Say what became of a payment, after the marketplace was asked once more: somebody may have looked too early."""
    ledger = PayoutLedger(store, market.source)
    open_ = ledger.open_of(submission, refused=paid)
    ask_about_the_rest(market, store, submission)
    now = {(row.submission, row.purpose): row for row in ledger.read_payouts()}
    rows = [now[before.submission, before.purpose] for before in open_]
    for row in rows:
        what = f"{row.submission}: {market.title} says that the {row.purpose} of {row.amount} {row.currency}"
        if row.state == "confirmed":
            yield f"{what} was paid."
        if row.state == "intended":
            yield f"{what} was not paid. It is sent with the next `pay`."
    if any(row.state not in ("confirmed", "intended") for row in rows):
        for row in ledger.decide_submission(submission, paid=paid):
            yield f"{row.submission}: {row.purpose} of {row.amount} {row.currency} is {row.state}."


def holds_of(store: Store, market: Source) -> dict[str, str]:
    """The visits that somebody wants to look at before they are paid, and why."""
    with store.read() as connection:
        rows = connection.execute(sa.select(holds.c.submission, holds.c.why).where(holds.c.market == market)).all()
    return {row.submission: row.why for row in rows}


def hold_visit(store: Store, market: Source, submission: str, why: str, now: float) -> str:
    """Pay nothing for this visit until it is released; a sentence about it."""
    with store.write() as connection:
        known = sa.and_(payments.c.source == market, payments.c.key == submission)
        if connection.execute(sa.select(payments.c.key).where(known)).first() is None:
            raise InputError(f"{submission} is no visit that came to this study. Nothing was changed.")
        connection.execute(sa.delete(holds).where(holds.c.market == market, holds.c.submission == submission))
        connection.execute(sa.insert(holds).values(market=market, submission=submission, why=why, at=now))
    return f"{submission} is held: nothing is paid for it until `crowd pay --release {submission}`."


def release_visit(store: Store, market: Source, submission: str) -> str:
    """Let it be paid again; a sentence about it."""
    with store.write() as connection:
        is_held = sa.and_(holds.c.market == market, holds.c.submission == submission)
        if not connection.execute(sa.delete(holds).where(is_held)).rowcount:
            raise InputError(f"{submission} is not held. `crowd pay` lists those that are.")
    return f"{submission} is paid again."
