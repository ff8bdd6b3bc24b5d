"""Who followed the line that only programs read (`program_trap` in hit.toml): a fact for the researcher, no verdict."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import sqlalchemy as sa

from seedvote.crowd.store.event_log import read_events

FOLLOWED = "followed the line for programs"


def trapped_raters(connection: sa.Connection) -> Mapping[str, int]:
    """Rater -> pairs on which the line was followed; an answer that was taken back and given again is one pair."""
    pairs_of: defaultdict[str, set[str | None]] = defaultdict(set)
    for event in read_events(connection, "trapped"):
        if event.rater:
            pairs_of[event.rater].add(event.pair)
    return {rater: len(met) for rater, met in pairs_of.items()}


def says(rater: str, number: int) -> str:
    """A sentence for the researcher."""
    return (
        f"Rater {rater[:8]} {FOLLOWED} on {number} {'pair' if number == 1 else 'pairs'}. Look at their answers; nobody "
        "is excluded by it."
    )
