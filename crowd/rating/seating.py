"""Who sits there: a rater in a sitting, read in one message with all that decides what comes next.

Everything is read inside the caller's one transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.rating.assignment import Life
from seedvote.crowd.rating.next_pair import Frontier
from seedvote.crowd.rating.rules import StudyRules
from seedvote.crowd.store import statements as sql
from seedvote.crowd.store.store import fetch
from seedvote.dialogue.records import RaterStatus


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
    judged: int
    """Of those, the pairs that were no checks."""
    is_full: bool
    """Whether the sitting is as long as it said. One of checks alone goes on until a pair was judged."""
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
    (rows,) = fetch(moment.connection, (sql.SEAT, {"rater": seat.rater, "sitting": seat.sitting}))
    return seated_from(moment, rows, seat)


def seated_from(moment: Moment, rows: Sequence[Any], seat: Seat) -> SeatedRater:
    if not rows:
        raise Refused("nobody sits there")
    row = rows[0]
    if row.revision != moment.rules.revision:
        raise StaleRules
    full = row.done >= len(row.slots) and row.judged_here > 0
    # a sitting in which only checks were answered is not over: its pair is to come
    timed = row.judged_here > 0 and _time_is_up(moment, row)
    return SeatedRater(
        seat=seat,
        status=row.status,
        slots=row.slots,
        life=life_of(moment, row, row.version),
        timed=timed,
        # a sitting in which no pair was to be had is not over: there may be one later
        finished=row.finished is not None and row.judged_here > 0,
        consent=row.consent,
        instructed=row.instructed,
        about=row.about,
        last_vote=row.last_vote,
        last_token=row.last_token,
        done=row.done,
        judged=row.judged_here,
        is_full=full,
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
