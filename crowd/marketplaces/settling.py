"""What a marketplace lists, compared with what was done here: who is to be paid, and whose votes can be trusted.

The address that brings a worker can be made up, so a visit counts as verified only when the marketplace lists it for
that very worker, and nothing is done about any other: no pay, no block. Nobody is ever rejected: what does not match is
listed and left to the researcher.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from seedvote.crowd.rating import identities
from seedvote.crowd.rating.moment import StudyRules
from seedvote.crowd.store.tables import DONE, leases, payments, raters, sittings, votes
from seedvote.dialogue.records import Source

# `screened`: the marketplace has paid a fixed amount; the last three end a visit without pay
ListedState = Literal["open", "waiting", "approved", "screened", "returned", "timed out", "rejected", "other"]
WITHDRAWN: tuple[ListedState, ...] = ("returned", "timed out", "rejected")


@dataclass(frozen=True, slots=True)
class Listed:
    """A visit as the marketplace lists it; `group` is its HIT or study."""

    key: str
    worker: str
    state: ListedState
    group: str


@dataclass(frozen=True, slots=True)
class LookUp:
    """What the marketplace lists, and what it could not be asked about."""

    rows: Sequence[Listed]
    problems: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class MarketVisit:
    """A visit as we saw it."""

    rater: str
    sitting: int
    worker: str
    key: str
    answers: int
    checks: int
    failed: int
    seconds: float
    begun: float
    finished: bool
    minutes: float | None  # from the first page to the last; None where they have not come to the last
    blocked: bool
    listed: bool  # whether the marketplace has ever confirmed it
    withdrawn: str | None

    @property
    def is_paid(self) -> bool:
        """Whether it is paid by itself: for a judged pair, or for answers that ended the work. Checks alone are not."""
        return self.answers > (0 if self.blocked else self.checks)


@dataclass(frozen=True, slots=True)
class Settlement:
    """Both lists compared."""

    verified: tuple[tuple[MarketVisit, Listed], ...]  # listed for this worker
    foreign: tuple[Listed, ...]  # handed in there, and nothing was ever answered under that name here
    unlisted: tuple[MarketVisit, ...]  # answered here, never confirmed: still at work, returned, or an address made up


def visits(connection: sa.Connection, source: Source) -> list[MarketVisit]:
    """Every visit from one marketplace, with what was done in it."""
    is_of_sitting = sa.and_(leases.c.rater == payments.c.rater, leases.c.sitting == payments.c.sitting)
    answered = sa.select(sa.func.count()).where(is_of_sitting, leases.c.state.in_(DONE)).scalar_subquery()
    cast = sa.select(sa.func.count(votes.c.failed), sa.func.sum(votes.c.failed), sa.func.sum(votes.c.seconds))
    done = cast.join_from(votes, leases, votes.c.lease == leases.c.lease).where(is_of_sitting).correlate(payments)
    parts = [
        done.with_only_columns(column).scalar_subquery().label(name)
        for name, column in zip(("checks", "failed", "seconds"), done.selected_columns, strict=True)
    ]
    query = (
        sa.select(payments, answered.label("answers"), *parts, sittings.c.begun, sittings.c.finished, raters.c.status)
        .join(sittings, sa.and_(sittings.c.rater == payments.c.rater, sittings.c.sitting == payments.c.sitting))
        .join(raters, raters.c.rater == payments.c.rater)
        .where(payments.c.source == source)
        .order_by(sittings.c.begun)
    )
    return [_visit_of(row) for row in connection.execute(query)]


def _visit_of(row: sa.Row[tuple[object, ...]]) -> MarketVisit:
    values = row._asdict()
    return MarketVisit(
        **{name: values[name] for name in ("rater", "sitting", "worker", "key", "answers", "checks", "begun")},
        failed=int(values["failed"] or 0),
        seconds=float(values["seconds"] or 0.0),
        finished=values["finished"] is not None,
        minutes=None if values["finished"] is None else (values["finished"] - values["begun"]) / 60,
        blocked=values["status"] == "blocked",
        listed=values["listed"] is not None,
        withdrawn=values["withdrawn"],
    )


def compare_lists(arrived: Sequence[MarketVisit], listing: Iterable[Listed]) -> Settlement:
    """Compare the two lists; a visit matches when key and worker both do."""
    # The key alone would pay a worker for an assignment that somebody else opened under that key.
    known = {(visit.key, visit.worker): visit for visit in arrived}
    listed = {(row.key, row.worker): row for row in listing}
    return Settlement(
        verified=tuple((known[name], row) for name, row in listed.items() if name in known),
        foreign=tuple(row for name, row in listed.items() if name not in known and row.state == "waiting"),
        unlisted=tuple(v for v in arrived if v.answers and not v.listed and (v.key, v.worker) not in listed),
    )


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a look at the marketplace's list has changed: numbers of visits."""

    confirmed: int
    withdrawn: int
    overdue: int


def record(
    connection: sa.Connection, rules: StudyRules, settlement: Settlement, overdue: Sequence[MarketVisit], now: float
) -> Recorded:
    """Write what the list says of each visit; a visit that was paid or confirmed is never un-counted by silence."""
    standing = [visit for visit, row in settlement.verified if row.state not in WITHDRAWN]
    gone = [(visit, row.state) for visit, row in settlement.verified if row.state in WITHDRAWN]
    confirmed = [identities.confirm_visit(connection, rules, v.rater, v.sitting, now) for v in standing]
    withdrawn = [identities.withdraw_visit(connection, rules, v.rater, v.sitting, state, now) for v, state in gone]
    late = [identities.withdraw_visit(connection, rules, v.rater, v.sitting, "not listed", now) for v in overdue]
    return Recorded(sum(confirmed), sum(withdrawn), sum(late))
