"""The interval of a standard deviation over training seeds, and p values adjusted for their number."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def sd_interval(values: Sequence[float], *, level: float = 0.95) -> tuple[float, float, float]:
    """The sample SD (n-1) with the chi-square interval of a normal sample's SD; NaN below two values.

    sqrt((n-1) s^2 / q) for the quantiles q of chi-square with n-1 degrees of freedom. With three values it reaches from
    about half to six times the SD.
    """
    n = len(values)
    if n < 2:  # one training says nothing of the next: not 0 but unknown
        return math.nan, math.nan, math.nan
    from scipy.special import gammaincinv  # asked for here: whoever fits or serves needs none of SciPy

    sd = float(np.std(values, ddof=1))
    upper, lower = (2 * float(gammaincinv((n - 1) / 2, (1 + sign * level) / 2)) for sign in (1, -1))
    return sd, sd * math.sqrt((n - 1) / upper), sd * math.sqrt((n - 1) / lower)


def adjust_by_holm(values: ArrayLike) -> NDArray[np.float64]:
    """P values adjusted for their number (Holm 1979): the largest error over all of them stays at the level.

    That of statsmodels gives the same bits, but looks through the memory of the whole program for garbage at every
    call, which takes up to half a second where much is loaded.
    """
    p_values = np.array(values, dtype=float)
    order = p_values.argsort(kind="stable")
    p_values[order] = np.minimum(np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1)), 1.0)
    return p_values
