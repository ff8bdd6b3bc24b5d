"""Cohen's kappa (1960) of two raters, who have judged the same items once each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.stats.between_raters.agreement import (
    FEWEST_REPEATED,
    Coefficient,
    divide_or_nan,
    repeating_clusters,
)
from seedvote.analysis.stats.between_raters.jackknife import LeftOut, jackknife, on_fishers_z

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

    The interval is that of Fleiss' kappa: each item, or `cluster` of votes such as its dialogue, is left out in turn.
    It is about other items; two raters cannot speak for other raters.
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
    codes = np.unique(group[rated_by_both], return_inverse=True)[1]
    value = float(cohen_kappa(_count_cells(first, second, categories)))
    commonest = np.bincount(np.concatenate([first, second])).argmax()
    is_repeated = (first == second) & (first != commonest)
    if is_repeated.sum() < FEWEST_REPEATED or not codes.any():
        return Coefficient(value)
    left_out = LeftOut(_leave_out_each(first, second, codes, categories), repeating_clusters(codes, is_repeated))
    error = jackknife(value, [left_out])
    if not error.se > 0:  # nothing varies, or something left out leaves no coefficient
        return Coefficient(value)
    return Coefficient(value, *on_fishers_z(value - error.bias, error, level), error.se, error.df)


def _leave_out_each(first: Ints, second: Ints, codes: Ints, categories: int) -> Floats:
    """Kappa without each cluster in turn; NaN where one category is left."""
    number = int(codes.max()) + 1
    rows, columns = (_count_cells(codes, label, categories, number) for label in (first, second))
    agreed = np.bincount(codes, weights=first == second, minlength=number)
    items = len(first) - rows.sum(1)
    agree = (agreed.sum() - agreed) / items
    chance = ((rows.sum(0) - rows) * (columns.sum(0) - columns)).sum(1) / items**2
    return divide_or_nan(agree - chance, 1 - chance)


def _count_cells(row: Ints, column: Ints, columns: int, rows: int | None = None) -> Ints:
    """How often each row and column come together."""
    rows = columns if rows is None else rows
    return np.bincount(row * columns + column, minlength=rows * columns).reshape(rows, columns)
