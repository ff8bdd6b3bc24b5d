"""What a handful of training seeds says whatever their law: a range that holds the median training, at its exact level.

t intervals over seeds take trainings to be normal. Where one in ten collapses, those of 3, 5, 10 and 20 seeds hold the
mean in .87, .76, .71 and .88 of studies, and no seeds that went well show it: n of them leave room for a share of
1 - .05^(1/n) that collapses. The range of n independent seeds leaves out the median of all trainings only if all lie on
one side of it, with a chance of 2^(1-n) at most (Thompson 1936).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr

ROOM = 0.05  # the chance that n seeds all go well although this share of trainings collapses


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
