"""The law of the standard error that a planned study will estimate, relative to the true one.

An error by one way of clustering follows s^2/sigma^2 ~ chi^2(f)/f, f the effective clusters less one. An error by two
crossed ways adds their variances, takes away that of single votes, and is never less than the larger of the two
(stats/intervals.py); so it varies less than by the rarer way alone, and lies above the truth where votes share little.
Its degrees of freedom are Satterthwaite's, so they vary with both variances.

Where raters do unequal work, a few of them move the mean and its error together, and no chi^2 law holds: raters' sums
are drawn, normal, with given deviations of the mean, and the error is worked out from them as from votes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import ndtri, stdtrit

from seedvote.analysis.stats.spread import chi_square

Floats = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)  # for one law
FEWER, LIGHTER = np.polynomial.legendre.leggauss(48)  # each of two laws
DEVIATIONS = 4000  # of the mean, at each of which raters are drawn once
BLOCK = 4000  # normal numbers, after each of which the generator's state is known
MOST_DRAWN = 1_000_000  # raters drawn for one law; of more raters there are fewer deviations, and they matter less


@dataclass(frozen=True, slots=True)
class Way:
    """One way of clustering in a planned study."""

    adds: float  # to the design effect, by what its votes have in common
    size: float  # votes in the cluster of a vote
    number: float  # clusters
    effective: float  # number of equally large ones that weigh the same (Kish)
    decisive: float  # the same among the votes that are no ties

    @property
    def freedom(self) -> float:
        """Degrees of freedom of the variance by this way."""
        return max(min(self.effective, self.decisive) - 1, 1.0)

    @property
    def jackknife(self) -> float:
        """How far the jackknife's mean lies above the variance that it estimates: 1 where clusters are alike."""
        return (1 + 1 / max(self.effective, 1.0)) * (1 - 1 / max(self.number, 2.0))


@dataclass(frozen=True, slots=True, eq=False)
class ErrorLaw:
    """Estimated over true standard errors with their degrees of freedom, and the weights of these values.

    `deviations` (in true standard errors) of the mean go with them where both depend on the same few raters; `slopes`
    (over true standard errors) say then how the variance goes with the raters' work, as `net_preference` has it.
    """

    errors: Floats
    freedom: Floats
    weights: Floats
    deviations: Floats | None = None
    slopes: Floats | None = None

    def reach(self, tail: float) -> Floats:
        """Half the interval in true standard errors, beyond which `tail` is left."""
        return _find_half_width(self, tail)


@lru_cache(maxsize=64)  # the power of the same votes is asked for at many differences
def _find_half_width(law: ErrorLaw, tail: float) -> Floats:
    return np.asarray(stdtrit(law.freedom, 1 - tail) * law.errors)


def one_way(freedom: float) -> ErrorLaw:
    """The law of an error with so many degrees of freedom."""
    errors = _place_errors(freedom)
    return ErrorLaw(errors, np.asarray(freedom, float), WEIGHTS / 2)  # the same at every node


def two_ways(ways: Sequence[Way]) -> ErrorLaw:
    """The law of an error that allows for two crossed ways of clustering."""
    first, second = (_draw_variances(way) for way in ways)
    errors, freedom = _combine_ways(first[:, None], second, ways)
    return ErrorLaw(errors.ravel(), freedom.ravel(), np.outer(LIGHTER, LIGHTER).ravel() / 4)


def _combine_ways(first: Floats, second: Floats, ways: Sequence[Way]) -> tuple[Floats, Floats]:
    """Error and degrees of freedom by two ways, from the variance by each over that of independent votes."""
    variance = np.maximum(np.maximum(first + second - 1, first), second)
    freedoms = [way.freedom for way in ways]
    freedom = np.maximum(variance**2 / (first**2 / freedoms[0] + second**2 / freedoms[1]), min(freedoms))
    return np.sqrt(variance / (1 + sum(way.adds for way in ways))), freedom


@lru_cache(maxsize=256)  # a plan asks for the power of the same votes at many differences and margins
def unequal_raters(place: Way, rater: Way) -> ErrorLaw:
    """The law where raters do unequal work: their votes by a Pareto law, the sums of their scores normal."""
    sizes = _spread_work(max(round(rater.number), 2), rater.effective, rater.size)
    votes, draws = float(sizes.sum()), max(min(DEVIATIONS, MOST_DRAWN // len(sizes)), 200)
    relative_adds = rater.adds / max(float(sizes @ sizes) / votes - 1, 1e-9)
    variances = sizes * (1 - relative_adds) + sizes**2 * relative_adds  # of a rater's sum of scores with variance 1
    normals, generator = _same_normals(draws, len(sizes))
    place_noise = np.sqrt(votes * place.adds) * generator.standard_normal(draws)
    total = float(variances.sum()) + votes * place.adds
    deviations = ndtri((np.arange(draws) + 0.5) / draws)
    # A rater's sum is sd x normal + missing x variance / total, given the deviation of the mean. Without this rater the
    # mean moves by (sum - size x all sums / votes) / (votes - size): its squares and products are sums over raters.
    sds, weights = np.sqrt(variances), (votes - sizes) ** -2.0
    by_raters = normals @ np.stack([sds, weights * variances * sds, weights * sizes * sds]).T
    all_sums, with_variance, with_size = by_raters.T
    missing = np.sqrt(total) * deviations - all_sums - place_noise
    up, down = missing / total, (all_sums + missing * float(variances.sum()) / total) / votes
    squares = np.square(normals) @ (weights * variances)
    crossed, of_sizes = float(weights * variances @ sizes), float(weights * sizes @ sizes)
    squares += up * (2 * with_variance + up * float(weights * variances @ variances) - 2 * down * crossed)
    squares += down * (down * of_sizes - 2 * with_size)
    shrinking = 1 - 1 / len(sizes)
    shared = _draw_variances(place, generator.random(draws))
    errors, freedom = _combine_ways(shared, squares * votes * shrinking, (place, rater))
    slopes = (with_size + up * crossed - down * of_sizes) * shrinking / (errors**2 * np.sqrt(total) / votes)
    return ErrorLaw(errors, freedom, np.full(draws, 1 / draws), deviations, slopes)


def _same_normals(draws: int, raters: int) -> tuple[Floats, np.random.Generator]:
    """The same nodes for every plan, so that power grows with the votes; and the generator that drew them."""
    generator, number = np.random.default_rng(0), draws * raters
    if number > MOST_DRAWN:
        return generator.standard_normal((draws, raters)), generator
    normals, states = _first_normals()
    generator.bit_generator.state = states[number // BLOCK]
    generator.standard_normal(number % BLOCK)  # those behind the last whole block
    return normals[:number].reshape(draws, raters), generator


@cache
def _first_normals() -> tuple[Floats, list[Mapping[str, Any]]]:
    """The numbers that laws begin with, and the generator's state before each block of them.

    A plan asks for a hundred laws, and to draw these numbers was most of its time.
    """
    generator = np.random.default_rng(0)
    normals, states = np.empty((MOST_DRAWN // BLOCK, BLOCK)), [generator.bit_generator.state]
    for block in normals:
        generator.standard_normal(out=block)
        states.append(generator.bit_generator.state)
    return normals.ravel(), states


@cache
def _spread_work(number: int, effective: float, size: float) -> Floats:
    """Votes of so many raters, by the quantiles of a Pareto law with this effective number of raters.

    A plan knows the SD of the work alone. By a log-normal law it would promise up to .03 more power than studies with
    Pareto work have; by Pareto's it keeps its promise where work is exponential, too.
    """
    places = 1 / (2 * (number - np.arange(number)) - 1)  # the rarest one's place over each one's, from the top

    def count_effective_raters(exponent: float) -> float:
        sizes = places**exponent
        return float(sizes.sum() ** 2 / (sizes @ sizes))

    least = max(effective, 1.0)
    exponent = (
        float(brentq(lambda exponent_tried: count_effective_raters(exponent_tried) - least, 0.0, 50.0))
        if 1.0 + 1e-6 < least < number
        else 0.0
    )
    sizes = places**exponent
    return np.asarray(sizes * (size * effective / sizes.sum()))


def _draw_variances(way: Way, chances: Floats | None = None) -> Floats:
    """The variance by this way over that of independent votes; clusters of one vote show the latter, which is known."""
    chances = (FEWER + 1) / 2 if chances is None else chances
    if way.size <= 1:
        return np.ones(len(chances))
    freedom = max(way.effective - 1, 1.0)
    return (1 + way.adds) * way.jackknife * chi_square(chances, freedom) / freedom


@cache
def _place_errors(freedom: float) -> Floats:
    """Nodes of Gauss and Legendre on the cumulative law."""
    return np.sqrt(chi_square((NODES + 1) / 2, freedom) / freedom)
