"""An error that has several levels, such as dialogues and seeds: how far its interval reaches, and its p.

Every level has a variance and degrees of freedom of its own. The half-width is the root of the sum of the squared
half-widths that the levels would have alone, each with its own t: whatever the variances of normal levels are, such an
interval holds the truth at least as often as it says (Banerjee 1961). Levels stand along the last axis.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

Floats = NDArray[np.float64]
LEAST = 1e-9  # the smallest p that is looked for
HALVINGS = 48


def levels_reach(variance: Floats, freedom: Floats, tail: float | Floats) -> Floats:
    """How far an interval with this probability beyond its one end reaches."""
    reaches = stdtrit(freedom, 1 - np.asarray(tail)[..., None])
    return np.asarray(np.sqrt((reaches**2 * variance).sum(-1)))


def levels_tail(difference: Floats, variance: Floats, freedom: Floats) -> Floats:
    """The one-sided p at which the reach is the difference; 1 where that is not above zero, or not known."""
    low, high = np.full(difference.shape, math.log(LEAST)), np.full(difference.shape, math.log(0.5))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        beyond = levels_reach(variance, freedom, np.exp(middle)) > difference
        low, high = np.where(beyond, middle, low), np.where(beyond, high, middle)
    return np.where((difference > 0) & np.isfinite(variance).all(-1), np.exp(high), 1.0)
