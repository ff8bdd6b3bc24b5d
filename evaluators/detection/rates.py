"""Accuracies and other numbers of a discrimination, with intervals over dialogues and discriminators' seeds.

Dialogues and seeds are crossed: every seed judges every dialogue. The variance of a mean is that between dialogues plus
that between seeds; degrees of freedom by Satterthwaite, as few seeds tell little of how seeds differ. What both share
is not taken off again: that covers .89 to .96 in simulation where seeds differ, and leaving it in .92 to .97 (docs).
The interval of a share is Wilson's with as many replies as would have that variance, so it ends within 0 and 1 even
where every reply was told right.

Where quarters of the dialogues are tested in turn, two quarters that are alike by luck raise the accuracy on both: what
one counts in training the other counts in the test. With nothing to be found, each such pair enters twice, so the
variance is (folds + 2) / 3 times that of separate tests; `mean_over_both` multiplies by it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]
Rule = Callable[[NDArray[np.bool_], Floats, Floats], tuple[Floats, float]]  # labels, chances that fall, weights
BANDS = 400  # draws of dialogues and seeds behind the bands of a curve
GRID = np.linspace(0, 1, 101)
BINS = 10


@dataclass(frozen=True, slots=True)
class Measured:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float


def mean_over_both(values: Floats, dialogue: NDArray[np.int64], folds: int = 1) -> tuple[float, float, float]:
    """Mean of values (seeds x replies), its variance, and its degrees of freedom."""
    seeds = len(values)
    mean = float(values.mean())
    groups = int(dialogue.max()) + 1
    sums = np.stack([np.bincount(dialogue, row, groups) for row in values - mean])  # seeds x dialogues
    of_dialogues = float((sums.sum(0) ** 2).sum()) / values.size**2 * groups / max(groups - 1, 1)
    of_dialogues *= (folds + 2) / 3
    df = float(max(groups - 1, 1))
    if seeds == 1:
        return mean, of_dialogues, df
    of_seeds = float((sums.sum(1) ** 2).sum()) / values.size**2 * seeds / (seeds - 1)
    total = of_dialogues + of_seeds
    if total > 0:
        df = total**2 / (of_dialogues**2 / df + of_seeds**2 / (seeds - 1))
    return mean, total, df


def share_told(values: Floats, dialogue: NDArray[np.int64], folds: int = 1) -> Measured:
    """A share (rows of seeds, values from 0 to 1) with Wilson's interval."""
    mean, variance, df = mean_over_both(values, dialogue, folds)
    groups = int(dialogue.max()) + 1
    spread = mean * (1 - mean)
    n = min(spread / variance, values.shape[1]) if spread > 0 and variance > 0 else float(groups)
    return _wilson_interval(mean, n, df)


def _wilson_interval(share: float, n: float, df: float) -> Measured:
    """Wilson's interval of a share of `n` replies, by t."""
    z = float(stdtrit(df, 0.975))
    centre, half = share + z * z / (2 * n), z * np.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    low, high = ((centre - half) / (1 + z * z / n), (centre + half) / (1 + z * z / n))
    return Measured(share, max(float(low), 0.0), min(float(high), 1.0))


def told_beyond(values: Floats, rival_values: Floats, dialogue: NDArray[np.int64], folds: int = 1) -> Measured:
    """How far one share (seeds x replies) lies above another one of the same replies."""
    mean, variance, df = mean_over_both(values - rival_values, dialogue, folds)
    half = float(stdtrit(df, 0.975)) * float(np.sqrt(variance))
    return Measured(mean, mean - half, mean + half)


def told_right(chances: Floats, human: NDArray[np.bool_]) -> Floats:
    """1 where a chance points to the label, a half where it is exactly .5."""
    return np.where(chances == 0.5, 0.5, (chances > 0.5) == human)


def mean_correlation(values: Sequence[float], dialogue: NDArray[np.int64]) -> Measured:
    """The mean of correlations, clipped to what a correlation can be."""
    mean, variance, df = mean_over_both(np.array([values]), dialogue)
    half = float(stdtrit(df, 0.975)) * float(np.sqrt(variance))
    return Measured(mean, max(mean - half, -1.0), min(mean + half, 1.0))


@dataclass(frozen=True)
class DetectionCurve:
    """A curve with its band on the grid, and the area under it."""

    x: Floats
    y: Floats
    low: Floats
    high: Floats
    area: Measured


def roc_curve(human: NDArray[np.bool_], chances: Floats, weight: Floats) -> tuple[Floats, float]:
    """True positive rate on the grid of false positive rates, and the area; ties count half."""
    hits, misses = _cumulate_weights(human, chances, weight)
    y, x = np.append(0, hits / hits[-1]), np.append(0, misses / misses[-1])
    return np.interp(GRID, x, y), float(np.trapezoid(y, x))


def precision_recall(human: NDArray[np.bool_], chances: Floats, weight: Floats) -> tuple[Floats, float]:
    """Precision on the grid of recalls, and the average precision."""
    hits, misses = _cumulate_weights(human, chances, weight)
    precision, recall = hits / (hits + misses), hits / hits[-1]
    area = float((precision * np.diff(recall, prepend=0)).sum())
    at = np.minimum(np.searchsorted(recall, GRID, side="left"), len(precision) - 1)
    return precision[at], area


def curve_with_band(
    rule: Rule,
    human: NDArray[np.bool_],
    chances: Floats,
    dialogue: NDArray[np.int64],
    *,
    seed: int,
    folds: int,
) -> DetectionCurve:
    """A curve over all seeds' chances (seeds x replies), with a band from drawing dialogues and seeds anew."""
    seeds = len(chances)
    labels, flat = np.tile(human, seeds), chances.ravel()
    order = np.argsort(-flat, kind="stable")
    labels, flat = labels[order], flat[order]
    y, area = rule(labels, flat, np.ones(flat.size))
    rng, groups = np.random.default_rng(seed), int(dialogue.max()) + 1
    curves, areas = np.empty((BANDS, len(GRID))), np.empty(BANDS)
    for row in range(BANDS):
        of_dialogue = np.bincount(rng.integers(0, groups, groups), minlength=groups)
        of_seed = np.bincount(rng.integers(0, seeds, seeds), minlength=seeds)
        weight = (of_seed[:, None] * of_dialogue[dialogue][None]).ravel()[order].astype(np.float64)
        if not (weight[labels].any() and weight[~labels].any()):
            curves[row], areas[row] = np.nan, np.nan
        else:
            curves[row], areas[row] = rule(labels, flat, weight)
    wider = np.sqrt((folds + 2) / 3)
    low, high = np.clip(y + wider * (np.nanquantile(curves, (0.025, 0.975), axis=0) - y), 0, 1)
    ends = np.clip(area + wider * (np.nanquantile(areas, (0.025, 0.975)) - area), 0, 1)
    measure = Measured(area, float(ends[0]), float(ends[1]))
    if area in (0.0, 1.0):  # in every draw likewise: as much room as so many dialogues leave to a share
        measure = _wilson_interval(area, groups, groups - 1)
    return DetectionCurve(GRID, y, low, high, measure)


def bin_chances(human: NDArray[np.bool_], chances: Floats) -> list[dict[str, float]]:
    """In ten bins of chances: how many, their mean, and the share that people wrote."""
    labels, flat = np.tile(human, chances.shape[0]), chances.ravel()
    place = np.minimum((flat * BINS).astype(int), BINS - 1)
    return [
        {"replies": int(in_bin.sum()), "chance": float(flat[in_bin].mean()), "people": float(labels[in_bin].mean())}
        for n in range(BINS)
        if (in_bin := place == n).any()
    ]


def _cumulate_weights(human: NDArray[np.bool_], chances: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Weights of people's and of models' replies at or above each different chance; chances fall."""
    last = np.append(np.flatnonzero(np.diff(chances)), len(chances) - 1)
    hits, misses = np.cumsum(weight * human)[last], np.cumsum(weight * ~human)[last]
    counted = hits + misses > 0
    return hits[counted], misses[counted]
