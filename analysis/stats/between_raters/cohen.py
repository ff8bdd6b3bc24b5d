"""Cohen's kappa (1960) of two raters, who have judged the same items once each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.stats.between_raters.agreement import FEWEST_REPEATED, Coefficient, divide_or_nan
from seedvote.analysis.stats.between_raters.jackknife import Jackknife, on_fishers_z
from seedvote.analysis.stats.intervals import kish

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]


def cohen_kappa(table: NDArray[Any]) -> Any:
    """Cohen 1960; `table` (..., C, C) counts the first rater's x the second's category."""
    share = table / table.sum((-2, -1), keepdims=True)
    chance = (share.sum(-2) * share.sum(-1)).sum(-1)
    return divide_or_nan(np.trace(share, axis1=-2, axis2=-1) - chance, 1 - chance)


def two_raters(
    item: Ints, rater: Ints, choice: Ints, categories: int, *, cluster: Ints | None = None, level: float = 0.95
) -> Coefficient | None:
    """Cohen's kappa where exactly two raters have judged items once each; None in every other design.

    The error is that of Fleiss, Cohen and Everitt (1969) with G / (G - 1), over items or over the `cluster` of each
    vote, such as its dialogue. It is about other items; two raters cannot speak for other raters.
    """
    names, who = np.unique(rater, return_inverse=True)
    if len(names) != 2:
        return None
    table, group = np.full((int(item.max()) + 1, 2), -1), np.zeros(int(item.max()) + 1, dtype=np.int64)
    table[item, who] = choice
    group[item] = item if cluster is None else cluster
    rated_by_both = (table >= 0).all(1)
    if rated_by_both.sum() * 2 != len(item):  # not every item has one vote of each rater
        return None
    first, second = table[rated_by_both].T
    counts = np.bincount(first * categories + second, minlength=categories**2).reshape(categories, categories)
    value = float(cohen_kappa(counts))
    error = _estimate_error(counts, first, second, group[rated_by_both])
    agreed = np.diag(counts)
    if not error.se > 0 or agreed.sum() - agreed[counts.sum(0).argmax()] < FEWEST_REPEATED:
        return Coefficient(value)
    return Coefficient(value, *on_fishers_z(value, error, level), error.se, error.df)


def _estimate_error(counts: Ints, first: Ints, second: Ints, group: Ints) -> Jackknife:
    """What each item adds to kappa, summed by cluster."""
    share = counts / counts.sum()
    rows, columns = share.sum(1), share.sum(0)
    agree, chance = np.trace(share), float(rows @ columns)
    codes = np.unique(group, return_inverse=True)[1]
    if chance > 1 - 1e-12 or codes.max() == 0:
        return Jackknife(np.nan, 0.0, 1.0)
    own = (first == second) * (1 - chance) - (1 - agree) * (columns[first] + rows[second])
    parts = (own - own.mean()) / (1 - chance) ** 2 / len(first)
    sums, number = np.bincount(codes, weights=parts), int(codes.max()) + 1
    return Jackknife(float(np.sqrt(sums @ sums * number / (number - 1))), 0.0, max(kish(codes) - 1, 1.0))
