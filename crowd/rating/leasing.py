"""The lease on each pair shown: which one a rater holds, gets next, or must wait for; inside one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from crowd.rating import pool
from crowd.rating.assignment import Fewest, Rules, left_side, verdict
from crowd.rating.gate import Rule
from crowd.rating.pool import Offer
from crowd.store import event_log
from crowd.store.identity import lease_token
from crowd.store.store import ask, later
from crowd.store.tables import leases, pairs, raters, sittings, study_settings, votes
from dialogue.records import Pair, RaterStatus, Side
from dialogue.seeds import child_seed

Stage = Literal["consent", "instructions", "task", "wait", "done", "no_more", "closed", "paused"]


_IS = sa.bindparam
_RATER, _SITTING = raters.c.rater == _IS("rater"), sittings.c.sitting == _IS("sitting")
_HERE = leases.c.sitting == _IS("sitting")
_WAITS = sa.and_(_HERE, sa.or_(leases.c.state == "held", leases.c.state == "expired"))
_MINE = (
    sa.select(
        sa.func.count().filter(_HERE, leases.c.state == "answered").label("done"),
        sa.func.max(leases.c.slot).filter(_HERE).label("last_slot"),
        sa.func.min(leases.c.lease).filter(_WAITS).label("waiting"),
        *(sa.func.count().filter(pool.SHOWN, leases.c.left == side).label(f"left_{side}") for side in pool.SIDES),
    )
    .where(leases.c.rater == _IS("rater"))
    .subquery("mine")
)
_STATE = sa.select(study_settings.c.value).where(study_settings.c.key == "state").scalar_subquery()
_LEASE = (leases.c.token, leases.c.lease, leases.c.slot, leases.c.pair, leases.c.left, leases.c.state, leases.c.expires)
SIGHT = (  # one row: who sits there, what they did, the lease that waits for them and its pair
    sa.select(raters.c.status, raters.c.consent, raters.c.instructed, raters.c.last_vote)
    .add_columns(sittings.c.slots, sittings.c.finished, _MINE, _STATE.label("study"))
    .add_columns(*_LEASE, pairs.c.kind, pairs.c.open, pairs.c.live, pairs.c.body)
    .join_from(raters, sittings, sa.and_(sittings.c.rater == raters.c.rater, _SITTING))
    .join(_MINE, sa.true())
    .outerjoin(leases, leases.c.lease == _MINE.c.waiting)
    .outerjoin(pairs, pairs.c.pair == leases.c.pair)
    .where(_RATER)
)
_SHOW = sa.insert(leases)


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
    done: int
    last_slot: int | None
    lefts: Mapping[Side, int]
    """How often each response stood on the left for this rater."""
    state: str
    waiting: Any
    """The row of the lease that waits for them, held or expired, with its pair; else None."""


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
    (found,) = ask(turn.connection, (SIGHT, where(seat)))
    return sitter_from(found, seat)


def where(seat: Seat) -> dict[str, str | int]:
    """A seat as queries name it."""
    return {"rater": seat.rater, "sitting": seat.sitting}


def sitter_from(found: Sequence[Any], seat: Seat) -> Sitter:
    """Who sits there, as SIGHT found them."""
    if not found:
        raise Refused("nobody sits there")
    row = found[0]
    return Sitter(
        seat=seat,
        status=row.status,
        slots=row.slots,
        finished=row.finished is not None,
        consent=row.consent,
        instructed=row.instructed,
        last_vote=row.last_vote,
        done=row.done,
        last_slot=row.last_slot,
        lefts=pool.lefts(row),
        state=row.study,
        waiting=row if row.waiting is not None else None,
    )


def look(turn: Turn, sitter: Sitter) -> Place | None:
    """Where a rater who has consented and learned stands, if nothing has to be written."""
    done, row = sitter.done, sitter.waiting
    if sitter.status == "blocked":
        return Place("no_more", done)
    if sitter.finished:
        return _over(done)
    if sitter.state != "running":
        return Place("paused" if sitter.state == "paused" else "closed", done)
    if row is None or row.state != "held" or row.expires <= turn.now:
        return None
    return _showing(sitter, Task(row.token, pool.pair_from(row.body), row.left, row.expires))


def arriving(turn: Turn, seat: Seat) -> tuple[Sitter, Offer]:
    """Who sits there, and what they would be offered if a real pair is due."""
    found, *offer = ask(turn.connection, (SIGHT, where(seat)), *pool.offering(seat.rater, turn.now))
    return sitter_from(found, seat), pool.offered(*offer)


def place(turn: Turn, sitter: Sitter, offer: Offer) -> Place:
    """Where the rater stands; a pair is leased if one is due."""
    if seen := look(turn, sitter):
        return seen
    if sitter.waiting is None:
        outcome = _next(turn, sitter, 0 if sitter.last_slot is None else sitter.last_slot + 1, offer)
    elif isinstance(renewed := _renew(turn, sitter.waiting), Task):
        outcome = renewed
    else:
        sitter, offer = arriving(turn, sitter.seat)
        outcome = _next(turn, sitter, renewed, offer)
    if outcome == "finished":
        return _finish(turn, sitter.seat, sitter.done)
    return Place("wait", sitter.done) if outcome == "wait" else _showing(sitter, outcome)


def _showing(sitter: Sitter, task: Task) -> Place:
    return Place("task", sitter.done, len(sitter.slots), task=task, can_undo=sitter.last_vote is not None)


def _renew(turn: Turn, row: Any) -> Task | int:
    """Show it again if the pair still has room for it; else its slot is to be filled anew."""
    k, was_held = turn.rules.votes_per_pair, row.state == "held"
    room = row.kind == "check" or (row.open and row.live - was_held < k)
    expires = turn.now + turn.rules.lease_seconds
    values = {"state": "held", "expires": expires} if room else {"state": "void"}
    turn.connection.execute(sa.update(leases).where(leases.c.lease == row.lease).values(values))
    pool.change(turn.connection, row.pair, k, held=int(room) - int(was_held))
    return Task(row.token, pool.pair_from(row.body), row.left, expires) if room else int(row.slot)


def _next(turn: Turn, sitter: Sitter, slot: int, offer: Offer) -> Task | Literal["wait", "finished"]:
    """Lease the next pair of the sitting; a check slot without an unseen check is passed over.

    Nobody is put through the first checks when no real pair is left that could follow them.
    """
    if slot == 0 and offer.pair is None:
        return "finished"
    while slot < len(sitter.slots):
        if sitter.slots[slot] == "r":
            return _next_real(turn, sitter, slot, offer)
        if check := _next_check(turn, sitter.seat.rater):
            return _lease(turn, sitter, slot, pool.named(turn.connection, check))
        slot += 1
    return "finished"


def _next_check(turn: Turn, rater: str) -> str | None:
    seen = set(turn.connection.scalars(sa.select(leases.c.pair).where(leases.c.rater == rater)))
    unseen = [check for check in turn.checks if check not in seen]
    return min(unseen, key=lambda check: child_seed(turn.seed, "check", rater, check), default=None)


def _next_real(turn: Turn, sitter: Sitter, slot: int, offer: Offer) -> Task | Literal["wait", "finished"]:
    if _at_cap(turn, sitter.seat.rater):
        return "finished"
    if offer.due:
        pool.release(turn.connection, offer.due, turn.rules.votes_per_pair, turn.now)
        sitter, offer = arriving(turn, sitter.seat)
    row = offer.pair
    decision = verdict(row and Fewest(row.pair, row.votes, row.live - row.votes), turn.rules)
    return _lease(turn, sitter, slot, row) if decision == "show" else decision


def _at_cap(turn: Turn, rater: str) -> bool:
    cap = turn.rules.max_votes_per_rater
    if cap is None:
        return False
    mine = sa.and_(votes.c.rater == rater, votes.c.failed.is_(None))
    return (turn.connection.scalar(sa.select(sa.func.count()).select_from(votes).where(mine)) or 0) >= cap


def _lease(turn: Turn, sitter: Sitter, slot: int, row: Any) -> Task:
    seat = sitter.seat
    left = left_side(pool.lefts(row), sitter.lefts, seed=turn.seed, name=(seat.rater, row.pair))
    name, expires = lease_token(turn.secret, seat.rater, row.pair, 0), turn.now + turn.rules.lease_seconds
    what = {"token": name, "attempt": 0, "pair": row.pair, "left": left, "slot": slot, "state": "held"}
    later(turn.connection, _SHOW, what | where(seat) | {"issued": turn.now, "expires": expires})
    pool.change(turn.connection, row.pair, turn.rules.votes_per_pair, held=1)
    told = {"left": left, "sitting": seat.sitting, "slot": slot}
    event_log.append(turn.connection, "shown", turn.now, seat.rater, row.pair, **told)
    return Task(name, pool.pair_from(row.body), left, expires)


def _finish(turn: Turn, seat: Seat, done: int) -> Place:
    """The sitting is over; where nothing was to be had in it, the study is closed for this rater."""
    here = sa.and_(sittings.c.rater == seat.rater, sittings.c.sitting == seat.sitting)
    turn.connection.execute(sa.update(sittings).where(here).values(finished=turn.now))
    event_log.append(turn.connection, "finished", turn.now, seat.rater, sitting=seat.sitting, done=done)
    return _over(done)


def _over(done: int) -> Place:
    return Place("done" if done else "closed", done)
