"""How much a number moves with the training seed: a standard deviation with its interval, never a bare "+-".

Method: the chi-square interval of a normal sample's SD, sqrt((n-1) s^2 / q) for the quantiles q of chi-square with n-1
degrees of freedom. With three seeds it reaches from about half to six times the SD, which is the point of showing it.

t intervals over seeds take trainings to be normal. Where one in ten collapses, those of 3, 5, 10 and 20 seeds hold the
mean in .87, .76, .71 and .88 of studies, and no seeds that went well show it: n of them leave room for a share of
1 - .05^(1/n) that collapses. Whatever the law, the range of n independent seeds leaves out the median of all trainings
only if all lie on one side of it, with a chance of 2^(1-n) at most (Thompson 1936).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr, fdtri, gammaincinv  # chi-square and F as scipy.stats has them, without its weight

from seedvote.dialogue.formulas.uncertainty import sd_interval

FEW_SEEDS = 5  # with 4 an SD must be almost 4 times another before F tells them apart
ROOM = 0.05  # the chance that n seeds all go well although this share of trainings collapses


@dataclass(frozen=True, slots=True)
class SeedSpread:
    """Values over seeds with their sample SD (n-1) and its interval; `low` and `high` are NaN below two seeds."""

    values: tuple[float, ...]
    sd: float
    low: float
    high: float
    level: float

    @property
    def few(self) -> bool:
        """Too few seeds to rank this SD against another."""
        return len(self.values) < FEW_SEEDS


def chi_square(share: float | NDArray[np.float64], freedom: float) -> NDArray[np.float64]:
    """Quantiles of chi-square: those of scipy.stats to the bit, in a tenth of their time."""
    return np.asarray(2 * gammaincinv(freedom / 2, share), np.float64)


def seed_spread(values: Sequence[float], *, level: float = 0.95) -> SeedSpread:
    """The SD of `values` over seeds, in the values' own unit."""
    return SeedSpread(tuple(values), *sd_interval(values, level=level), level)


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times larger one SD is than another, with the interval of F's law."""

    value: float
    low: float
    high: float

    @property
    def ranked(self) -> bool:
        """Whether the interval leaves out 1, so that one spread may be called the larger."""
        return self.low > 1 or self.high < 1


def sd_ratio(first: SeedSpread, second: SeedSpread, *, level: float = 0.95) -> Ratio | None:
    """Ratio of the SDs of two independent normal samples; None below two seeds or where an SD is zero."""
    sizes = len(first.values), len(second.values)
    if min(sizes) < 2 or not (first.sd > 0 and second.sd > 0):
        return None
    value = first.sd / second.sd
    high, low = (float(fdtri(sizes[0] - 1, sizes[1] - 1, (1 + sign * level) / 2)) for sign in (1, -1))
    return Ratio(value, value / math.sqrt(high), value / math.sqrt(low))


@dataclass(frozen=True, slots=True)
class SeedRange:
    """From one seed's value to another's; it holds the median of all trainings in `level` of studies, under any law."""

    low: float
    high: float
    level: float
    seeds: int


def seed_range(values: Sequence[float], *, level: float = 0.95) -> SeedRange | None:
    """The narrowest range between two seeds, as far from both ends, with this level; else of all seeds with its own.

    None for one seed. The values are taken as they are: on these very dialogues.

    >>> seed_range([3.0, 1.0, 2.0])
    SeedRange(low=1.0, high=3.0, level=0.75, seeds=3)
    """
    n, ordered = len(values), np.sort(np.asarray(values, float))
    if n < 2:
        return None
    inner = [k for k in range(n // 2) if range_level(n, k) >= level]
    k = max(inner, default=0)
    return SeedRange(float(ordered[k]), float(ordered[n - 1 - k]), range_level(n, k), n)


def range_level(seeds: int, left_out: int = 0) -> float:
    """How surely the range holds the median of all trainings without so many seeds at either end."""
    return float(1 - 2 * bdtr(left_out, seeds, 0.5))


def unseen_collapse(seeds: int) -> float:
    """The share of trainings that may collapse although all these seeds went well.

    >>> round(unseen_collapse(3), 2), round(unseen_collapse(29), 2)
    (0.63, 0.1)
    """
    return float(1 - ROOM ** (1 / seeds))
