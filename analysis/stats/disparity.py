"""How far the mean of one group of votes lies from that of the others, when both share items: difference or ratio.

The difference of two means, and the log of their ratio near its value, are linear in the votes, so the error is that of
a mean of influence values, clustered as everywhere (`intervals.py`). The t quantile has the degrees of freedom of the
smaller side.
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


@dataclass(frozen=True, slots=True)
class ShareRatio:
    """The share of a group divided by that of the others, with its 95 % interval and the p of a ratio of 1."""

    value: float
    low: float
    high: float
    p: float


def compare_groups(values: Floats, inside: NDArray[np.bool_], by: Mapping[str, Ints]) -> Disparity | None:
    """Group against the rest; None where one side has no spread to speak of (fewer than two clusters)."""
    if not _are_comparable(inside, by):
        return None
    first, second = (float(values[side].mean()) for side in (inside, ~inside))
    n = len(values)
    influence = np.where(inside, (values - first) * n / inside.sum(), -(values - second) * n / (~inside).sum())
    gap, reach, p = _bound(first - second, influence, inside, by)
    return Disparity(gap, gap - reach, gap + reach, p)


def share_ratio(hits: NDArray[np.bool_], inside: NDArray[np.bool_], by: Mapping[str, Ints]) -> ShareRatio | None:
    """Share of hits in the group over that in the rest, on the log scale; None where either is 0 or has no spread."""
    if not _are_comparable(inside, by) or not hits[inside].any() or not hits[~inside].any():
        return None
    shares = [float(hits[side].mean()) for side in (inside, ~inside)]
    n = len(hits)
    influence = np.where(
        inside,
        (hits / shares[0] - 1) * n / inside.sum(),
        -(hits / shares[1] - 1) * n / (~inside).sum(),
    )
    value, reach, p = _bound(float(np.log(shares[0] / shares[1])), influence, inside, by)
    ratio, low, high = (float(np.exp(end)) for end in (value, value - reach, value + reach))
    return ShareRatio(ratio, low, high, p)


def _are_comparable(inside: NDArray[np.bool_], by: Mapping[str, Ints]) -> bool:
    sides = (inside, ~inside)
    return min(side.sum() for side in sides) > 1 and all(
        len(np.unique(codes[side])) > 1 for codes in by.values() for side in sides
    )


def _bound(
    value: float, influence: Floats, inside: NDArray[np.bool_], by: Mapping[str, Ints]
) -> tuple[float, float, float]:
    """The value, half the width of its interval, and its p."""
    se = mean_interval(value + influence, by=by).se
    sides = (inside, ~inside)
    least = min(
        (kish(np.unique(codes[side], return_inverse=True)[1]) for codes in by.values() for side in sides),
        default=float(min(side.sum() for side in sides)),
    )
    df = max(least - 1, 1.0)
    p = 2 * float(stdtr(df, -abs(value) / se)) if se else float(value == 0)
    return value, float(stdtrit(df, 0.975)) * se, p
