"""The mean of one quantity over training seeds, with an error that knows dialogues and seeds.

Each seed's value rests on the same dialogues, so their errors hang together. A re-run would draw dialogues and seeds
anew: the variance of the mean is that between seeds over their number, which holds each seed's own noise too, plus what
dialogues do to all seeds. Both are taken together as in every comparison of seeds (`both_levels`). With one seed the
error is by dialogues alone, and says nothing of other seeds. Where every row has two dialogues (a target and a source),
both are drawn anew.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from seedvote.analysis.stats.intervals import cross_codes
from seedvote.analysis.stats.reruns import (
    BOTH,
    Error,
    Replicates,
    both_levels,
    drawn_anew,
    estimate_between,
    pick_wider,
)
from seedvote.analysis.stats.spread import SeedRange, seed_range

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class SeedMean:
    """A mean over seeds with its interval; `p` is two-sided against zero."""

    value: float
    se: float
    freedom: float
    low: float
    high: float
    p: float
    seeds: int
    spread: SeedRange | None = None  # of the seeds' own values; None for one


def replicates_by_dialogue(values: Floats, parts: Floats) -> Replicates:
    """From values (seeds,) and what each dialogue adds to their errors, parts (seeds, dialogues)."""
    dialogues = parts.shape[1]
    lone = np.full((len(values), len(values)), math.nan)
    covariance = parts @ parts.T * dialogues / (dialogues - 1) if dialogues > 1 else lone
    return Replicates(values, {"dialogue": covariance, BOTH: covariance}, {"dialogue": float(dialogues)})


def replicates_by_source(values: Floats, parts: Floats, targets: Ints, sources: Ints, weights: Floats) -> Replicates:
    """From values (seeds,) and what each row adds to their errors, parts (seeds, rows): a row has two dialogues.

    The source of one row is that of many others where few dialogues can be one. `weights` (rows,) say how much each row
    counts; rows above zero and below are two sides, and the side with fewer sources (effectively) tells how many.
    """
    sides = [weights * sign for sign in (1, -1) if (weights * sign > 0).any()]
    counted = [np.bincount(sources, side.clip(0)) for side in sides]
    effective = min(float(side.sum() ** 2 / (side**2).sum()) for side in counted)
    number = len(np.unique(targets))
    if number < 2 or effective < 2:
        lone = np.full((len(values), len(values)), math.nan)
        return Replicates(values, {"target": lone, "source": lone, BOTH: lone}, {"target": number, "source": effective})
    by_target, by_source, by_both = (
        _covariance(parts, codes) for codes in (targets, sources, cross_codes([targets, sources]))
    )
    by_target *= number / (number - 1)
    by_source = by_source * effective / (effective - 1) - by_both  # a row's own noise is in that of its target
    covariance = {"target": by_target, "source": by_source, BOTH: by_target + by_source}
    return Replicates(values, covariance, {"target": float(number), "source": effective})


def _covariance(parts: Floats, codes: Ints) -> Floats:
    sums = np.array([np.bincount(codes, row) for row in parts])
    return np.asarray(sums @ sums.T)


def _new_dialogues(replicates: Replicates, weights: Floats) -> Error | None:
    """The error of the mean by new dialogues; of targets and of sources, each with its own degrees of freedom."""
    if "source" not in replicates.clusters:
        return drawn_anew(replicates, weights, "dialogue")
    by_target, by_source = (drawn_anew(replicates, weights, way) for way in ("target", "source"))
    return both_levels(by_target, by_source) if by_target and by_source else None


def mean_over_seeds(replicates: Replicates, *, level: float = 0.95) -> SeedMean:
    """The mean of all replicates."""
    n = len(replicates.values)
    value = float(replicates.values.mean())
    by_dialogue = _new_dialogues(replicates, np.full(n, 1 / n))
    if by_dialogue is None:
        return SeedMean(value, math.nan, math.nan, math.nan, math.nan, math.nan, n)
    variance, freedom = by_dialogue
    if n > 1:
        observed, noise = estimate_between(replicates, np.arange(n))
        shared = max(variance - noise / n, 0.0)
        error = both_levels((shared, freedom), (observed / n, n - 1.0), level=level)
        variance, freedom = pick_wider(by_dialogue, error, level=level)
    se = math.sqrt(variance)
    spread = seed_range(replicates.values.tolist(), level=level)
    if se < 1e-12 * max(abs(value), 1e-12):  # nothing moved anywhere
        return SeedMean(value, 0.0, freedom, value, value, 1.0 if abs(value) < 1e-12 else 0.0, n, spread)
    reach, p = float(stdtrit(freedom, (1 + level) / 2)) * se, 2 * float(stdtr(freedom, -abs(value) / se))
    return SeedMean(value, se, freedom, value - reach, value + reach, p, n, spread)
