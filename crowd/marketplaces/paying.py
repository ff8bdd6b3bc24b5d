"""What is due to the workers of one launch, and paying it.

Making a bill spends nothing. Paying it twice pays nobody twice: the marketplace says who was approved and who has had
the bonus. Nobody is rejected.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from crowd.marketplaces.settling import (
    Listed,
    MarketVisit,
    Settlement,
    record,
    set_aside,
    settle_payments,
    visits,
)
from crowd.rating.rules import assignment_of

if TYPE_CHECKING:
    from crowd.hit import Hit
    from crowd.marketplaces.market import Market
    from crowd.marketplaces.money import Price
    from crowd.store.store import Store


@dataclass(frozen=True, slots=True)
class Bill:
    """What paying at this moment would do."""

    settlement: Settlement
    rewards: Price  # of the work that waits to be approved
    owed: Sequence[Listed]  # those who get the bonus
    bonus: Decimal
    reason: str  # what a worker reads with the bonus
    late: Sequence[MarketVisit]  # worked here, and not listed although their time is over
    total: Decimal
    at: float


@dataclass(frozen=True, slots=True)
class Receipt:
    """What paying did."""

    approved: int
    bonuses: int
    set_aside: int  # votes that no longer count
    closed: int  # workers to whom the marketplace offers nothing more


def bill_of(market: Market, store: Store, bonus: Decimal, reason: str, now: float) -> Bill:
    """Hold the marketplace's list against ours."""
    with store.read() as connection:
        here = visits(connection, market.source)
    found = settle_payments(here, market.listed())
    owed = market.owed_bonus([*found.approve, *found.paid], reason) if bonus else []
    late = [visit for visit in found.unlisted if now - visit.begun > market.deadline()]
    rewards = market.more(len(found.approve))
    total = rewards.total + len(owed) * market.bonus_cost(bonus)
    return Bill(found, rewards, owed, bonus, reason, late, total, now)


def pay(market: Market, store: Store, bill: Bill, hit: Hit) -> Receipt:
    """Record who is confirmed, then spend: a crash in between is cured by paying again."""
    with store.write() as connection:
        record(connection, bill.settlement, bill.at)
        aside = set_aside(connection, bill.late, assignment_of(hit), bill.at)
    closed = shut_out(market, store)
    market.approve(bill.settlement.approve)
    market.pay_bonus(bill.owed, bill.bonus, bill.reason)
    return Receipt(len(bill.settlement.approve), len(bill.owed), aside, closed)


def shut_out(market: Market, store: Store) -> int:
    """Offer no further work to anybody whom the gate has blocked; how many the marketplace did not know of yet.

    Our page refuses them in any case. It is done before work is added, so that they do not accept it in vain.
    """
    with store.read() as connection:
        blocked = {visit.worker for visit in visits(connection, market.source) if visit.blocked}
    return market.close_to(blocked) if blocked else 0
