"""When a check is due, how long a sitting is, and which votes count: pure functions of a few numbers.

Which pair comes next is not decided here but in crowd/rating/moment.py. No clock, no database and no generator hides
here: what is random follows from the study's seed, the rater and a count, so that a server that was killed goes on
exactly as it would have gone on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from seedvote.dialogue.records import RaterStatus
from seedvote.dialogue.seeds import child_random

LatePolicy = Literal["keep", "count"]


@dataclass(frozen=True, slots=True)
class AssignmentRules:
    """What the study asks for, see hit.toml."""

    votes_per_pair: int = 3
    pairs_per_sitting: int = 20
    first_checks: int = 3
    later_checks: int = 5
    lease_seconds: float = 600
    late_votes: LatePolicy = "keep"
    max_votes_per_rater: int | None = None


@dataclass(frozen=True, slots=True)
class Life:
    """What one rater has done in a study, over all sittings and through every door."""

    reals: int
    """Real pairs judged."""
    checks: int
    """Hidden checks answered."""
    last_check: int
    """How many real pairs had been judged when the last check was shown."""
    unseen: int
    """Checks of the study that this rater was never shown."""


@lru_cache(4096)
def check_places(assignment: AssignmentRules, block: int, *, seed: int, rater: str) -> frozenset[int]:
    """After which real pairs of a rater's `block`-th so many pairs (see `pairs_per_sitting`) a later check follows.

    Each follows a real pair of its own, so that two never stand together; the places differ from block to block and
    from rater to rater, so that nobody can tell where the checks stand.
    """
    reals = assignment.pairs_per_sitting
    generator = child_random(seed, "slots", rater, block)
    return frozenset(generator.sample(range(reals), min(assignment.later_checks, reals)))


def later_checks(assignment: AssignmentRules, start: int, stop: int, *, seed: int, rater: str) -> int:
    """How many of a rater's real pairs number `start` to `stop` - 1, over all sittings, are followed by a check."""
    size, number = assignment.pairs_per_sitting, 0
    for block in range(start // size, -(-stop // size)):
        places = check_places(assignment, block, seed=seed, rater=rater)
        number += sum(start <= block * size + place < stop for place in places)
    return number


def check_is_due(assignment: AssignmentRules, life: Life, *, seed: int, rater: str) -> bool:
    """Whether a hidden check comes before the next real pair: the first ones, or a later one since the last check."""
    if not life.unseen:
        return False
    if life.checks < assignment.first_checks:
        return True
    return later_checks(assignment, life.last_check, life.reals, seed=seed, rater=rater) > 0


def length_of_sitting(assignment: AssignmentRules, checks: int) -> int:
    """The pairs of a sitting that begins after so many answered checks; the rater is told this number.

    It does not depend on the checks that are left for this rater: what has run out is filled with real pairs, so that
    the length of a sitting tells nobody whether there are checks in it.
    """
    first = max(0, assignment.first_checks - checks)
    return first + assignment.pairs_per_sitting + assignment.later_checks


def is_eligible(status: RaterStatus, *, late: bool, aside: bool, late_votes: LatePolicy) -> bool:
    """Whether a vote may count: its rater passed the gate, it came in time, and nobody set it aside."""
    return status == "passed" and not aside and (not late or late_votes == "count")


def first_votes(eligible: Sequence[bool], votes_per_pair: int) -> list[bool]:
    """Which of a pair's votes, in the order in which they came, are its k: the first k that may count.

    >>> first_votes([True, False, True, True], 2)
    [True, False, True, False]
    """
    return [may and sum(eligible[:place]) < votes_per_pair for place, may in enumerate(eligible)]
