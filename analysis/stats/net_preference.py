"""The interval and the p of a net preference: the share of votes for the first system less that for the second.

Where most votes are ties, a mean of +1, -1 and 0 is not nearly normal: an estimate that is too small has too small an
error. So each of the two shares has its limits on the logit scale, and the distances from both are put together by
their squares and their correlation (MOVER: Zou and Donner 2008; for differences of shares Newcombe 1998). With few ties
that is the t interval of the mean. Errors allow for all ways of clustering (stats/intervals.py); the degrees of freedom
are Satterthwaite's (1946), with the effective number of clusters among the decisive votes, which carry what is known.

Where clusters differ in size, one large cluster far from a limit moves estimate and error together: the limit then lies
too near. So the variance is that half way to the limit. A score test has it at the limit, which would be too much: with
u how far a cluster of n of N votes moves the mean, the sum of (u + n gap / N)^2 is more than that of u^2 by twice the
covariance of n and u. Its last term, gap^2, is left out, so that nothing changes where clusters are equally large.

Equivalence, "alike within a margin stated beforehand", goes by the same limits (two one-sided tests, Schuirmann 1987).
A difference that is not significant shows nothing. The margin is the smallest difference that would matter, chosen
before the votes are seen, so it has no default.

Other means of values with a least and a largest one, as ranks and ratings have, take the error of the mean and the
fewest degrees of freedom: with Satterthwaite's, three raters ordered two equal systems of five in 9.5 % of 200 studies.
Their interval never leaves the range. Where all values are the same there is no spread to go by: interval and p are
then those of as many clusters that all agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit, stdtr, stdtrit

from seedvote.analysis.stats.intervals import (
    Interval,
    as_wide,
    cluster_covariances,
    combine_variances,
    kish,
    mean_interval,
)
from seedvote.dialogue.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NET, FIRST, SECOND, DECISIVE = (np.array(parts, float) for parts in ((1, -1), (1, 0), (0, 1), (1, 1)))
MOST = 0.99  # of a correlation between the shares above zero: beyond it their distances would cancel
ROUNDING = 1e-9  # a spread below this share of the range is none


@dataclass(frozen=True, slots=True)
class Share:
    """One share with its standard error; `votes` independent ones know as much of a share of zero."""

    value: float
    se: float
    votes: float

    def above(self, t: float, tail: float) -> float:
        """How far its upper limit lies above it, t errors out, beyond which `tail` is left."""
        if self.value in (0.0, 1.0):
            return 0.0 if self.value else float(1 - tail ** (1 / self.votes))
        room = self.value * (1 - self.value)
        return float(expit(logit(self.value) + t * self.se / room)) - self.value

    def below(self, t: float, tail: float) -> float:
        """How far its lower limit lies below it."""
        return Share(1 - self.value, self.se, self.votes).above(t, tail)


@dataclass(frozen=True, slots=True)
class NetEstimate:
    """A net preference with all that its limits go by; where every vote is the same, its error is zero."""

    value: float
    se: float
    first: Share
    second: Share
    correlation: float  # of the errors of both shares
    size_slope: float  # of the variance, as a share of itself, by the gap to a null below the estimate
    df: float  # Satterthwaite's
    clusters: float  # effective number of the rarer way, among all votes

    def limits(self, tail: float) -> tuple[float, float]:
        """The lower and the upper limit, each of which the truth is beyond with this chance."""
        if not self.se:
            return bound_unanimous(self.value, self.clusters, tail)
        t = float(stdtrit(self.df, 1 - tail))
        low = gap_of(self._distance(t, tail, upward=False), self.size_slope)
        high = gap_of(self._distance(t, tail, upward=True), -self.size_slope)
        return max(self.value - float(low), -1.0), min(self.value + float(high), 1.0)

    def tail(self, null: float) -> float:
        """The chance at which the limit on the side of `null` lies at `null`: the one-sided p of a truth beyond it."""
        gap = null - self.value
        if not gap:
            return 0.5
        if not self.se:
            sign = 1 if gap > 0 else -1
            return float(max((1 - sign * null) / (1 - sign * self.value), 0.0) ** self.clusters)
        distance = float(gap_of(abs(gap), self.size_slope if gap > 0 else -self.size_slope))

        def beyond(place: float) -> float:
            t = place / (1 - place)
            return self._distance(t, float(stdtr(self.df, -t)), upward=gap > 0) - distance

        if beyond(1 - 1e-9) <= 0:
            return 0.0
        if beyond(0.0) >= 0:  # a share of zero has an upper limit above it at any chance
            return 0.5
        place = float(brentq(beyond, 0.0, 1 - 1e-9, xtol=1e-14))
        return float(stdtr(self.df, -place / (1 - place)))

    @property
    def p(self) -> float:
        """Two-sided p of no preference: below .05 exactly where the 95 % interval leaves out zero."""
        return min(1.0, 2 * self.tail(0.0))

    def _distance(self, t: float, tail: float, *, upward: bool) -> float:
        rising, falling = (self.first, self.second) if upward else (self.second, self.first)
        return float(put_together(rising.above(t, tail), falling.below(t, tail), self.correlation))


def put_together(rising: ArrayLike, falling: ArrayLike, correlation: Floats | float) -> Floats:
    """The distance of a limit of the difference, from those of both shares and the correlation of their errors."""
    upward, downward = np.asarray(rising, float), np.asarray(falling, float)
    return np.asarray(np.sqrt(np.maximum(upward**2 + downward**2 - 2 * correlation * upward * downward, 0.0)))


def gap_of(distance: ArrayLike, slope: ArrayLike) -> Floats:
    """How far a limit lies from the estimate, from its distance by the variance about the estimate.

    A slope above zero lengthens it to where gap^2 = distance^2 (1 + slope gap); one below zero is the inverse.
    """
    distance, slope = np.asarray(distance, float), np.asarray(slope, float)
    half = np.maximum(slope, 0.0) / 2 * distance**2
    longer = half + np.sqrt(half**2 + distance**2)
    return np.asarray(np.where(slope > 0, longer, distance / np.sqrt(1 + np.maximum(-slope, 0.0) * distance)))


def expected_distance(net: Floats, ties: float, reach: Floats, *, upward: bool) -> Floats:
    """How far a limit lies from an estimate of `net` in a planned study.

    `reach` is t times the standard error of a mean of votes whose variance is 1; all shares have one design effect.
    """
    first, second = (1 - ties + net) / 2, (1 - ties - net) / 2
    rising, falling = (first, second) if upward else (second, first)
    above = expit(logit(rising) + reach / np.sqrt(rising * (1 - rising))) - rising
    below = falling - expit(logit(falling) - reach / np.sqrt(falling * (1 - falling)))
    return put_together(above, below, -np.sqrt(first * second / ((1 - first) * (1 - second))))


def net_estimate(values: ArrayLike, *, by: Mapping[str, Ints], weights: Floats | None = None) -> NetEstimate:
    """The net preference of scores (+1, -1, 0), clustered by `by`; `weights` say what each vote counts."""
    values = np.asarray(values, dtype=float)
    weights = np.ones(len(values)) if weights is None else weights
    shares = np.stack([values > 0, values < 0], axis=1).astype(float)
    first, second = (float(share) for share in weights @ shares / weights.sum())
    ways = by or {"vote": np.arange(len(values))}
    clusters = max(min(kish(codes, weights) for codes in ways.values()), 2.0)
    decisive = weights * (values != 0) if values.any() else weights
    freedoms = [max(min(kish(codes, decisive), kish(codes, weights)) - 1, 1.0) for codes in ways.values()]
    if not by:  # a tie of an independent vote says as much as any other choice
        freedoms = [clusters - 1]
    total, single, sizes = cluster_covariances(shares, by=by, weights=weights)
    single_votes = len(values) / (len(values) - 1) * float(weights @ weights) / float(weights.sum()) ** 2

    def estimate_error(of: Floats) -> tuple[float, float]:
        means = np.array([first, second])
        alone = single_votes * float(of**2 @ means - (of @ means) ** 2)
        variance, df = combine_variances(
            float(of @ total @ of), [float(of @ matrix @ of) for matrix in single], alone, freedoms
        )
        return float(np.sqrt(max(variance, 0.0))), df

    (se, df), (se_first, _), (se_second, _), (se_decisive, _) = map(estimate_error, (NET, FIRST, SECOND, DECISIVE))
    ties = 1 - first - second
    votes = min(max(ties * (1 - ties), 1e-12) / se_decisive**2, 1 / single_votes) if se_decisive else clusters
    product = 2 * se_first * se_second
    correlation = (se_first**2 + se_second**2 - se**2) / product if product else 0.0
    return NetEstimate(
        value=first - second,
        se=0.0 if np.ptp(values) == 0 else se,
        first=Share(first, se_first, votes),
        second=Share(second, se_second, votes),
        correlation=float(np.clip(correlation, -1.0, MOST)),
        size_slope=float(NET @ sizes) / se**2 if se else 0.0,
        df=df,
        clusters=clusters,
    )


def net_interval(values: ArrayLike, *, by: Mapping[str, Ints], level: float = 0.95) -> Interval:
    """The net preference of scores (+1, -1, 0) with its interval, which never leaves -1 to 1."""
    return interval_of(net_estimate(values, by=by), mean_interval(values, by=by, level=level))


def interval_of(net: NetEstimate, mean: Interval) -> Interval:
    """The interval of the mean with the limits of the net preference."""
    low, high = net.limits((1 - mean.level) / 2)
    worth = min(as_wide(mean.effective_n, net.df, mean.level), mean.effective_n) if net.se else mean.worth
    return replace(mean, low=low, high=high, df=net.df, worth=worth)


def bound_unanimous(value: float, clusters: float, tail: float) -> tuple[float, float]:
    """Bounds of a mean of scores from -1 to 1 where every one of so many clusters has the same mean `value`.

    With a chance over `tail` at most a share 1 - tail^(1/clusters) of all clusters differs (Clopper and Pearson 1934);
    at worst these lie at -1 or at 1.
    """
    share_of_others = 1 - tail ** (1 / clusters)
    return value - (1 + value) * share_of_others, value + (1 - value) * share_of_others


@dataclass(frozen=True, slots=True)
class Equivalence:
    """TOST of `estimate` against (-margin, margin); equivalent at `alpha` exactly if [low, high] lies inside."""

    estimate: float
    se: float
    margin: float
    p: float
    low: float  # of the 1 - 2 alpha interval
    high: float
    alpha: float

    @property
    def equivalent(self) -> bool:
        """Whether the claim "closer to zero than the margin" holds at `alpha`."""
        return self.p < self.alpha


def tost(net: NetEstimate, margin: float, *, alpha: float = 0.05) -> Equivalence:
    """Two one-sided tests, by the limits of the net preference."""
    if not margin > 0:
        raise InputError(f"The margin must be above 0. Got {margin!r}; name the smallest difference that matters.")
    nearest = margin if net.value >= 0 else -margin
    tails = [net.tail(null) for null in (margin, -margin)]
    if abs(net.value) >= margin:
        p = 1 - net.tail(nearest) if abs(net.value) > margin else 0.5
    else:
        p = max(tails)
    return Equivalence(net.value, net.se, margin, p, *net.limits(alpha), alpha)


def smallest_claim(net: NetEstimate, *, alpha: float = 0.05) -> float:
    """The margin above which `tost` makes the claim: the limit that is further from zero."""
    low, high = net.limits(alpha)
    return max(-low, high)


def bounded_interval(
    values: ArrayLike, *, low: float, high: float, by: Mapping[str, NDArray[np.int64]], level: float = 0.95
) -> Interval:
    """The mean of values from `low` to `high`; where all are the same its error is exactly zero."""
    values = np.asarray(values, dtype=float)
    mean = mean_interval(values, by=by, level=level)
    fewest = max(min((kish(codes) for codes in by.values()), default=float(len(values))) - 1, 1.0)
    reach = float(stdtrit(fewest, (1 + level) / 2)) * mean.se
    mean = replace(mean, df=fewest, low=mean.value - reach, high=mean.value + reach)
    half, middle = (high - low) / 2, (high + low) / 2
    if np.ptp(values) <= ROUNDING * half:
        ends = bound_unanimous((mean.value - middle) / half, mean.df + 1, (1 - level) / 2) if half else (0.0, 0.0)
        mean = replace(mean, se=0.0, low=middle + half * ends[0], high=middle + half * ends[1])
    return replace(mean, low=max(mean.low, low), high=min(mean.high, high))


def p_of_zero(mean: Interval, reach: float) -> float:
    """The p of a mean of zero for values from -reach to reach: below .05 exactly where the interval leaves out 0."""
    if mean.se:
        return 2 * float(stdtr(mean.df, -abs(mean.value) / mean.se))
    return float(min(1.0, 2 * (1 + abs(mean.value) / (reach or 1.0)) ** -(mean.df + 1)))
