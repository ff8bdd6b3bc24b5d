"""Asking people to return a submission: a message that goes out once, through the ledger, and costs nothing.

Who returns is not paid, so only people who are at work or wait for their pay can be asked, one by one and with a
reason. What they did here is told beside them: `pay --compensate` pays for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

from crowd.marketplaces.ledger import NotDone, Payout, PayoutLedger
from crowd.marketplaces.settling import Listed, visits
from dialogue.errors import InputError

if TYPE_CHECKING:
    from crowd.marketplaces.market import Market
    from crowd.store.store import Store


@dataclass(frozen=True, slots=True)
class AskedBack:
    """One submission that may be asked back, with what was answered here under it."""

    row: Listed
    answers: int


def to_ask_back(market: Market, store: Store, named: Sequence[str]) -> list[AskedBack]:
    """Those that the marketplace lists for this study, each once; a sentence about any other."""
    if market.act(PayoutLedger(store, market.source), "return", "") is None:
        raise InputError(f"{market.title} knows no such request. Nothing was sent.")
    found = market.look_up()
    listed = {row.key: row for row in found.rows}
    with store.read() as connection:
        answers = {(visit.key, visit.worker): visit.answers for visit in visits(connection, market.source)}
    for name in named:
        if (row := listed.get(name)) is None:
            raise InputError(f"{name} is no submission of this study on {market.title}. Nothing was sent.")
        if row.state not in ("waiting", "open"):
            raise InputError(f"{name} is {row.state}, so it cannot be returned any more. Nothing was sent.")
    return [AskedBack(listed[name], answers.get((name, listed[name].worker), 0)) for name in dict.fromkeys(named)]


def ask_back(market: Market, store: Store, asked: Sequence[AskedBack], reason: str) -> Iterator[Payout]:
    """Send each request, one after the other; one that fails stops no other."""
    ledger = PayoutLedger(store, market.source)
    for one in asked:
        due = Payout(market.source, one.row.key, "return", Decimal(0), Decimal(0), market.currency)
        if (act := market.act(ledger, "return", reason)) is None:
            continue
        try:
            yield ledger.carry_out(due, act)
        except NotDone as error:
            yield Payout(
                market.source, one.row.key, "return", due.amount, due.cost, due.currency, "refused", "", f"{error}"
            )
