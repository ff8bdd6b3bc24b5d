"""Whether a marketplace stands behind a visit: its votes wait for that word, count after it, and go when it is taken.

Anybody can write an address that names a worker. So the votes of such a visit hold their places, that nobody is paid
for a pair twice, but they do not count until the marketplace has listed the visit for that very worker. A visit that it
never lists, or that was returned, timed out or rejected, is set aside with its checks: it neither counts nor judges
anybody. The log tells each of these, so that it gives what the store holds.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from seedvote.crowd.rating import standing
from seedvote.crowd.rating.identities import siblings
from seedvote.crowd.rating.rules import StudyRules
from seedvote.crowd.store import event_log
from seedvote.crowd.store.store import later
from seedvote.crowd.store.tables import leases, payments, raters, votes

SAME_PERSON = "blocked as another rater, whom the marketplace says is the same person"


def confirm_visit(connection: sa.Connection, rules: StudyRules, rater: str, sitting: int, now: float) -> bool:
    """The marketplace lists this visit: its votes count, if its rater's do. Whether that was news."""
    is_payment = _match_payment(rater, sitting)
    known = connection.execute(sa.select(payments.c.listed, payments.c.withdrawn).where(is_payment)).one()
    if known.listed is not None and known.withdrawn is None:
        return False
    fresh = {"listed": now if known.listed is None else known.listed, "withdrawn": None}
    connection.execute(sa.update(payments).where(is_payment).values(fresh))
    _settle_visit(connection, rules, rater, sitting, now, "confirmed", {"waits": 0, "aside": 0})
    if other_raters := [name for name in siblings(connection, rater) if name != rater]:
        _set_repeated_aside(connection, rules, rater, sitting, other_raters, now)
        _share_block(connection, rules, [rater, *other_raters], now)
    return True


def _set_repeated_aside(
    connection: sa.Connection, rules: StudyRules, rater: str, sitting: int, other_raters: Sequence[str], now: float
) -> None:
    """A person has one vote on a pair: the one of the visit that was confirmed first."""
    stands = sa.and_(votes.c.failed.is_(None), votes.c.waits == 0, votes.c.aside == 0)
    judged = sa.select(votes.c.pair).where(votes.c.rater.in_(other_raters), stands)
    repeated = sa.and_(stands, votes.c.pair.in_(judged))
    if connection.scalar(sa.select(sa.exists().where(_match_votes(rater, sitting), repeated))):
        _settle_visit(connection, rules, rater, sitting, now, "set_aside", {"aside": 1}, only=repeated, why="repeated")


def _share_block(connection: sa.Connection, rules: StudyRules, everybody: Sequence[str], now: float) -> None:
    """Whom the gate blocks by confirmed checks is blocked as every rater that the same person is."""
    confirmed = sa.exists().where(payments.c.rater == raters.c.rater, payments.c.listed.is_not(None))
    query = sa.select(raters.c.rater, raters.c.status).where(raters.c.rater.in_(everybody), confirmed)
    statuses = {row.rater: row.status for row in connection.execute(query)}
    if "blocked" not in statuses.values():
        return
    for name in (name for name, status in statuses.items() if status != "blocked"):
        connection.execute(sa.update(raters).where(raters.c.rater == name).values(ruling="block", why=SAME_PERSON))
        event_log.append(connection, "ruled", now, name, ruling="block", why=SAME_PERSON, forgiven=False)
        standing.settle(connection, rules.assignment, rules.gate, now, name)


def withdraw_visit(
    connection: sa.Connection, rules: StudyRules, rater: str, sitting: int, why: str, now: float
) -> bool:
    """The marketplace takes this visit back, or never listed it: set its votes and checks aside. Whether that was news.

    They are kept, and their pairs are offered again.
    """
    is_payment = _match_payment(rater, sitting)
    if connection.scalar(sa.select(payments.c.withdrawn).where(is_payment)) is not None:
        return False
    connection.execute(sa.update(payments).where(is_payment).values(withdrawn=why))
    _settle_visit(connection, rules, rater, sitting, now, "set_aside", {"aside": 1}, why=why)
    return True


def _match_payment(rater: str, sitting: int) -> sa.ColumnElement[bool]:
    return sa.and_(payments.c.rater == rater, payments.c.sitting == sitting)


def _match_votes(rater: str, sitting: int) -> sa.ColumnElement[bool]:
    inside = sa.select(leases.c.lease).where(leases.c.rater == rater, leases.c.sitting == sitting)
    return votes.c.lease.in_(inside)


def _settle_visit(
    connection: sa.Connection,
    rules: StudyRules,
    rater: str,
    sitting: int,
    now: float,
    key: str,
    values: dict[str, int],
    only: sa.ColumnElement[bool] | None = None,
    **facts: str,
) -> None:
    """Write it on the votes of the visit, then whatever follows; the event counts the votes under `key`."""
    is_vote = _match_votes(rater, sitting) if only is None else sa.and_(_match_votes(rater, sitting), only)
    rows = connection.execute(sa.select(votes.c.pair, votes.c.lease, votes.c.failed).where(is_vote)).all()
    connection.execute(sa.update(votes).where(is_vote).values(values))
    names = [row.lease for row in rows]
    data: dict[str, object] = {"sitting": sitting, "leases": names, key: len(names), **facts}
    later(connection, event_log.entry("study", now, rater, None, **data))
    standing.settle(connection, rules.assignment, rules.gate, now, rater)
    standing.count_anew(connection, rules.assignment, [row.pair for row in rows if row.failed is None])
