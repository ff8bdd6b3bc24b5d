"""The lease on each pair shown: which one a rater holds, gets next, or must wait for; inside one transaction."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from crowd import event_log, pool
from crowd.assignment import Rules, left_side, verdict
from crowd.gate import Rule
from crowd.store import leases, pairs, raters, sittings, study, votes
from dialogue.records import Pair, RaterStatus, Side, Source
from dialogue.seeds import child_seed

Stage = Literal["consent", "instructions", "task", "wait", "done", "no_more", "closed", "paused"]


_IS = sa.bindparam
_MINE = sa.and_(leases.c.rater == _IS("rater"), leases.c.sitting == _IS("sitting"))
_DONE = sa.select(sa.func.count()).select_from(leases).where(_MINE, leases.c.state == "answered").scalar_subquery()
_STATE = sa.select(study.c.value).where(study.c.key == "state").scalar_subquery()
_SITTER = (
    sa.select(raters, sittings.c.slots, sittings.c.finished, sittings.c.source.label("door"))
    .add_columns(_DONE.label("done"), _STATE.label("state"))
    .join_from(raters, sittings, sittings.c.rater == raters.c.rater)
    .where(raters.c.rater == _IS("rater"), sittings.c.sitting == _IS("sitting"))
)
_WAITING = (
    sa.select(leases, pairs.c.kind, pairs.c.open, pairs.c.live, pairs.c.body)
    .join_from(leases, pairs, leases.c.pair == pairs.c.pair)
    .where(_MINE, sa.or_(leases.c.state == "held", leases.c.state == "expired"))
    .order_by(leases.c.slot)
    .limit(1)
)
_LAST_SLOT = sa.select(sa.func.max(leases.c.slot)).where(_MINE)
_SHOWN = sa.or_(leases.c.state == "held", leases.c.state == "answered")
_SIDES = sa.select(leases.c.left, sa.func.count()).where(_SHOWN).group_by(leases.c.left)
_SIDES_OF_PAIR = _SIDES.where(leases.c.pair == _IS("pair"))
_SIDES_OF_RATER = _SIDES.where(leases.c.rater == _IS("rater"))
_BODY = sa.select(pairs.c.body).where(pairs.c.pair == _IS("pair"))


class Refused(Exception):
    """A request that no honest page sends: an unknown seat, a forged or foreign lease, an impossible id."""


@dataclass(frozen=True, slots=True)
class Seat:
    """Who sits where: the signed cookie holds it, a marketplace door derives it."""

    rater: str
    sitting: int


@dataclass(frozen=True, slots=True)
class Turn:
    """One transaction and the rules under which it acts."""

    connection: sa.Connection
    now: float
    rules: Rules
    rule: Rule
    seed: int
    secret: str
    checks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sitter:
    """A rater in a sitting, as the transaction found them."""

    seat: Seat
    status: RaterStatus
    slots: str
    finished: bool
    consent: str | None
    instructed: int
    last_vote: int | None
    source: Source
    done: int
    state: str


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be shown; `token` is all that a rater's page learns of it beside the texts."""

    token: str
    pair: Pair
    left: Side
    expires: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rater stands; `done` and `of` count the pairs of this sitting, hidden checks among them."""

    stage: Stage
    done: int = 0
    of: int = 0
    number: int = 1
    task: Task | None = None
    can_undo: bool = False


def sitter_of(turn: Turn, seat: Seat) -> Sitter:
    """Read who sits there."""
    row = turn.connection.execute(_SITTER, {"rater": seat.rater, "sitting": seat.sitting}).first()
    if row is None:
        raise Refused("nobody sits there")
    return Sitter(
        seat=seat,
        status=row.status,
        slots=row.slots,
        finished=row.finished is not None,
        consent=row.consent,
        instructed=row.instructed,
        last_vote=row.last_vote,
        source=row.door,
        done=row.done,
        state=row.state,
    )


def look(turn: Turn, sitter: Sitter) -> tuple[Place | None, sa.Row[Any] | None]:
    """Where a rater who has consented and learned stands, if nothing has to be written; and the lease that waits."""
    done = sitter.done
    if sitter.status == "blocked":
        return Place("no_more", done), None
    if sitter.finished:
        return _over(done), None
    if sitter.state != "running":
        return Place("paused" if sitter.state == "paused" else "closed", done), None
    mine = {"rater": sitter.seat.rater, "sitting": sitter.seat.sitting}
    row = turn.connection.execute(_WAITING, mine).first()
    if row is None or row.state != "held" or row.expires <= turn.now:
        return None, row
    return _showing(sitter, Task(row.token, pool.pair_from(row.body), row.left, row.expires)), row


def place(turn: Turn, sitter: Sitter) -> Place:
    """Where the rater stands; a pair is leased if one is due."""
    seen, row = look(turn, sitter)
    if seen is not None:
        return seen
    found = _renew(turn, row) if row is not None else _next_slot(turn, sitter.seat)
    outcome = _next(turn, sitter, found) if isinstance(found, int) else found
    if outcome == "finished":
        return _finish(turn, sitter.seat, sitter.done)
    return Place("wait", sitter.done) if outcome == "wait" else _showing(sitter, outcome)


def _showing(sitter: Sitter, task: Task) -> Place:
    return Place("task", sitter.done, len(sitter.slots), task=task, can_undo=sitter.last_vote is not None)


def token(secret: str, rater: str, pair: str, attempt: int) -> str:
    """The name by which a page speaks of a lease: unguessable, the same when asked for again, silent on the pair."""
    text = "\x1f".join(("lease", rater, pair, str(attempt)))
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()[:32]


def _next_slot(turn: Turn, seat: Seat) -> int:
    last = turn.connection.scalar(_LAST_SLOT, {"rater": seat.rater, "sitting": seat.sitting})
    return 0 if last is None else last + 1


def _renew(turn: Turn, row: sa.Row[tuple[object, ...]]) -> Task | int:
    """Show it again if the pair still has room for it; else its slot is to be filled anew."""
    k, was_held = turn.rules.votes_per_pair, row.state == "held"
    room = row.kind == "check" or (row.open and row.live - was_held < k)
    expires = turn.now + turn.rules.lease_seconds
    values = {"state": "held", "expires": expires} if room else {"state": "void"}
    turn.connection.execute(sa.update(leases).where(leases.c.lease == row.lease).values(values))
    pool.change(turn.connection, row.pair, k, held=int(room) - int(was_held))
    return Task(row.token, pool.pair_from(row.body), row.left, expires) if room else int(row.slot)


def _next(turn: Turn, sitter: Sitter, slot: int) -> Task | Literal["wait", "finished"]:
    """Lease the next pair of the sitting; a check slot without an unseen check is passed over.

    Nobody is put through the first checks when no real pair is left that could follow them.
    """
    if slot == 0 and pool.fewest(turn.connection, sitter.seat.rater) is None:
        return "finished"
    while slot < len(sitter.slots):
        if sitter.slots[slot] == "r":
            return _next_real(turn, sitter.seat, slot)
        if check := _next_check(turn, sitter.seat.rater):
            return _lease(turn, sitter.seat, slot, check)
        slot += 1
    return "finished"


def _next_check(turn: Turn, rater: str) -> str | None:
    seen = set(turn.connection.scalars(sa.select(leases.c.pair).where(leases.c.rater == rater)))
    unseen = [check for check in turn.checks if check not in seen]
    return min(unseen, key=lambda check: child_seed(turn.seed, "check", rater, check), default=None)


def _next_real(turn: Turn, seat: Seat, slot: int) -> Task | Literal["wait", "finished"]:
    if _at_cap(turn, seat.rater):
        return "finished"
    pool.release_expired(turn.connection, turn.rules.votes_per_pair, turn.now)
    fewest = pool.fewest(turn.connection, seat.rater)
    decision = verdict(fewest, turn.rules)
    if decision != "show" or fewest is None:
        return "wait" if decision == "wait" else "finished"
    return _lease(turn, seat, slot, fewest.pair)


def _at_cap(turn: Turn, rater: str) -> bool:
    cap = turn.rules.max_votes_per_rater
    if cap is None:
        return False
    mine = sa.and_(votes.c.rater == rater, votes.c.failed.is_(None))
    return (turn.connection.scalar(sa.select(sa.func.count()).select_from(votes).where(mine)) or 0) >= cap


def _lease(turn: Turn, seat: Seat, slot: int, pair: str) -> Task:
    left = left_side(
        _sides(turn, _SIDES_OF_PAIR, pair=pair),
        _sides(turn, _SIDES_OF_RATER, rater=seat.rater),
        seed=turn.seed,
        name=(seat.rater, pair),
    )
    task = Task(
        token(turn.secret, seat.rater, pair, 0),
        pool.pair_from(turn.connection.execute(_BODY, {"pair": pair}).scalar_one()),
        left,
        turn.now + turn.rules.lease_seconds,
    )
    line = {"token": task.token, "rater": seat.rater, "sitting": seat.sitting, "slot": slot, "pair": pair, "left": left}
    times = {"state": "held", "issued": turn.now, "expires": task.expires}
    turn.connection.execute(sa.insert(leases), line | times)
    pool.change(turn.connection, pair, turn.rules.votes_per_pair, held=1)
    event_log.append(turn.connection, "shown", turn.now, seat.rater, pair, left=left, sitting=seat.sitting, slot=slot)
    return task


def _sides(turn: Turn, query: sa.Select[Any], **which: str) -> dict[Side, int]:
    found: dict[Side, int] = {row[0]: row[1] for row in turn.connection.execute(query, which)}
    return {"a": found.get("a", 0), "b": found.get("b", 0)}


def _finish(turn: Turn, seat: Seat, done: int) -> Place:
    """The sitting is over; where nothing was to be had in it, the study is closed for this rater."""
    here = sa.and_(sittings.c.rater == seat.rater, sittings.c.sitting == seat.sitting)
    turn.connection.execute(sa.update(sittings).where(here).values(finished=turn.now))
    event_log.append(turn.connection, "finished", turn.now, seat.rater, sitting=seat.sitting, done=done)
    return _over(done)


def _over(done: int) -> Place:
    return Place("done" if done else "closed", done)
