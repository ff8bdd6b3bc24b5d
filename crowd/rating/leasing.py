"""Where a rater stands: what comes before the pairs, then the lease on each pair shown, held, renewed or new.

Everything is read and written inside the caller's one transaction, so that no pair is given out above its k votes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from crowd.hit import Hit
from crowd.rating import pool
from crowd.rating.assignment import AssignmentRules, Fewest, Life, check_is_due, left_side, verdict
from crowd.rating.ending import Ending, at_cap, ending, outlook
from crowd.rating.gate import GateRule
from crowd.rating.next_pair import DUE, IS_SHOWN, NEXT_PAIR, SIDES, Offer, named
from crowd.rating.rules import REVISION
from crowd.store import event_log
from crowd.store.identity import lease_token
from crowd.store.store import fetch, later
from crowd.store.tables import leases, pairs, raters, sittings, study_settings, votes
from dialogue.records import Pair, RaterStatus, Side
from dialogue.seeds import child_seed

Stage = Literal["consent", "instructions", "task", "wait", "paused"] | Ending


_RATER, _SITTING = raters.c.rater == param("rater"), sittings.c.sitting == param("sitting")
_HERE = leases.c.sitting == param("sitting")
_ANSWERED, _CHECK = leases.c.state == "answered", leases.c.kind == "check"
_HIDDEN = sa.or_(_CHECK, leases.c.kind == "void")
_JUDGED = sa.and_(_ANSWERED, ~_HIDDEN)
# whatever was shown and is unanswered waits in every sitting: a new one is no way round a check
_WAITS = sa.or_(leases.c.state == "held", leases.c.state == "expired")
_LIFE = (
    sa.func.count().filter(_JUDGED).label("reals"),
    sa.func.count().filter(_ANSWERED, _HIDDEN).label("checks"),
    sa.func.max(leases.c.slot).filter(_CHECK).label("last_check"),
    sa.func.count().filter(_CHECK).label("seen"),
)
_MINE = (
    sa.select(
        *_LIFE,
        sa.func.count().filter(_HERE, _ANSWERED).label("done"),
        sa.func.min(leases.c.lease).filter(_WAITS).label("waiting"),
        *(sa.func.count().filter(IS_SHOWN, leases.c.left == side).label(f"left_{side}") for side in SIDES),
    )
    .where(leases.c.rater == param("rater"))
    .subquery("mine")
)
_LAST_TOKEN = (  # of the answer that can be taken back
    sa.select(leases.c.token)
    .join_from(votes, leases, leases.c.lease == votes.c.lease)
    .where(votes.c.vote == raters.c.last_vote)
    .scalar_subquery()
)
_STATE = sa.select(study_settings.c.value).where(study_settings.c.key == "state").scalar_subquery()
_REVISION = sa.select(study_settings.c.value).where(study_settings.c.key == REVISION).scalar_subquery()
_LEASE = (
    leases.c.token,
    leases.c.lease,
    leases.c.slot,
    leases.c.pair,
    leases.c.kind,
    leases.c.left,
    leases.c.state,
    leases.c.expires,
)
_SEAT = (  # one row: who sits there, what they did, the lease that waits for them and its pair
    sa.select(raters.c.status, raters.c.consent, raters.c.instructed, raters.c.last_vote)
    .add_columns(
        sittings.c.slots,
        sittings.c.finished,
        _MINE,
        _STATE.label("study"),
        _REVISION.label("revision"),
        _LAST_TOKEN.label("last_token"),
    )
    .add_columns(*_LEASE, pairs.c.open, pairs.c.live, pairs.c.body)
    .join_from(raters, sittings, sa.and_(sittings.c.rater == raters.c.rater, _SITTING))
    .join(_MINE, sa.true())
    .outerjoin(leases, leases.c.lease == _MINE.c.waiting)
    .outerjoin(pairs, pairs.c.pair == leases.c.pair)
    .where(_RATER)
)
_SHOW = sa.insert(leases)
_SHOWN = sa.select(leases.c.pair).where(leases.c.rater == param("rater"))


class StaleRules(Exception):
    """The rules of the study were changed since this server read them: nothing was written."""


class Refused(Exception):
    """A request that our own pages never send: an unknown seat, a forged or foreign lease, an impossible id."""


@dataclass(frozen=True, slots=True)
class Seat:
    """A rater in one of their sittings; the signed cookie holds it."""

    rater: str
    sitting: int


@dataclass(frozen=True, slots=True)
class Moment:
    """One transaction and the rules under which it acts."""

    connection: sa.Connection
    now: float
    hit: Hit
    assignment: AssignmentRules
    gate: GateRule
    seed: int
    secret: str
    checks: tuple[str, ...]
    revision: str | None


@dataclass(frozen=True, slots=True)
class SeatedRater:
    """A rater in a sitting, as the transaction found them."""

    seat: Seat
    status: RaterStatus
    slots: str
    """As long as the sitting."""
    life: Life
    finished: bool
    consent: str | None
    instructed: int
    last_vote: int | None
    last_token: str | None
    done: int
    lefts: Mapping[Side, int]
    """How often each response stood on the left for this rater."""
    state: str
    waiting: Any
    """The row of the lease that waits for them, held or expired in whatever sitting, with its pair; else None."""


@dataclass(frozen=True, slots=True)
class ShownPair:
    """What is to be shown; `token` is all that a rater's page learns of it beside the texts."""

    token: str
    pair: Pair
    left: Side
    expires: float


@dataclass(frozen=True, slots=True)
class Step:
    """Where a rater stands; `done` and `of` count the pairs of this sitting, hidden checks among them."""

    stage: Stage
    done: int = 0
    of: int = 0
    number: int = 1
    shown: ShownPair | None = None
    undo: str | None = None
    """The token of the answer that can be taken back: whoever gave it knows it."""
    more: bool = False
    """After a sitting: another one would have a pair for this rater."""


def seated_rater(moment: Moment, seat: Seat) -> SeatedRater:
    """Read who sits there."""
    (found,) = fetch(moment.connection, (_SEAT, {"rater": seat.rater, "sitting": seat.sitting}))
    return _seated(moment, found, seat)


def _seated(moment: Moment, found: Sequence[Any], seat: Seat) -> SeatedRater:
    if not found:
        raise Refused("nobody sits there")
    row = found[0]
    if row.revision != moment.revision:
        raise StaleRules
    full = row.done >= len(row.slots)
    return SeatedRater(
        seat=seat,
        status=row.status,
        slots=row.slots,
        life=_life(moment, row),
        # a sitting in which nothing was to be had is not over: there may be something later
        finished=row.finished is not None and row.done > 0,
        consent=row.consent,
        instructed=row.instructed,
        last_vote=row.last_vote,
        last_token=row.last_token,
        done=row.done,
        lefts=_lefts(row),
        state=row.study,
        waiting=row if row.waiting is not None and not full else None,
    )


def _life(moment: Moment, row: Any) -> Life:
    unseen = max(0, len(moment.checks) - row.seen)
    return Life(row.reals, row.checks, row.last_check or 0, unseen)


def _lefts(row: Any) -> dict[Side, int]:
    """How often each response stood on the left, from a row's columns left_a and left_b."""
    return {"a": row.left_a, "b": row.left_b}


def step_without_writing(moment: Moment, seated: SeatedRater) -> Step | None:
    """Where the rater stands, if nothing has to be written; consent and worked examples come before any pair."""
    done, row = seated.done, seated.waiting
    if seated.consent != moment.hit.consent_version:
        return Step("consent")
    if seated.instructed < len(moment.hit.examples):
        return Step("instructions", number=seated.instructed + 1)
    if seated.status == "blocked":
        return Step("no_more", done)
    if seated.finished:
        return _over(moment, seated)
    if seated.state != "running":
        return Step("paused" if seated.state == "paused" else "stopped", done, len(seated.slots))
    if row is None or row.state != "held" or row.expires <= moment.now:
        return None
    return _showing(seated, ShownPair(row.token, pool.pair_from(row.body), row.left, row.expires))


def next_step(moment: Moment, seat: Seat) -> Step:
    """Where the rater stands; a pair is leased if one is due.

    What waits for them comes first, before a new pair: reloading the page must not deal another one.
    """
    seated, offer = _seated_with_offer(moment, seat)
    if seen := step_without_writing(moment, seated):
        return seen
    while seated.waiting is not None:
        if renewed := _renew(moment, seated.waiting):
            return _showing(seated, renewed)
        seated, offer = _seated_with_offer(moment, seat)
    outcome = _next(moment, seated, offer)
    if outcome == "finished":
        return _finish(moment, seated)
    return Step("wait", seated.done, len(seated.slots)) if outcome == "wait" else _showing(seated, outcome)


def end_early(moment: Moment, seat: Seat) -> Step:
    """End a sitting that has to wait, because of others or of a pause; what was done in it is handed in as it is."""
    step = next_step(moment, seat)
    if step.stage not in ("wait", "paused") or not step.done:
        return step
    return _finish(moment, seated_rater(moment, seat))


def _seated_with_offer(moment: Moment, seat: Seat) -> tuple[SeatedRater, Offer]:
    """Who sits there, and what they would be offered if a real pair is due."""
    found, fewest, due = fetch(
        moment.connection,
        (_SEAT, {"rater": seat.rater, "sitting": seat.sitting}),
        (NEXT_PAIR, {"rater": seat.rater}),
        (DUE, {"now": moment.now}),
    )
    return _seated(moment, found, seat), Offer(fewest[0] if fewest else None, due)


def _showing(seated: SeatedRater, shown: ShownPair) -> Step:
    return Step("task", seated.done, len(seated.slots), shown=shown, undo=seated.last_token)


def _renew(moment: Moment, row: Any) -> ShownPair | None:
    """Show it again if the pair still has room for it; None: another one is to take its place."""
    k, was_held = moment.assignment.votes_per_pair, row.state == "held"
    room = row.kind == "check" or (row.open and row.live - was_held < k)
    expires = moment.now + moment.assignment.lease_seconds
    values = {"state": "held", "expires": expires} if room else {"state": "void"}
    moment.connection.execute(sa.update(leases).where(leases.c.lease == row.lease).values(values))
    later(moment.connection, pool.recount(row.pair, k, held=int(room) - int(was_held)))
    return ShownPair(row.token, pool.pair_from(row.body), row.left, expires) if room else None


def _next(moment: Moment, seated: SeatedRater, offer: Offer) -> ShownPair | Literal["wait", "finished"]:
    """Lease what is due: a hidden check, else the next real pair, until the sitting is as long as it said.

    So a sitting has as many pairs as it says, however many checks the rater has seen. Nobody is put through the first
    checks when no real pair is left that could follow them.
    """
    rater = seated.seat.rater
    if seated.done == 0 and (offer.pair is None or at_cap(moment.connection, rater, moment.assignment)):
        return "finished"  # told before the checks, not after them
    if seated.done >= len(seated.slots):
        return "finished"
    if check_is_due(moment.assignment, seated.life, seed=moment.seed, rater=rater):
        return _lease(moment, seated, _next_check(moment, rater))
    return _next_real(moment, seated, offer)


def _next_check(moment: Moment, rater: str) -> Any:
    """The row of the next check in this rater's own order."""
    order = _own_order(moment.checks, moment.seed, rater)
    (seen,) = fetch(moment.connection, (_SHOWN, {"rater": rater}))
    known = {row.pair for row in seen}
    return named(moment.connection, next(check for check in order if check not in known))


@lru_cache(1024)
def _own_order(checks: tuple[str, ...], seed: int, rater: str) -> tuple[str, ...]:
    return tuple(sorted(checks, key=lambda check: child_seed(seed, "check", rater, check)))


def _next_real(moment: Moment, seated: SeatedRater, offer: Offer) -> ShownPair | Literal["wait", "finished"]:
    if at_cap(moment.connection, seated.seat.rater, moment.assignment):
        return "finished"
    if offer.due:
        # only now, not in every request: releasing is a write, and the pool matters only when a pair is chosen
        pool.release(moment.connection, offer.due, moment.assignment.votes_per_pair, moment.now)
        seated, offer = _seated_with_offer(moment, seated.seat)
    row = offer.pair
    decision = verdict(row and Fewest(row.pair, row.votes, row.live - row.votes), moment.assignment)
    return _lease(moment, seated, row) if decision == "show" else decision


def _lease(moment: Moment, seated: SeatedRater, row: Any) -> ShownPair:
    seat = seated.seat
    left = left_side(_lefts(row), seated.lefts, seed=moment.seed, name=(seat.rater, row.pair))
    token, expires = lease_token(moment.secret, seat.rater, row.pair, 0), moment.now + moment.assignment.lease_seconds
    facts = {"left": left, "sitting": seat.sitting, "slot": seated.life.reals}
    lease = {"token": token, "attempt": 0, "rater": seat.rater, "pair": row.pair, "kind": row.kind, "state": "held"}
    later(
        moment.connection,
        (_SHOW, lease | facts | {"issued": moment.now, "expires": expires}),
        pool.recount(row.pair, moment.assignment.votes_per_pair, held=1),
        event_log.entry("shown", moment.now, seat.rater, row.pair, **facts),
    )
    return ShownPair(token, pool.pair_from(row.body), left, expires)


def _finish(moment: Moment, seated: SeatedRater) -> Step:
    """The sitting is over if anything was done in it; where nothing was to be had, it may still be used later."""
    if not seated.done:
        return _over(moment, seated)
    seat = seated.seat
    here = sa.and_(sittings.c.rater == seat.rater, sittings.c.sitting == seat.sitting)
    moment.connection.execute(sa.update(sittings).where(here).values(finished=moment.now))
    event_log.append(moment.connection, "finished", moment.now, seat.rater, sitting=seat.sitting, done=seated.done)
    return _over(moment, seated)


def _over(moment: Moment, seated: SeatedRater) -> Step:
    of, running = len(seated.slots), seated.state == "running"
    found = outlook(moment.connection, seated.seat.rater, moment.assignment)
    stage = ending(found, whole=0 < of <= seated.done, stopped=seated.state == "stopped")
    undo = seated.last_token if running else None  # a pair taken back could not be judged again
    return Step(stage, seated.done, of, undo=undo, more=found.now and running)
