"""How much a number moves with the training seed: a standard deviation with its interval, never a bare "+-".

Method: the chi-square interval of a normal sample's SD, sqrt((n-1) s^2 / q) for the quantiles q of chi-square with n-1
degrees of freedom. With three seeds it reaches from about half to six times the SD, which is the point of showing it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import chi2

FEW = 5


@dataclass(frozen=True, slots=True)
class Spread:
    """Values over seeds with their sample SD (n-1) and its interval; `low` and `high` are NaN below two seeds."""

    values: tuple[float, ...]
    sd: float
    low: float
    high: float
    level: float

    @property
    def few(self) -> bool:
        """Too few seeds to rank this SD against another."""
        return len(self.values) < FEW


def spread(values: Sequence[float], *, level: float = 0.95) -> Spread:
    """The SD of `values` over seeds, in the values' own unit."""
    n = len(values)
    if n < 2:
        return Spread(tuple(values), math.nan, math.nan, math.nan, level)
    sd = float(np.std(values, ddof=1))
    upper, lower = float(chi2.ppf((1 + level) / 2, n - 1)), float(chi2.ppf((1 - level) / 2, n - 1))
    return Spread(tuple(values), sd, sd * math.sqrt((n - 1) / upper), sd * math.sqrt((n - 1) / lower), level)
