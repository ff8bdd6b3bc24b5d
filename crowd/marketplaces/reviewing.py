"""Messages about one submission: asking for its return, rejecting it. Each goes out once, through the ledger.

Who returns or is rejected is not paid, so people are named one by one and with a reason. What they answered here is
shown with it: `pay --compensate` pays for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from seedvote.crowd.marketplaces.ledger import ZERO, Payout, PayoutLedger, Purpose
from seedvote.crowd.marketplaces.settling import Listed, ListedState, visits
from seedvote.dialogue.errors import InputError

if TYPE_CHECKING:
    from seedvote.crowd.marketplaces.market import Market
    from seedvote.crowd.store.store import Store

SUBJECT_TO: dict[Purpose, list[ListedState]] = {"return": ["waiting", "open"], "rejection": ["waiting"]}
DONE: Mapping[Purpose, str] = {"return": "asked", "rejection": "rejected"}
REFUSED: Mapping[Purpose, str] = {"return": "returned", "rejection": "rejected"}
COMMANDS: Mapping[Purpose, str] = {"return": "request-return", "rejection": "reject"}


@dataclass(frozen=True, slots=True)
class Reviewed:
    """One submission that a message may be about, with what was answered here under it."""

    row: Listed
    answers: int

    @property
    def facts(self) -> str:
        """As the list for people has it."""
        work = f"{self.answers} answers here: pay --compensate pays for them" if self.answers else "no answer here"
        return f"{self.row.key}  {self.row.state}, {work}"


def to_review(market: Market, store: Store, purpose: Purpose, names: Sequence[str]) -> list[Reviewed]:
    """Those that the marketplace lists for this study, each once; a sentence about any other."""
    if market.make_act(PayoutLedger(store, market.source), purpose, "") is None:
        raise InputError(f"{market.title} knows no such request. Nothing was sent.")
    listed = {row.key: row for row in market.look_up().rows}
    with store.read() as connection:
        answers = {(visit.key, visit.worker): visit.answers for visit in visits(connection, market.source)}
    for name in names:
        if (row := listed.get(name)) is None:
            raise InputError(f"{name} is no submission of this study on {market.title}. Nothing was sent.")
        if row.state not in SUBJECT_TO[purpose]:
            raise InputError(f"{name} is {row.state}, so it cannot be {REFUSED[purpose]} any more. Nothing was sent.")
    return [Reviewed(listed[name], answers.get((name, listed[name].worker), 0)) for name in dict.fromkeys(names)]


def send_messages(
    market: Market, store: Store, purpose: Purpose, reviewed: Sequence[Reviewed], reason: str
) -> list[Payout]:
    """Send each, one after the other; one that fails stops no other."""
    ledger = PayoutLedger(store, market.source)
    rows = [Payout(market.source, message.row.key, purpose, ZERO, ZERO, market.currency) for message in reviewed]
    act = market.make_act(ledger, purpose, reason)
    return ledger.carry_out_all(rows, act) if act else []
