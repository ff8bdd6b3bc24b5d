"""Whether a marketplace stands behind a visit: its votes wait for that word, count after it, and go when it is taken.

Anybody can write an address that names a worker. So the votes of such a visit hold their places, that nobody is paid
for a pair twice, but they do not count until the marketplace has listed the visit for that very worker. A visit that it
never lists, or that was returned, timed out or rejected, is set aside with its checks: it neither counts nor judges
anybody. The log tells each of these, so that it gives what the store holds.
"""

from __future__ import annotations

import sqlalchemy as sa

from crowd.rating import standing
from crowd.rating.rules import StudyRules
from crowd.store import event_log
from crowd.store.store import later
from crowd.store.tables import leases, payments, votes


def confirm_visit(connection: sa.Connection, rules: StudyRules, rater: str, sitting: int, now: float) -> bool:
    """The marketplace lists this visit: its votes count, if its rater's do. Whether that was news."""
    here = _payment(rater, sitting)
    known = connection.execute(sa.select(payments.c.listed, payments.c.withdrawn).where(here)).one()
    if known.listed is not None and known.withdrawn is None:
        return False
    fresh = {"listed": now if known.listed is None else known.listed, "withdrawn": None}
    connection.execute(sa.update(payments).where(here).values(fresh))
    _follow(connection, rules, rater, sitting, now, "confirmed", {"waits": 0, "aside": 0})
    return True


def withdraw_visit(
    connection: sa.Connection, rules: StudyRules, rater: str, sitting: int, why: str, now: float
) -> bool:
    """The marketplace takes this visit back, or never listed it: set its votes and checks aside. Whether that was news.

    They are kept, and their pairs are offered again.
    """
    here = _payment(rater, sitting)
    if connection.scalar(sa.select(payments.c.withdrawn).where(here)) is not None:
        return False
    connection.execute(sa.update(payments).where(here).values(withdrawn=why))
    _follow(connection, rules, rater, sitting, now, "set_aside", {"aside": 1}, why=why)
    return True


def _payment(rater: str, sitting: int) -> sa.ColumnElement[bool]:
    return sa.and_(payments.c.rater == rater, payments.c.sitting == sitting)


def _follow(
    connection: sa.Connection,
    rules: StudyRules,
    rater: str,
    sitting: int,
    now: float,
    told: str,
    values: dict[str, int],
    **more: str,
) -> None:
    """Write it on the votes of the visit, then whatever follows from it, with the event that tells it."""
    inside = sa.select(leases.c.lease).where(leases.c.rater == rater, leases.c.sitting == sitting)
    here = votes.c.lease.in_(inside)
    found = connection.execute(sa.select(votes.c.pair, votes.c.lease, votes.c.failed).where(here)).all()
    connection.execute(sa.update(votes).where(here).values(values))
    names = [row.lease for row in found]
    data: dict[str, object] = {"sitting": sitting, "leases": names, told: len(names), **more}
    later(connection, event_log.entry("study", now, rater, None, **data))
    standing.settle(connection, rules.assignment, rules.gate, now, rater)
    standing.count_anew(connection, rules.assignment, [row.pair for row in found if row.failed is None])
