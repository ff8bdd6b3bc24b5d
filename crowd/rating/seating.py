"""Who sits there: a rater in a sitting, read in one message with all that decides what comes next.

Everything is read inside the caller's one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from crowd.rating.assignment import Life
from crowd.rating.doors import ASKED_LATER
from crowd.rating.next_pair import IS_LAID, SIDES, Frontier
from crowd.rating.rules import REVISION, StudyRules
from crowd.store.store import fetch
from crowd.store.tables import leases, pairs, raters, sittings, study_settings, votes
from dialogue.records import RaterStatus

_RATER, _SITTING = raters.c.rater == param("rater"), sittings.c.sitting == param("sitting")
_HERE = leases.c.sitting == param("sitting")
_ANSWERED, CHECK = leases.c.state == "answered", leases.c.kind == "check"
HIDDEN = sa.or_(CHECK, leases.c.kind == "void")
_JUDGED = sa.and_(_ANSWERED, ~HIDDEN)
# whatever was shown and is unanswered waits in every sitting: a new one is no way round a check
WAITS = sa.or_(leases.c.state == "held", leases.c.state == "expired")
# but what a marketplace's person has in hand in one visit is not shown in another: each is paid for its own answers
_RESERVED = leases.c.state == "reserved"
_SOURCE = sa.select(sittings.c.source).where(_SITTING, sittings.c.rater == param("rater")).scalar_subquery()
_PAID_APART = sa.or_(*(_SOURCE.bool_op("=")(source) for source in ASKED_LATER))
_WAITS_HERE = sa.or_(leases.c.state == "expired", sa.and_(leases.c.state == "held", sa.or_(_HERE, ~_PAID_APART)))
LIFE = (
    sa.func.count().filter(_JUDGED).label("reals"),
    sa.func.count().filter(_ANSWERED, HIDDEN).label("checks"),
    sa.func.max(leases.c.slot).filter(CHECK).label("last_check"),
    sa.func.count().filter(CHECK).label("seen"),
)
_MINE = (
    sa.select(
        *LIFE,
        sa.func.count().filter(_HERE, _ANSWERED).label("done"),
        sa.func.min(leases.c.lease).filter(_WAITS_HERE).label("waiting"),
        sa.func.min(leases.c.slot).filter(leases.c.state == "held", ~_HERE).label("elsewhere"),
        sa.func.count().filter(_HERE, ~HIDDEN, sa.or_(_ANSWERED, leases.c.state == "held")).label("reals_here"),
        sa.func.max(leases.c.lease).filter(_HERE, _RESERVED).label("reserved"),
        sa.func.max(leases.c.expires).filter(_HERE, _RESERVED).label("reserved_until"),
        *(sa.func.count().filter(IS_LAID, leases.c.left == side).label(f"left_{side}") for side in SIDES),
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
    leases.c.attempt,
    leases.c.lease,
    leases.c.slot,
    leases.c.pair,
    leases.c.kind,
    leases.c.left,
    leases.c.state,
    leases.c.issued,
    leases.c.expires,
)
SEAT = (  # one row: who sits there, what they did, the lease that waits for them (else the reserved one) and its pair
    sa.select(raters.c.status, raters.c.consent, raters.c.instructed, raters.c.last_vote)
    .add_columns(raters.c.version, raters.c.about, sittings.c.begun)
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
    .outerjoin(leases, leases.c.lease == sa.func.coalesce(_MINE.c.waiting, _MINE.c.reserved))
    .outerjoin(pairs, pairs.c.pair == leases.c.pair)
    .where(_RATER)
)


LEFT = (  # what a rater has had in hand in another visit for so many pairs, as SEAT gives what waits
    sa.select(*_LEASE, pairs.c.open, pairs.c.live, pairs.c.body)
    .join_from(leases, pairs, pairs.c.pair == leases.c.pair)
    .where(leases.c.rater == param("rater"), leases.c.state == "held", ~_HERE, leases.c.slot <= param("upto"))
    .order_by(leases.c.lease)
    .limit(1)
)


class StaleRules(Exception):
    """The rules of the study were changed since this server read them: nothing was written."""


class NeedsStudy(Exception):
    """This change touches more than its own rows, so it may not share the write lock: nothing was written."""


class Refused(Exception):
    """A request that our own pages never send: an unknown seat, a forged or foreign lease, an impossible id."""


class WrongKind(Refused):
    """A person where the raters are simulated, or a simulated rater where they are people."""


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
    rules: StudyRules
    seed: int
    secret: str
    frontier: Frontier | None = None
    """Where other raters' changes are made meanwhile: from where a pair is chosen, and locked. Nothing may be touched
    then but this pair, the rater's own rows and the pair that is answered."""

    def needs_study(self) -> None:
        """What follows touches more."""
        if self.frontier is not None:
            raise NeedsStudy


@dataclass(frozen=True, slots=True)
class SeatedRater:
    """A rater in a sitting, as the transaction found them."""

    seat: Seat
    status: RaterStatus
    slots: str
    """As long as the sitting may be."""
    life: Life
    finished: bool
    timed: bool
    """Whether the sitting is, or was when it ended, as long as it may last."""
    consent: str | None
    instructed: int
    about: str | None
    """What they told about themselves, as JSON."""
    last_vote: int | None
    last_token: str | None
    done: int
    lefts: Mapping[str, int]
    """How often each response stood on the left for this rater."""
    state: str
    waiting: Any
    """The row of the lease that waits for them, held or expired in whatever sitting, with its pair; else None."""
    has_real: bool
    """Whether a real pair of this sitting was judged or is in hand."""
    reserved: int | None
    """The lease that is reserved for them in this sitting."""
    reserved_until: float
    reservation: Any
    """The row of the reserved lease with its pair, where nothing waits."""
    elsewhere: int | None
    """How many pairs they had judged when the oldest pair that they hold in another sitting was shown."""


def seated_rater(moment: Moment, seat: Seat) -> SeatedRater:
    """Read who sits there."""
    (found,) = fetch(moment.connection, (SEAT, {"rater": seat.rater, "sitting": seat.sitting}))
    return seated_from(moment, found, seat)


def seated_from(moment: Moment, found: Sequence[Any], seat: Seat) -> SeatedRater:
    if not found:
        raise Refused("nobody sits there")
    row = found[0]
    if row.revision != moment.rules.revision:
        raise StaleRules
    full = row.done >= len(row.slots)
    return SeatedRater(
        seat=seat,
        status=row.status,
        slots=row.slots,
        life=life_of(moment, row, row.version),
        timed=_time_is_up(moment, row),
        # a sitting in which nothing was to be had is not over: there may be something later
        finished=row.finished is not None and row.done > 0,
        consent=row.consent,
        instructed=row.instructed,
        about=row.about,
        last_vote=row.last_vote,
        last_token=row.last_token,
        done=row.done,
        lefts=left_counts(row),
        state=row.study,
        waiting=row if row.waiting is not None and not full else None,
        has_real=row.reals_here > 0,
        reserved=row.reserved,
        reserved_until=row.reserved_until or 0.0,
        reservation=row if row.waiting is None and row.reserved is not None else None,
        elsewhere=None if full else row.elsewhere,
    )


def _time_is_up(moment: Moment, row: Any) -> bool:
    until = moment.now if row.finished is None else row.finished
    limit = 60 * moment.rules.hit.sitting_minutes
    return bool(0 < limit <= until - row.begun)


def life_of(moment: Moment, row: Any, version: int | None) -> Life:
    unseen = max(0, len(moment.rules.checks_of(version)) - row.seen)
    return Life(row.reals, row.checks, row.last_check or 0, unseen)


def left_counts(row: Any) -> dict[str, int]:
    """How often each response stood on the left, from a row's columns left_a and left_b."""
    return {"a": row.left_a, "b": row.left_b}
