"""Would a re-run reverse an order? The chance of a rank flip, from replicates and what moves them.

Two things (architectures) are compared by the means of their replicates (training seeds), all judged on the same items
and by the same raters. The error of the difference has one part for each thing that is new in a re-run: replicates
(sample variance of each thing by itself, never pooled: one unstable architecture must not lend its spread to the
others), items and raters (cluster-robust). With everything new, the replicates' part is their whole variance, and that
of items and raters is what different replicates share: nothing is subtracted from a variance over few replicates.
docs/comparison.md has the simulation against pooled components.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import nctdtrinc, ndtr, ndtri, stdtr, stdtrit

from seedvote.analysis.stats.intervals import count_groups, cross_codes, kish

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Error = tuple[float, float]  # variance of a difference of two means, and its degrees of freedom
SEEDS, EVERYTHING, BOTH = "seeds", "everything", "both"


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Values (n,) of trained models and their covariance (n, n) over new levels of every crossed factor, and of all.

    `covariance` has a key for each crossed factor and `BOTH` for all of them at once; `clusters` counts the levels
    (the effective number of unequal ones).
    """

    values: Floats
    covariance: Mapping[str, Floats] = field(default_factory=dict)
    clusters: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Flip:
    """How likely a re-run puts two things in the other order."""

    first: str
    second: str
    difference: float
    se: float  # of the difference, from what the re-run draws anew
    freedom: float
    p: float  # t-predictive
    low: float  # 95 % interval of the chance that a further study has the other order
    high: float


def replicates_of(score: Floats, replicate: Ints, by: Mapping[str, Ints]) -> Replicates:
    """From single observations: the mean of each replicate and the covariance of the means by every crossed factor."""
    count = np.bincount(replicate)
    values = np.bincount(replicate, score) / count
    parts = (score - values[replicate]) / count[replicate]

    def estimate_covariance(codes: Ints) -> Floats:
        number = count_groups(codes)
        if number < 2:
            return np.full((len(count), len(count)), math.nan)
        adds = sparse.coo_matrix((parts, (replicate, codes))).tocsr()
        return np.asarray((adds @ adds.T).toarray() * number / (number - 1))

    covariances: dict[str, Floats] = {name: estimate_covariance(codes) for name, codes in by.items()}
    if by:
        covariances[BOTH] = sum(
            (
                (-1) ** (size + 1)
                * (covariances[names[0]] if size == 1 else estimate_covariance(cross_codes([by[n] for n in names])))
                for size in range(1, len(by) + 1)
                for names in combinations(by, size)
            ),
            np.zeros((len(count),) * 2),
        )
    return Replicates(values, covariances, {name: kish(codes) for name, codes in by.items()})


def predict_flips(replicates: Replicates, first: tuple[str, Ints], second: tuple[str, Ints]) -> dict[str, Flip | None]:
    """What is new in the re-run -> the flip of the order of two things, by name and places of their replicates.

    None: not known from this study, which is also so where the few values happen to be equal.
    """
    means = [(name, float(replicates.values[at].mean())) for name, at in (first, second)]
    flips_by_way = {
        way: predict_flip(means[0], means[1], *error) if error is not None and error[0] > 0 else None
        for way, error in difference_errors(replicates, first[1], second[1]).items()
    }
    for way, parts in ((BOTH, replicates.clusters), (EVERYTHING, flips_by_way)):
        known = [flip for part in (*parts, way) if (flip := flips_by_way.get(part)) is not None]
        if flips_by_way.get(way) is not None:  # more that is new is never surer, whatever the degrees of freedom say
            flips_by_way[way] = max(known, key=lambda flip: flip.p)
    return flips_by_way


def difference_errors(replicates: Replicates, first: Ints, second: Ints) -> dict[str, Error | None]:
    """What is new -> the error of the difference of two means; None: not known."""
    weights = np.zeros(len(replicates.values))
    weights[first], weights[second] = 1 / len(first), -1 / len(second)
    errors: dict[str, Error | None] = {way: drawn_anew(replicates, weights, way) for way in replicates.clusters}
    joint = drawn_anew(replicates, weights, BOTH) if replicates.clusters else (0.0, math.inf)
    if len(replicates.clusters) > 1:
        errors[BOTH] = joint
    seeds = [(*estimate_between(replicates, at), len(at)) for at in (first, second) if len(at) > 1]
    own = _sum_errors([(observed / n, n - 1) for observed, _, n in seeds]) if len(seeds) == 2 else None
    errors[SEEDS], errors[EVERYTHING] = own, None
    if own is not None and joint is not None:
        shared = max(joint[0] - sum(noise / n for _, noise, n in seeds), 0.0)
        errors[EVERYTHING] = pick_wider(joint, both_levels((shared, joint[1]), own))
    return errors


def both_levels(first: Error, second: Error, *, level: float = 0.95) -> Error:
    """The error of two levels at once, such as items and what seeds add to them.

    The half-width of the interval is the root of the squared half-widths that either level would have alone, each with
    its own t; the degrees of freedom are those of the one t interval that is as wide. Satterthwaite's hold the truth
    less often where the level with few of them has most of the variance (docs/robustness.md, docs/comparison.md).
    """
    if not min(first[0], second[0]) > 0:
        return max(first, second)  # the one that has a variance
    variance = first[0] + second[0]
    few, many = sorted((first[1], second[1]))
    tail = (1 + level) / 2
    wide = sum(float(stdtrit(freedom, tail)) ** 2 * part for part, freedom in (first, second)) / variance

    def compare_widths(inverse: float) -> float:
        return float(stdtrit(1 / inverse if inverse else math.inf, tail)) ** 2 - wide

    edges = 1 / many, 1 / few
    if compare_widths(edges[0]) >= 0 or compare_widths(edges[1]) <= 0:  # one of them is all but nothing
        return variance, many if compare_widths(edges[0]) >= 0 else few
    return variance, 1 / float(brentq(compare_widths, *edges))


def pick_wider(first: Error, second: Error, *, level: float = 0.95) -> Error:
    """The error with the wider interval: more that is new is never surer, however alike few seeds happen to be."""
    return max(first, second, key=lambda error: float(stdtrit(error[1], (1 + level) / 2)) * math.sqrt(error[0]))


def drawn_anew(replicates: Replicates, weights: Floats, way: str) -> Error | None:
    """Variance of a weighted sum of the values over new levels of one crossed factor, or of all of them (`BOTH`)."""
    ways = list(replicates.clusters) if way == BOTH else [way]
    levels = min(replicates.clusters.get(name, 0) for name in ways)
    if levels < 2:
        return None
    # A variance by inclusion and exclusion may by chance fall below one of its ways, or below zero.
    parts = [float(weights @ replicates.covariance[name] @ weights) for name in {*ways, way}]
    return max(*parts, 0.0), levels - 1.0


def estimate_between(replicates: Replicates, at: Ints) -> tuple[float, float]:
    """The sample variance over these replicates, and what it would be on average, were they all alike."""
    return float(replicates.values[at].var(ddof=1)), noise_between(replicates.covariance, at)


def noise_between(covariance: Mapping[str, Floats], at: Ints) -> float:
    """What the sample variance over these replicates would be on average, were they all alike; they share the items."""
    # The larger of the ways: items and raters are crossed, and their sum would count a vote's own noise twice.
    parts = [matrix[np.ix_(at, at)] for matrix in covariance.values()]
    noise = [float(np.trace(part) - part.sum() / len(at)) / (len(at) - 1) for part in parts]
    return max((part for part in noise if math.isfinite(part)), default=math.nan if noise else 0.0)


def _sum_errors(parts: Sequence[Error]) -> Error:
    """Sum of independent variances with its degrees of freedom (Satterthwaite 1946)."""
    total = sum(part for part, _ in parts)
    spread = sum(part**2 / freedom for part, freedom in parts)
    return total, total**2 / spread if spread else math.inf


def predict_flip(first: tuple[str, float], second: tuple[str, float], variance: float, freedom: float) -> Flip:
    """The flip of an observed order whose difference scatters about the truth with this variance.

    The observed and the new difference scatter alike, so the new one given the old is t about it with twice the
    variance (flat prior). The interval inverts the noncentral t law of difference / sqrt(variance). Where p is tiny it
    rests on what lies beyond that interval, which then reaches to p: no chance is printed outside its own interval.
    """
    difference, se = first[1] - second[1], float(np.sqrt(variance))
    ratio = abs(difference) / se
    low, high = _noncentral_bounds(ratio, freedom)
    p = float(stdtr(freedom, -ratio / np.sqrt(2)))
    return Flip(first[0], second[0], difference, se, freedom, p, float(ndtr(-high)), max(float(ndtr(-low)), p))


def _noncentral_bounds(ratio: float, freedom: float, level: float = 0.95) -> tuple[float, float]:
    """Interval of the true difference in units of its standard error, from the observed `ratio` (capped at 100)."""
    tail, ratio = (1 - level) / 2, min(ratio, 100.0)  # beyond 100 the chance is 0 to any digit
    if not np.isfinite(freedom) or freedom > 1e4:
        return ratio + float(ndtri(tail)), ratio - float(ndtri(tail))
    low, high = (float(nctdtrinc(freedom, p, ratio)) for p in (1 - tail, tail))
    return low, high
