"""Which rater an arrival is, where anybody could have typed a worker's id, and what the marketplace's word changes.

Anybody can write an address that names a worker, and a marketplace confirms a visit later only. Until then answers
under an id may be somebody else's, and they would use up the pairs and checks that its owner can be shown. So whoever
cannot show by a cookie that their browser has answered under the id before is a rater apart, of the same person. Where
the marketplace confirms both, they are one person again.

The votes of a visit that waits hold their places, that nobody is paid for a pair twice, but they do not count until the
marketplace has listed the visit for that very worker. A visit that it never lists, or that was returned, timed out or
rejected, is set aside with its checks: it neither counts nor judges anybody. The log tells each of these, so that it
gives what the store holds.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from seedvote.crowd.rating import standing
from seedvote.crowd.rating.leasing import left_for
from seedvote.crowd.rating.moment import Moment, StudyRules
from seedvote.crowd.store import statements as sql
from seedvote.crowd.store.identity import lease_token
from seedvote.crowd.store.store import append_event, fetch, later, make_event
from seedvote.crowd.store.tables import ASKED_LATER, leases, payments, raters, sittings, votes
from seedvote.dialogue.records import Source

# These let a person take part once, so a blocked rater is no way round the gate; elsewhere a new browser would be one.
ONE_VISIT: tuple[Source, ...] = ("prolific", "panel")

_OF_PERSON = sa.or_(raters.c.rater == param("person"), raters.c.person == param("person"))
_OWN = payments.c.rater == raters.c.rater
_IS_HERE = sa.exists().where(sittings.c.rater == raters.c.rater, sittings.c.key == param("key"))
_JUDGES = sa.exists().where(votes.c.rater == raters.c.rater, votes.c.failed >= 0, votes.c.waits == 0)
_RATERS = (
    sa.select(raters.c.rater, raters.c.status, raters.c.ruling, raters.c.proves)
    .add_columns(
        _IS_HERE.label("is_here"),
        _JUDGES.label("is_firm"),
        sa.exists().where(_OWN, payments.c.listed.is_(None)).label("unlisted"),
    )
    .where(_OF_PERSON)
    .order_by(raters.c.arrived, raters.c.rater)
)
_CONFIRMED = sa.exists().where(
    payments.c.rater == leases.c.rater, payments.c.sitting == leases.c.sitting, payments.c.listed.is_not(None)
)
_JUDGED_BEFORE = (
    sa.select(leases.c.pair, leases.c.kind, leases.c.left, leases.c.slot)
    .join(raters, raters.c.rater == leases.c.rater)
    .where(_OF_PERSON, leases.c.state == "answered", _CONFIRMED)
    .order_by(leases.c.lease)
)


@dataclass(frozen=True, slots=True)
class Arriving:
    """Who comes: the keyed hashes of the person and the visit, and the raters that their browser proves to be."""

    person: str
    key: str
    source: Source
    proven: Collection[str] = ()
    proves: bool = True
    """Whether the browser keeps cookies, so that it can show later who it is."""


def find_rater(moment: Moment, arriving: Arriving, length: int) -> str | None:
    """The rater who arrives; None for a new one. `length` is that of a whole sitting."""
    if arriving.source not in ASKED_LATER:
        return arriving.person
    (rows,) = fetch(moment.connection, (_RATERS, {"person": arriving.person, "key": arriving.key}))
    if not rows:
        return arriving.person
    for is_it in (lambda row: row.is_here, lambda row: row.rater in arriving.proven, _is_out(arriving.source)):
        if row := next(filter(is_it, rows), None):
            return str(row.rater)
    return next((str(row.rater) for row in rows if _may_share(moment, arriving, row, length)), None)


def _is_out(source: Source) -> Any:
    """Whether a rater is blocked in a way that holds for whoever comes under the id."""
    return lambda row: row.ruling == "block" or (row.status == "blocked" and (row.is_firm or source not in ONE_VISIT))


def _may_share(moment: Moment, arriving: Arriving, row: Any, length: int) -> bool:
    """Whether somebody who has proven nothing goes on as this rater, all of whose visits may be confirmed.

    A browser without cookies can never prove anything. It goes on for as long as that costs it no pair.
    """
    if not row.unlisted:
        return True
    return (
        not arriving.proves
        and not row.proves
        and row.status != "blocked"
        and left_for(moment, row.rater, length, with_held=True) >= length
    )


def siblings(connection: sa.Connection, rater: str) -> list[str]:
    """All raters of this rater's person, the first one first."""
    person = connection.scalar(sa.select(raters.c.person).where(raters.c.rater == rater)) or rater
    query = sa.select(raters.c.rater).where(_OF_PERSON).order_by(raters.c.arrived, raters.c.rater)
    return list(connection.scalars(query, {"person": person}))


def take_along(moment: Moment, rater: str, person: str) -> None:
    """What the person judged in confirmed visits, as another rater, is not shown to this one again."""
    (rows,) = fetch(moment.connection, (_JUDGED_BEFORE, {"person": person}))
    known = {row.pair: row for row in rows}  # two raters of the person may have judged it
    for row in known.values():
        token = lease_token(moment.secret, rater, row.pair, 0)
        where = {"token": token, "attempt": 0, "rater": rater, "sitting": 0, "slot": 0, "state": "void"}
        what = {"pair": row.pair, "kind": row.kind, "left": row.left, "issued": moment.now, "expires": moment.now}
        later(moment.connection, (sql.INSERT_LEASE, where | what))


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
        append_event(connection, "ruled", now, name, ruling="block", why=SAME_PERSON, forgiven=False)
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
    later(connection, make_event("study", now, rater, None, **data))
    standing.settle(connection, rules.assignment, rules.gate, now, rater)
    standing.count_anew(connection, rules.assignment, [row.pair for row in rows if row.failed is None])
