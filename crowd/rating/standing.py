"""The one writer of a rater's status, of `counted`, and of every pair's counters that follow from them.

A rater's status follows from the outcomes of their checks and from what was decided about them (gate.standing); a
vote may count while its rater is `passed`; of a pair's votes that may count the first k do (assignment.first_votes). So
nothing depends on the order in which raters were blocked, cleared or excluded: `settle` reads the facts and writes what
follows, for one rater after a check or for everybody after a change of rules, always in the caller's transaction.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from seedvote.crowd.rating.assignment import AssignmentRules, first_votes, is_eligible
from seedvote.crowd.rating.gate import GateRule, asked_of, standing, that_judge
from seedvote.crowd.store.statements import ITS_OUTCOMES, OUTCOMES, STANDING
from seedvote.crowd.store.store import EventKind, append_event, fetch, later, make_event
from seedvote.crowd.store.tables import HOLDS_PLACE, leases, pairs, raters, votes
from seedvote.dialogue.records import RaterStatus

MANY = 500  # more pairs than this are read all at once: databases do not take names without end

_RATERS = sa.select(raters.c.rater, *STANDING).order_by(raters.c.rater)
_ONE = _RATERS.where(raters.c.rater == param("rater"))
_STANDS = sa.update(raters).where(raters.c.rater == param("this")).values(status=param("now"))
_ADMITTED = sa.update(raters).where(raters.c.rater == param("this")).values(asked=param("now"))
_COUNTS = sa.update(votes).where(votes.c.vote == param("this")).values(counted=param("now"))
_COUNTERS = (
    sa.update(pairs)
    .where(pairs.c.pair == param("this"))
    .values(votes=param("has"), live=param("with_held"), open=param("short"))
)


@dataclass(frozen=True, slots=True)
class Effect:
    """What settling changed: raters by (status before, status now), and votes and pairs by number."""

    raters: Mapping[tuple[RaterStatus, RaterStatus], int]
    gained: int
    lost: int
    opened: int
    closed: int

    def __bool__(self) -> bool:
        """Whether anything changed."""
        return bool(self.raters or self.gained or self.lost or self.opened or self.closed)

    def __add__(self, other: Effect) -> Effect:
        """What both changed."""
        moved = Counter(self.raters)
        moved.update(other.raters)
        return Effect(
            moved,
            self.gained + other.gained,
            self.lost + other.lost,
            self.opened + other.opened,
            self.closed + other.closed,
        )

    def says(self) -> str:
        """What a person is told of it."""
        moved = [f"{n} {before} now {after}" for (before, after), n in sorted(self.raters.items())]
        raters = f"Raters: {', '.join(moved)}. " if moved else ""
        return (
            f"{raters}Votes: {self.gained} count that did not, {self.lost} no longer do. "
            f"Pairs: {self.opened} open again, {self.closed} complete."
        )


@dataclass(frozen=True, slots=True)
class Recount:
    """What counting the votes of some pairs anew changed."""

    gained: int = 0
    lost: int = 0
    opened: int = 0
    closed: int = 0


def settle(
    connection: sa.Connection, assignment: AssignmentRules, gate: GateRule, now: float, rater: str | None = None
) -> Effect:
    """Write the status of one rater, or of all, and count anew whatever depends on it."""
    moved: dict[str, tuple[RaterStatus, RaterStatus]] = {}
    for row, (status, asked_checks) in _read_standings(connection, gate, rater):
        if asked_checks != row.asked:
            admitted = make_event("admitted", now, row.rater, asked=asked_checks)
            later(connection, (_ADMITTED, {"this": row.rater, "now": asked_checks}), admitted)
        if status != row.status:
            moved[row.rater] = (row.status, status)
            kind: EventKind = "blocked" if status == "blocked" else "standing"
            append_event(connection, kind, now, row.rater, before=row.status, after=status)
    if moved:
        connection.execute(_STANDS, [{"this": name, "now": after} for name, (_, after) in moved.items()])
        _free_pairs(connection, [name for name, (_, after) in moved.items() if after == "blocked"], now)
    touched = None if rater is None else _pairs_of(connection, moved)
    recount = count_anew(connection, assignment, touched)
    return Effect(Counter(moved.values()), recount.gained, recount.lost, recount.opened, recount.closed)


def count_anew(connection: sa.Connection, assignment: AssignmentRules, only: Collection[str] | None) -> Recount:
    """Count the votes of these pairs (None: of all) anew, and bring votes and pairs up to it."""
    if only is not None and not only:
        return Recount()
    changed, have = _recount_votes(connection, assignment, only)
    if changed:
        connection.execute(_COUNTS, changed)
    opened, closed = _write_counters(connection, assignment.votes_per_pair, have, only)
    gained = sum(row["now"] for row in changed)
    return Recount(gained, len(changed) - gained, opened, closed)


def follows(row: Any, failed: Sequence[bool], gate: GateRule) -> tuple[RaterStatus, int | None]:
    """Status and `asked` of a rater, a row with STANDING, after checks with these outcomes."""
    asked_checks = asked_of(len(failed), gate, row.asked)
    broke = row.broke is not None
    return standing(failed, gate, ruling=row.ruling, broke=broke, asked_checks=asked_checks), asked_checks


def moves(row: Any, outcomes: Sequence[Any], failed: bool, gate: GateRule, *, waits: bool) -> bool:
    """Whether one more check changes anything of a rater; `row` has STANDING and the check's `lease`."""
    known = {check.lease: (bool(check.failed and not check.forgiven), bool(check.waits)) for check in outcomes}
    known |= {row.lease: (failed, waits)}
    return follows(row, that_judge([known[lease] for lease in sorted(known)]), gate) != (row.status, row.asked)


def _read_standings(
    connection: sa.Connection, gate: GateRule, rater: str | None
) -> list[tuple[Any, tuple[RaterStatus, int | None]]]:
    if rater is None:
        known, answered = connection.execute(_RATERS).all(), connection.execute(OUTCOMES).all()
    else:
        known, answered = fetch(connection, (_ONE, {"rater": rater}), (ITS_OUTCOMES, {"rater": rater}))
    outcomes = defaultdict[str, list[tuple[bool, bool]]](list)
    for row in answered:
        outcomes[row.rater].append((bool(row.failed and not row.forgiven), bool(row.waits)))
    return [(row, follows(row, that_judge(outcomes[row.rater]), gate)) for row in known]


def _free_pairs(connection: sa.Connection, blocked: Sequence[str], now: float) -> None:
    """What a blocked rater holds goes back to the pool; whoever is unblocked finds it again, if it has room."""
    for name in blocked:
        is_held = sa.and_(leases.c.rater == name, HOLDS_PLACE)
        free = connection.scalars(sa.select(leases.c.pair).where(is_held, leases.c.kind.in_(("real", "control")))).all()
        connection.execute(sa.delete(leases).where(is_held, leases.c.state == "reserved"))
        connection.execute(sa.update(leases).where(is_held).values(state="expired", expires=now))
        connection.execute(sa.update(pairs).where(pairs.c.pair.in_(free)).values(live=pairs.c.live - 1))


def _pairs_of(connection: sa.Connection, moved: Collection[str]) -> list[str]:
    is_judgement = sa.and_(votes.c.rater.in_(moved), votes.c.failed.is_(None))
    return list(connection.scalars(sa.select(votes.c.pair).where(is_judgement))) if moved else []


def _match_pairs(column: sa.Column[Any], only: Collection[str] | None) -> sa.ColumnElement[bool]:
    return sa.true() if only is None or len(only) > MANY else column.in_(only)


def _recount_votes(
    connection: sa.Connection, assignment: AssignmentRules, only: Collection[str] | None
) -> tuple[list[dict[str, int]], dict[str, int]]:
    """The votes whose `counted` changes, and the places taken of each pair that has votes."""
    v = votes.c
    columns = (v.vote, v.pair, v.late, v.aside, v.waits, v.counted, raters.c.status, pairs.c.target)
    query = sa.select(*columns).join(raters, raters.c.rater == v.rater).join(pairs, pairs.c.pair == v.pair)
    query = query.where(v.failed.is_(None), _match_pairs(v.pair, only)).order_by(v.pair, v.vote)
    changed, have = [], {}
    for pair, group in groupby(connection.execute(query), key=lambda row: row.pair):
        rows = list(group)
        may = [
            is_eligible(row.status, late=bool(row.late), aside=bool(row.aside), late_votes=assignment.late_votes)
            for row in rows
        ]
        k = assignment.votes_per_pair if rows[0].target is None else rows[0].target
        places = first_votes(may, k)
        have[pair] = sum(places)
        now = [place and not row.waits for place, row in zip(places, rows, strict=True)]
        changed += [{"this": r.vote, "now": int(n)} for r, n in zip(rows, now, strict=True) if r.counted != n]
    return changed, have


def _write_counters(
    connection: sa.Connection, k: int, have: Mapping[str, int], only: Collection[str] | None
) -> tuple[int, int]:
    """Bring votes, live and open up to the places taken and the leases held; how many pairs opened and closed."""
    holding = sa.select(leases.c.pair, sa.func.count().label("held")).where(HOLDS_PLACE)
    held_leases = {
        row.pair: row.held
        for row in connection.execute(holding.where(_match_pairs(leases.c.pair, only)).group_by(leases.c.pair))
    }
    rows = connection.execute(sa.select(pairs).where(pairs.c.kind != "check", _match_pairs(pairs.c.pair, only))).all()
    changed = []
    for row in rows:
        number = have.get(row.pair, 0)
        wanted = k if row.target is None else row.target
        now = (number, number + held_leases.get(row.pair, 0), int(row.offered == 1 and number < wanted))
        if now != (row.votes, row.live, row.open):
            changed.append((row, dict(zip(("has", "with_held", "short"), now, strict=True))))
    if changed:
        connection.execute(_COUNTERS, [{"this": row.pair, **now} for row, now in changed])
    opened = sum(now["short"] > row.open for row, now in changed)
    return opened, sum(now["short"] < row.open for row, now in changed)
