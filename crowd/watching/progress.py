"""How far a study is, in counts that the database makes, and the switch that pauses, stops and resumes it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from crowd.store import event_log
from crowd.store.store import Store, put, settings
from crowd.store.tables import leases, pairs, raters, votes

StudyState = Literal["running", "paused", "stopped"]


@dataclass(frozen=True, slots=True)
class Progress:
    """A study at one moment; checks are counted nowhere but in `raters`' status."""

    state: str
    pairs: int
    complete: int
    counted: int
    waiting: int
    """Votes that hold a place and do not count until the marketplace has confirmed their visit."""
    uncounted: int
    wanted: int
    held: int
    raters: Mapping[str, int]
    sources: Mapping[str, int]


def progress(connection: sa.Connection, votes_per_pair: int) -> Progress:
    """Count."""
    count = sa.func.count()
    offered = sa.select(count).select_from(pairs).where(pairs.c.offered == 1)
    number = connection.scalar(offered) or 0
    real = votes.c.failed.is_(None)
    by_counted = _by(connection, sa.select(votes.c.counted, count).where(real).group_by(votes.c.counted))
    places = connection.scalar(sa.select(sa.func.sum(pairs.c.votes)).where(pairs.c.kind != "check")) or 0
    waiting = int(places) - by_counted.get("1", 0)
    return Progress(
        state=settings(connection)["state"],
        pairs=number,
        complete=connection.scalar(offered.where(pairs.c.open == 0)) or 0,
        counted=by_counted.get("1", 0),
        waiting=waiting,
        uncounted=by_counted.get("0", 0) - waiting,
        wanted=number * votes_per_pair,
        held=connection.scalar(sa.select(count).select_from(leases).where(leases.c.state == "held")) or 0,
        raters=_by(connection, sa.select(raters.c.status, count).group_by(raters.c.status)),
        sources=_by(connection, sa.select(votes.c.source, count).where(real).group_by(votes.c.source)),
    )


def sittings_needed(pairs: int, votes_per_pair: int, pairs_per_sitting: int, votes: int = 0) -> int:
    """Sittings that give every pair its votes, when `votes` of them are in already.

    >>> sittings_needed(300, 3, 20)
    45
    """
    return -(-max(0, pairs * votes_per_pair - votes) // pairs_per_sitting)


def set_state(store: Store, state: StudyState) -> None:
    """Let the study run, pause or stop; every server of it obeys at the next request."""
    now = time.time()
    with store.write() as connection:
        put(connection, "state", state)
        event_log.append(connection, "study", now, state=state)


def _by(connection: sa.Connection, query: sa.Select[Any]) -> dict[str, int]:
    return {str(key): number for key, number in connection.execute(query).all()}
