"""Live conversations as the researcher sees them: what they cost, which systems fail, and what raters said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.forms.live import sides_of, topic_of
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.leaks import Leak, find_leaks
from seedvote.crowd.rating.moment import Moment, make_rules
from seedvote.crowd.rating.talk_money import read_money
from seedvote.crowd.rating.talks import Talk, rule_of
from seedvote.crowd.store.store import iso
from seedvote.crowd.store.tables import leases, messages, pairs, replies, votes
from seedvote.dialogue.records import HeldConversation, Pair, Side, Utterance

_COUNTS = (
    sa.func.count(sa.distinct(sa.case((replies.c.state == "answered", replies.c.lease)))).label("talks"),
    sa.func.sum(sa.case((sa.and_(replies.c.state == "answered", replies.c.calls > 0), 1), else_=0)).label("answers"),
    sa.func.sum(replies.c.lost).label("lost"),
    sa.func.sum(replies.c.doubted).label("doubted"),
)
_FAILED = (
    sa.select(pairs.c.body, replies.c.side, replies.c.why)
    .join(leases, leases.c.lease == replies.c.lease)
    .join(pairs, pairs.c.pair == leases.c.pair)
    .where(replies.c.state == "failed")
    .order_by(replies.c.lease.desc())
)
NOBODY = ""  # acts in a moment that only reads
NAMED = 3  # systems whose failures `status` names


def read_money_lines(connection: sa.Connection, hit: Hit, now: float) -> list[str]:
    """The same, where no rater acts; nothing of a study that has no live conversations."""
    if hit.live is None:
        return []
    return [line.strip() for line in describe_money(Moment(connection, now, make_rules(connection, hit), 0, NOBODY))]


def describe_money(moment: Moment) -> list[str]:
    """What `crowd status` says of them, line by line."""
    rule, money = rule_of(moment), read_money(moment, rule_of(moment))
    row = moment.connection.execute(sa.select(*_COUNTS)).one()
    of = "" if rule.budget is None else f" of {rule.budget:,.2f}"
    reserved = money.under_way + money.promised
    lines = [f"Money:   {money.spent:,.4f}{of} spent on calls; {reserved:,.4f} more reserved for who is talking"]
    lines.append(f"Talks:   {row.talks or 0} with an answer, {row.answers or 0} replies of systems")
    if row.lost:
        calls = "1 call was" if row.lost == 1 else f"{row.lost} calls were"
        lines.append(f"         {calls} lost on the way, counted at the most that this can have cost")
    if row.doubted:
        came = "1 reply" if row.doubted == 1 else f"{row.doubted} replies"
        lines.append(f"         {came} without a usage that can be true, counted at the most")
    returned = moment.connection.scalar(sa.select(sa.func.count()).where(leases.c.state == "returned"))
    if returned:
        many = "1 conversation was" if returned == 1 else f"{returned} conversations were"
        lines.append(f"         {many} handed back, because a system did not answer")
    by_system: dict[str, str] = {}
    for failed in moment.connection.execute(_FAILED):
        pair = moment.rules.form.record_of(failed.body)
        by_system.setdefault(sides_of(pair)[failed.side].model, failed.why)
    lines += [f"         {name} failed last with: {why[:160]}" for name, why in [*by_system.items()][:NAMED]]
    leaks = list(find_leaks(_held_pairs(moment)))
    if leaks:
        lines.append(_say_leaks(leaks))
    return lines


def _say_leaks(leaks: list[Leak]) -> str:
    many = "1 conversation names its" if len(leaks) == 1 else f"{len(leaks)} conversations name their"
    return f"         {many} own system, e.g. {leaks[0].model}: {leaks[0].excerpt}"


def _held_pairs(moment: Moment) -> list[Pair]:
    """Each conversation as a pair of whole ones, for what looks at texts."""
    held = []
    for talk, _ in read_talks(moment):
        sides = {
            side: replace(candidate, text="", turns=tuple(_turns(talk, side)), speaker="system")
            for side, candidate in sides_of(talk.pair).items()
        }
        held.append(replace(talk.pair, a=sides["a"], b=sides["b"]))
    return held


def read_talks(moment: Moment) -> list[tuple[Talk, Any]]:
    """Every conversation in which something was said, with its lease and vote, in the order in which they began."""
    said: dict[int, list[Any]] = {}
    answered: dict[int, dict[tuple[int, Side], Any]] = {}
    for row in moment.connection.execute(sa.select(messages).order_by(messages.c.lease, messages.c.number)):
        said.setdefault(row.lease, []).append(row)
    for row in moment.connection.execute(sa.select(replies).order_by(replies.c.lease, replies.c.number)):
        answered.setdefault(row.lease, {})[row.number, row.side] = row
    query = (
        sa.select(leases.c.lease, leases.c.rater, leases.c.state, leases.c.left, leases.c.kind, pairs.c.body)
        .add_columns(votes.c.counted, votes.c.failed)
        .join(pairs, pairs.c.pair == leases.c.pair)
        .outerjoin(votes, votes.c.lease == leases.c.lease)
        .where(leases.c.lease.in_(sa.select(replies.c.lease)))
        .order_by(leases.c.lease)
    )
    return [
        (
            Talk(
                row.lease,
                moment.rules.form.record_of(row.body),
                tuple(message.text for message in said.get(row.lease, ())),
                answered.get(row.lease, {}),
                moment.now,
            ),
            row,
        )
        for row in moment.connection.execute(query)
    ]


def _turns(talk: Talk, side: Side) -> list[Utterance]:
    """The conversation with one side; what was not answered is not there."""
    turns = [*talk.pair.context]
    for number in range(talk.number + 1):
        if number:
            turns.append(Utterance("user", talk.messages[number - 1]))
        row = talk.replies.get((number, side))
        if row is not None and row.text:
            turns.append(Utterance("system", row.text))
    return turns


def held_conversations(moment: Moment) -> list[HeldConversation]:
    """What raters said, for `crowd export`: no name of a system, and nothing of hidden checks or erased words."""
    held = []
    for talk, row in read_talks(moment):
        if row.kind in ("check", "void") or not talk.messages or None in talk.messages:
            continue
        pair, outcome = talk.pair, {"answered": "voted", "returned": "returned"}.get(row.state, "open")
        seconds = {
            side: tuple(
                reply.seconds for (_, of), reply in sorted(talk.replies.items()) if of == side and reply.seconds
            )
            for side in sides_of(pair)
        }
        held.append(
            HeldConversation(
                pair.pair,
                row.rater,
                _turns(talk, "a"),
                _turns(talk, "b"),
                talk.number,
                outcome,  # type: ignore[arg-type]
                left=row.left,
                counted=bool(row.counted),
                kind=pair.kind,
                dialogue=pair.dialogue,
                topic=topic_of(pair),
                began=iso(_began(moment, talk.lease)),
                seconds_a=seconds["a"],
                seconds_b=seconds["b"],
            )
        )
    return held


def _began(moment: Moment, lease: int) -> float:
    first = sa.select(sa.func.min(messages.c.said)).where(messages.c.lease == lease)
    return float(moment.connection.scalar(first) or 0.0)
