"""What a marketplace lists, compared with what was done here: who is to be paid, and whose votes can be trusted.

The address that brings a worker can be made up, so a visit counts as verified only when the marketplace lists it for
that very worker. Nobody is ever rejected: what does not match is counted and left to the researcher.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa

from crowd.rating import standing
from crowd.rating.assignment import AssignmentRules
from crowd.store import event_log
from crowd.store.tables import leases, payments, raters, sittings, votes
from dialogue.records import Source

ListedState = Literal["open", "waiting", "approved", "other"]


@dataclass(frozen=True, slots=True)
class Listed:
    """A visit as the marketplace lists it; `group` is its HIT or study."""

    key: str
    worker: str
    state: ListedState
    group: str


@dataclass(frozen=True, slots=True)
class MarketVisit:
    """A visit as we saw it."""

    rater: str
    sitting: int
    worker: str
    key: str
    answers: int
    begun: float
    blocked: bool


@dataclass(frozen=True, slots=True)
class Settlement:
    """Both lists compared."""

    verified: tuple[MarketVisit, ...]  # listed for this worker
    approve: tuple[Listed, ...]  # verified, something was answered, and the marketplace waits for our approval
    paid: tuple[Listed, ...]  # verified, something was answered, and approved already
    idle: tuple[Listed, ...]  # handed in without an answer here: for the researcher to look at
    unlisted: tuple[MarketVisit, ...]  # answered here, not listed: still at work, returned, or an address made up


def visits(connection: sa.Connection, source: Source) -> list[MarketVisit]:
    """Every visit from one marketplace, with the number of its answers."""
    here = sa.and_(leases.c.rater == payments.c.rater, leases.c.sitting == payments.c.sitting)
    answered = sa.select(sa.func.count()).where(here, leases.c.state == "answered").scalar_subquery()
    query = (
        sa.select(payments, answered.label("answers"), sittings.c.begun, raters.c.status)
        .join(sittings, sa.and_(sittings.c.rater == payments.c.rater, sittings.c.sitting == payments.c.sitting))
        .join(raters, raters.c.rater == payments.c.rater)
        .where(payments.c.source == source)
        .order_by(sittings.c.begun)
    )
    return [
        MarketVisit(row.rater, row.sitting, row.worker, row.key, row.answers, row.begun, row.status == "blocked")
        for row in connection.execute(query)
    ]


def settle_payments(here: Sequence[MarketVisit], there: Iterable[Listed]) -> Settlement:
    """Compare the two lists; a visit matches when key and worker both do."""
    # The key alone would pay a worker for an assignment that somebody else opened under that key.
    known = {(visit.key, visit.worker): visit for visit in here}
    listed = list(there)
    matched = [(row, known.get((row.key, row.worker))) for row in listed]
    worked = [row for row, visit in matched if visit and visit.answers]
    names = {(row.key, row.worker) for row in listed}
    return Settlement(
        verified=tuple(visit for _, visit in matched if visit),
        approve=tuple(row for row in worked if row.state == "waiting"),
        paid=tuple(row for row in worked if row.state == "approved"),
        idle=tuple(row for row, visit in matched if row.state == "waiting" and not (visit and visit.answers)),
        unlisted=tuple(visit for visit in here if visit.answers and (visit.key, visit.worker) not in names),
    )


def record(connection: sa.Connection, settlement: Settlement, now: float) -> None:
    """Remember which visits the marketplace has confirmed, and when."""
    for visit in settlement.verified:
        where = sa.and_(payments.c.rater == visit.rater, payments.c.sitting == visit.sitting)
        query = sa.update(payments).where(where, payments.c.listed.is_(None))  # the first time stands
        connection.execute(query.values(listed=now))


def set_aside(connection: sa.Connection, stale: Iterable[MarketVisit], assignment: AssignmentRules, now: float) -> int:
    """Votes of visits that were never confirmed stop counting, and their pairs are offered again; how many there were.

    The votes are kept, like those of a blocked rater.
    """
    number = 0
    for visit in stale:
        here = sa.select(leases.c.lease).where(leases.c.rater == visit.rater, leases.c.sitting == visit.sitting)
        fresh = sa.and_(votes.c.lease.in_(here), votes.c.failed.is_(None), votes.c.aside == 0)
        found = connection.execute(sa.select(votes.c.pair, votes.c.lease, votes.c.counted).where(fresh)).all()
        connection.execute(sa.update(votes).where(fresh).values(aside=1))
        standing.count_anew(connection, assignment, [row.pair for row in found])
        number += (counting := sum(row.counted for row in found))
        if found:
            told = {"set_aside": counting, "sitting": visit.sitting, "leases": [row.lease for row in found]}
            event_log.append(connection, "study", now, visit.rater, **told)
    return number
