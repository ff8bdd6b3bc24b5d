"""Prediction-powered estimates of a mean of votes: few pairs with votes and a predictor, many with the predictor alone.

Angelopoulos et al. (2023) and, with a tuned weight, PPI++ (Angelopoulos, Duchi and Zrnic 2023), made for votes that
share pairs, dialogues and raters: every error is that of `intervals.error_of_mean`, crossed by all ways of
clustering, and a dialogue with pairs of both sorts counts in both. The predictor may be anything that is known of every
pair; whatever it is, the estimate is that of people, and only its error is smaller or larger.

Pairs may be drawn for votes with chances that rise with doubt: active inference (Zrnic and Candes 2024). The error of a
weighted mean is smallest where the chance of each pair is proportional to the spread of what is not predicted of it. A
part of every chance is the same for all, since the predictor may be sure and wrong: an estimate divides by the chance,
so small ones are dear.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtri

from seedvote.analysis.stats.intervals import Interval, bound_mean, error_of_mean, kish, mean_interval, robust_variance
from seedvote.analysis.stats.net_preference import net_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FEW = 30  # pairs with votes; below, the weight of a vote's own fold is fitted on the others
FOLDS = 5
LEAST_IN_STRATUM = 5  # pairs with votes; smaller strata are joined


@dataclass(frozen=True, eq=False)
class Sample:
    """Votes with the predictor's value of their pair, and the predictor's values of pairs without votes."""

    y: Floats  # (votes,) a vote's value
    f: Floats  # (votes,) the predictor's value of its pair
    by: Mapping[str, Ints]  # ways of clustering the votes, as for `mean_interval`
    pair: Ints  # (votes,) code of the pair
    wide: Ints  # (votes,) code of the widest cluster but the rater: dialogue, item or pair
    other: Floats  # (others,) the predictor's values of the pairs without votes
    other_wide: Ints  # (others,) their clusters, in the numbering of `wide`

    @property
    def pairs(self) -> int:
        """How many pairs have votes."""
        return len(np.unique(self.pair))


@dataclass(frozen=True, slots=True)
class Powered:
    """An estimate with a predictor beside that of the votes alone."""

    interval: Interval
    weight: float  # of the predictor (lambda); 0 gives the votes alone
    gain: float  # variance of the votes alone, divided by this one's

    @property
    def saved(self) -> float:
        """How many of the votes could be spared for the same error."""
        return self.interval.n * (1 - 1 / self.gain)


def estimate_from_people(sample: Sample, share: bool = False) -> Interval:
    """The votes alone, as a net preference or as a share."""
    return mean_interval(sample.y, by=sample.by, share=True) if share else net_interval(sample.y, by=sample.by)


def estimate_with_predictor(sample: Sample, weight: float | Floats, share: bool = False) -> Powered:
    """The estimate with a given weight, or one for each vote (fitted on other votes than itself).

    mean(y - l f) + l mean(f over pairs without votes). A weight of 0 gives the votes alone, to the last digit.
    """
    weights = np.broadcast_to(np.asarray(weight, dtype=float), sample.y.shape)
    if not len(sample.other) or not weights.any():
        return Powered(estimate_from_people(sample, share), 0.0, 1.0)
    mean = float(weights.mean())
    # Where folds have weights of their own, each needs the predictor about the same centre.
    own = sample.y - weights * (sample.f - sample.other.mean())
    return replace(_add_parts(sample, own, mean * sample.other, float(own.mean()), share), weight=mean)


def tune_weight(sample: Sample) -> float:
    """The weight that makes the error smallest; 0 for a predictor without variance.

    Covariance and variance are those by the widest cluster: a predictor knows of pairs and of nothing that raters
    differ in, so what it has in common with raters is chance.
    """
    if len(sample.other) < 2 or _is_flat(sample.f):
        return 0.0
    shared, variance = _estimate_covariance(sample, sample.y), _estimate_variance(sample)
    return shared / variance if variance > 0 else 0.0


def tuned_by_fold(sample: Sample, generator: np.random.Generator) -> Floats:
    """One weight for each vote, (votes,), fitted on the votes of other folds; clusters are never divided."""
    clusters, place = np.unique(sample.wide, return_inverse=True)
    fold = generator.permutation(np.arange(len(clusters)) % FOLDS)[place]
    tuned_values = np.zeros(len(sample.y))
    for number in np.unique(fold):
        inside = fold == number
        if (~inside).sum() > 1:
            tuned_values[inside] = tune_weight(part_of(sample, ~inside))
    return tuned_values


def plus_plus(sample: Sample, generator: np.random.Generator, share: bool = False) -> Powered:
    """The estimate with the tuned weight; with few pairs fitted on other votes than those that it weighs."""
    few = sample.pairs < FEW
    return estimate_with_predictor(sample, tuned_by_fold(sample, generator) if few else tune_weight(sample), share)


def estimate_by_strata(
    sample: Sample, stratum: Ints, other_stratum: Ints, share: bool = False, *, known: bool = False
) -> Powered:
    """Estimates within strata, each with its own tuned weight, added by the strata's shares of all pairs.

    A stratum is known of every pair before it is voted on. `known` says that pairs were drawn for votes within strata
    of fixed sizes; otherwise the sizes are a sample's, too.
    """
    if not len(sample.other):
        return Powered(estimate_from_people(sample, share), 0.0, 1.0)
    pairs, first = np.unique(sample.pair, return_index=True)
    total = len(pairs) + len(sample.other)
    own, other_parts = np.zeros(len(sample.y)), np.zeros(len(sample.other))
    means, value, weights = {}, 0.0, 0.0
    for name in np.unique(stratum):
        inside, outside = stratum == name, other_stratum == name
        part = (int((stratum[first] == name).sum()) + int(outside.sum())) / total
        weight = tune_weight(part_of(sample, inside, outside)) if outside.any() else 0.0
        centre = float(sample.other[outside].mean()) if outside.any() else 0.0
        corrected = sample.y[inside] - weight * (sample.f[inside] - centre)
        means[name] = float(corrected.mean())
        value, weights = value + part * means[name], weights + weight * inside.mean()
        own[inside] = part / inside.mean() * (corrected - means[name])
        if outside.any():
            other_parts[outside] = part / outside.mean() * weight * (sample.other[outside] - centre)
    if not known:  # how far each pair moves the shares of the strata
        votes = np.bincount(sample.pair)[sample.pair]
        own += np.array([means[name] - value for name in stratum]) * len(sample.y) / (total * votes)
        other_parts += np.array([means.get(name, value) - value for name in other_stratum]) * len(sample.other) / total
    return replace(_add_parts(sample, own, other_parts, value, share), weight=weights)


def estimate_weighted(sample: Sample, chance: Floats, weight: float, share: bool = False) -> Powered:
    """The estimate where pairs were drawn for votes with unequal, known chances (votes,), each above 0.

    Votes count by 1 / chance, and the predictor's mean is that of all pairs. A gain is beside such votes alone.
    """
    alone = _by_chance(sample, chance, 0.0, share)
    estimate = _by_chance(sample, chance, weight, share)
    return replace(estimate, weight=weight, gain=_compare_variances(alone.interval, estimate.interval))


def _by_chance(sample: Sample, chance: Floats, weight: float, share: bool) -> Powered:
    _, first = np.unique(sample.pair, return_index=True)
    every = np.concatenate([sample.f[first], sample.other])
    votes = np.bincount(sample.pair)[sample.pair]
    counts, corrected = 1 / chance, sample.y - weight * sample.f
    judge_mean = float(np.average(corrected, weights=counts))
    own = counts * (corrected - judge_mean) / counts.mean()
    own += weight * (sample.f - every.mean()) * len(sample.y) / (len(every) * votes)
    other_parts = weight * (sample.other - every.mean()) * len(sample.other) / len(every)
    return _add_parts(sample, own, other_parts, judge_mean + weight * float(every.mean()), share)


@dataclass(frozen=True, slots=True)
class RoganGladen:
    """A share by a predictor alone, and corrected by its sensitivity and specificity (Rogan and Gladen 1978)."""

    naive: float  # over all pairs, with votes and without
    sensitivity: float  # its mean where a vote says yes
    specificity: float  # one less its mean where a vote says no
    corrected: Interval | None  # None where it is not shown to say yes more often where people do


def correct_share(sample: Sample) -> RoganGladen | None:
    """The share of yes among votes (y is 1 or 0) from a predictor between 0 and 1.

    None where all votes say the same, or all pairs have votes.

    (naive + specificity - 1) / (sensitivity + specificity - 1), with the error of all three, crossed as that of votes.
    """
    yes = sample.y > 0.5
    if yes.all() or not yes.any() or len(sample.other) < 2:
        return None
    first = np.unique(sample.pair, return_index=True)[1]
    every = np.concatenate([sample.f[first], sample.other])
    naive, hit, alarm = float(every.mean()), float(sample.f[yes].mean()), float(sample.f[~yes].mean())
    moves = np.where(yes, (sample.f - hit) / yes.mean(), -(sample.f - alarm) / (1 - yes.mean()))
    apart = mean_interval(moves + hit - alarm, by=sample.by)  # by how much more often it says yes where people do
    if apart.low <= 0:
        return RoganGladen(naive, hit, 1 - alarm, None)
    share, votes = (naive - alarm) / (hit - alarm), np.bincount(sample.pair)[sample.pair]
    own = np.where(yes, -share * moves, (1 - share) * moves)
    own += (sample.f - naive) * len(sample.y) / (len(every) * votes)
    other_parts = (sample.other - naive) * len(sample.other) / len(every)
    corrected = _add_parts(sample, own / (hit - alarm), other_parts / (hit - alarm), share, share=True).interval
    return RoganGladen(naive, hit, 1 - alarm, corrected)


def part_of(sample: Sample, inside: NDArray[np.bool_], outside: NDArray[np.bool_] | None = None) -> Sample:
    """Some of the votes, beside all pairs without votes or some of them."""
    rows_inside = slice(None) if outside is None else outside
    return Sample(
        sample.y[inside],
        sample.f[inside],
        {name: codes[inside] for name, codes in sample.by.items()},
        sample.pair[inside],
        sample.wide[inside],
        sample.other[rows_inside],
        sample.other_wide[rows_inside],
    )


def joined_strata(stratum: Ints, pair: Ints, other_stratum: Ints) -> tuple[Ints, Ints, bool]:
    """Strata with few voted pairs joined with the smallest other one, until none is small; and whether any was."""
    stratum, other_stratum, any_joined = stratum.copy(), other_stratum.copy(), False
    while True:
        first = np.unique(pair, return_index=True)[1]
        counts = {int(name): int((stratum[first] == name).sum()) for name in {*stratum, *other_stratum}}
        small, *larger = sorted(counts, key=lambda name: (counts[name], name))
        if counts[small] >= LEAST_IN_STRATUM or not larger:
            return stratum, other_stratum, any_joined
        any_joined = True
        stratum[stratum == small] = larger[0]
        other_stratum[other_stratum == small] = larger[0]


def _add_parts(sample: Sample, own: Floats, other_parts: Floats, value: float, share: bool) -> Powered:
    """The interval of mean(own) + mean(others) about `value`, as both are linear in votes and in pairs without."""
    alone, votes = estimate_from_people(sample, share), mean_interval(own, by=sample.by)
    error, freedom = error_of_mean(own, by=sample.by, share=share)
    variance_apart = (
        robust_variance(other_parts, by={"wide": _renumber_codes(sample.other_wide)}) if len(other_parts) > 1 else 0.0
    )
    together = 2 * covariance_between(own, sample.wide, other_parts, sample.other_wide)
    # What both sorts of pairs have in common may widen the interval; by chance alone it must not narrow it.
    se = float(np.sqrt(error**2 + max(variance_apart + together, 0.0)))
    df = max(min(freedom, kish(_renumber_codes(sample.other_wide)) - 1), 1.0)
    low, high = bound_mean(value, se, df, 0.95, share=share and 0 < value < 1)
    least = 0.0 if share else -1.0  # a correction may lead out of what a share or a net preference can be
    value, low, high = (min(max(end, least), 1.0) for end in (value, low, high))
    estimate = replace(votes, value=value, se=se, low=low, high=high, df=df)
    return Powered(estimate, 1.0, _compare_variances(alone, estimate))


def _compare_variances(alone: Interval, estimate: Interval) -> float:
    return float(alone.se**2 / estimate.se**2) if estimate.se > 0 else 1.0


def covariance_between(own: Floats, codes: Ints, other_values: Floats, other_codes: Ints) -> float:
    """Covariance of two means that share clusters: the jackknife of both, where a cluster has a part in both."""
    size = 1 + int(max(codes.max(initial=0), other_codes.max(initial=0)))
    first_moves, many = _measure_moves(own, codes, size)
    second_moves, other_clusters = _measure_moves(other_values, other_codes, size)
    in_both = (first_moves != 0) & (second_moves != 0)
    if many < 2 or other_clusters < 2:
        return 0.0
    return float(first_moves[in_both] @ second_moves[in_both]) * float(
        np.sqrt((1 - 1 / many) * (1 - 1 / other_clusters))
    )


def _measure_moves(values: Floats, codes: Ints, size: int) -> tuple[Floats, int]:
    """How far the mean moves without each cluster, 0 where it has no part; and the number of clusters."""
    counts = np.bincount(codes, minlength=size)
    sums = np.bincount(codes, weights=values - values.mean(), minlength=size)
    values_left = len(values) - counts
    return np.divide(sums, values_left, out=np.zeros(size), where=values_left > 0), int((counts > 0).sum())


def _estimate_covariance(sample: Sample, y: Floats) -> float:
    """Covariance of mean(y) with mean(f) - mean(other)."""
    within = covariance_between(y, sample.wide, sample.f, sample.wide)
    return within - covariance_between(y, sample.wide, sample.other, sample.other_wide)


def _estimate_variance(sample: Sample) -> float:
    """Variance of mean(f) - mean(other)."""
    own = covariance_between(sample.f, sample.wide, sample.f, sample.wide)
    other_covariance = covariance_between(sample.other, sample.other_wide, sample.other, sample.other_wide)
    return own + other_covariance - 2 * covariance_between(sample.f, sample.wide, sample.other, sample.other_wide)


def _is_flat(values: Floats) -> bool:
    return len(values) < 2 or bool(np.ptp(values) < 1e-12)


def _renumber_codes(codes: Ints) -> Ints:
    return np.unique(codes, return_inverse=True)[1]


@dataclass(frozen=True, slots=True)
class Independent:
    """PPI++ for one independent label an item: what tools that know neither pairs nor raters compute."""

    value: float
    low: float
    high: float
    weight: float


def as_if_independent(
    y: ArrayLike, f: ArrayLike, unlabelled: ArrayLike, *, weight: float | None = None, level: float = 0.95
) -> Independent:
    """The formulas of PPI++ as published: a pooled variance for the weight, cut to 0 to 1, and a normal interval."""
    y, f, unlabelled = (np.asarray(part, dtype=float) for part in (y, f, unlabelled))
    n, unlabelled_count = len(y), len(unlabelled)
    if weight is None:
        pooled = float(np.concatenate([f, unlabelled]).var(ddof=1))
        shared = float(((y - y.mean()) * (f - f.mean())).mean())
        weight = min(max(shared / ((1 + n / unlabelled_count) * pooled), 0.0), 1.0) if pooled > 0 else 0.0
    value = float((y - weight * f).mean() + weight * unlabelled.mean())
    se = float(np.sqrt((y - weight * f).var() / n + weight**2 * unlabelled.var() / unlabelled_count))
    reach = float(ndtri((1 + level) / 2)) * se
    return Independent(value, value - reach, value + reach, weight)


def spread_chances(doubts: Floats, number: float, even: float) -> Floats:
    """Chances (pairs,) that add to `number`, of at most 1: a part `even` the same for all, the rest by the doubts.

    >>> [round(float(chance), 3) for chance in spread_chances(np.array([0.0, 1.0, 1.0, 2.0]), 2, 0.5)]
    [0.25, 0.5, 0.5, 0.75]
    >>> [round(float(chance), 3) for chance in spread_chances(np.array([0.0, 0.0, 0.0, 9.0]), 2, 0.5)]
    [0.333, 0.333, 0.333, 1.0]
    """
    if number >= len(doubts):
        return np.ones(len(doubts))
    mean = float(doubts.mean())
    shape = np.ones(len(doubts)) if mean <= 0 else even + (1 - even) * doubts / mean
    is_sure = np.zeros(len(doubts), bool)
    while True:  # those beyond 1 are certain, and the others share what is left
        rest = shape * (number - is_sure.sum()) / shape[~is_sure].sum()
        beyond = ~is_sure & (rest > 1)
        if not beyond.any():
            return np.where(is_sure, 1.0, rest)
        is_sure |= beyond
