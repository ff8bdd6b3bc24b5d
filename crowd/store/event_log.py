"""The append-only event log: one line for whatever happens to a rater or a pair, in the transaction that does it.

An event is on disk before anyone is told that it happened. Nothing updates or deletes events but `crowd forget`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import sqlalchemy as sa

from seedvote.crowd.store.store import Change, later
from seedvote.crowd.store.tables import events

EventKind = Literal[
    "arrived",
    "consented",
    "described",
    "language",
    "instructed",
    "reserved",
    "unreserved",
    "shown",
    "answered",
    "noticed",
    "trapped",
    "repeated",
    "undone",
    "expired",
    "blocked",
    "standing",
    "admitted",
    "ruled",
    "rule",
    "mended",
    "settled",
    "hit",
    "finished",
    "study",
    "forgotten",
]


_EVENT = sa.insert(events)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened."""

    event: int
    at: float
    kind: str
    rater: str | None
    pair: str | None
    data: dict[str, Any]


def append(
    connection: sa.Connection,
    kind: EventKind,
    now: float,
    rater: str | None = None,
    pair: str | None = None,
    **data: object,
) -> None:
    """Write one event that stands alone."""
    later(connection, entry(kind, now, rater, pair, **data))


def entry(kind: EventKind, now: float, rater: str | None = None, pair: str | None = None, **data: object) -> Change:
    """One event as a change of the store, to be made together with what it reports."""
    return _EVENT, {"at": now, "kind": kind, "rater": rater, "pair": pair, "data": json.dumps(data)}


def read_events(connection: sa.Connection, *kinds: EventKind) -> Iterator[Event]:
    """All events, or those of some kinds, oldest first."""
    query = sa.select(events).order_by(events.c.event)
    if kinds:
        query = query.where(events.c.kind.in_(kinds))
    for row in connection.execute(query):
        yield Event(row.event, row.at, row.kind, row.rater, row.pair, json.loads(row.data))


def iso(at: float) -> str:
    """A time as the files of a study write it.

    >>> iso(0)
    '1970-01-01T00:00:00.000Z'
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
