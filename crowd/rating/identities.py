"""Which rater an arrival is, where anybody could have typed a worker's id into an address.

Such a marketplace confirms a visit later. Until then answers under an id may be somebody else's, and they would use up
the pairs and checks that its owner can be shown. So whoever cannot show by a cookie that their browser has answered
under the id before is a rater apart, of the same person. Where the marketplace confirms both, they are one person
again (verifying.py).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from seedvote.crowd.rating.leasing import left_for
from seedvote.crowd.rating.seating import Moment
from seedvote.crowd.store import statements as sql
from seedvote.crowd.store.identity import lease_token
from seedvote.crowd.store.store import fetch, later
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
