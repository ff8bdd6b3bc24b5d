"""What live conversations cost: counted at its upper bound before anything is asked, then as the endpoint says.

A call reserves its bound when its message is stored. Whoever has a pair in hand is promised the calls of the fewest
messages, so that a conversation that has begun can be ended by a vote, whatever others do meanwhile. The promise ends
with those calls, or when the pair goes back to the pool: who takes it up again then needs room for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from seedvote.crowd.forms.live import is_played, opening_asks, opening_of, sides_of, topic_of
from seedvote.crowd.hit.live import TOPIC, LiveRule, LiveSystem
from seedvote.crowd.rating.moment import Moment
from seedvote.crowd.store.statements import SIDES
from seedvote.crowd.store.tables import HOLDS_PLACE, leases, pairs, replies
from seedvote.dialogue.records import Pair

AROUND = 16  # tokens that an endpoint may put around a message, for its role and for its text
AROUND_MESSAGE = 2 * AROUND + len("assistant")  # its texts apart
LONGEST_CHARACTER = 4  # bytes; no token is shorter than a byte
BYTES_OF_TOKEN = 8  # on average over a whole reply at most; only runs of blanks have more
LEAST_BYTES = 32  # of a token: a usage with fewer tokens than a text has of these cannot be true
Messages = Sequence[Mapping[str, str]]

_TOTAL = sa.select(sa.func.sum(replies.c.spent), sa.func.sum(replies.c.bound))
_ENDS = sa.and_(replies.c.number == sa.bindparam("fewest"), replies.c.state == "answered")
_TALKS = (
    sa.select(leases.c.lease, leases.c.state, pairs.c.body)
    .add_columns(sa.func.coalesce(sa.func.sum(replies.c.spent + replies.c.bound), 0.0).label("used"))
    .add_columns(sa.func.count().filter(_ENDS).label("ends"))
    .join_from(leases, pairs, pairs.c.pair == leases.c.pair)
    .outerjoin(replies, replies.c.lease == leases.c.lease)
    .group_by(leases.c.lease, leases.c.state, pairs.c.body)
)
# Also of those whose time has run out: until they are given back, their rater may go on without asking for room.
_HELD = _TALKS.where(HOLDS_PLACE)
_ONE = _TALKS.where(leases.c.lease == sa.bindparam("lease"))
Offer = Literal["show", "wait", "spent"]


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
    own = rule.characters * LONGEST_CHARACTER + AROUND_MESSAGE
    opening = sum(len(line.text.encode()) + AROUND_MESSAGE for line in opening_of(pair))
    total = 0.0
    for side in sides_of(pair).values():
        system = None if is_played(side) else rule.system(side.model)
        if system is None:
            continue
        prompt = (system.prompt or rule.prompt).replace(TOPIC, topic_of(pair))
        tokens = len(prompt.encode()) + AROUND_MESSAGE + opening
        for number in range(0 if opening_asks(pair) else 1, rule.turns[0] + 1):
            tokens += own if number else 0
            total += price(system, tokens, rule.reply_tokens)
            tokens += rule.reply_tokens * BYTES_OF_TOKEN + AROUND_MESSAGE  # as the next call's bound counts it
    return total


def read_money(moment: Moment, rule: LiveRule, *, but: int | None = None) -> TalkMoney:
    """How the money stands; `but` is a lease whose own promise is left out, since what it asks for is part of it."""
    spent, under_way = moment.connection.execute(_TOTAL).one()
    rows = moment.connection.execute(_HELD, {"fewest": rule.turns[0]})
    promised = sum((_promise_to(moment, rule, row) for row in rows if row.lease != but), 0.0)
    return TalkMoney(spent or 0.0, under_way or 0.0, promised)


def _promise_to(moment: Moment, rule: LiveRule, row: Any) -> float:
    """The rest of what a conversation is promised; nothing once it may be ended by a vote."""
    if row.ends == len(SIDES):
        return 0.0
    bound = talk_bound(rule, moment.rules.form.record_of(row.body))
    if row.state == "reserved":  # the first checks are still to come
        bound *= 1 + moment.rules.assignment.first_checks
    return max(0.0, bound - float(row.used))


def promise_of(moment: Moment, rule: LiveRule, lease: int) -> float:
    """What this conversation would be promised if it were taken up again."""
    values = {"fewest": rule.turns[0], "lease": lease}
    return _promise_to(moment, rule, moment.connection.execute(_ONE, values).one())


def has_room(moment: Moment, rule: LiveRule, more: float, *, but: int) -> bool:
    """Whether the budget has room for so much more than is spent, under way and promised to others."""
    return rule.budget is None or read_money(moment, rule, but=but).committed + more <= rule.budget


def pair_offer(moment: Moment, pair: Pair, *, first_checks: int) -> Offer:
    """Whether there is money for a new conversation: show, wait (others may leave some over), or spent."""
    rule = moment.rules.hit.live
    return "show" if rule is None else _offer(moment, rule, talk_bound(rule, pair) * (1 + first_checks))


def resume_offer(moment: Moment, lease: int) -> Offer:
    """The same for the rest of a conversation whose pair went back to the pool while its rater was away."""
    rule = moment.rules.hit.live
    return "show" if rule is None else _offer(moment, rule, promise_of(moment, rule, lease))


def _offer(moment: Moment, rule: LiveRule, need: float) -> Offer:
    if rule.budget is None or not need:
        return "show"
    money = read_money(moment, rule)
    if money.committed + need <= rule.budget:
        return "show"
    return "wait" if money.spent + need <= rule.budget else "spent"


def is_doubtful(messages: Messages, text: str, tokens_in: int | None, tokens_out: int | None) -> bool:
    """Whether a usage is missing or says fewer tokens than the texts must have.

    >>> is_doubtful([], "word " * 100, 20, 1), is_doubtful([], "Hello.", 20, 2)
    (True, False)
    """
    sent = sum(len(message["content"].encode()) for message in messages)
    if not tokens_in or tokens_out is None:
        return True
    return tokens_in < sent / LEAST_BYTES or tokens_out < len(text.encode()) / LEAST_BYTES


def is_spent(moment: Moment) -> bool:
    """Whether no conversation can be begun any more, whoever comes: the money is used up, not only promised."""
    rule = moment.rules.hit.live
    if rule is None or rule.budget is None:
        return False
    body = moment.connection.scalar(sa.select(pairs.c.body).where(pairs.c.open == 1).limit(1))
    return body is not None and pair_offer(moment, moment.rules.form.record_of(body), first_checks=0) == "spent"
