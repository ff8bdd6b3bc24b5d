"""The plan of a sitting, the side of each response, and whether an answer counts: pure functions of a few numbers.

Which pair comes next is not decided here but in crowd/rating/next_pair.py; `verdict` only says whether that pair may
be shown. No clock, no database and no generator hides here: what is random follows from the study's seed, the rater
and a count, so that a server that was killed goes on exactly as it would have gone on.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from dialogue.records import Side
from dialogue.seeds import child_random, child_seed

Slot = Literal["check", "real"]
PairVerdict = Literal["show", "wait", "finished"]
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
class Fewest:
    """What the store found for a rater: of the pairs short of votes and new to them, the one with the fewest."""

    pair: str
    votes: int
    held: int


def plan_sitting(
    assignment: AssignmentRules, *, admitted: int, seed: int, rater: str, sitting: int
) -> tuple[Slot, ...]:
    """The slots of one sitting: the first checks still due after `admitted`, then real pairs with checks among them.

    Each later check follows a real pair of its own, so that two never stand together.
    """
    generator = child_random(seed, "slots", rater, sitting)
    reals = assignment.pairs_per_sitting
    # drawn afresh for every sitting, so that raters who compare notes cannot tell where the checks stand
    after = set(generator.sample(range(reals), min(assignment.later_checks, reals)))
    slots: list[Slot] = ["check"] * max(0, assignment.first_checks - admitted)
    for n in range(reals):
        slots += ["real", "check"] if n in after else ["real"]
    return tuple(slots)


def verdict(fewest: Fewest | None, assignment: AssignmentRules) -> PairVerdict:
    """Show that pair; or wait, because every pair left is in other raters' hands; or nothing is left for this rater."""
    if fewest is None:
        return "finished"
    return "show" if fewest.votes + fewest.held < assignment.votes_per_pair else "wait"


def left_side(pair: Mapping[Side, int], rater: Mapping[Side, int], *, seed: int, name: tuple[object, ...]) -> Side:
    """Which response stands on the left: the one that stood there less often in this pair, then for this rater.

    Where both are even, a coin falls that follows from the seed and `name`.
    """
    for counts in (pair, rater):  # the pair first: an unbalanced pair biases its result, a rater only their own tally
        if counts["a"] != counts["b"]:
            return "a" if counts["a"] < counts["b"] else "b"
    return "a" if child_seed(seed, "left", *name) % 2 else "b"


def counts(votes: int, *, late: bool, assignment: AssignmentRules) -> bool:
    """Whether an answer becomes one of the pair's k votes; `votes` are those it has at the moment of submission."""
    return votes < assignment.votes_per_pair and (not late or assignment.late_votes == "count")


def unswapped(choice: Literal["left", "right", "tie"], left: Side) -> Literal["a", "b", "tie"]:
    """The response that was chosen, whatever side it was shown on.

    >>> unswapped("right", left="b")
    'a'
    """
    if choice == "tie":
        return "tie"
    return left if choice == "left" else ("b" if left == "a" else "a")
