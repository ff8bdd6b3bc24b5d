"""What is due to the people of one launch, and paying it person by person.

Making a bill spends nothing. Only verified visits are due anything, each payment goes through the ledger, and one that
fails stops no other. Nobody is rejected.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from crowd.marketplaces.ledger import NotDone, OverTheCap, Payout, PayoutLedger, Purpose, State
from crowd.marketplaces.market import launched_on
from crowd.marketplaces.settling import Listed, LookUp, MarketVisit, Recorded, Settlement, compare_lists, record, visits
from crowd.rating.rules import rules_in_force

if TYPE_CHECKING:
    from crowd.marketplaces.market import Market
    from crowd.store.store import Store

ZERO = Decimal(0)
SETTLES: tuple[Purpose, ...] = ("reward", "screen-out", "compensation")  # a visit that had one of these had its pay
Kept = Mapping[tuple[str, Purpose], State]  # what the ledger says, by submission and purpose


@dataclass(frozen=True, slots=True)
class PayTerms:
    """What the researcher says of this payment."""

    bonus: Decimal = ZERO  # for each worked visit
    per_answer: Decimal = ZERO  # the same for each answer
    compensation: Decimal = ZERO  # for each answer of who could not hand in
    min_answers: int = 1  # below it a visit is listed and left to the researcher
    reason: str = ""  # what a person reads with a bonus


@dataclass(frozen=True, slots=True)
class Due:
    """One payment that a visit is due, and the visit."""

    visit: MarketVisit
    payout: Payout
    begun: bool = False  # sent and not settled: asked about, not sent again


@dataclass(frozen=True, slots=True)
class Bill:
    """What paying at this moment would do."""

    look: LookUp
    found: Settlement
    dues: Sequence[Due]
    short: Sequence[MarketVisit]  # handed in with fewer answers than asked: left to the researcher
    unable: Sequence[MarketVisit]  # worked, and could not hand in: compensation
    overdue: Sequence[MarketVisit]  # never listed although their time is over
    before: int  # payments that would be due and are confirmed already
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
        here = visits(connection, market.source)
    look = market.look_up()
    found = compare_lists(here, look.rows)
    worked = [(visit, row) for visit, row in found.verified if visit.answers]
    enough = [(visit, row) for visit, row in worked if visit.answers >= terms.min_answers]
    kept = {(row.submission, row.purpose): row.state for row in PayoutLedger(store, market.source).rows()}
    all_due = [due for pair in enough for due in _due(market, *pair, terms, kept)]
    dues = [due for due in all_due if _state(kept, due.payout) != "confirmed"]
    short = [v for v, row in worked if v.answers < terms.min_answers and row.state == "waiting"]
    unable = [v for v, row in worked if row.state in ("returned", "timed out")]
    # Where a question failed, silence says nothing about anybody.
    overdue = [] if look.problems else [v for v in found.unlisted if _overdue(v, market, now)]
    return Bill(look, found, dues, short, unable, overdue, len(all_due) - len(dues), terms, now)


def _state(kept: Kept, payout: Payout) -> State | None:
    return kept.get((payout.submission, payout.purpose))


def _overdue(visit: MarketVisit, market: Market, now: float) -> bool:
    return visit.withdrawn is None and now - visit.begun > market.deadline()


def _due(market: Market, visit: MarketVisit, row: Listed, terms: PayTerms, kept: Kept) -> Iterator[Due]:
    def due(purpose: Purpose, amount: Decimal, cost: Decimal) -> Due:
        payout = Payout(market.source, row.key, purpose, amount, cost, market.currency)
        return Due(visit, payout, begun=_state(kept, payout) in ("sent", "uncertain"))

    reward = due("reward", market.reward, ZERO)
    if row.state == "waiting" or (row.state == "approved" and _state(kept, reward.payout) != "confirmed"):
        yield reward
    if row.state == "screened":
        yield due("screen-out", market.screen_out, ZERO)
    if row.state in ("waiting", "approved"):
        if terms.bonus:
            yield due("bonus", terms.bonus, market.bonus_cost(terms.bonus))
        if terms.per_answer:
            amount = terms.per_answer * visit.answers
            yield due("answers", amount, market.bonus_cost(amount))
    if row.state in ("returned", "timed out") and terms.compensation:
        amount = terms.compensation * visit.answers
        yield due("compensation", amount, market.bonus_cost(amount))


def record_look(store: Store, bill: Bill) -> Recorded:
    """Write which visits the marketplace confirms, and which it has taken back."""
    with store.write() as connection:
        return record(connection, rules_in_force(connection), bill.found, bill.overdue, bill.at)


def pay(market: Market, store: Store, bill: Bill) -> Iterator[Due]:
    """Pay what is due, one after the other; each as the ledger has it afterwards."""
    ledger = PayoutLedger(store, market.source)
    status = {row.key: row.state for row in bill.look.rows}
    for due in bill.dues:
        act = market.act(ledger, due.payout.purpose, bill.terms.reason)
        if act is None or (due.payout.purpose == "reward" and status[due.payout.submission] == "approved"):
            ledger.note(due.payout)  # the marketplace has done it by itself, or an earlier version of this program
            yield Due(due.visit, _as_kept(ledger, due.payout))
            continue
        try:
            yield Due(due.visit, ledger.carry_out(due.payout, act))
        except (NotDone, OverTheCap) as error:
            yield Due(due.visit, refused(due.payout, str(error)))


def _as_kept(ledger: PayoutLedger, payout: Payout) -> Payout:
    same = (row for row in ledger.rows() if (row.submission, row.purpose) == (payout.submission, payout.purpose))
    return next(same, payout)


def refused(payout: Payout, why: str) -> Payout:
    """The same, not done."""
    return replace(payout, state="refused", why=why)


def ask_about_the_rest(market: Market, store: Store) -> list[Payout]:
    """Ask about whatever was sent and is not settled, also what is not due any more; what is still open afterwards."""
    ledger = PayoutLedger(store, market.source)
    for row in ledger.rows("sent", "uncertain"):
        if act := market.act(ledger, row.purpose, ""):
            ledger.ask(row, act)
    return ledger.rows("sent", "uncertain")


def as_they_are(market: Market, store: Store, paid: Sequence[Due]) -> list[Due]:
    """Those that were sent, as the ledger has them since the marketplace was asked."""
    rows = PayoutLedger(store, market.source).rows()
    now = {(row.submission, row.purpose): row for row in rows}

    def told(due: Due) -> Due:
        sent = due.payout.state == "sent"
        return replace(due, payout=now[due.payout.submission, due.payout.purpose]) if sent else due

    return [told(due) for due in paid]


def shut_out(market: Market, store: Store) -> tuple[int, list[str]]:
    """Offer no further work to anybody whom the gate has blocked in a verified visit; how many were new, and problems.

    Our page refuses them in any case. It is done before work is added, so that they do not accept it in vain.
    """
    with store.read() as connection:
        here = visits(connection, market.source)
    blocked = {v.worker for v in here if v.blocked and v.listed and v.withdrawn is None}
    return market.close_to(blocked) if blocked else (0, [])


def unpaid_visits(store: Store, rater: str) -> list[str]:
    """The marketplaces' ids of this person's visits with answers that no reward is confirmed for."""
    owed = []
    for row in launched_on(store):
        if row.market is None:
            continue
        paid = {one.submission for one in PayoutLedger(store, row.source).rows("confirmed") if one.purpose in SETTLES}
        with store.read() as connection:
            mine = [visit for visit in visits(connection, row.source) if visit.rater == rater]
        owed += [v.key for v in mine if v.answers and v.withdrawn is None and v.key not in paid]
    return owed
