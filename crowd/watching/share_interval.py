"""The 95 % interval of the share of ties, for the dashboard and `crowd status`: that of `python -m analysis ties`.

Same formula and same clusters as analysis/stats/intervals.py and analysis/votes/clusters.py, held equal by
tests/house/test_twins.py. It is written again because stages do not import each other, and without scipy because every
server process would hold 50 MB or more for one quantile. What the formula needs of a cluster are its ties and votes,
and many clusters have the same two, so memory does not grow with the votes.

The curves of a set of votes follow the hypergeometric law of a draw without replacement: of N votes K are ties, and
P(x) = C(K, x) C(N - K, n - x) / C(N, n) (Johnson, Kemp and Kotz, Univariate Discrete Distributions, section 6.2).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

TAIL = 0.025  # on each side of the interval
FEW = 5  # effective clusters, as in the analysis
PRECISE = 1e-16  # relative change at which the fraction has converged
LONGEST_FRACTION = 100_000  # terms, a safeguard: it takes about the square root of the degrees of freedom


@dataclass(slots=True)
class ClusterCounts:
    """How many clusters (dialogues, pairs, raters) have so many ties among so many votes."""

    kinds: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add(self, ties: int, votes: int, times: int = 1) -> None:
        """One more cluster, or several alike."""
        self.kinds[ties, votes] += times

    @property
    def clusters(self) -> int:
        """How many there are."""
        return self.kinds.total()

    @property
    def kish(self) -> float:
        """How many equally large ones would weigh the same (Kish 1965)."""
        votes = sum(n * times for (_, n), times in self.kinds.items())
        return votes**2 / sum(n * n * times for (_, n), times in self.kinds.items())


@dataclass(frozen=True, slots=True)
class ShareInterval:
    """A share with its standard error and interval; `unit` says which clusters the error allows for."""

    share: float
    se: float
    df: float
    low: float
    high: float
    unit: str


def share_interval(
    ties: int, votes: int, clusters: Mapping[str, ClusterCounts], cells: ClusterCounts
) -> ShareInterval | None:
    """Interval of ties/votes, robust to these clusters (one or two ways), by its logit; None below 2 votes.

    A way with a single cluster is left out, for its variance cannot be seen; without any, votes are independent. Two
    ways: the variances of both, less that of their crossing (`cells`: the votes of one rater on one dialogue), but no
    less than half the larger. Student's t has the degrees of freedom of Satterthwaite (1946) for both variances, but no
    fewer than the smallest effective number of clusters less one, and at least 1. With fewer than five effective
    clusters of either way it is the larger variance at least, and the smallest number less one.
    """
    if votes < 2:
        return None
    ways = {name: counts for name, counts in clusters.items() if counts.clusters > 1}
    parts = [_estimate_variance(ties, votes, counts) for counts in ways.values()]
    alone = _estimate_variance(ties, votes, ClusterCounts(Counter({(1, 1): ties, (0, 1): votes - ties})))
    parts = parts or [alone]
    crossed = sum(parts) - _estimate_variance(ties, votes, cells) if len(parts) == 2 else 0.0
    freedoms = [max(counts.kish - 1, 1.0) for counts in ways.values()]
    df = min(freedoms, default=max(votes - 1.0, 1.0))
    is_two_way = len(parts) == 2 and df >= FEW - 1
    variance = max(crossed, max(parts) / (2 if is_two_way else 1), 0.0)
    if is_two_way and variance:
        df = max(df, variance**2 / sum(part**2 / free for part, free in zip(parts, freedoms, strict=True)))
    se = math.sqrt(variance or alone)  # clusters that are all alike would leave no width
    low, high = _find_bounds(ties, votes, se, df)
    return ShareInterval(ties / votes, se, df, low, high, "+".join(ways) or "vote")


def _estimate_variance(ties: int, votes: int, counts: ClusterCounts) -> float:
    """The jackknife's: (G-1)/G sum_g ((T_g - share N_g) / (votes - N_g))^2, with whole numbers as far as they go."""
    moved = (
        times * ((t * votes - ties * n) / (votes * (votes - n))) ** 2 for (t, n), times in counts.kinds.items() if times
    )
    return math.fsum(moved) * (1 - 1 / counts.clusters)


def _find_bounds(ties: int, votes: int, se: float, df: float) -> tuple[float, float]:
    if ties in (0, votes):  # the logit has no value there: Clopper and Pearson (1934), all of df + 1 clusters alike
        edge = TAIL ** (1 / (df + 1))  # the inverse of the incomplete beta function I_x(a, 1) = x^a
        return (edge, 1.0) if ties else (0.0, 1.0 - edge)
    share = ties / votes
    middle, half = math.log(ties / (votes - ties)), t_quantile(df) * se / (share * (1 - share))
    return _expit(middle - half), _expit(middle + half)


def _expit(x: float) -> float:
    """1 / (1 + exp(-x)), written so that exp never overflows."""
    small = math.exp(-abs(x))
    return (1.0 if x >= 0 else small) / (1.0 + small)


def t_quantile(df: float) -> float:
    """The .975 quantile of Student's t, df >= 1, by bisection: slow, and right to the last digits for every df.

    >>> round(t_quantile(10), 6)
    2.228139
    """
    low, high = 1.9, 13.0  # it falls from 12.71 (df 1) to 1.96 (the normal law)
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _within(middle, df) < 1 - 2 * TAIL else (low, middle)
    return (low + high) / 2


def _within(t: float, df: float) -> float:
    """P(|T| < t), the incomplete beta function I_y(1/2, df/2) at y = t^2 / (df + t^2) (Abramowitz, Stegun 26.7.1)."""
    y, a = t * t / (df + t * t), df / 2
    front = math.exp(_log_gamma_ratio(a) - math.log(math.pi) / 2 + math.log(y) / 2 + a * math.log1p(-y))
    if y < 1.5 / (a + 2.5):  # where the fraction converges fast; elsewhere by I_y(b, a) = 1 - I_{1-y}(a, b)
        return front * 2 * _fraction(0.5, a, y)
    return 1 - front / a * _fraction(a, 0.5, df / (df + t * t))


def _log_gamma_ratio(a: float) -> float:
    """log(gamma(a + 1/2) / gamma(a)); beyond 100 by its series, for the two logarithms would cancel."""
    if a < 100:
        return math.lgamma(a + 0.5) - math.lgamma(a)
    return math.log(a) / 2 - 1 / (8 * a) + 1 / (192 * a**3) - 1 / (640 * a**5)


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22) by the method of Lentz."""
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, LONGEST_FRACTION):
        before = value
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            c, d = 1 + term / c, 1 / (1 + term * d)
            value *= c * d
        if abs(value - before) <= PRECISE * abs(value):
            break
    return value


# Twin of hypergeometric in analysis/stats/laws.py: the server imports no SciPy. tests/house/test_twins.py holds the
# two equal.
def law_of_ties(votes: int, ties: int, size: int) -> list[float]:
    """P(x ties in the set) for x = 0..drawn.

    >>> [round(p, 3) for p in law_of_ties(4, 2, 2)]
    [0.167, 0.667, 0.167]
    """
    everything = _log_choose(votes, size)
    return [
        math.exp(_log_choose(ties, x) + _log_choose(votes - ties, size - x) - everything)
        if 0 <= size - x <= votes - ties and x <= ties
        else 0.0
        for x in range(size + 1)
    ]


def set_size(pairs: int) -> int:
    """Votes in a set: 200 as in the paper, a tenth of the pairs in a smaller study, never fewer than 10.

    >>> [set_size(pairs) for pairs in (2000, 300, 24)]
    [200, 30, 10]
    """
    return min(200, max(10, pairs // 10))


def polyline(law: Sequence[float], top: float, width: float, height: float) -> str:
    """The law as `points` of an SVG polyline: x is the tie share from 0 to 1, y the probability up to `top`."""
    last = len(law) - 1
    return " ".join(f"{x / last * width:.1f},{height - p / top * height:.1f}" for x, p in enumerate(law))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
