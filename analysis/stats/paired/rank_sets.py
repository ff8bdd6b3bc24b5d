"""Which ranks the systems may truly have: confidence sets from all differences at once.

Mogstad, Romano, Shaikh and Wilhelm (2024, Review of Economic Studies): a system's rank is one plus the number of
systems above it, so an interval for each difference that holds for all of them at once bounds the rank. With known
variances the differences hold at once when |z| stays below the quantile of the largest |z| among draws from the
estimates' law. *Marginal* sets take the largest over one system's differences, and each holds by itself; *simultaneous*
sets take it over all differences, and all sets hold at once. Percentiles of drawn ranks are no such sets: for near ties
they are too short.

Both go stepwise (Romano and Wolf 2005): the quantile is taken again without the differences that are already shown,
until none is added.

Variances are not known, and raters may be three where dialogues are hundreds. So each way of clustering has its part of
a variance at its own degrees of freedom: its share goes by the t that leaves as much beyond it as |z| does. Squares of
such limits add up (as those of Behrens and Fisher's problem; Satterthwaite's degrees of freedom are too many far out,
and the fewest of all are too few where raters agree). With up to nine clusters that t is out of reach: by chance one
difference in ten has a tenth of its variance. Then the largest variance that these clusters add to any difference is
taken for all. It is small by chance for one system at most, so the t of a single comparison is enough. With up to fifty
clusters errors differ by chance from comparison to comparison, which the draws do not know of: sixty equal systems were
ordered falsely by 14 raters in .07 of studies. Their t leaves at most a share of 1 - level beyond it that all
comparisons add up to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtrit

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
DRAWN: Final = "weibull"  # one more draw exceeds this quantile of n draws with a chance of 1 - level
FARTHEST = 8.0  # |z| beyond which no chance is told from zero
FEW = 9  # effective clusters: up to here the largest variance that they add is taken for all differences
SOME = 50  # effective clusters: up to here a limit leaves no more beyond it than Bonferroni's
AT_ONCE = 1000  # draws compared at once, so that they stay in the processor's cache


@dataclass(frozen=True, slots=True)
class RankSets:
    """The best and the worst rank (systems,) that each system may have: by itself, and for all systems at once.

    `above[i, j]` says that i is shown to be above j, all differences at once.
    """

    low: Ints
    high: Ints
    all_low: Ints
    all_high: Ints
    above: NDArray[np.bool_]
    quantile: float  # of the largest |z| over all differences, at the first step


@dataclass(frozen=True, slots=True)
class WayApart:
    """One way of clustering: its part of the variances (systems, systems) of the differences."""

    freedom: float  # the effective number of clusters less one
    variance: Floats  # by this way alone
    added: Floats  # what it adds to the variance by all other ways

    @property
    def is_few(self) -> bool:
        """Whether its clusters are so few that chance may hide most of what they add."""
        return self.freedom <= FEW - 1


def rank_sets(
    values: Floats,
    covariance: Floats,
    apart: Floats,
    ways: Sequence[WayApart] = (),
    *,
    sets: int,
    generator: np.random.Generator,
    level: float = 0.95,
) -> RankSets:
    """Sets from estimates (systems,), their covariance and the standard errors (systems, systems) of their differences.

    `ways` say how well these errors are known; without them they count as known. `sets` draws give the quantiles.
    """
    ahead, is_other = values[:, None] - values[None, :], ~np.eye(len(values), dtype=bool)
    seed = int(generator.integers(2**63))

    def is_shown(quantile: Floats | float, comparisons: Floats | float) -> NDArray[np.bool_]:
        return is_other & (np.abs(ahead) > reach_of(quantile, apart, ways, level, np.maximum(comparisons, 1.0)))

    largest = _draw_largest(covariance, sets, seed, is_other)
    first = every = float(np.quantile(largest.max(1), level, method=DRAWN))
    open_pairs, shown = is_other.copy(), is_shown(every, is_other.sum() / 2)
    while (open_pairs & shown).any() and (open_pairs & ~shown).any():
        open_pairs &= ~shown
        # the same draws, so the quantile can only fall
        every = float(np.quantile(_draw_largest(covariance, sets, seed, open_pairs).max(1), level, method=DRAWN))
        shown = is_shown(every, open_pairs.sum() / 2)
    above = shown & (ahead > 0)
    own = np.quantile(largest, level, axis=0, method=DRAWN)[:, None]
    open_pairs = is_other.copy()
    while True:
        by_itself = is_shown(own, open_pairs.sum(1)[:, None])
        rows = np.asarray((open_pairs & by_itself).any(1) & (open_pairs & ~by_itself).any(1))
        if not rows.any():
            low_high = (*_bound_ranks(ahead, by_itself), *_bound_ranks(ahead, shown))
            return RankSets(*low_high, above, first)
        open_pairs[rows] &= ~by_itself[rows]
        of_open = _draw_largest(covariance, sets, seed, open_pairs & rows[:, None])
        own[rows, 0] = np.quantile(of_open[:, rows], level, axis=0, method=DRAWN)


def reach_of(
    quantile: Floats | float,
    apart: Floats,
    ways: Sequence[WayApart],
    level: float = 0.95,
    comparisons: Floats | float = 1.0,
) -> Floats:
    """How far apart (systems, systems) estimates must lie to be shown, where known errors would need |z| > quantile.

    `comparisons` are those that hold at once.
    """
    largest = [replace(way, added=np.full_like(apart, way.added.max(initial=0.0))) for way in ways]
    tail = np.full_like(apart, (1 - level) / 2)
    return _add_reach(quantile, tail, apart**2 - _few_added(ways), largest, comparisons)


def chance_below(ahead: Floats, apart: Floats, ways: Sequence[WayApart]) -> Floats:
    """Chance that the truth lies below zero where estimates are `ahead` of it: one-sided, each difference alone."""
    low, high = np.zeros_like(ahead), np.full_like(ahead, FARTHEST)
    for _ in range(50):
        middle = (low + high) / 2
        is_beyond = np.abs(ahead) > _add_reach(middle, ndtr(-middle), apart**2 - _few_added(ways), ways)
        low, high = np.where(is_beyond, middle, low), np.where(is_beyond, high, middle)
    return np.asarray(ndtr(-np.sign(ahead) * low))


def _few_added(ways: Sequence[WayApart]) -> Floats | float:
    """What the ways of few clusters add to the variances."""
    return sum((way.added for way in ways if way.is_few), start=np.zeros(()))


def _add_reach(
    quantile: Floats | float,
    tail: Floats,
    rest: Floats,
    ways: Sequence[WayApart],
    comparisons: Floats | float = 1.0,
) -> Floats:
    """The squared limits of all parts together; those of few clusters leave `tail` beyond them, the others as |z|."""
    squared = np.square(quantile) * np.maximum(rest, 0.0)
    for way in ways:
        if way.is_few:
            squared = squared + stdtrit(way.freedom, 1 - tail) ** 2 * way.added
        elif np.isfinite(way.freedom):
            beyond = ndtr(-np.asarray(quantile))
            beyond = np.minimum(beyond, tail / comparisons) if way.freedom <= SOME - 1 else beyond
            t = stdtrit(way.freedom, 1 - beyond)
            squared = squared + (t**2 - np.square(quantile)) * way.variance
    return np.asarray(np.sqrt(squared))


def _bound_ranks(ahead: Floats, is_shown: NDArray[np.bool_]) -> tuple[Ints, Ints]:
    """One plus the systems surely above, and all systems less those surely below."""
    return 1 + (is_shown & (ahead < 0)).sum(1), len(ahead) - (is_shown & (ahead > 0)).sum(1)


def _draw_largest(covariance: Floats, sets: int, seed: int, among: NDArray[np.bool_]) -> Floats:
    """(sets, systems): the largest |z| among each system's differences from those `among[system]`, in every draw."""
    systems, generator = len(covariance), np.random.default_rng(seed)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    variance = np.diag(covariance)
    spread = _fill_diagonal(np.sqrt(np.maximum(variance[:, None] + variance[None, :] - 2 * covariance, 0)))
    largest, is_wanted = np.zeros((sets, systems)), among | among.T
    for some in np.array_split(largest, -(-sets // AT_ONCE)):
        noise = np.ascontiguousarray((generator.standard_normal(some.shape) @ root.T).T)
        most = np.zeros_like(noise)
        for row in range(systems - 1):
            later = row + 1 + np.flatnonzero(is_wanted[row, row + 1 :])
            gaps = np.abs(noise[later] - noise[row]) / spread[row, later, None]
            of_later, of_row = among[later, row], among[row, later]
            most[later[of_later]] = np.maximum(most[later[of_later]], gaps[of_later])
            most[row] = np.maximum(most[row], gaps[of_row].max(0, initial=0.0))
        some[:] = most.T
    return largest


def _fill_diagonal(errors: Floats) -> Floats:
    """The same with the diagonal, where nothing differs from itself, out of the way."""
    return np.where(np.eye(len(errors), dtype=bool), np.inf, np.maximum(errors, 1e-150))
