"""Does any of several trained models beat every rival? Claims that hold whatever was chosen to make them.

A cell is a model at a checkpoint under several training seeds, a rival is anything that needs no training; both are
scored on the same dialogues. Two claims are kept apart.

*As trained*: the mean over these very seeds is higher on other dialogues; t over dialogues.

*With new seeds*: more than half of all trainings are higher. If half of them are not, n seeds are all higher with a
chance of 2^-n at most, whatever their law. A mean over three seeds has no such limit: where one in ten collapses, .73
of studies see three that went well. That a seed is higher on other dialogues is again t's to say, and both errors add
up: j of n seeds give P(Bin(n, 1/2) >= j) + (n - j + 1) times the j-th smallest of the seeds' p. A rival that has seeds
of its own, and shares none, must be below in all of them: 2^-n + 2^-k.

Two choices could make a claim too easily. The rival: a cell must beat each of them, and its p is the largest over all
rivals (intersection-union), so no rival is ever picked. The cell: the smallest p is multiplied by the number of cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtrc, stdtr, stdtrit

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MeasuredModel:
    """What one model scores: values (seeds,), and what every dialogue adds to their errors (seeds, dialogues).

    `architecture` is empty for what has no seeds.
    """

    name: str
    architecture: str
    seeds: tuple[int | None, ...]
    values: Floats
    parts: Floats


@dataclass(frozen=True, slots=True)
class Margin:
    """How far a cell is above the rival that it beats least surely.

    `low` is the lower end of a one-sided interval that holds for all cells and rivals at once, `p` that of the claim
    that it beats every rival, both with the choice among cells allowed for. With new seeds both are of the median.
    """

    cell: str
    rival: str
    difference: float
    low: float
    p: float
    cells: int
    rivals: int


@dataclass(frozen=True, slots=True, eq=False)
class Gap:
    """A cell above a rival: differences (comparisons,) with their errors over dialogues, and what seeds leave open.

    At least `least` of the comparisons must be above zero; `chance` is that of so many where half of all trainings are
    not higher.
    """

    differences: Floats
    errors: Floats
    freedom: float
    least: int
    chance: float

    @property
    def spare(self) -> int:
        """How many times the error of one comparison counts."""
        return len(self.differences) - self.least + 1

    @property
    def p(self) -> float:
        """One-sided; 1 where the errors are not known."""
        if not np.isfinite(self.errors).all():
            return 1.0
        sure = np.where(self.differences > 0, np.inf, -np.inf)  # where no dialogue moves the difference
        tails = np.sort(stdtr(self.freedom, -np.divide(self.differences, self.errors, out=sure, where=self.errors > 0)))
        return min(1.0, self.chance + self.spare * float(tails[self.least - 1]))

    def low(self, tail: float) -> float:
        """The lower end with this error; minus infinity where the seeds alone use it up."""
        remaining = (tail - self.chance) / self.spare
        if remaining <= 0 or not np.isfinite(self.errors).all():
            return -np.inf
        ends = self.differences - float(stdtrit(self.freedom, 1 - remaining)) * self.errors
        return float(np.sort(ends)[self.spare - 1])


def surest_as_trained(
    cells: Sequence[MeasuredModel], rivals: Sequence[MeasuredModel], *, level: float = 0.95
) -> Margin | None:
    """The cell that beats all rivals most surely on other dialogues; None without two dialogues or a rival."""
    gaps = [[_gap_of_means(cell, rival) for rival in rivals] for cell in cells]
    return _find_surest(cells, rivals, gaps, level)


def surest_anew(
    cells: Sequence[MeasuredModel], rivals: Sequence[MeasuredModel], *, level: float = 0.95
) -> Margin | None:
    """The same with new seeds; None where no cell has two seeds, either, among those that have any."""
    several = [cell for cell in cells if len(cell.values) > 1 or not cell.architecture]
    tail = (1 - level) / max(len(several), 1)
    gaps = [[_gap_of_seeds(cell, rival, tail) for rival in rivals] for cell in several]
    return _find_surest(several, rivals, gaps, level)


def seeds_to_claim(cells: int, *, level: float = 0.95) -> int:
    """The fewest seeds with which one of so many cells can be shown to beat a rival without seeds.

    >>> seeds_to_claim(1), seeds_to_claim(10), seeds_to_claim(24)
    (5, 8, 9)
    """
    return next(seeds for seeds in range(1, 64) if cells * 0.5**seeds < 1 - level)


def _find_surest(
    cells: Sequence[MeasuredModel], rivals: Sequence[MeasuredModel], gaps: Sequence[Sequence[Gap]], level: float
) -> Margin | None:
    if not cells or not rivals or cells[0].parts.shape[1] < 2:
        return None
    p = np.array([[gap.p for gap in row] for row in gaps])
    low = np.array([[gap.low((1 - level) / len(cells)) for gap in row] for row in gaps])
    middle = np.array([[float(np.median(gap.differences)) for gap in row] for row in gaps])
    best = int(np.lexsort((-middle.min(1), -low.min(1), p.max(1)))[0])
    hardest = int(np.lexsort((middle[best], low[best], -p[best]))[0])
    return Margin(
        cells[best].name,
        rivals[hardest].name,
        float(middle[best, hardest]),
        float(low[best].min()),
        min(1.0, len(cells) * float(p[best].max())),
        len(cells),
        len(rivals),
    )


def _measure_gap(values: Floats, parts: Floats, least: int, chance: float) -> Gap:
    """From differences (comparisons,) and what each dialogue adds to their errors (comparisons, dialogues)."""
    dialogues = parts.shape[1]
    errors = np.sqrt(dialogues / (dialogues - 1) * (parts * parts).sum(1)) if dialogues > 1 else np.nan * values
    return Gap(values, errors, dialogues - 1.0, least, chance)


def _gap_of_means(cell: MeasuredModel, rival: MeasuredModel) -> Gap:
    difference = np.array([cell.values.mean() - rival.values.mean()])
    return _measure_gap(difference, (cell.parts.mean(0) - rival.parts.mean(0))[None], 1, 0.0)


def _gap_of_seeds(cell: MeasuredModel, rival: MeasuredModel, tail: float) -> Gap:
    """Every seed against the rival; the same architecture before training against itself, seed by seed."""
    if cell.architecture and cell.architecture == rival.architecture and cell.seeds == rival.seeds:
        return _measure_gap(cell.values - rival.values, cell.parts - rival.parts, *_count_signs(len(cell.seeds), tail))
    values = (cell.values[:, None] - rival.values).ravel()
    parts = (cell.parts[:, None] - rival.parts).reshape(len(values), -1)
    seeds = [len(side.values) for side in (cell, rival) if side.architecture]
    if len(seeds) == 1:
        return _measure_gap(values, parts, *_count_signs(seeds[0], tail))
    return _measure_gap(values, parts, len(values), sum(0.5**n for n in seeds))


def _count_signs(seeds: int, tail: float) -> tuple[int, float]:
    """How many seeds must be above, and the chance of so many if half of all trainings are not.

    As few as leave half of the error to the dialogues; else all.
    """
    chances = {least: float(bdtrc(least - 1, seeds, 0.5)) for least in range(1, seeds + 1)}
    least = next((least for least, chance in chances.items() if chance <= tail / 2), seeds)
    return least, chances[least]
