"""Live conversations: what a rater said to both sides of a pair, what they answered, and what may come next.

A conversation belongs to a lease, so it is there again wherever its rater looks. Everything is stored before it is
shown or sent: a message with the two replies that it asks for (`queued`), then that a call was sent (`sent`), then its
answer. Whoever sends a call must have turned it from queued to sent, so no call is made twice, whatever dies meanwhile.

A call that was sent and never heard of again may have been answered and charged. Nobody can know: it counts at its
bound, the rater is told that no answer came, and it is asked again only when they ask for that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.forms.conversations import Line
from seedvote.crowd.forms.live import (
    RATER,
    LiveOnPage,
    TalkStage,
    is_played,
    opening_asks,
    opening_of,
    played_text,
    sides_of,
    topic_of,
)
from seedvote.crowd.hit.live import TOPIC, LiveRule
from seedvote.crowd.rating import talk_money
from seedvote.crowd.rating.leasing import recount_pair
from seedvote.crowd.rating.moment import Moment, Refused, Seat, read_seated_rater
from seedvote.crowd.store import statements as sql
from seedvote.crowd.store.store import append_event, fetch, later
from seedvote.crowd.store.tables import leases, messages, pairs, replies
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Pair, Side
from seedvote.dialogue.seeds import child_random

PENDING = ("queued", "sent")
PLAYED = "played"
HANDS_BACK = 1  # how often an answer must have been asked for again before its conversation may be handed back
MOST_AGAIN = 3  # times that a rater may ask again for one answer: each may cost money
USUAL_SECONDS = 2.0  # that a reply takes, while nobody has had one
_MESSAGES = sa.select(messages).where(messages.c.lease == sa.bindparam("lease")).order_by(messages.c.number)
_REPLIES = sa.select(replies).where(replies.c.lease == sa.bindparam("lease")).order_by(replies.c.number)
_INSERT_MESSAGE, _INSERT_REPLY = sa.insert(messages), sa.insert(replies)
_LEASE = (
    sa.select(leases.c.lease, leases.c.state, leases.c.rater, leases.c.left, pairs.c.body)
    .join(pairs, pairs.c.pair == leases.c.pair)
    .where(leases.c.token == sa.bindparam("token"))
)


@dataclass(frozen=True, slots=True, order=True)
class ReplyKey:
    """Which reply."""

    lease: int
    number: int
    side: Side


@dataclass(frozen=True, slots=True)
class Talk:
    """One conversation as it stands."""

    lease: int
    pair: Pair
    messages: tuple[str, ...]
    replies: Mapping[tuple[int, Side], Any]
    """Number and side -> the row."""
    now: float

    @property
    def number(self) -> int:
        """Of the newest message; 0 before the first."""
        return len(self.messages)

    @property
    def newest(self) -> list[Any]:
        """The rows of the replies to it."""
        return [row for (number, _), row in sorted(self.replies.items()) if number == self.number]

    @property
    def exchanges(self) -> int:
        """The messages that both sides have answered."""
        numbers = range(1, self.number + 1)
        return sum(all(self._is_answered(number, side) for side in sides_of(self.pair)) for number in numbers)

    def _is_answered(self, number: int, side: Side) -> bool:
        row = self.replies.get((number, side))
        return row is not None and row.state == "answered" and not self._is_due_later(row)

    def _is_due_later(self, row: Any) -> bool:
        """What is played takes its time, as an answer does that somebody has to think about."""
        return bool(row.finish == PLAYED and row.until > self.now)

    def stage(self, rule: LiveRule) -> TalkStage:
        """What comes next."""
        states = {"sent" if self._is_due_later(row) else row.state for row in self.newest}
        if states.intersection(PENDING) or (not self.replies and opening_asks(self.pair)):
            return "wait"
        if "failed" in states:
            return "failed"
        return "choose" if self.exchanges >= rule.turns[0] else "say"

    def lines(self, side: Side, rule: LiveRule) -> list[Line]:
        """What the page shows of one side."""
        shown = [*opening_of(self.pair)]
        for number in range(self.number + 1):
            if number:
                shown.append(Line(RATER, self.messages[number - 1]))
            if self._is_shown(number, side, rule):
                shown.append(Line(0, self.replies[number, side].text or ""))
        return shown

    def _is_shown(self, number: int, side: Side, rule: LiveRule) -> bool:
        """Whether a reply may be seen: a quick one may have to wait for the other one."""
        names = sides_of(self.pair) if rule.reveal == "together" else (side,)
        return all(self._is_answered(number, name) for name in names)


def read_talk(moment: Moment, lease: int, body: str) -> Talk:
    """The conversation of a lease on the pair of this body."""
    said, answered = fetch(moment.connection, (_MESSAGES, {"lease": lease}), (_REPLIES, {"lease": lease}))
    rows = {(row.number, row.side): row for row in answered}
    pair = moment.rules.form.record_of(body)
    return Talk(lease, pair, tuple(row.text or "" for row in said), rows, moment.now)


def show_talk(moment: Moment, page: LiveOnPage, layout: str) -> tuple[LiveOnPage, Talk]:
    """The page with what was said, in the order of its layout."""
    rule = rule_of(moment)
    (row,) = fetch(moment.connection, (_LEASE, {"token": page.lease}))[0]
    talk = read_talk(moment, row.lease, row.body)
    stage, is_spent = talk.stage(rule), False
    is_unopened = not talk.replies and opening_asks(talk.pair)
    if is_unopened or (stage in ("say", "choose") and talk.number < rule.turns[1]):
        need = sum(_bounds(talk, rule, 0).values()) if is_unopened else _next_bound(talk, rule)
        is_spent = not _has_room(moment, rule, row, need)
    may_return = stage == "failed" and any(row.again >= HANDS_BACK for row in talk.newest)
    if is_spent and stage in ("say", "wait"):
        stage, may_return = "failed", True
    first, second = ("a", "b") if layout == "a" else ("b", "a")
    shown = replace(
        page,
        left=talk.lines(first, rule),  # type: ignore[arg-type]
        right=talk.lines(second, rule),  # type: ignore[arg-type]
        stage=stage,
        turn=talk.number + (stage in ("say", "choose")),
        fewest=rule.turns[0],
        most=rule.turns[1],
        characters=rule.characters,
        may_return=may_return,
        may_ask=stage == "failed" and not is_spent and all(row.again < MOST_AGAIN for row in talk.newest),
        is_spent=is_spent,
    )
    return shown, talk


def rule_of(moment: Moment) -> LiveRule:
    """`[live]` of the study."""
    if moment.rules.hit.live is None:
        raise Refused("this study has no live conversations")
    return moment.rules.hit.live


def _next_bound(talk: Talk, rule: LiveRule) -> float:
    """The most that the replies to the next message cost, whatever it says."""
    return sum(_bounds(_with_message(talk, "\U0001f600" * rule.characters), rule, talk.number + 1).values())


def _with_message(talk: Talk, text: str) -> Talk:
    return replace(talk, messages=(*talk.messages, text))


def messages_for(talk: Talk, rule: LiveRule, side: Side, number: int) -> list[dict[str, str]]:
    """What the system of a side is sent to answer message `number`."""
    candidate = sides_of(talk.pair)[side]
    system = rule.system(candidate.model)
    prompt = ((system.prompt if system else "") or rule.prompt).replace(TOPIC, topic_of(talk.pair))
    sent = [{"role": "system", "content": prompt}] if prompt.strip() else []
    opening = opening_of(talk.pair)
    sent += [{"role": "user" if line.who else "assistant", "content": line.text} for line in opening]
    for before in range(number + 1):
        if before:
            sent.append({"role": "user", "content": talk.messages[before - 1]})
        if before < number and (row := talk.replies.get((before, side))) is not None and row.text:
            sent.append({"role": "assistant", "content": row.text})
    return sent


def _bounds(talk: Talk, rule: LiveRule, number: int) -> dict[Side, float]:
    """The most that each side's reply costs; nothing where it is played."""
    bounds: dict[Side, float] = {}
    for side, candidate in sides_of(talk.pair).items():
        system = None if is_played(candidate) else rule.system(candidate.model)
        bounds[side] = talk_money.call_bound(system, rule, messages_for(talk, rule, side, number)) if system else 0.0
    return bounds


# What a rater does


def open_talk(moment: Moment, seat: Seat, token: str) -> list[ReplyKey]:
    """Ask for the answers to an opening that ends with the rater's words, once."""
    row, talk = _claim(moment, seat, token)
    if row.state != "held" or talk.replies or not opening_asks(talk.pair):
        return []
    rule = rule_of(moment)
    bounds = _bounds(talk, rule, 0)
    if not _has_room(moment, rule, row, sum(bounds.values())):
        return []
    return _queue(moment, talk, bounds, 0)


def say(moment: Moment, seat: Seat, token: str, number: int, text: str) -> list[ReplyKey]:
    """Store a message and the replies that it asks for; what came before, or cannot be paid, changes nothing."""
    row, talk = _claim(moment, seat, token)
    rule = rule_of(moment)
    if row.state not in ("held", "expired") or not _may_go_on(moment, seat) or number <= talk.number:
        return []
    if number != talk.number + 1 or number > rule.turns[1] or talk.stage(rule) not in ("say", "choose"):
        raise Refused("this message is not the next one")
    talk = _with_message(talk, text)
    bounds = _bounds(talk, rule, number)
    if not _has_room(moment, rule, row, sum(bounds.values())):
        return []
    _hold(moment, seat, row)
    later(
        moment.connection,
        (_INSERT_MESSAGE, {"lease": row.lease, "number": number, "text": text, "said": moment.now}),
    )
    append_event(moment.connection, "said", moment.now, row.rater, row.pair, number=number, characters=len(text))
    return _queue(moment, talk, bounds, number)


def _claim(moment: Moment, seat: Seat, token: str) -> tuple[Any, Talk]:
    """The lease with this token, if it is this rater's."""
    if not token.isalnum():
        raise Refused("no lease has such a name")
    (rows,) = fetch(moment.connection, (sql.CLAIM, {"token": token, "rater": seat.rater, "seat": seat.sitting}))
    if not rows:
        raise Refused("no lease of this rater")
    return rows[0], read_talk(moment, rows[0].lease, rows[0].body)


def _may_go_on(moment: Moment, seat: Seat) -> bool:
    """Whether the study runs and has not ended this rater's work."""
    seated = read_seated_rater(moment, seat)
    return seated.state == "running" and seated.status != "blocked"


def _has_room(moment: Moment, rule: LiveRule, row: Any, more: float) -> bool:
    """Whether there is money for these calls; where the pair went back to the pool, for all that is to be promised."""
    if row.state == "expired":
        more = max(more, talk_money.promise_of(moment, rule, row.lease))
    return talk_money.has_room(moment, rule, more, but=row.lease)


def _hold(moment: Moment, seat: Seat, row: Any) -> None:
    """The rater is at work on it, so the lease lasts as long as one that is given now."""
    until = moment.now + moment.rules.assignment.lease_seconds
    if row.state == "held":
        later(moment.connection, (sql.PROLONG, {"this": row.lease, "until": until}))
        return
    later(
        moment.connection,
        (sql.RENEW_LEASE, {"this": row.lease, "now": moment.now, "until": until, "seat": seat.sitting}),
        recount_pair(row.pair, moment.rules.assignment.votes_per_pair, held=1),
    )


def _queue(moment: Moment, talk: Talk, bounds: Mapping[Side, float], number: int) -> list[ReplyKey]:
    """Write down which replies are asked for; those that are played are there at once."""
    keys = []
    for side, candidate in sides_of(talk.pair).items():
        line: dict[str, Any] = {"lease": talk.lease, "number": number, "side": side, "queued": moment.now}
        if is_played(candidate):
            spoken = sum(name == side and n < number for n, name in talk.replies)
            line |= {"state": "answered", "text": played_text(candidate, spoken), "finish": PLAYED, "bound": 0.0}
            line["until"] = moment.now + _draw_seconds(moment, talk, number, side)
        else:
            line |= {"state": "queued", "text": None, "finish": "", "bound": bounds[side], "until": None}
            keys.append(ReplyKey(talk.lease, number, side))
        later(moment.connection, (_INSERT_REPLY, line))
    return keys


def _draw_seconds(moment: Moment, talk: Talk, number: int, side: Side) -> float:
    """How long what is played takes to come: about as long as the replies of systems so far."""
    usual = moment.connection.scalar(sa.select(sa.func.avg(replies.c.seconds))) or USUAL_SECONDS
    return float(usual) * child_random(moment.seed, "played", talk.lease, number, side).lognormvariate(0.0, 0.4)


def ask_again(moment: Moment, seat: Seat, token: str, number: int) -> list[ReplyKey]:
    """Ask again for the replies that did not come, if there is money for it."""
    row, talk = _claim(moment, seat, token)
    rule = rule_of(moment)
    if row.state not in ("held", "expired") or not _may_go_on(moment, seat) or number != talk.number:
        return []
    if talk.stage(rule) != "failed":
        return []
    failed = [reply for reply in talk.newest if reply.state == "failed"]
    if any(reply.again >= MOST_AGAIN for reply in failed):
        return []
    bounds = _bounds(talk, rule, number)
    keys = [ReplyKey(row.lease, number, reply.side) for reply in failed]
    has_room = _has_room(moment, rule, row, sum(bounds[key.side] for key in keys))
    _hold(moment, seat, row)
    for key in keys:
        change: dict[str, Any] = {"again": replies.c.again + 1}
        if has_room:
            change |= {"state": "queued", "bound": bounds[key.side], "queued": moment.now, "why": ""}
        moment.connection.execute(sa.update(replies).where(_is_reply(key)).values(change))
    return keys if has_room else []


def hand_back(moment: Moment, seat: Seat, token: str) -> bool:
    """Give up a conversation in which a system does not answer: it is work done, and others may have the pair.

    Only where that is so by what is stored, or whoever likes could be rid of any pair.
    """
    row, _ = _claim(moment, seat, token)
    if row.state not in ("held", "expired"):
        return False
    shown, _ = show_talk(moment, LiveOnPage(token, (), (), (), 0), row.left)
    if not shown.may_return:
        raise Refused("this conversation can go on")
    _drop_queued(moment.connection, row.lease)
    change = {"state": "returned", "sitting": seat.sitting, "slot": row.slot}
    moment.connection.execute(sa.update(leases).where(leases.c.lease == row.lease).values(change))
    later(
        moment.connection,
        recount_pair(row.pair, moment.rules.assignment.votes_per_pair, held=-int(row.state == "held")),
    )
    append_event(moment.connection, "returned", moment.now, row.rater, row.pair, spent=shown.is_spent)
    return True


def refuse_early(moment: Moment, row: Any) -> None:
    """Refuse a vote before the fewest messages were answered; `row` is of CLAIM. What nobody waits for is not asked."""
    talk = read_talk(moment, row.lease, row.body)
    if talk.exchanges < rule_of(moment).turns[0]:
        raise Refused("the conversation has not gone on for long enough")
    _drop_queued(moment.connection, row.lease)


def erase_words(connection: sa.Connection, rater: str) -> None:
    """Erase what a rater said and was answered; what it cost stays in the books."""
    own = sa.select(leases.c.lease).where(leases.c.rater == rater)
    connection.execute(sa.update(messages).where(messages.c.lease.in_(own)).values(text=None, said=0.0))
    waits = sa.and_(replies.c.lease.in_(own), replies.c.state == "queued")
    connection.execute(sa.update(replies).where(waits).values(state="dropped", bound=0.0))
    bare = {"text": None, "queued": 0.0, "seconds": None, "why": ""}
    connection.execute(sa.update(replies).where(replies.c.lease.in_(own)).values(bare))


def _drop_queued(connection: sa.Connection, lease: int) -> None:
    waits = sa.and_(replies.c.lease == lease, replies.c.state == "queued")
    connection.execute(sa.update(replies).where(waits).values(state="dropped", bound=0.0))


# What the server does that asks (crowd/web/endpoints.py)


def _is_reply(key: ReplyKey) -> sa.ColumnElement[bool]:
    return sa.and_(replies.c.lease == key.lease, replies.c.number == key.number, replies.c.side == key.side)


def system_of(moment: Moment, key: ReplyKey) -> str:
    """The system that answers; empty where there is no such reply."""
    query = sa.select(pairs.c.body).join(leases, leases.c.pair == pairs.c.pair).where(leases.c.lease == key.lease)
    body = moment.connection.scalar(query)
    return "" if body is None else str(sides_of(moment.rules.form.record_of(body))[key.side].model)


@dataclass(frozen=True, slots=True)
class SentCall:
    """A call that this server may send now, and nobody else."""

    key: ReplyKey
    system: str
    messages: Sequence[Mapping[str, str]]
    calls: int
    """The number of this one among those for the reply."""
    heard: int
    """How many of those before were heard of again."""


def send_call(moment: Moment, key: ReplyKey, server: str, until: float) -> SentCall | None:
    """Turn a reply from queued to sent; None where somebody else has, or nobody waits for it any more."""
    query = (
        sa.select(replies, leases.c.state.label("lease_state"), pairs.c.body)
        .join(leases, leases.c.lease == replies.c.lease)
        .join(pairs, pairs.c.pair == leases.c.pair)
        .where(_is_reply(key), replies.c.state == "queued")
    )
    row = moment.connection.execute(query).one_or_none()
    if row is None:
        return None
    if row.lease_state not in ("held", "expired"):
        _drop_queued(moment.connection, key.lease)
        return None
    change = {"state": "sent", "server": server, "until": until, "calls": row.calls + 1}
    moment.connection.execute(sa.update(replies).where(_is_reply(key)).values(change))
    talk = read_talk(moment, key.lease, row.body)
    system = sides_of(talk.pair)[key.side].model
    sent = messages_for(talk, rule_of(moment), key.side, key.number)
    return SentCall(key, system, sent, row.calls + 1, row.calls - row.lost)


@dataclass(frozen=True, slots=True)
class CallResult:
    """What became of a call: a text, or why there is none."""

    text: str = ""
    finish: str = ""
    model: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None
    why: str = ""
    is_charged: bool = False
    """Of one without a text: whether it was answered, or may have been."""
    is_lost: bool = False
    """Whether nobody knows what became of it."""
    asks_again: bool = False
    """Whether it is to be sent once more without anybody's asking for it."""


def settle_call(moment: Moment, call: SentCall, result: CallResult, server: str) -> bool:
    """Write what became of a call; whether it is to be sent again now."""
    row = moment.connection.execute(sa.select(replies).where(_is_reply(call.key))).one_or_none()
    if row is None or (row.state, row.server, row.calls) != ("sent", server, call.calls):
        return False  # given up meanwhile, and counted at its bound
    rule = rule_of(moment)
    system = rule.system(call.system)
    if system is None:
        return False
    facts: dict[str, Any] = {"until": None, "bound": 0.0, "why": result.why, "lost": row.lost + result.is_lost}
    is_answer = bool(result.text)
    if is_answer or (result.is_charged and not result.is_lost):
        tokens = (result.tokens_in, result.tokens_out)
        doubted = talk_money.is_doubtful(call.messages, result.text, *tokens)
        charge = row.bound if doubted else talk_money.price(system, tokens[0] or 0, tokens[1] or 0)
        facts |= {"spent": row.spent + charge, "doubted": row.doubted + doubted, "model": result.model}
        facts |= {"tokens_in": result.tokens_in, "tokens_out": result.tokens_out, "finish": result.finish}
    elif result.is_charged:
        facts |= {"spent": row.spent + row.bound}
    again = False
    if is_answer:
        facts |= {"state": "answered", "text": result.text, "seconds": result.seconds}
        _prolong(moment, call.key.lease)
    else:
        # what is charged already counts twice while there may be no room for it again
        more = row.bound if result.is_charged else 0.0
        again = result.asks_again and talk_money.has_room(moment, rule, more, but=call.key.lease)
        facts |= {"state": "queued", "bound": row.bound} if again else {"state": "failed"}
    moment.connection.execute(sa.update(replies).where(_is_reply(call.key)).values(facts))
    return again


def _prolong(moment: Moment, lease: int) -> None:
    """Both have to be read: the lease lasts as long as one that is given now."""
    until = moment.now + moment.rules.assignment.lease_seconds
    held = sa.and_(leases.c.lease == lease, leases.c.state == "held")
    moment.connection.execute(sa.update(leases).where(held).values(expires=until))


def give_up(moment: Moment, key: ReplyKey, why: str, *, calls: int) -> None:
    """End a reply whose server is gone, or that was queued for too long; a call that was sent may have been charged."""
    row = moment.connection.execute(sa.select(replies).where(_is_reply(key))).one_or_none()
    if row is None or row.state not in PENDING or row.calls != calls:
        return
    is_lost = row.state == "sent"
    facts = {"state": "failed", "why": why, "bound": 0.0, "until": None, "lost": row.lost + is_lost}
    facts |= {"spent": row.spent + row.bound * is_lost}
    moment.connection.execute(sa.update(replies).where(_is_reply(key)).values(facts))


def check_systems(records: Sequence[Pair], rule: LiveRule | None, where: str) -> None:
    """Refuse pairs whose systems hit.toml does not name."""
    if rule is None:
        raise InputError(
            f'{where}: form = "live" needs a table [live] in hit.toml with two [[live.systems]]; see docs/live.md.'
        )
    known = {system.name for system in rule.systems}
    for record in records:
        for name, side in sides_of(record).items():
            if not is_played(side) and side.model not in known:
                raise InputError(
                    f"{where}: {name} of pair {record.pair} is {side.model!r}, which is no system of hit.toml "
                    f"({', '.join(sorted(known))})."
                )
