"""Equivalence: "alike within a margin stated beforehand" (two one-sided tests, Schuirmann 1987).

A difference that is not significant shows nothing; equivalence is a separate claim and needs its own test. The margin
is the smallest difference that would matter, chosen before the votes are seen: there is no default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit  # the laws of scipy.stats, to the bit, in a tenth of their time

from analysis.stats.intervals import Interval, mean_interval
from dialogue.errors import InputError


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


def tost(estimate: float, se: float, margin: float, *, freedom: float = math.inf, alpha: float = 0.05) -> Equivalence:
    """Two one-sided tests with the given standard error; `freedom` are its degrees of freedom (inf: normal).

    An error of zero means that all freedom + 1 clusters said the same: the claim then rests on their number, and the
    interval is that of `unanimous`.
    """
    if not margin > 0:
        raise InputError(f"The margin must be above 0. Got {margin!r}; name the smallest difference that matters.")
    if se == 0:  # a t test would claim it from two clusters that agree
        inside = abs(estimate) < margin
        p = max((1 - margin) / (1 - abs(estimate)), 0.0) ** (freedom + 1) if inside else 1.0
        return Equivalence(estimate, se, margin, p, *unanimous(estimate, freedom + 1, alpha), alpha)
    beyond = (abs(estimate) - margin) / se
    p = float(ndtr(beyond) if math.isinf(freedom) else stdtr(freedom, beyond))
    width = _reach(freedom, alpha) * se
    return Equivalence(estimate, se, margin, p, estimate - width, estimate + width, alpha)


def smallest_claim(estimate: float, se: float, *, freedom: float = math.inf, alpha: float = 0.05) -> float:
    """The margin above which `tost` makes the claim: the end of its interval that is further from zero."""
    if se == 0:
        low, high = unanimous(estimate, freedom + 1, alpha)
        return max(-low, high)
    return abs(estimate) + _reach(freedom, alpha) * se


def _reach(freedom: float, alpha: float) -> float:
    """Half the interval in standard errors."""
    return float(ndtri(1 - alpha) if math.isinf(freedom) else stdtrit(freedom, 1 - alpha))


def unanimous(value: float, clusters: float, tail: float) -> tuple[float, float]:
    """Bounds of a mean of scores from -1 to 1 where every one of so many clusters has the same mean `value`.

    With a chance over `tail` at most a share 1 - tail^(1/clusters) of all clusters differs (Clopper and Pearson 1934);
    at worst these lie at -1 or at 1.
    """
    others = 1 - tail ** (1 / clusters)
    return value - (1 + value) * others, value + (1 - value) * others


def net_interval(values: ArrayLike, *, by: Mapping[str, NDArray[np.int64]], level: float = 0.95) -> Interval:
    """The mean of net scores (+1, -1, 0) with its interval, which never leaves -1 to 1.

    Where all clusters agree a t interval would have no width, however few they are: there it is that of `unanimous`.
    """
    net = mean_interval(values, by=by, level=level)
    if net.se == 0:
        low, high = unanimous(net.value, net.df + 1, (1 - level) / 2)
        net = replace(net, low=low, high=high)
    return replace(net, low=max(net.low, -1.0), high=min(net.high, 1.0))
