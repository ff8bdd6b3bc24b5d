"""What live conversations cost: counted at its upper bound before anything is asked, then as the endpoint says.

A call reserves its bound when its message is stored. Whoever has a pair in hand is promised the calls of the fewest
messages, so that a conversation that has begun can be ended by a vote, whatever others do meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from seedvote.crowd.forms.live import is_played, opening_asks, opening_of, sides_of, topic_of
from seedvote.crowd.hit.live import TOPIC, LiveRule, LiveSystem
from seedvote.crowd.rating.moment import Moment
from seedvote.crowd.store.tables import HOLDS_PLACE, leases, pairs, replies
from seedvote.dialogue.records import Pair

AROUND = 16  # tokens that an endpoint may put around a message, for its role and for its text
LONGEST_CHARACTER = 4  # bytes; no token is shorter than a byte
LEAST_BYTES = 32  # of a token: a usage with fewer tokens than a text has of these cannot be true
Messages = Sequence[Mapping[str, str]]

_TOTAL = sa.select(sa.func.sum(replies.c.spent), sa.func.sum(replies.c.bound))
_HELD = (
    sa.select(
        leases.c.lease,
        leases.c.state,
        pairs.c.body,
        sa.func.coalesce(sa.func.sum(replies.c.spent + replies.c.bound), 0.0).label("used"),
    )
    .join_from(leases, pairs, pairs.c.pair == leases.c.pair)
    .outerjoin(replies, replies.c.lease == leases.c.lease)
    .where(HOLDS_PLACE, leases.c.expires > sa.bindparam("now"))
    .group_by(leases.c.lease, leases.c.state, pairs.c.body)
)


@dataclass(frozen=True, slots=True)
class TalkMoney:
    """What a study has spent, what calls under way may cost, and what is promised to who has a pair in hand."""

    spent: float
    under_way: float
    promised: float

    @property
    def committed(self) -> float:
        """All of it."""
        return self.spent + self.under_way + self.promised


def price(system: LiveSystem, tokens_in: int, tokens_out: int) -> float:
    """What so many tokens cost."""
    return (tokens_in * system.price_in + tokens_out * system.price_out) / 1e6


def most_tokens_in(messages: Messages) -> int:
    """A bound of the tokens of these messages.

    >>> most_tokens_in([{"role": "user", "content": "Hi."}])
    39
    """
    return sum(len(text.encode()) + AROUND for message in messages for text in message.values())


def call_bound(system: LiveSystem, rule: LiveRule, messages: Messages) -> float:
    """The most that one call costs."""
    return price(system, most_tokens_in(messages), rule.reply_tokens)


def talk_bound(rule: LiveRule, pair: Pair) -> float:
    """The most that the shortest whole conversation on a pair costs; a side that is played costs nothing."""
    own = rule.characters * LONGEST_CHARACTER + 2 * AROUND
    opening = sum(len(line.text.encode()) + 2 * AROUND + LONGEST_CHARACTER for line in opening_of(pair))
    total = 0.0
    for side in sides_of(pair).values():
        system = None if is_played(side) else rule.system(side.model)
        if system is None:
            continue
        prompt = (system.prompt or rule.prompt).replace(TOPIC, topic_of(pair))
        tokens = len(prompt.encode()) + 2 * AROUND + opening
        for number in range(0 if opening_asks(pair) else 1, rule.turns[0] + 1):
            tokens += own if number else 0
            total += price(system, tokens, rule.reply_tokens)
            tokens += rule.reply_tokens + 2 * AROUND
    return total


def read_money(moment: Moment, rule: LiveRule, *, but: int | None = None) -> TalkMoney:
    """How the money stands; `but` is a lease whose own promise is left out, since what it asks for is part of it."""
    spent, under_way = moment.connection.execute(_TOTAL).one()
    promised = 0.0
    for row in moment.connection.execute(_HELD, {"now": moment.now}):
        if row.lease == but:
            continue
        bound = talk_bound(rule, moment.rules.form.record_of(row.body))
        if row.state == "reserved":  # the first checks are still to come
            bound *= 1 + moment.rules.assignment.first_checks
        promised += max(0.0, bound - row.used)
    return TalkMoney(spent or 0.0, under_way or 0.0, promised)


def has_room(moment: Moment, rule: LiveRule, more: float, *, but: int | None = None) -> bool:
    """Whether the budget has room for so much more than is spent, under way and promised."""
    return rule.budget is None or read_money(moment, rule, but=but).committed + more <= rule.budget


def pair_offer(moment: Moment, pair: Pair, *, first_checks: int) -> Literal["show", "wait", "spent"]:
    """Whether there is money for a new conversation: show, wait (others may leave some over), or spent."""
    rule = moment.rules.hit.live
    if rule is None or rule.budget is None:
        return "show"
    need, money = talk_bound(rule, pair) * (1 + first_checks), read_money(moment, rule)
    if money.committed + need <= rule.budget:
        return "show"
    return "wait" if money.spent + need <= rule.budget else "spent"


def charge_of(system: LiveSystem, bound: float, text: str, tokens_in: int | None, tokens_out: int | None) -> float:
    """What a reply cost: as its usage says; at its bound where that is not said, or cannot be true."""
    if is_doubtful(text, tokens_in, tokens_out):
        return bound
    return price(system, tokens_in or 0, tokens_out or 0)


def is_doubtful(text: str, tokens_in: int | None, tokens_out: int | None) -> bool:
    """Whether a usage is missing or says fewer tokens than the text must have.

    >>> is_doubtful("word " * 100, 20, 1), is_doubtful("Hello.", 20, 2)
    (True, False)
    """
    return not tokens_in or tokens_out is None or tokens_out < len(text.encode()) / LEAST_BYTES


def is_spent(moment: Moment) -> bool:
    """Whether no conversation can be begun any more, whoever comes: the money is used up, not only promised."""
    rule = moment.rules.hit.live
    if rule is None or rule.budget is None:
        return False
    body = moment.connection.scalar(sa.select(pairs.c.body).where(pairs.c.open == 1).limit(1))
    return body is not None and pair_offer(moment, moment.rules.form.record_of(body), first_checks=0) == "spent"
