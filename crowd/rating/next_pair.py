"""Which pair a rater sees next: the open one, never shown to them, with the fewest live votes.

Ties are broken by a random order that is fixed for the study. The database chooses, not Python, because its index over
(open, version, live, position) finds the next pair among 100,000 as fast as among 100. Whether the pair may be shown
now is for `assignment.verdict` to say; leasing.py holds it for the rater.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from seedvote.crowd.store.statements import IS_LAID, OWN_VERSION, SIDES
from seedvote.crowd.store.store import Query, fetch
from seedvote.crowd.store.tables import leases, pairs, raters

FRONT = (-1, 0)  # before every pair
# Statements are built once, because with SQLAlchemy building one costs more than running it.
_LITERAL_ONE: sa.ColumnClause[int] = sa.literal_column("1")  # PostgreSQL plans for one row only if it sees LIMIT 1
_SEEN = sa.exists().where(leases.c.rater == param("rater"), leases.c.pair == pairs.c.pair)


class Frontier:
    """How far the last searches of this process came in the order of pairs, for a moment.

    PostgreSQL passes all that was taken from the front of the order until the table is vacuumed, which after 200,000
    pairs takes longer than everything else. A pair that comes back before the frontier waits for that moment.
    """

    HOLDS = 1.0  # seconds

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._at, self._until = FRONT, -math.inf

    def where(self) -> tuple[int, int]:
        """Live votes and position from which to search."""
        if self._clock() >= self._until:
            self._at, self._until = FRONT, self._clock() + self.HOLDS
        return self._at

    def reached(self, row: Any) -> None:
        """The search found this row."""
        self._at = max(self._at, (row.live, row.position))

    def forget(self) -> None:
        """Pairs may have come back."""
        self._at = FRONT


def _first(version: Any, *, locked: bool, bounded: bool = False) -> sa.Select[Any]:
    """The open pair of a version that comes next; `locked`: that nobody is changing now; `bounded`: by a frontier."""
    query = sa.select(pairs).where(pairs.c.open == 1, pairs.c.version == version, ~_SEEN)
    if bounded:
        query = query.where(sa.tuple_(pairs.c.live, pairs.c.position) >= sa.tuple_(param("live"), param("position")))
    first = query.order_by(pairs.c.live, pairs.c.position).limit(_LITERAL_ONE)
    return first.with_for_update(skip_locked=True) if locked else first


def _of_versions(*, locked: bool) -> sa.Select[Any]:
    """Of the pairs for everybody and those of the rater's own version: two searches, as one index order serves each."""
    firsts = [_first(0, locked=locked).subquery("of_all"), _first(OWN_VERSION, locked=locked).subquery("of_own")]
    candidates = sa.union_all(*(sa.select(first) for first in firsts)).subquery("both")
    return sa.select(candidates).order_by(candidates.c.live, candidates.c.position).limit(_LITERAL_ONE)


def _with_sides(query: sa.Select[Any]) -> sa.Select[Any]:
    """The one pair, and how often each of its responses stood on the left."""
    pair = query.subquery()
    times_shown = sa.select(sa.func.count()).where(leases.c.pair == pair.c.pair, IS_LAID)
    return sa.select(pair, *(times_shown.where(leases.c.left == side).label(f"left_{side}") for side in SIDES))


# The next pair for `rater`, by whether it is locked and whether the study has versions. leasing.py asks it with its
# other questions, because on PostgreSQL every message prolongs the time for which rows are locked.
_NEXT = {(locked, True): _with_sides(_of_versions(locked=locked)) for locked in (False, True)}
_NEXT |= {(locked, False): _with_sides(_first(0, locked=locked, bounded=locked)) for locked in (False, True)}
NEXT_PAIR = _NEXT[False, True]


def next_pair_for(rater: str, *, frontier: Frontier | None, versions: bool) -> Query:
    """The next pair for this rater, as a question; locked, if it is searched from a frontier on."""
    if frontier is None:
        return _NEXT[False, versions], {"rater": rater}
    live, position = frontier.where()
    return _NEXT[True, versions], {"rater": rater, "live": live, "position": position}


NAMED = _with_sides(sa.select(pairs).where(pairs.c.pair == param("pair")))


@dataclass(frozen=True, slots=True)
class Offer:
    """What there is for a rater, as rows of the store."""

    pair: Any
    """The row of NEXT_PAIR, or None: the rater has seen every pair that is short of votes."""
    due: Sequence[Any]
    """The rows of `due_by`. While there are any, there may be something better."""
    check: Any = None
    """The row of the hidden check that comes when one is due, where it was asked for beforehand."""


def pair_row(connection: sa.Connection, pair: str) -> Any:
    """The row of one pair, with the columns of NEXT_PAIR."""
    return fetch(connection, (NAMED, {"pair": pair}))[0][0]


_OPEN_PARTS = (
    sa.select(pairs.c.version, sa.func.sum(pairs.c.open).label("open"))
    .add_columns(sa.func.count().filter(pairs.c.open == 1, pairs.c.live < param("k")).label("free"))
    .where(pairs.c.version > 0, pairs.c.offered == 1)
    .group_by(pairs.c.version)
)
_AT_WORK = (
    sa.select(raters.c.version, sa.func.count().label("raters"))
    .where(raters.c.status.not_in(("blocked", "excluded")))
    .group_by(raters.c.version)
)


def version_for(connection: sa.Connection, votes_per_pair: int) -> int | None:
    """The version of a newcomer: one with a pair for them now, else one short of votes; then with the fewest raters."""
    (parts,) = fetch(connection, (_OPEN_PARTS, {"k": votes_per_pair}))
    at_work = {row.version: row.raters for row in connection.execute(_AT_WORK)} if parts else {}
    order = [(row.open == 0, row.free == 0, at_work.get(row.version, 0), row.version) for row in parts]
    return min(order)[-1] if order else None
