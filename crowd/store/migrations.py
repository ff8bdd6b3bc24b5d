"""How a store of each older version becomes the next one; `MIGRATIONS` is read by store.py, one transaction a step."""

from __future__ import annotations

import json
from collections.abc import Callable

import sqlalchemy as sa

from crowd.store.tables import events, leases, pairs, votes

Migration = Callable[[sa.Connection], None]


def _second(connection: sa.Connection) -> None:
    """From 0.2.0's first stores: checks of a rater's whole life, decisions of a person, checks that were mended."""
    added = {
        "pairs": ("mended TEXT",),
        "raters": ("ruling TEXT", "why TEXT", "broke TEXT"),
        "leases": ("kind TEXT NOT NULL DEFAULT 'real'",),
        "votes": ("forgiven INTEGER NOT NULL DEFAULT 0", "aside INTEGER NOT NULL DEFAULT 0"),
    }
    for table, columns in added.items():
        for column in columns:
            connection.execute(sa.text(f"ALTER TABLE {table} ADD COLUMN {column}"))
    of_pair = sa.select(pairs.c.kind).where(pairs.c.pair == leases.c.pair).scalar_subquery()
    connection.execute(sa.update(leases).where(leases.c.pair.in_(sa.select(pairs.c.pair))).values(kind=of_pair))
    _keep_aside(connection)


def _keep_aside(connection: sa.Connection) -> None:
    """Votes that a marketplace never confirmed were known by an event alone."""
    told = connection.execute(sa.select(events.c.rater, events.c.data).where(events.c.kind == "study")).all()
    for row in told:
        if "set_aside" in (data := json.loads(row.data)):
            here = sa.and_(leases.c.rater == row.rater, leases.c.sitting == data["sitting"])
            lost = sa.and_(votes.c.counted == 0, votes.c.failed.is_(None))
            query = sa.update(votes).where(lost, votes.c.lease.in_(sa.select(leases.c.lease).where(here)))
            connection.execute(query.values(aside=1))


MIGRATIONS: dict[int, Migration] = {1: _second}
