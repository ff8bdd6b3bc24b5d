"""Intervals that hold when votes share raters, pairs or dialogues: cluster-robust standard errors for a mean.

Two-way clustering follows Cameron, Gelbach and Miller (2011): the variances by each way are added and that by their
crossing is taken away. Every part is a jackknife, the spread of the means that leave out one cluster (CV3 of MacKinnon,
Nielsen and Webb 2023): the usual G/(G-1) is too small where a few raters gave most of the votes.
A share of ties or hits and a mean of scores differ in how far chance may lower the error: see `error_of_mean`.
The dashboard's twin of the interval of a share is crowd/watching/share_interval.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import betaincinv, expit, logit, stdtr, stdtrit

from seedvote.dialogue.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FEW = 5  # effective clusters; how far fewer differ is hardly known
MOST_CLUSTERS = 2000  # with more the table of squares outgrows a laptop, and the freedom is hardly below their number


@dataclass(frozen=True)
class Interval:
    """A mean with its standard error and interval; `unit` says which clusters the error allows for."""

    value: float
    se: float
    low: float
    high: float
    level: float
    df: float
    n: int
    unit: str
    clusters: Mapping[str, int]
    design_effect: float
    effective_n: float
    worth: float  # independent votes whose own t interval would be as wide: few clusters make it few


def mean_interval(
    values: ArrayLike,
    *,
    by: Mapping[str, Ints],
    level: float = 0.95,
    share: bool = False,
) -> Interval:
    """Mean of `values` (n,) with an interval robust to the clusters in `by` (name -> codes (n,); none: independent).

    Error and degrees of freedom are those of `error_of_mean`. `share=True` works on the logit scale, so that the
    interval of a share stays within 0 and 1; where every vote is the same it is that of Clopper and Pearson (1934) on
    the clusters.
    """
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        raise InputError("One vote has no interval; two or more are needed.")
    counts = {name: count_groups(codes) for name, codes in by.items()}
    for name, count in counts.items():
        if count < 2:
            raise InputError(f"An interval by {name} needs two {name}s or more; the votes have one.")
    mean = float(values.mean())
    alone = float(values.var(ddof=1)) / len(values)
    se, df = error_of_mean(values, by=by, share=share)
    low, high = bound_mean(mean, se, df, level, share=share)
    # Where all votes are the same, all clusters are: as the interval says, they tell as much as df + 1 votes.
    effect = se**2 / alone if alone > 0 else len(values) / (df + 1)
    effective = len(values) / max(effect, 1.0)
    worth = min(as_wide(effective, df, level), effective) if alone > 0 else effective
    return Interval(mean, se, low, high, level, df, len(values), unit_name(by), counts, effect, effective, worth)


def as_wide(effective: float, df: float, level: float) -> float:
    """How many independent votes have a t interval as wide as `effective` votes' with only `df` degrees of freedom.

    The error alone would say `effective`; but an error known from three raters is not an error known from 100 votes.
    """
    tail = (1 + level) / 2
    wide = float(stdtrit(df, tail)) ** 2 / effective

    def compare_widths(votes: float) -> float:
        return float(stdtrit(max(votes - 1, 1.0), tail)) ** 2 / votes - wide

    most = max(effective, 2.0)
    return most if compare_widths(most) >= 0 else float(brentq(compare_widths, 1e-9, most))


def unit_name(by: Mapping[str, object]) -> str:
    """`pair+rater` for clusters by pair and rater, `vote` for none."""
    return "+".join(by) or "vote"


def robust_variance(values: ArrayLike, *, by: Mapping[str, Ints], at_least_one_way: bool = False) -> float:
    """Variance of the mean of `values` (n,), allowing for any number of crossed ways of clustering.

    V = sum over non-empty sets S of ways of (-1)^(|S|+1) V_S with V_S = (G-1)/G sum_g (sum_{i in g} e_i / (n - n_g))^2.
    """
    total, single = _by_ways(values, by)
    # The difference of variances can fall below either of them, or below zero, by chance alone.
    return max(total, *single) if at_least_one_way else total


def error_of_mean(values: ArrayLike, *, by: Mapping[str, Ints], share: bool = False) -> tuple[float, float]:
    """Standard error of the mean of `values` (n,) and its degrees of freedom, at least 1.

    The two-way variance is never smaller than the larger one-way one (of a share: than half of it), and its degrees of
    freedom are those of Satterthwaite (1946) for the variances by way, but no fewer than the rarer way has. A share by
    fewer than five effective clusters takes the whole of the larger variance and the fewest degrees of freedom: raters
    differ in their ties more than such a variance shows. Where all clusters are alike though the votes are not, the
    error is that of single votes.
    """
    values = np.asarray(values, dtype=float)
    # The effective number, not the number: a few raters who gave most of the votes are few raters.
    freedoms = [max(kish(codes) - 1, 1.0) for codes in by.values()] or [max(len(values) - 1.0, 1.0)]
    few = share and min(freedoms) < FEW - 1
    total, single = _by_ways(values, by)
    floor = 0.5 if share and not few and len(single) > 1 else 1.0
    variance, df = combine_variances(total, single, float(values.var(ddof=1)) / len(values), freedoms, floor=floor)
    return float(np.sqrt(variance)), min(freedoms) if few else df


def combine_variances(
    total: float, single: Sequence[float], alone: float, freedoms: Sequence[float], *, floor: float = 1.0
) -> tuple[float, float]:
    """The variance by all ways and its degrees of freedom, from those by each way and that of `alone` votes."""
    variance = max(total, floor * max(single))
    spread = sum(error**2 / free for error, free in zip(single, freedoms, strict=True))
    # 1e-12: clusters with the same mean leave nothing but rounding, and an interval without width would be no interval.
    # Where all votes are the same, `alone` may be a rounding below zero and the ways may add to one above it.
    if variance <= 1e-12 * alone or not spread:
        return max(alone, 0.0), min(freedoms)
    return variance, max(min(freedoms), variance**2 / spread)


def _by_ways(values: ArrayLike, by: Mapping[str, Ints]) -> tuple[float, list[float]]:
    """The variance of the mean that allows for all ways of clustering, and those by each way alone."""
    total, single, _ = cluster_covariances(np.asarray(values, dtype=float)[:, None], by=by)
    return float(total[0, 0]), [float(matrix[0, 0]) for matrix in single]


def cluster_covariances(
    columns: Floats, *, by: Mapping[str, Ints], weights: Floats | None = None
) -> tuple[Floats, list[Floats], Floats]:
    """Covariances (k, k) of the means of `columns` (n, k) by all ways of clustering, and by each way alone.

    The last answer (k,) says how they go with the sizes of the clusters, by all ways; it is zero where these are equal.
    `weights` (n,) say what each vote counts; None: all the same.
    """
    weights = np.ones(len(columns)) if weights is None else weights
    residuals = weights[:, None] * (columns - weights @ columns / weights.sum())
    residuals = np.column_stack([residuals, weights])
    by = by or {"vote": np.arange(len(columns))}
    total, single = np.zeros((residuals.shape[1],) * 2), []
    for ways in range(1, len(by) + 1):
        for names in combinations(by, ways):
            part = _one_way(residuals, weights, cross_codes([by[name] for name in names]))
            total += part if ways % 2 else -part
            if ways == 1:
                single.append(part[:-1, :-1])
    return total[:-1, :-1], single, total[:-1, -1]


def cross_codes(ways: list[Ints]) -> Ints:
    """One code for every combination of the codes that occurs."""
    codes = np.asarray(ways[0], dtype=np.int64)
    for next_codes in ways[1:]:
        codes = codes * (int(np.max(next_codes)) + 1) + next_codes
        codes = np.unique(codes, return_inverse=True)[1]  # small again, so that three ways do not overflow
    return codes


def _one_way(residuals: Floats, weights: Floats, codes: Ints) -> Floats:
    counts = np.bincount(codes, weights=weights)
    is_present = counts > 0
    sums = np.stack([np.bincount(codes, weights=column)[is_present] for column in residuals.T], axis=1)
    moved = sums / (weights.sum() - counts[is_present])[:, None]  # how far the means move when this cluster is left out
    return np.asarray(moved.T @ moved * (1 - 1 / len(moved)))


def bound_mean(mean: float, se: float, df: float, level: float, *, share: bool) -> tuple[float, float]:
    """Both ends of a t interval; those of a share on the logit scale, or by the clusters where all votes are alike."""
    tail = (1 - level) / 2
    if share and mean in (0.0, 1.0):
        edge = float(betaincinv(df + 1, 1, tail))  # all of df + 1 clusters agree
        return (edge, 1.0) if mean == 1.0 else (0.0, 1.0 - edge)
    reach = float(stdtrit(df, 1 - tail)) * se
    if not share:
        return mean - reach, mean + reach
    half = reach / (mean * (1 - mean))
    return float(expit(logit(mean) - half)), float(expit(logit(mean) + half))


def share_test(interval: Interval, null: float) -> tuple[float | None, float]:
    """t and two-sided p of a share against `null`, from the interval of `mean_interval(..., share=True)`.

    p is under 1 - level exactly where the interval excludes `null`: t is a difference of logits over the same error,
    and where every vote is the same (no t) p is the chance that all clusters agree, doubled as in the interval.
    """
    share = interval.value
    if share in (0.0, 1.0):
        return None, min(1.0, 2 * (null if share else 1 - null) ** (interval.df + 1))
    t = float(logit(share) - logit(null)) * share * (1 - share) / interval.se
    return t, 2 * float(stdtr(interval.df, -abs(t)))


def count_groups(codes: Ints) -> int:
    """How many different codes there are; codes are small numbers from 0."""
    return int(np.count_nonzero(np.bincount(codes)))


def kish(codes: Ints, weights: Floats | None = None) -> float:
    """Effective number of clusters, (sum n)^2 / sum n^2 (Kish 1965): how many equally large ones weigh the same."""
    counts = np.bincount(codes, weights=weights).astype(float)
    return float(counts.sum() ** 2 / (counts @ counts))


def cluster_freedom(values: Floats, codes: Ints) -> float:
    """Degrees of freedom of the variance of the mean of `values` (n,) in clusters `codes` (n,), at least 1.

    Satterthwaite (1946) by way of Bell and McCaffrey (2002): the variance is a quadratic form in the clusters' sums,
    whose variances give its freedom. They are estimated within and between clusters, so that a few large documents
    count as few only as far as their items hang together.

    >>> round(cluster_freedom(np.tile([0.0, 1.0], 10), np.repeat(np.arange(5), 4)), 6)
    4.0
    """
    _, place, sizes = np.unique(codes, return_inverse=True, return_counts=True)
    clusters, n = len(sizes), len(values)
    if clusters > MOST_CLUSTERS:
        return float(clusters - 1)
    within, between = _estimate_variances(values, place, sizes)
    variance = sizes * within + sizes**2 * between
    if not variance.any():
        variance = sizes.astype(float)
    weights = sizes / n
    residual = np.diag(variance) - np.outer(weights, variance) - np.outer(variance, weights)
    residual += np.outer(weights, weights) * variance.sum()
    scale = 1 / (n - sizes)
    form = residual * np.outer(scale, scale)
    return float(max(np.trace(form) ** 2 / (form**2).sum(), 1.0))


def _estimate_variances(values: Floats, place: Ints, sizes: Ints) -> tuple[float, float]:
    """Of an item within its cluster, and of a cluster's effect, by the analysis of variance; none is below 0."""
    clusters, n = len(sizes), len(values)
    means = np.bincount(place, values) / sizes
    inside = float(((values - means[place]) ** 2).sum())
    outside = float((sizes * (means - values.mean()) ** 2).sum()) / (clusters - 1)
    if n == clusters:
        return outside, 0.0
    within = inside / (n - clusters)
    size = (n - (sizes**2).sum() / n) / (clusters - 1)
    return within, max(outside - within, 0.0) / size
