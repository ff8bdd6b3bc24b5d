"""How far the mean of one group of votes lies from that of the others, when both share items.

The difference of two means is linear in the votes, so its error is that of a mean of influence values, clustered as
everywhere (`intervals.py`). The t quantile has the degrees of freedom of the smaller side.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from seedvote.analysis.stats.intervals import kish, mean_interval

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Disparity:
    """The mean of a group minus that of the others, with its 95 % interval."""

    value: float
    low: float
    high: float
    p: float

    def mirrors(self, disparity: Disparity) -> bool:
        """Whether this is the same difference, seen from the other side.

        >>> Disparity(0.2, 0.1, 0.3, 0.01).mirrors(Disparity(-0.2, -0.3, -0.1, 0.01))
        True
        """
        return bool(np.allclose((self.value, self.low, self.high), (-disparity.value, -disparity.high, -disparity.low)))


def compare_groups(values: Floats, inside: NDArray[np.bool_], by: Mapping[str, Ints]) -> Disparity | None:
    """Group against the rest; None where one side has no spread to speak of (fewer than two clusters)."""
    sides = (inside, ~inside)
    if any(len(np.unique(codes[side])) < 2 for codes in by.values() for side in sides) or inside.sum() < 2:
        return None
    first, second = (float(values[side].mean()) for side in sides)
    n = len(values)
    influence = np.where(inside, (values - first) * n / inside.sum(), -(values - second) * n / (~inside).sum())
    se = mean_interval(first - second + influence, by=by).se
    least = min(
        (kish(np.unique(codes[side], return_inverse=True)[1]) for codes in by.values() for side in sides),
        default=float(min(inside.sum(), (~inside).sum())),
    )
    df = max(least - 1, 1.0)
    reach = float(stdtrit(df, 0.975)) * se
    p = 2 * float(stdtr(df, -abs(first - second) / se)) if se else float(first == second)
    return Disparity(first - second, first - second - reach, first - second + reach, p)
