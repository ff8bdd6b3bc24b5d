"""What a person saw on the marketplace's page: a payment was made, or was not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crowd.marketplaces.ledger import PayoutLedger
from crowd.marketplaces.paying import ask_about_the_rest

if TYPE_CHECKING:
    from crowd.marketplaces.market import Market
    from crowd.store.store import Store


def settle_by_hand(market: Market, store: Store, submission: str, *, paid: bool) -> Iterator[str]:
    """Say what became of a payment, after the marketplace was asked once more: somebody may have looked too early."""
    ledger = PayoutLedger(store, market.source)
    open_ = ledger.open_of(submission, refused=paid)
    ask_about_the_rest(market, store, submission)
    now = {(row.submission, row.purpose): row for row in ledger.rows()}
    rows = [now[before.submission, before.purpose] for before in open_]
    for row in rows:
        what = f"{row.submission}: {market.title} says that the {row.purpose} of {row.amount} {row.currency}"
        if row.state == "confirmed":
            yield f"{what} was paid."
        if row.state == "intended":
            yield f"{what} was not paid. It is sent with the next `pay`."
    if any(row.state not in ("confirmed", "intended") for row in rows):
        for row in ledger.decide(submission, paid=paid):
            yield f"{row.submission}: {row.purpose} of {row.amount} {row.currency} is {row.state}."
