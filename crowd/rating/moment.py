"""What every transaction of a rater goes by: the rules in force, who sits there, and which pair comes next for them.

The rules are made of the HIT and of the checks in the store, which keeps every key of the HIT that a server last took
up. Servers, commands and the researcher's page go by that, so that a file that was edited meanwhile cannot make two of
them count differently.

The next pair is the open one, never shown to the rater, with the fewest live votes. Ties are broken by a random order
that is fixed for the study. The database chooses, not Python, because its index over (open, version, live, position)
finds the next pair among 100,000 as fast as among 100. Whether it may be shown now says leasing.py, which holds
it for the rater.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from seedvote.crowd.forms.form import HitForm
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.hit.hit import Hit, hit_as_kept, hit_from_kept
from seedvote.crowd.rating.assignment import AssignmentRules, Life
from seedvote.crowd.rating.gate import GateRule, rule_within
from seedvote.crowd.store import statements as sql
from seedvote.crowd.store.statements import FIRST_SOURCE, IS_LAID, IS_UNSEEN, OWN_VERSION, REVISION, SIDES
from seedvote.crowd.store.store import Query, fetch, put
from seedvote.crowd.store.tables import leases, pairs, raters, study_settings
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import RaterStatus, Source

# The rules in force

KEPT = "hit"
RICH = "rich"  # the setting that says whether texts hold more than words


@dataclass(frozen=True, slots=True)
class StudyRules:
    """Under which rules a study runs."""

    hit: Hit
    form: HitForm
    """What is shown at once, and how it is answered."""
    assignment: AssignmentRules
    gate: GateRule
    checks: tuple[str, ...]
    """The checks that raters may still be shown."""
    parts: Mapping[int, tuple[str, ...]]
    """Version -> those that its raters see; 0 is there in any case, for who has no version."""
    fewest_checks: int
    """The checks that a rater may be shown: of several versions, of the one with the fewest."""
    offered: int
    """The pairs that a rater may be shown beside them: of several versions, of the smallest."""
    revision: str | None
    """Turned whenever anything here changes, so that every server of the study sees it in its next transaction."""
    is_rich: bool = False
    """Whether texts hold more than words: images, recordings, calls of tools."""

    @property
    def has_versions(self) -> bool:
        """Whether raters see different parts of the study."""
        return len(self.parts) > 1

    def checks_of(self, version: int | None) -> tuple[str, ...]:
        """The checks that a rater of this version sees."""
        return self.parts.get(version or 0, self.parts[0])


# Statements are built once, because with SQLAlchemy building one costs more than running it.
_VALID = sa.and_(pairs.c.kind == "check", sa.or_(pairs.c.mended.is_(None), pairs.c.mended != "void"))
_CHECKS = sa.select(pairs.c.pair, pairs.c.version).where(_VALID)
_OFFERED = sa.select(pairs.c.version, sa.func.count().label("n")).where(pairs.c.offered == 1).group_by(pairs.c.version)
_SETTING = sa.select(study_settings.c.value).where(study_settings.c.key == param("key"))
# By its answer, `read_value`, a server sees that the rules are no longer those that it has read.
REVISION_NOW: Query = (_SETTING, {"key": REVISION})


def make_rules(connection: sa.Connection, hit: Hit) -> StudyRules:
    """The rules that this HIT makes in this store."""
    checks, counts, revision = fetch(connection, (_CHECKS, {}), (_OFFERED, {}), REVISION_NOW)
    offered = {row.version: row.n for row in counts}
    versions = [version for version in offered if version] or [0]
    parts = {v: tuple(row.pair for row in checks if row.version in (0, v)) for v in (0, *versions)}
    fewest = min(len(parts[version]) for version in versions)
    gate = rule_within(GateRule(hit.max_failures, hit.count_failures, hit.first_checks), fewest)
    assignment = replace(make_assignment_rules(hit), first_checks=gate.first_checks)
    smallest = min(offered.get(0, 0) + (offered[version] if version else 0) for version in versions)
    names = tuple(row.pair for row in checks)
    is_rich = bool(_read_setting(connection, RICH))
    form, now = FORMS[hit.form], read_value(revision)
    return StudyRules(hit, form, assignment, gate, names, parts, fewest, smallest, now, is_rich)


def rules_in_force(connection: sa.Connection) -> StudyRules:
    """The rules of the HIT that the store keeps."""
    hit = kept_hit(connection)
    if hit is None:
        raise InputError(
            "This study was begun by an older version. Serve it once with this one: python -m crowd serve."
        )
    return make_rules(connection, hit)


def kept_hit(connection: sa.Connection) -> Hit | None:
    """The HIT that is in force; None where no server of this version has served the study."""
    text = _read_setting(connection, KEPT)
    return None if text is None else hit_from_kept(json.loads(text))


def keep_hit(connection: sa.Connection, hit: Hit) -> None:
    """Keep every key of the HIT from now on."""
    put(connection, KEPT, json.dumps(hit_as_kept(hit), ensure_ascii=False, sort_keys=True))
    turn_revision(connection)


def turn_revision(connection: sa.Connection) -> None:
    """Let every server read the rules again before it writes anything."""
    put(connection, REVISION, str(1 + int(_read_setting(connection, REVISION) or 0)))


def first_source(connection: sa.Connection) -> Source | None:
    """Where the first vote of the study came from: it makes the study one of people or of simulated raters."""
    (rows,) = fetch(connection, (FIRST_SOURCE, {}))
    return read_source(rows)


def read_source(rows: Sequence[Any]) -> Source | None:
    """The source among the rows of FIRST_SOURCE."""
    return rows[0].source if rows else None


def is_same_kind(first: Source | None, source: Source) -> bool:
    """Whether votes of this source may join a study that began with the other.

    >>> is_same_kind("local", "mturk"), is_same_kind("local", "simulated"), is_same_kind(None, "simulated")
    (True, False, True)
    """
    return first is None or (first == "simulated") == (source == "simulated")


def read_value(rows: Sequence[Any]) -> str | None:
    """The value among the rows of a setting."""
    return rows[0].value if rows else None


def _read_setting(connection: sa.Connection, key: str) -> str | None:
    (rows,) = fetch(connection, (_SETTING, {"key": key}))
    return read_value(rows)


def make_assignment_rules(hit: Hit) -> AssignmentRules:
    """What assignment needs of hit.toml."""
    return AssignmentRules(
        votes_per_pair=hit.votes_per_pair,
        pairs_per_sitting=hit.pairs_per_sitting,
        first_checks=hit.first_checks,
        later_checks=hit.later_checks,
        lease_seconds=hit.lease_minutes * 60,
        late_votes=hit.late_votes,
        max_votes_per_rater=hit.max_votes_per_rater,
    )


# Who sits there


class StaleRules(Exception):
    """The rules of the study were changed since this server read them: nothing was written."""


class NeedsStudy(Exception):
    """This change touches more than its own rows, so it may not share the write lock: nothing was written."""


class NeedsBatch(Exception):
    """In this adaptive study no pair comes up for the rater before another batch is drawn: nothing was written."""


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
    may_draw: bool = False
    """Whether a batch may be drawn for this rater, which is done before the transaction is made once more."""

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
    pace: float | None
    """The mean seconds of their answers so far."""
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


def read_seated_rater(moment: Moment, seat: Seat) -> SeatedRater:
    """Read who sits there."""
    (rows,) = fetch(moment.connection, (sql.SEAT, {"rater": seat.rater, "sitting": seat.sitting}))
    return read_seat_rows(moment, rows, seat)


def read_seat_rows(moment: Moment, rows: Sequence[Any], seat: Seat) -> SeatedRater:
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
        life=count_life(moment, row, row.version),
        timed=timed,
        # a sitting in which no pair was to be had is not over: there may be one later
        finished=row.finished is not None and row.judged_here > 0,
        consent=row.consent,
        instructed=row.instructed,
        about=row.about,
        last_vote=row.last_vote,
        last_token=row.last_token,
        pace=row.pace,
        done=row.done,
        judged=row.judged_here,
        is_full=full,
        lefts={"a": row.left_a, "b": row.left_b},
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


def count_life(moment: Moment, row: Any, version: int | None) -> Life:
    unseen = max(0, len(moment.rules.checks_of(version)) - row.seen)
    return Life(row.reals, row.checks, row.last_check or 0, unseen)


# Which pair comes next

FRONT = (-1, 0)  # before every pair
# Statements are built once, because with SQLAlchemy building one costs more than running it.
_LITERAL_ONE: sa.ColumnClause[int] = sa.literal_column("1")  # PostgreSQL plans for one row only if it sees LIMIT 1
_HAS_ROOM = sa.or_(pairs.c.target.is_(None), pairs.c.live < pairs.c.target)


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

    @property
    def is_ahead(self) -> bool:
        """Whether some pairs are passed over."""
        return self._at > FRONT

    def forget(self) -> None:
        """Pairs may have come back."""
        self._at = FRONT


def _select_first(version: Any, *, locked: bool, bounded: bool = False) -> sa.Select[Any]:
    """The open pair of a version that comes next; `locked`: that nobody is changing now; `bounded`: by a frontier.

    Of an adaptive study one with room: its pairs get unequal numbers of votes, so that with the fewest may be full.
    """
    query = sa.select(pairs).where(pairs.c.open == 1, pairs.c.version == version, IS_UNSEEN, _HAS_ROOM)
    if bounded:
        query = query.where(sa.tuple_(pairs.c.live, pairs.c.position) >= sa.tuple_(param("live"), param("position")))
    first = query.order_by(pairs.c.live, pairs.c.position).limit(_LITERAL_ONE)
    return first.with_for_update(skip_locked=True) if locked else first


def _select_of_versions(*, locked: bool) -> sa.Select[Any]:
    """Of the pairs for everybody and those of the rater's own version: two searches, as one index order serves each."""
    firsts = [
        _select_first(0, locked=locked).subquery("of_all"),
        _select_first(OWN_VERSION, locked=locked).subquery("of_own"),
    ]
    candidates = sa.union_all(*(sa.select(first) for first in firsts)).subquery("both")
    return sa.select(candidates).order_by(candidates.c.live, candidates.c.position).limit(_LITERAL_ONE)


def _add_sides(query: sa.Select[Any]) -> sa.Select[Any]:
    """The one pair, and how often each of its responses stood on the left."""
    pair = query.subquery()
    times_shown = sa.select(sa.func.count()).where(leases.c.pair == pair.c.pair, IS_LAID)
    return sa.select(pair, *(times_shown.where(leases.c.left == side).label(f"left_{side}") for side in SIDES))


# The next pair for `rater`, by whether it is locked and whether the study has versions. leasing.py asks it with its
# other questions, because on PostgreSQL every message prolongs the time for which rows are locked.
_NEXT = {(locked, True): _add_sides(_select_of_versions(locked=locked)) for locked in (False, True)}
_NEXT |= {(locked, False): _add_sides(_select_first(0, locked=locked, bounded=locked)) for locked in (False, True)}
NEXT_PAIR = _NEXT[False, True]


def query_next_pair(rater: str, *, frontier: Frontier | None, versions: bool) -> Query:
    """The next pair for this rater, as a question; locked, if it is searched from a frontier on."""
    if frontier is None:
        return _NEXT[False, versions], {"rater": rater}
    live, position = frontier.where()
    return _NEXT[True, versions], {"rater": rater, "live": live, "position": position}


NAMED = _add_sides(sa.select(pairs).where(pairs.c.pair == param("pair")))


@dataclass(frozen=True, slots=True)
class Offer:
    """What there is for a rater, as rows of the store."""

    pair: Any
    """The row of NEXT_PAIR, or None: the rater has seen every pair that is short of votes (of an adaptive study: has
    room)."""
    due: Sequence[Any]
    """The rows of `query_due`. While there are any, there may be something better."""
    check: Any = None
    """The row of the hidden check that comes when one is due, where it was asked for beforehand."""


def read_pair_row(connection: sa.Connection, pair: str) -> Any:
    """The row of one pair, with the columns of NEXT_PAIR."""
    return fetch(connection, (NAMED, {"pair": pair}))[0][0]


_OPEN_PARTS = (
    sa.select(pairs.c.version, sa.func.sum(pairs.c.open).label("open"))
    .add_columns(sa.func.count().filter(pairs.c.open == 1, pairs.c.live < sql.WANTED).label("free"))
    .where(pairs.c.version > 0, pairs.c.offered == 1)
    .group_by(pairs.c.version)
)
_AT_WORK = (
    sa.select(raters.c.version, sa.func.count().label("raters"))
    .where(raters.c.status.not_in(("blocked", "excluded")))
    .group_by(raters.c.version)
)


def choose_version(connection: sa.Connection, votes_per_pair: int) -> int | None:
    """The version of a newcomer: one with a pair for them now, else one short of votes; then with the fewest raters."""
    (parts,) = fetch(connection, (_OPEN_PARTS, {"k": votes_per_pair}))
    at_work = {row.version: row.raters for row in connection.execute(_AT_WORK)} if parts else {}
    order = [(row.open == 0, row.free == 0, at_work.get(row.version, 0), row.version) for row in parts]
    return min(order)[-1] if order else None
