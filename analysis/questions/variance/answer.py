"""Where the variance of scores or votes comes from, and what a study of another size or a re-run would show.

Each table draws from a generator of its own, named after it, so its intervals are the same whichever tables are asked
for beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from seedvote.analysis.questions.variance.cubes import ComparedModels
from seedvote.analysis.stats.components import (
    Component,
    Design,
    combine_factors,
    estimate_components,
    evaluate_design,
    resize_study,
    study_sizes,
    terms_of,
)
from seedvote.analysis.stats.reruns import BOTH, EVERYTHING, SEEDS, Flip, predict_flips, replicates_of
from seedvote.analysis.votes.cautions import Voters, judges_in_recipe
from seedvote.analysis.votes.long_tables import NESTED, Ints, LongTable
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature

SIMULATED_TABLES = 200  # behind the interval of every component
RANKED_LEVELS = 6  # leading levels of the target whose pairs are asked whether a re-run would reverse them


@dataclass(frozen=True, slots=True)
class Reversal:
    """The chance that a re-run puts two levels in the other order, with new levels of the `redrawn` factors."""

    redrawn: tuple[str, ...]
    first: str
    second: str
    difference: float  # the first less the second: below 0 where lower is better
    flip: Flip | None  # None: not known, as of new seeds where one of the two has one seed


@dataclass(frozen=True, slots=True)
class VarianceTable:
    """One table: its components, its own design and others (`d_study`), and which orders a re-run would reverse."""

    name: str
    title: str  # as it is shown
    observations: int
    mean: float
    levels: Mapping[str, int]
    components: tuple[Component, ...]
    target: str | None
    design: Design
    d_study: tuple[Design, ...]
    reversals: tuple[Reversal, ...]
    voters: Voters | None = None  # of votes: who cast them

    @property
    def one_seed(self) -> bool:
        """Whether there is one seed per model, so that nothing says how far a new training would move it."""
        return "model" in self.levels and "seed" not in self.levels

    @property
    def warnings(self) -> tuple[str, ...]:
        """What this table cannot say."""
        return (one_seed_caution([self.title]),) if self.one_seed else ()


def one_seed_caution(titles: Sequence[str]) -> str:
    """What tables with one seed per model cannot say."""
    return f"One seed per model in {', '.join(titles)}, so the effect of a new training run is unknown."


@dataclass(frozen=True, slots=True)
class VarianceAnswer:
    """Every table's variance components, and two models compared by the multi-bootstrap where that was asked."""

    tables: tuple[VarianceTable, ...]
    compared: tuple[ComparedModels, ...]
    warnings: tuple[str, ...]
    not_used: tuple[str, ...]  # what was read and is in no table, and why
    signature: str
    reading: Mapping[str, Any] | None = None  # what was read of the votes, where some were

    @property
    def voters(self) -> Voters | None:
        """Who cast the votes; None where no table is of votes."""
        return next((table.voters for table in self.tables if table.voters is not None), None)


def answer(
    tables: Iterable[LongTable],
    *,
    score: str = "score",
    target: str = "model",
    sizes: Sequence[Mapping[str, float]] = (),
    compared: Sequence[ComparedModels] = (),
    not_used: Sequence[str] = (),
    sets: int = SIMULATED_TABLES,
    seed: int = 0,
) -> VarianceAnswer:
    """Take every table apart; one whose factors cannot be told apart is named in the warnings, unless it is alone."""
    sources, answers, errors = [], [], []
    for table in tables:
        sources.append(table)
        try:
            answers.append(_answer_table(table, target, sizes, sets=sets, seed=seed))
        except InputError as error:
            errors.append((table.name, error))
    if errors and not answers:
        raise errors[0][1]
    warnings = dict.fromkeys(warning for table in sources for warning in table.warnings)
    omissions = [f"not compared: {name} ({error})" for name, error in errors]
    rows = sum(len(table.score) for table in sources)
    voters = next((table.voters for table in answers if table.voters is not None), None)
    recipe = signature(
        tables=len(answers), rows=rows, score=score, target=target, sets=sets, seed=seed, **judges_in_recipe(voters)
    )
    reading = next((table.reading for table in sources if table.reading is not None), None)
    return VarianceAnswer(tuple(answers), tuple(compared), tuple(warnings), (*not_used, *omissions), recipe, reading)


def _answer_table(
    table: LongTable, target: str, sizes: Sequence[Mapping[str, float]], *, sets: int, seed: int
) -> VarianceTable:
    generator = np.random.default_rng(child_seed(seed, "variance", table.name))
    terms = [term for term in terms_of(table.factors, NESTED) if len(term) == 1 or table.alone.isdisjoint(term)]
    parts = estimate_components(table.score, table.factors, terms, generator=generator, sets=sets)
    study = study_sizes(table.factors, parts, target if target in table.factors else None)
    other_sizes = [*sizes, *({name: 2 * size} for name, size in study.sizes.items())]
    return VarianceTable(
        table.name,
        table.title or table.name,
        parts.n,
        parts.mean,
        parts.levels,
        parts.parts,
        study.target,
        evaluate_design(parts, study),
        tuple(evaluate_design(parts, resize_study(study, parts, sizes_of_study)) for sizes_of_study in other_sizes),
        _list_reversals(table, study.target),
        table.voters,
    )


def _list_reversals(table: LongTable, target: str | None) -> tuple[Reversal, ...]:
    """For the pairs of the leading levels: a re-run with new seeds (items, raters) alone, and with everything new.

    As `analysis compare` asks it: each level counts its seeds alike and has a spread of its own.
    """
    if target is None:
        return ()
    seed = next((name for name, outer in NESTED.items() if outer == target and name in table.factors), None)
    replicate = combine_factors(table.factors, (target,) if seed is None else (target, seed))
    leading = _leading_levels(table, target, replicate)
    return tuple(
        reversal
        for pair in combinations(leading, 2)
        for reversal in _reversals_of_pair(table, target, seed, replicate, pair)
    )


def _leading_levels(table: LongTable, target: str, replicate: Ints) -> list[int]:
    """Codes of the leading levels, by the mean over their seeds' means: the lowest lead where lower is better."""
    means = np.bincount(replicate, table.score) / np.bincount(replicate)
    levels = np.zeros(len(means), np.int64)
    levels[replicate] = table.factors[target]
    upwards = 1 if table.better == "lower" else -1
    return [int(k) for k in np.argsort(upwards * np.bincount(levels, means) / np.bincount(levels), kind="stable")][
        :RANKED_LEVELS
    ]


def _reversals_of_pair(
    table: LongTable, target: str, seed: str | None, replicate: Ints, pair: tuple[int, int]
) -> Iterator[Reversal]:
    """Every way of a re-run for the order of two levels."""
    codes = table.factors[target]
    rows = np.isin(codes, pair)
    replicates = np.unique(replicate[rows], return_inverse=True)[1]
    # A new item has new draws: its draws alone would be given the spread of the items too.
    within = {"draw"} if target != "item" and "item" in table.factors else set()
    other_factors = tuple(name for name in table.factors if name not in (target, *within))
    by = {name: _code_levels(table, name)[rows] for name in other_factors if name != seed}
    means = replicates_of(table.score[rows], replicates, by)
    first, second = ((table.names[target][k], np.unique(replicates[codes[rows] == k])) for k in pair)
    difference = float(means.values[first[1]].mean() - means.values[second[1]].mean())
    chances = predict_flips(means, first, second)
    ways = [(SEEDS if name == seed else name, (name,)) for name in other_factors]
    together = [(EVERYTHING if seed else BOTH, other_factors)] if len(other_factors) > 1 else []
    for way, redrawn in [*ways, *together]:
        yield Reversal(redrawn, first[0], second[0], difference, chances[way])


def _code_levels(table: LongTable, name: str) -> Ints:
    """Codes of a factor's levels; those that live within another factor's, by both."""
    outer = NESTED.get(name)
    return combine_factors(table.factors, (outer, name)) if outer in table.factors and outer else table.factors[name]
