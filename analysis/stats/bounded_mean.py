"""The mean of values that have a least and a largest one, as ranks and ratings have: its interval and p.

The error is that of the mean (intervals.py) and the degrees of freedom are the fewest: with Satterthwaite's, three
raters ordered two equal systems of five in 9.5 % of 200 studies. The interval never leaves the range. Where all values
are the same there is no spread to go by: interval and p are then those of as many clusters that all agree, as for net
preferences.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import stdtr, stdtrit

from seedvote.analysis.stats.intervals import Interval, kish, mean_interval
from seedvote.analysis.stats.net_preference import bound_unanimous

ROUNDING = 1e-9  # a spread below this share of the range is none


def bounded_interval(
    values: ArrayLike, *, low: float, high: float, by: Mapping[str, NDArray[np.int64]], level: float = 0.95
) -> Interval:
    """The mean of values from `low` to `high`; where all are the same its error is exactly zero."""
    values = np.asarray(values, dtype=float)
    mean = mean_interval(values, by=by, level=level)
    fewest = max(min((kish(codes) for codes in by.values()), default=float(len(values))) - 1, 1.0)
    reach = float(stdtrit(fewest, (1 + level) / 2)) * mean.se
    mean = replace(mean, df=fewest, low=mean.value - reach, high=mean.value + reach)
    half, middle = (high - low) / 2, (high + low) / 2
    if np.ptp(values) <= ROUNDING * half:
        ends = bound_unanimous((mean.value - middle) / half, mean.df + 1, (1 - level) / 2) if half else (0.0, 0.0)
        mean = replace(mean, se=0.0, low=middle + half * ends[0], high=middle + half * ends[1])
    return replace(mean, low=max(mean.low, low), high=min(mean.high, high))


def p_of_zero(mean: Interval, reach: float) -> float:
    """The p of a mean of zero for values from -reach to reach: below .05 exactly where the interval leaves out 0."""
    if mean.se:
        return 2 * float(stdtr(mean.df, -abs(mean.value) / mean.se))
    return float(min(1.0, 2 * (1 + abs(mean.value) / (reach or 1.0)) ** -(mean.df + 1)))
