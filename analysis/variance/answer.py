"""Where the variance of scores or votes comes from, and what a study of another size or a re-run would show.

Each table draws from a generator of its own, named after it, so its intervals are the same whichever tables are asked
for beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from analysis.reading.long_tables import NESTED, LongTable
from analysis.stats.components import Component, Components, components, terms_of
from analysis.stats.reruns import Design, Flip, Sizes, design, flip, resized, study_sizes
from analysis.variance.cubes import ComparedModels
from dialogue.errors import InputError
from dialogue.seeds import child_seed
from dialogue.signature import signature

SIMULATED_TABLES = 200  # behind the interval of every component
RANKED_LEVELS = 6  # leading levels of the target whose pairs are asked whether a re-run would reverse them


@dataclass(frozen=True, slots=True)
class Reversal:
    """The chance that a re-run puts two levels in the other order, with new levels of the `redrawn` factors."""

    redrawn: tuple[str, ...]
    flip: Flip


@dataclass(frozen=True, slots=True)
class VarianceTable:
    """One table: its components, its own design and others (`d_study`), and which orders a re-run would reverse."""

    name: str
    observations: int
    mean: float
    levels: Mapping[str, int]
    components: tuple[Component, ...]
    target: str | None
    design: Design
    d_study: tuple[Design, ...]
    reversals: tuple[Reversal, ...]

    @property
    def one_seed(self) -> bool:
        """Whether there is one seed per model, so that nothing says how far a new training would move it."""
        return "model" in self.levels and "seed" not in self.levels

    @property
    def warnings(self) -> tuple[str, ...]:
        """What this table cannot say."""
        text = f"{self.name}: one seed per model, so the effect of a new training run is unknown."
        return (text,) if self.one_seed else ()


@dataclass(frozen=True, slots=True)
class VarianceAnswer:
    """Every table's variance components, and two models compared by the multi-bootstrap where that was asked."""

    tables: tuple[VarianceTable, ...]
    compared: tuple[ComparedModels, ...]
    warnings: tuple[str, ...]
    signature: str


def answer(
    tables: Iterable[LongTable],
    *,
    score: str = "score",
    target: str = "model",
    sizes: Sequence[Mapping[str, float]] = (),
    compared: Sequence[ComparedModels] = (),
    sets: int = SIMULATED_TABLES,
    seed: int = 0,
) -> VarianceAnswer:
    """Take every table apart; one whose factors cannot be told apart is named in the warnings, unless it is alone."""
    read, found, refused = [], [], []
    for table in tables:
        read.append(table)
        try:
            found.append(_table(table, target, sizes, sets=sets, seed=seed))
        except InputError as error:
            refused.append((table.name, error))
    if refused and not found:
        raise refused[0][1]
    warnings = dict.fromkeys(warning for table in read for warning in table.warnings)
    left_out = [f"{name} is left out. {error}" for name, error in refused]
    rows = sum(len(table.score) for table in read)
    recipe = signature(tables=len(found), rows=rows, score=score, target=target, sets=sets, seed=seed)
    return VarianceAnswer(tuple(found), tuple(compared), (*warnings, *left_out), recipe)


def _table(
    table: LongTable, target: str, sizes: Sequence[Mapping[str, float]], *, sets: int, seed: int
) -> VarianceTable:
    generator = np.random.default_rng(child_seed(seed, "variance", table.name))
    terms = terms_of(table.factors, NESTED)
    found = components(table.score, table.factors, terms, generator=generator, sets=sets)
    study = study_sizes(table.factors, found, target if target in table.factors else None)
    others = [*sizes, *({name: 2 * size} for name, size in study.sizes.items())]
    return VarianceTable(
        table.name, found.n, found.mean, found.levels, found.parts, study.target, design(found, study),
        tuple(design(found, resized(study, found, other)) for other in others),
        _reversals(table, found, study),
    )  # fmt: skip


def _reversals(table: LongTable, found: Components, study: Sizes) -> tuple[Reversal, ...]:
    """For the pairs of the leading levels: a re-run with new seeds (items, raters) alone, and with everything new."""
    if study.target is None:
        return ()
    means = list(table.means(study.target).items())[:RANKED_LEVELS]
    ways: list[tuple[str, ...]] = [(name,) for name in study.sizes]
    if len(ways) > 1:
        ways.append(tuple(study.sizes))
    return tuple(
        Reversal(way, flip(first, second, found, study, redrawn=way))
        for first, second in combinations(means, 2)
        for way in ways
    )
