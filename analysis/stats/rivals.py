"""Does any of several trained models beat every rival? One claim, whatever was chosen to make it.

A cell is a model at a checkpoint under several training seeds, a rival is anything that needs no training. Both are
scored on the same dialogues, so dialogues are drawn anew for both together, and seeds for each (together where both
have the same seeds of one architecture). The variance of their difference has a level for the dialogues and one for
each side's seeds, every level with its own degrees of freedom; as in every comparison of seeds, the half-width of an
interval is the root of the sum of the squared half-widths that the levels would have alone.

Two choices could make a claim too easily. The rival: a cell must beat each of them, and its p is the largest over all
rivals (intersection-union), so no rival is ever picked. The cell: the smallest p is multiplied by the number of cells.

With three seeds a bootstrap of seeds has six different sets and no tails; t has them. docs/method-models.md has the
simulation.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]
LEAST = 1e-9  # the smallest p that is looked for
HALVINGS = 48


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
    that it beats every rival, both with the choice among cells allowed for.
    """

    cell: str
    rival: str
    difference: float
    low: float
    p: float
    cells: int
    rivals: int


def surest(cells: Sequence[MeasuredModel], rivals: Sequence[MeasuredModel], *, level: float = 0.95) -> Margin | None:
    """The cell that beats all rivals most surely; None where no cell has two seeds, or there are no two dialogues."""
    told = [cell for cell in cells if len(cell.values) > 1 and cell.parts.shape[1] > 1]
    if not told or not rivals:
        return None
    gaps = [[_gap(cell, rival) for rival in rivals] for cell in told]
    difference = np.array([[gap[0] for gap in row] for row in gaps])
    variance = np.array([[gap[1] for gap in row] for row in gaps])
    freedom = np.array([[gap[2] for gap in row] for row in gaps])
    p, low = _tail(difference, variance, freedom), difference - levels_reach(variance, freedom, (1 - level) / len(told))
    low = np.where(np.isfinite(low), low, -np.inf)
    best = int(np.lexsort((-low.min(1), p.max(1)))[0])
    hardest = int(np.lexsort((low[best], -p[best]))[0])
    return Margin(
        told[best].name, rivals[hardest].name, float(difference[best, hardest]), float(low[best].min()),
        min(1.0, len(told) * float(p[best].max())), len(told), len(rivals),
    )  # fmt: skip


def _gap(cell: MeasuredModel, rival: MeasuredModel) -> tuple[float, list[float], list[float]]:
    """The difference; variance and degrees of freedom of its levels: dialogues, the cell's seeds, the rival's."""
    dialogues = cell.parts.shape[1]
    apart = cell.parts.mean(0) - rival.parts.mean(0)
    by_dialogue = dialogues / (dialogues - 1) * float(apart @ apart)
    if cell.architecture == rival.architecture and cell.seeds == rival.seeds:
        own, other = _by_seed(cell.values - rival.values, cell.parts - rival.parts), 0.0
    else:
        own, other = _by_seed(cell.values, cell.parts), _by_seed(rival.values, rival.parts)
    degrees = [dialogues - 1.0, len(cell.values) - 1.0, max(len(rival.values) - 1.0, 1.0)]
    return float(cell.values.mean() - rival.values.mean()), [by_dialogue, own, other], degrees


def _by_seed(values: Floats, parts: Floats) -> float:
    """Variance of the mean over seeds, beyond what the dialogues that they share let them differ by anyway."""
    n, dialogues = parts.shape
    if n < 2:
        return 0.0
    apart = parts - parts.mean(0)
    noise = dialogues / (dialogues - 1) * float((apart * apart).sum()) / (n - 1)
    return float(np.maximum(values.var(ddof=1) - noise, 0.0) / n)


def levels_reach(variance: Floats, freedom: Floats, tail: float | Floats) -> Floats:
    """How far an interval with this probability beyond its one end reaches; levels along the last axis."""
    each = stdtrit(freedom, 1 - np.asarray(tail)[..., None])
    return np.asarray(np.sqrt((each**2 * variance).sum(-1)))


def _tail(difference: Floats, variance: Floats, freedom: Floats) -> Floats:
    """The one-sided p at which the reach is the difference; 1 where that is not above zero, or not known."""
    low, high = np.full(difference.shape, math.log(LEAST)), np.full(difference.shape, math.log(0.5))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        beyond = levels_reach(variance, freedom, np.exp(middle)) > difference
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.where((difference > 0) & np.isfinite(variance).all(-1), np.exp(high), 1.0)
