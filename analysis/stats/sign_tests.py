"""Exact tests on counts of votes: signs, sides, and where a tie share lies between its two anchors.

They take votes as independent unless they say otherwise; intervals that allow for clusters are in stats.intervals.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from seedvote.dialogue.formulas.uncertainty import adjust_by_holm

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]

A, B, TIE = 0, 1, 2


@dataclass(frozen=True, slots=True)
class SignTest:
    """Exact binomial test that decisive votes fall on either side alike; ties are left out and counted."""

    a: int
    b: int
    ties: int
    p: float


@dataclass(frozen=True, slots=True)
class TieIndex:
    """Where the observed tie share lies between clearly different pairs (0) and pairs of one and the same system (1).

    `value` is (observed - different) / (same - different); the interval is Fieller's (1954) and may be unbounded where
    the two controls are not clearly apart, which is then what the study says.
    """

    value: float
    low: float
    high: float
    observed: float
    different: float
    same: float


def holm_where(values: Sequence[float | None], tests: Sequence[Hashable] | None = None) -> list[float | None]:
    """The same for those that are there; None where nothing was tested.

    Values of the same name in `tests` are one test seen from both sides, and are corrected for once.

    >>> holm_where([0.02, None, 0.04]), holm_where([0.02, 0.02], ["sex", "sex"])
    ([0.04, None, 0.04], [0.02, 0.02])
    """
    names = range(len(values)) if tests is None else tests
    once = {name: value for name, value in zip(names, values, strict=True) if value is not None}
    adjusted = dict(zip(once, adjust_by_holm(np.array([*once.values()])).tolist(), strict=True))
    return [None if value is None else adjusted[name] for name, value in zip(names, values, strict=True)]


def sign_test(choice: Ints) -> SignTest:
    """Exact and two-sided; it takes votes as independent, which votes of one rater or on one pair are not."""
    a, b, ties = (int((choice == code).sum()) for code in (A, B, TIE))
    return SignTest(a, b, ties, float(binomtest(a, a + b).pvalue) if a + b else 1.0)


def position_test(choice: Ints, left: Ints) -> SignTest:
    """The same for left against right: `a` counts decisive votes for the left response, `b` for the right one."""
    known = left >= 0
    side = np.where(choice == TIE, TIE, np.where(choice == left, A, B))
    return sign_test(side[known])


def tie_index(
    observed: tuple[float, float], different: tuple[float, float], same: tuple[float, float], *, z: float = 1.959963985
) -> TieIndex:
    """Each argument is a tie share with its standard error, from different pairs (so taken as independent)."""
    (o, se_o), (d, se_d), (s, se_s) = observed, different, same
    above, below = o - d, s - d
    value = above / below if below else float("nan")
    var_above, var_below, shared = se_o**2 + se_d**2, se_s**2 + se_d**2, se_d**2
    a, b, c = below**2 - z**2 * var_below, above * below - z**2 * shared, above**2 - z**2 * var_above
    inside = b**2 - a * c
    if a <= 0 or inside < 0:  # the anchors may be equal, so no ratio is excluded
        return TieIndex(value, -np.inf, np.inf, o, d, s)
    low, high = (b - np.sqrt(inside)) / a, (b + np.sqrt(inside)) / a
    return TieIndex(value, float(low), float(high), o, d, s)
