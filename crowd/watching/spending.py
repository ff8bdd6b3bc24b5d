"""What the study has cost through its ledger, in money and by what became of it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from decimal import Decimal

import sqlalchemy as sa

from seedvote.crowd.store.store import settings
from seedvote.crowd.store.tables import payouts


@dataclass(frozen=True, slots=True)
class Spending:
    """Costs with fees, of one currency; `refused` ones cost nothing and are not here."""

    currency: str
    confirmed: Decimal
    open: Decimal  # intended, sent or uncertain: it may have been spent
    uncertain: int  # payouts that somebody must look at
    cap: Decimal | None


def spending_of(connection: sa.Connection) -> tuple[Spending, ...]:
    """One for each currency; none before anything was paid."""
    text = settings(connection).get("cap")
    sums: defaultdict[str, dict[str, Decimal]] = defaultdict(lambda: {"confirmed": Decimal(0), "open": Decimal(0)})
    uncertain: defaultdict[str, int] = defaultdict(int)
    p = payouts.c
    for currency, state, cost in connection.execute(sa.select(p.currency, p.state, p.cost).where(p.state != "refused")):
        sums[currency]["confirmed" if state == "confirmed" else "open"] += Decimal(cost)
        uncertain[currency] += state == "uncertain"
    cap = None if text is None else Decimal(text)
    return tuple(
        Spending(currency, costs["confirmed"], costs["open"], uncertain[currency], cap)
        for currency, costs in sorted(sums.items())
    )
