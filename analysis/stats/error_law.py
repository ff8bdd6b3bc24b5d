"""The law of the standard error that a planned study will estimate, relative to the true one.

An error by one way of clustering follows s^2/sigma^2 ~ chi^2(f)/f, f the effective clusters less one. An error by two
crossed ways adds their variances, takes away that of single votes, and is never less than the larger of the two
(stats/intervals.py); so it varies less than by the rarer way alone, and lies above the truth where votes share little.
Its degrees of freedom are Satterthwaite's, so they vary with both variances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from analysis.stats.spread import chi_square

Floats = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)  # for one law
FEWER, LIGHTER = np.polynomial.legendre.leggauss(48)  # each of two laws


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


@dataclass(frozen=True, slots=True)
class ErrorLaw:
    """Estimated over true standard errors with their degrees of freedom, and the weights of these values."""

    errors: Floats
    freedom: Floats
    weights: Floats

    def reach(self, tail: float) -> Floats:
        """Half the interval in true standard errors, beyond which `tail` is left."""
        return np.asarray(stdtrit(self.freedom, 1 - tail) * self.errors)


def one_way(freedom: float) -> ErrorLaw:
    """The law of an error with so many degrees of freedom."""
    errors = _errors(freedom)
    return ErrorLaw(errors, np.full(len(errors), freedom), WEIGHTS / 2)


def two_ways(ways: Sequence[Way]) -> ErrorLaw:
    """The law of an error that allows for two crossed ways of clustering."""
    one, other = (_variances(way) for way in ways)
    one = one[:, None]
    variance = np.maximum(np.maximum(one + other - 1, one), other)
    freedoms = [way.freedom for way in ways]
    freedom = np.maximum(variance**2 / (one**2 / freedoms[0] + other**2 / freedoms[1]), min(freedoms))
    errors = np.sqrt(variance / (1 + sum(way.adds for way in ways)))
    return ErrorLaw(errors.ravel(), freedom.ravel(), np.outer(LIGHTER, LIGHTER).ravel() / 4)


def _variances(way: Way) -> Floats:
    """The variance by this way over that of independent votes; clusters of one vote show the latter, which is known."""
    if way.size <= 1:
        return np.ones(len(FEWER))
    return (1 + way.adds) * way.jackknife * _spread(max(way.effective - 1, 1.0))


@cache
def _spread(freedom: float) -> Floats:
    return chi_square((FEWER + 1) / 2, freedom) / freedom


@cache
def _errors(freedom: float) -> Floats:
    """Nodes of Gauss and Legendre on the cumulative law."""
    return np.sqrt(chi_square((NODES + 1) / 2, freedom) / freedom)
