"""Stopping while a study runs: looking after every vote without paying in false alarms.

Two tools. `bet_on_mean` is exact for independent bounded observations: a bettor bets against "the mean is m" and sets
each stake before the observation; once his capital exceeds 1/alpha, m is ruled out for good (Waudby-Smith and Ramdas
2024). Votes are independent draws where they share no rater and no dialogue: `pick_unshared` picks such votes.
`look_by_mixture` uses all votes: an estimate with its clustered standard error, by the Student version of Robbins'
mixture (Robbins 1970; Lai 1976; Wang and Ramdas 2025), with the effective number of clusters in the place of the sample
size. It holds as far as clusters' means are normal, so it is not asked below FEWEST_CLUSTERS, and simulation stands
behind it (docs/planning.md). By Ville's inequality each of them errs, at any time, in at most alpha of all studies.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from seedvote.dialogue.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
FEWEST_CLUSTERS = 10  # effective clusters of the rarest kind: below, nothing is decided
BETTING_BLOCK = 10_000  # observations bet on at once: bounds the memory


@dataclass(frozen=True, slots=True)
class Path:
    """After each observation: evidence against a mean of zero, and the interval that may be looked at every time."""

    e: Floats  # (n,) e-process; 20 or more rejects "no preference" at .05, whenever that happens
    low: Floats  # (n,)
    high: Floats  # (n,)
    alpha: float

    @property
    def stop(self) -> int | None:
        """Observations needed until zero was ruled out, None if it never was."""
        crossed = np.flatnonzero(np.maximum.accumulate(self.e) >= 1 / self.alpha)
        return int(crossed[0]) + 1 if crossed.size else None


@dataclass(frozen=True, slots=True)
class Now:
    """One look: the e-value against zero and the always-valid interval."""

    estimate: float
    se: float
    e: float
    low: float
    high: float


def bet_on_mean(values: Floats, *, alpha: float = 0.05, grid: int = 401) -> Path:
    """Confidence sequence for the mean of independent values in [-1, 1], and the e-process against a mean of zero.

    Half the capital bets that the mean is above m, half that it is below, with the predictable plug-in stake
    sqrt(2 log(2/alpha) / (variance so far * t log(t+1))), never so large that the capital could be lost.
    """
    if not len(values) or np.min(values) < -1 or np.max(values) > 1:
        raise InputError("The betting interval needs values, all between -1 and 1.")
    x = (np.asarray(values, dtype=np.float64) + 1) / 2
    t = np.arange(1, len(x) + 1)
    stake = np.sqrt(2 * np.log(2 / alpha) / (_variance_before(x, t) * t * np.log(t + 1)))
    # Capped, because the capital of a clear case outgrows a float long before the study ends.
    e = np.exp(np.minimum(_follow_capital(x, stake, np.array([0.5]))[0][:, 0], 700))
    means = np.linspace(0, 1, grid)
    low, high = np.empty(len(x)), np.empty(len(x))
    logs, alive = None, np.ones(grid, dtype=bool)
    for start in range(0, len(x), BETTING_BLOCK):
        rows = slice(start, start + BETTING_BLOCK)
        capital, logs = _follow_capital(x[rows], stake[rows], means, logs)
        within = np.minimum.accumulate(capital < np.log(1 / alpha), axis=0) & alive
        alive = within[-1]
        some = within.any(1)
        low[rows] = np.where(some, means[within.argmax(1)], np.nan)
        high[rows] = np.where(some, means[grid - 1 - within[:, ::-1].argmax(1)], np.nan)
    step = 2 / (grid - 1)  # the truth may lie between two means of the grid, so each end gives way by one step
    return Path(e, np.maximum(2 * low - 1 - step, -1), np.minimum(2 * high - 1 + step, 1), alpha)


def _variance_before(x: Floats, t: NDArray[np.int64]) -> Floats:
    """Variance estimate from the observations before each one, shrunk towards 1/4."""
    mean = (0.5 + np.cumsum(x)) / (t + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (t + 1)
    return np.concatenate([[0.25], variance[:-1]])  # a stake may not know the observation that it is set on


def _follow_capital(
    x: Floats, stake: Floats, means: Floats, before: tuple[Floats, Floats] | None = None
) -> tuple[Floats, tuple[Floats, Floats]]:
    """Log of the mean capital of both bettors, (observations, means), and each one's at the end, to go on from."""
    up, down = before or (np.zeros(len(means)), np.zeros(len(means)))
    gain = x[:, None] - means
    ups = up + np.cumsum(np.log1p(np.minimum(stake[:, None], 0.5 / np.maximum(means, 1e-12)) * gain), axis=0)
    limit = 0.5 / np.maximum(1 - means, 1e-12)
    downs = down + np.cumsum(np.log1p(-np.minimum(stake[:, None], limit) * gain), axis=0)
    return np.logaddexp(ups, downs) - np.log(2), (ups[-1], downs[-1])


def look_by_mixture(estimate: float, se: float, *, clusters: float, scale: float, alpha: float = 0.05) -> Now:
    """Student's mixture at one look; `scale` is the size of difference that the study was planned for.

    With W = scale^2/se^2, v = clusters - 1 and t = estimate/se:
    e = (1 + W)^(-1/2) ((1 + t^2/v) / (1 + t^2/(v (1 + W))))^((v + 1)/2). No mean of votes lies beyond -1 and 1.
    """
    se, freedom = float(trusted_error(se, clusters)), max(clusters - 1, 1.0)
    weight, square = scale**2 / se**2, (estimate / se) ** 2 / freedom
    log_e = (freedom + 1) / 2 * (np.log1p(square) - np.log1p(square / (1 + weight))) - 0.5 * np.log1p(weight)
    reach = float(mixture_reach(weight, freedom, alpha)) * se
    low, high = max(estimate - reach, -1.0), min(estimate + reach, 1.0)
    return Now(estimate, se, float(np.exp(min(log_e, 700))), low, high)


def mixture_reach(weight: ArrayLike, freedom: ArrayLike, alpha: float) -> Floats:
    """Half the always-valid interval in standard errors, at scale^2/se^2 = `weight`; infinite with too few clusters."""
    weight, freedom = np.asarray(weight, dtype=float), np.asarray(freedom, dtype=float)
    ratio = np.exp((2 * np.log(1 / alpha) + np.log1p(weight)) / (freedom + 1))
    remaining = 1 - ratio / (1 + weight)
    return np.where(remaining > 0, np.sqrt(freedom * (ratio - 1) / np.where(remaining > 0, remaining, 1)), np.inf)


def trusted_error(se: ArrayLike, clusters: ArrayLike) -> Floats:
    """The standard error with one more rater of another mind in it, who would move the mean by about 1 / clusters.

    Few raters who happen to agree show little spread; that is no proof that the next one agrees too.
    """
    return np.asarray(np.hypot(np.asarray(se, dtype=float), 1 / np.asarray(clusters, dtype=float)))


def pick_unshared(ways: Collection[Ints]) -> Ints:
    """Places of votes no two of which share a cluster, in any way of clustering; each taken as soon as it can be.

    Which vote is taken depends on the clusters alone, never on what was voted, so that they are independent draws.
    """
    taken: list[int] = []
    used: list[set[int]] = [set() for _ in ways]
    for place, codes in enumerate(zip(*(way.tolist() for way in ways), strict=True)):
        if not any(code in used_codes for code, used_codes in zip(codes, used, strict=True)):
            taken.append(place)
            for code, used_codes in zip(codes, used, strict=True):
                used_codes.add(code)
    return np.array(taken, dtype=np.int64)
