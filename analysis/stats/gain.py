"""How much a predictor lowers the variance of an estimate from votes: its gain, with an interval, and its ceiling.

A predictor with correlation r to what varies in the votes leaves 1 - r^2 of the variance, so a gain is 1 / (1 - r^2).
It knows of pairs only: what raters share stays (`rater_part`), whatever it says. The interval is that of Fisher's z of
the correlation, by a jackknife that is crossed by dialogues (or pairs) and raters as that of the votes is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import stdtrit

from seedvote.analysis.stats.intervals import cross_codes, kish, robust_variance
from seedvote.analysis.stats.powered import Sample

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
GROUPS = 100  # at most so many parts are left out in turn
CELLS = 1_000_000  # numbers of a batch of weights
MOST = 0.999  # of a correlation: votes that follow a predictor without error leave no variance to divide by


@dataclass(frozen=True, slots=True)
class Gain:
    """A gain with its interval; `low` is 1 where the votes do not tell the correlation from none."""

    value: float  # of the correlation without what chance adds to its square
    low: float
    high: float
    correlation: float  # of the estimate's error with what the predictor says of it
    correlation_low: float
    correlation_high: float

    @property
    def shown(self) -> bool:
        """Whether the correlation differs from none."""
        return self.correlation_low > 0 or self.correlation_high < 0

    def saved(self, votes: int) -> tuple[float, float, float]:
        """How many of the votes it is worth, with the interval."""
        worth = [votes * (1 - 1 / ratio) for ratio in (self.value, self.low, self.high)]
        return worth[0], worth[1], worth[2]


def rater_part(sample: Sample) -> float:
    """The part of the variance of the votes' mean that raters make, which no predictor lowers; 0 without raters."""
    if "rater" not in sample.by or len(sample.by) < 2:
        return 0.0
    variance = robust_variance(sample.y, by=sample.by, at_least_one_way=True)
    if variance <= 0:
        return 0.0
    other_ways = {name: codes for name, codes in sample.by.items() if name != "rater"}
    alone = robust_variance(sample.y, by=other_ways, at_least_one_way=True)
    return float(np.clip((variance - alone) / variance, 0.0, 1.0))


def bound_gain(correlation: float, raters: float) -> float:
    """The gain with pairs without end: 1 / (r + (1 - r)(1 - correlation^2)), r the part that raters make; a correlation
    counts as `MOST` at most.

    >>> round(bound_gain(0.34, 0.28), 2), round(bound_gain(1.0, 0.28), 2)
    (1.09, 3.55)
    """
    variance_left = raters + (1 - raters) * (1 - min(abs(correlation), MOST) ** 2)
    return 1 / variance_left


def least_correlation(pairs: int) -> float:
    """The correlation below which a fitted weight costs more than it brings, 1 / sqrt(n - 2) (Mani et al. 2026)."""
    return 1 / np.sqrt(pairs - 2) if pairs > 3 else 1.0


def pair_correlation(sample: Sample) -> float:
    """Correlation of the predictor with the mean of each pair's votes; 0 where one of them does not vary."""
    _, first, code = np.unique(sample.pair, return_index=True, return_inverse=True)
    means, f = np.bincount(code, weights=sample.y) / np.bincount(code), sample.f[first]
    if len(f) < 3 or np.ptp(f) < 1e-12 or np.ptp(means) < 1e-12:
        return 0.0
    return float(np.corrcoef(means, f)[0, 1])


def gain_of(sample: Sample, generator: np.random.Generator, *, endless: bool = False) -> Gain:
    """The gain of the tuned weight with the pairs without votes that there are, or with pairs without end."""
    if np.ptp(sample.y) < 1e-12 or np.ptp(sample.f) < 1e-12 or not (endless or len(sample.other) > 1):
        return Gain(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)
    correlation = float(
        _weigh_correlations(sample, np.ones((1, len(sample.y))), np.ones((1, len(sample.other))), endless)[0]
    )
    df = max(min([kish(codes) for codes in sample.by.values()], default=len(sample.y)) - 1, 1.0)
    return bound_by_correlation(correlation, _estimate_error(sample, generator, endless), df)


def bound_by_correlation(correlation: float, se: float, df: float) -> Gain:
    """The gain of a correlation whose Fisher's z has this standard error with these degrees of freedom."""
    z, reach = float(np.arctanh(np.clip(correlation, -MOST, MOST))), float(stdtrit(df, 0.975)) * se
    low, high = (float(np.clip(np.tanh(z + way * reach), -MOST, MOST)) for way in (-1, 1))
    ends = [
        1.0 if low <= 0 <= high else _convert_to_gain(min(abs(low), abs(high))),
        _convert_to_gain(max(abs(low), abs(high))),
    ]
    # A gain goes by the square, whose expectation chance raises by the variance: a coin would be worth something.
    fair = float(np.sqrt(max(correlation**2 - (se * (1 - correlation**2)) ** 2, 0.0)))
    return Gain(_convert_to_gain(fair), ends[0], ends[1], correlation, low, high)


def _convert_to_gain(correlation: float) -> float:
    return 1 / (1 - min(abs(correlation), MOST) ** 2)


def _estimate_error(sample: Sample, generator: np.random.Generator, endless: bool) -> float:
    """Standard error of Fisher's z of the correlation, crossed by clusters and raters."""
    ways = [("wide", sample.wide), *((name, codes) for name, codes in sample.by.items() if name == "rater")]
    parts = [_left_out(sample, codes, name == "wide", generator, endless) for name, codes in ways]
    if len(ways) == 1:
        return float(np.sqrt(parts[0]))
    crossed_left_out = _left_out(sample, cross_codes([codes for _, codes in ways]), False, generator, endless)
    return float(np.sqrt(max(sum(parts) - crossed_left_out, *parts)))


def _left_out(sample: Sample, codes: Ints, with_others: bool, generator: np.random.Generator, endless: bool) -> float:
    """The jackknife's variance of Fisher's z without each of at most GROUPS random groups of clusters."""
    size = 1 + int(max(codes.max(), sample.other_wide.max(initial=0) if with_others else 0))
    number = min(len(np.unique(codes)), GROUPS)
    group = generator.permutation(np.arange(size) % number)  # of every cluster
    if number == len(np.unique(codes)):  # one group for each cluster with votes
        group[np.unique(codes)] = np.arange(number)
    correlations = []
    step = max(1, CELLS // (len(sample.y) + len(sample.other)))
    for start in range(0, number, step):
        left_out_clusters = np.arange(start, min(start + step, number))[:, None]
        other_weights = (
            group[sample.other_wide] != left_out_clusters
            if with_others
            else np.ones((len(left_out_clusters), len(sample.other)))
        )
        correlations.append(
            _weigh_correlations(
                sample, (group[codes] != left_out_clusters).astype(float), other_weights.astype(float), endless
            )
        )
    moved = np.arctanh(np.concatenate(correlations))
    return float((number - 1) / number * ((moved - moved.mean()) ** 2).sum())


def _weigh_correlations(sample: Sample, votes: Floats, other_weights: Floats, endless: bool) -> Floats:
    """The correlation with these weights, 0 or 1, of votes (rows, votes) and pairs without (rows, others)."""
    total = votes.sum(axis=1, keepdims=True)
    y, f = (votes * (part - (votes @ part)[:, None] / total) for part in (sample.y, sample.f))
    of_y, of_f = (_sum_by_cluster(part, sample.wide) for part in (y, f))
    variance, spread = (of_y**2).sum(axis=1), (of_f**2).sum(axis=1) / total[:, 0] ** 2
    if "rater" in sample.by and len(sample.by) > 1:
        people = (_sum_by_cluster(y, sample.by["rater"]) ** 2).sum(axis=1)
        single = (_sum_by_cluster(y, cross_codes([sample.wide, sample.by["rater"]])) ** 2).sum(axis=1)
        variance = np.maximum(variance + people - single, np.maximum(variance, people))
    if not endless:
        count = other_weights.sum(axis=1, keepdims=True)
        count = np.maximum(count, 1)  # a part that holds all of these pairs leaves none, which add no spread
        deviations = other_weights * (sample.other - (other_weights @ sample.other)[:, None] / count)
        spread = spread + (_sum_by_cluster(deviations, sample.other_wide) ** 2).sum(axis=1) / count[:, 0] ** 2
    shared = (of_y * of_f).sum(axis=1) / total[:, 0] ** 2
    error = np.sqrt(variance / total[:, 0] ** 2 * spread)
    return np.asarray(np.clip(np.divide(shared, error, out=np.zeros(len(error)), where=error > 0), -MOST, MOST))


def _sum_by_cluster(values: Floats, codes: Ints) -> Floats:
    """Sums (rows, clusters) of values (rows, votes)."""
    code = np.unique(codes, return_inverse=True)[1]
    gather = csr_array((np.ones(len(code)), (code, np.arange(len(code)))), shape=(int(code.max()) + 1, len(code)))
    return np.asarray((gather @ values.T).T)
