"""How far a study is, in counts that the database makes, and the switch that pauses, stops and resumes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import sqlalchemy as sa

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.store.store import Store, append_event, places_left, put, settings
from seedvote.crowd.store.tables import HOLDS_PLACE, leases, pairs, raters, votes

StudyState = Literal["running", "paused", "stopped"]


@dataclass(frozen=True, slots=True)
class Progress:
    """A study at one moment; checks are counted nowhere but in `raters`' status."""

    state: str
    pairs: int
    """Those that are offered to raters; of an adaptive study, `came_up` of them by now."""
    came_up: int
    complete: int
    counted: int
    waiting: int
    """Votes that hold a place and do not count until the marketplace has confirmed their visit."""
    uncounted: int
    wanted: int
    held: int
    raters: Mapping[str, int]
    sources: Mapping[str, int]

    @property
    def has_all_votes(self) -> bool:
        """Whether every vote is in that was to be given out."""
        return 0 < self.wanted <= self.counted

    @property
    def condition(self) -> str:
        """The state in a word; a study that runs and has all its votes is complete."""
        return "complete" if self.state == "running" and self.has_all_votes else self.state


def progress(connection: sa.Connection, votes_per_pair: int) -> Progress:
    """Count."""
    count = sa.func.count()
    offered = sa.select(count).select_from(pairs).where(pairs.c.offered == 1)
    number, has_come_up = connection.scalar(offered) or 0, sa.func.coalesce(pairs.c.target, 1) > 0
    real = votes.c.failed.is_(None)
    by_counted = _count_by(connection, sa.select(votes.c.counted, count).where(real).group_by(votes.c.counted))
    wanted = sa.select(sa.func.sum(sa.func.coalesce(pairs.c.target, votes_per_pair))).where(pairs.c.offered == 1)
    places = connection.scalar(sa.select(sa.func.sum(pairs.c.votes)).where(pairs.c.kind != "check")) or 0
    waiting = int(places) - by_counted.get("1", 0)
    return Progress(
        state=settings(connection)["state"],
        pairs=number,
        came_up=connection.scalar(offered.where(has_come_up)) or 0,
        complete=connection.scalar(offered.where(pairs.c.open == 0, has_come_up)) or 0,
        counted=by_counted.get("1", 0),
        waiting=waiting,
        uncounted=by_counted.get("0", 0) - waiting,
        wanted=int(connection.scalar(wanted) or 0) + places_left(connection),
        held=connection.scalar(sa.select(count).select_from(leases).where(HOLDS_PLACE)) or 0,
        raters=_count_by(connection, sa.select(raters.c.status, count).group_by(raters.c.status)),
        sources=_count_by(connection, sa.select(votes.c.source, count).where(real).group_by(votes.c.source)),
    )


QUESTIONS = {
    "best": "which system is best",
    "ranking": "the ranking of all systems",
    "better": "whether {0} is better than {1}",
    "alike": "whether {0} and {1} are equivalent within {margin:g}",
}


def describe_assignment(hit: Hit, left: int | None = None) -> str:
    """How pairs are chosen, and of an adaptive study how many votes are still to be given out.

    >>> describe_assignment(Hit())
    'fixed, 3 votes on every pair'
    """
    if not hit.is_adaptive or hit.adaptive is None:
        return f"fixed, {hit.votes_per_pair} votes on every pair"
    rule = hit.adaptive
    question = QUESTIONS[rule.question].format(*rule.systems, margin=rule.margin)
    helper = ", by votes and a judge's verdicts" if rule.judge else ""
    chosen = f"adaptive, votes go where they tell most about {question}{helper}"
    return chosen if left is None else f"{chosen}; {left} are still to be given out"


@dataclass(frozen=True, slots=True)
class MissingVotes:
    """The votes that the pairs of one part of a study still need."""

    total: int
    most: int  # that one pair needs: as many people, because nobody judges a pair twice

    def sittings(self, pairs_per_sitting: int) -> int:
        """The fewest sittings that can give every pair its votes.

        >>> MissingVotes(total=900, most=3).sittings(20), MissingVotes(total=12, most=3).sittings(20)
        (45, 3)
        """
        return max(-(-self.total // pairs_per_sitting), self.most)


def missing_votes(connection: sa.Connection, votes_per_pair: int) -> dict[int, MissingVotes]:
    """By version: votes that neither count nor hold a place until their marketplace confirms them."""
    wanted = sa.func.coalesce(pairs.c.target, votes_per_pair)
    short = sa.case((pairs.c.votes < wanted, wanted - pairs.c.votes), else_=0)
    query = sa.select(pairs.c.version, sa.func.sum(short), sa.func.max(short)).where(pairs.c.offered == 1)
    rows = connection.execute(query.group_by(pairs.c.version)).all()
    more = places_left(connection)
    return {version: MissingVotes(int(total) + (0 if version else more), int(most)) for version, total, most in rows}


def sittings_needed(missing: dict[int, MissingVotes], pairs_per_sitting: int) -> int:
    """The fewest sittings of a whole study. Each rater sees one version, and pairs of version 0.

    >>> part = MissingVotes(total=12, most=3)
    >>> sittings_needed({0: part}, 20), sittings_needed({1: part, 2: part}, 20)
    (3, 6)
    """
    total, most = sum(part.total for part in missing.values()), max((part.most for part in missing.values()), default=0)
    parts = sum(part.sittings(pairs_per_sitting) for version, part in missing.items() if version)
    return max(MissingVotes(total, most).sittings(pairs_per_sitting), parts)


def set_state(store: Store, state: StudyState) -> None:
    """Let the study run, pause or stop; every server of it obeys at the next request."""
    now = store.now()
    with store.write() as connection:
        put(connection, "state", state)
        append_event(connection, "study", now, state=state)


def _count_by(connection: sa.Connection, query: sa.Select[Any]) -> dict[str, int]:
    return {str(key): number for key, number in connection.execute(query).all()}
