"""The law of the standard error that a planned study will estimate, relative to the true one.

An error by one way of clustering follows s^2/sigma^2 ~ chi^2(f)/f, f the effective clusters less one. An error by two
crossed ways adds their variances, takes away that of single votes, and is never less than the larger of the two
(stats/intervals.py); so it varies less than by the rarer way alone, and lies above the truth where votes share little.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

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

    @property
    def jackknife(self) -> float:
        """How far the jackknife's mean lies above the variance that it estimates: 1 where clusters are alike."""
        return (1 + 1 / max(self.effective, 1.0)) * (1 - 1 / max(self.number, 2.0))


def one_way(freedom: float) -> tuple[Floats, Floats]:
    """Estimated over true standard error, and the weights of these values, with so many degrees of freedom."""
    return _errors(freedom), WEIGHTS / 2


def two_ways(ways: Sequence[Way]) -> tuple[Floats, Floats]:
    """The same where the error allows for two crossed ways of clustering."""
    one, other = (_variances(way) for way in ways)
    both = one[:, None] + other - 1
    variance = np.maximum(np.maximum(both, one[:, None]), other) / (1 + sum(way.adds for way in ways))
    return np.sqrt(variance).ravel(), np.outer(LIGHTER, LIGHTER).ravel() / 4


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
