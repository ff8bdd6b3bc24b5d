"""Every interval, test and claim of the analysis has a row here: where it was tried, and how it fared in each world.

To add a row: a `Claim` in `CLAIMS` of the module of its question in this folder. `fields` names what it vouches for, as
`{"stats.intervals.Interval": "low high"}`: tests/analysis/test_claims.py asks for the row of every field of analysis
that is an end of an interval, a p or a rank. `python benchmarks/sim_claims.py NAME` then writes its line of
docs/claims.md.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

from seedvote.dialogue.seeds import child_seed

Floats = np.ndarray
HERE = Path(__file__).parent
BY_CHANCE = 0.005  # of the simulations in which a promise is just kept, as many may look worse
FEWEST = 20  # answers that a world needs to be named as the worst one


@dataclass(frozen=True)
class Claim:
    """One promise, and the worlds in which it must hold.

    `run` makes so many studies of a world and returns 1 for each in which the interval held the truth (or, if
    `is_error`, the claim was made falsely), 0 for each in which not, NaN where the program gives no answer and says so.
    """

    name: str
    promise: str  # a sentence for docs/claims.md
    fields: Mapping[str, str]  # class of the analysis, by its path below `analysis` -> its fields
    cells: Mapping[str, Any]  # name -> world
    run: Callable[[Any, int, np.random.Generator], Floats]
    nominal: float
    worst: float  # the least share of studies in which it may hold, or the largest in which it may err
    is_error: bool = False
    studies: int = 400
    silent: tuple[str, ...] = ()  # cells in which the program must give no answer, and say so


@dataclass(frozen=True)
class Rate:
    """How a claim fared in one world."""

    cell: str
    studies: int
    share: float  # of the studies with an answer in which it held, or erred; NaN where there was none
    answered: float

    @property
    def answers(self) -> int:
        """How many studies have an answer."""
        return round(self.studies * self.answered)


def each(study: Callable[[Any, np.random.Generator], float | bool | None]) -> Callable[..., Floats]:
    """A `run` from a function of one study; None is no answer."""

    def run(world: Any, studies: int, generator: np.random.Generator) -> Floats:
        answers = [study(world, generator) for _ in range(studies)]
        return np.array([np.nan if answer is None else float(answer) for answer in answers])

    return run


def measure(claim: Claim, cell: str, studies: int | None = None) -> Rate:
    """The claim in one of its worlds, always with the same studies."""
    number = studies or claim.studies
    generator = np.random.default_rng(child_seed(0, claim.name, cell))
    outcomes = claim.run(claim.cells[cell], number, generator)
    answers = outcomes[np.isfinite(outcomes)]
    return Rate(cell, number, float(answers.mean()) if len(answers) else float("nan"), len(answers) / len(outcomes))


def is_kept(claim: Claim, rate: Rate) -> bool:
    """Whether the promise holds in this world, as far as so many studies can tell."""
    if rate.cell in claim.silent:
        return rate.answered == 0
    if not rate.answered:
        return True
    hits = round(rate.share * rate.answers)
    law = binom(rate.answers, claim.worst)
    return bool((law.sf(hits - 1) if claim.is_error else law.cdf(hits)) >= BY_CHANCE)


def worst_of(claim: Claim, rates: list[Rate]) -> Rate | None:
    """The world in which it fares worst, among those with an answer."""
    enough = max(min(FEWEST, max((rate.answers for rate in rates), default=0)), 1)
    answered = [rate for rate in rates if rate.answers >= enough]
    key = (lambda rate: -rate.share) if claim.is_error else (lambda rate: rate.share)
    return min(answered, key=key, default=None)


def all_claims() -> tuple[Claim, ...]:
    """The rows of every module of this folder."""
    names = sorted(path.stem for path in HERE.glob("*.py"))
    modules = [importlib.import_module(f"tests.analysis.claims.{name}") for name in names if name not in NO_ROWS]
    return tuple(claim for module in modules for claim in module.CLAIMS)


NO_ROWS = ("registry", "elsewhere")
