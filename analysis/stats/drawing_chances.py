"""Chances of being drawn that rise with doubt: active inference (Zrnic and Candes 2024).

The error of a weighted mean is smallest where the chance of each pair is proportional to the spread of what is not
predicted of it. A part of every chance is the same for all, since the predictor may be sure and wrong: an estimate
divides by the chance, so small ones are dear.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def spread_chances(doubts: Floats, number: float, even: float) -> Floats:
    """Chances (pairs,) that add to `number`, of at most 1: a part `even` the same for all, the rest by the doubts.

    >>> [round(float(chance), 3) for chance in spread_chances(np.array([0.0, 1.0, 1.0, 2.0]), 2, 0.5)]
    [0.25, 0.5, 0.5, 0.75]
    >>> [round(float(chance), 3) for chance in spread_chances(np.array([0.0, 0.0, 0.0, 9.0]), 2, 0.5)]
    [0.333, 0.333, 0.333, 1.0]
    """
    if number >= len(doubts):
        return np.ones(len(doubts))
    mean = float(doubts.mean())
    shape = np.ones(len(doubts)) if mean <= 0 else even + (1 - even) * doubts / mean
    is_sure = np.zeros(len(doubts), bool)
    while True:  # those beyond 1 are certain, and the others share what is left
        rest = shape * (number - is_sure.sum()) / shape[~is_sure].sum()
        beyond = ~is_sure & (rest > 1)
        if not beyond.any():
            return np.where(is_sure, 1.0, rest)
        is_sure |= beyond
