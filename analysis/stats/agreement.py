"""Agreement between raters: Fleiss' kappa, Krippendorff's alpha, Gwet's AC1, and every category by itself.

Everything is a function of one table: how often each item got each category (items x categories).
Items with equal rows are interchangeable, so the item bootstrap draws how often each *kind of row* comes up (one
multinomial draw) instead of drawing items one by one: the same law, hundreds of times faster.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialogue.errors import InputError

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient with its percentile interval over the item bootstrap and the whole distribution."""

    value: float
    low: float
    high: float
    distribution: Floats


@dataclass(frozen=True, slots=True)
class Category:
    """One category: its share, the chance that a second rater repeats it, and that chance corrected (Fleiss 1971)."""

    label: str
    share: float
    agreement: float
    kappa: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """All coefficients of one table; ordinal and interval alpha are None where the labels have no order."""

    items: int
    votes: int
    usable_items: int
    observed: Coefficient  # share of agreeing pairs of votes
    fleiss_kappa: Coefficient
    alpha_nominal: Coefficient
    alpha_ordinal: Coefficient | None
    alpha_interval: Coefficient | None
    gwet_ac1: Coefficient
    categories: tuple[Category, ...]


def count_table(item: Ints, choice: Ints, categories: int) -> Ints:
    """Items x categories counts from long votes; `item` holds codes 0..n-1, `choice` codes 0..categories-1."""
    items = int(item.max()) + 1 if item.size else 0
    flat = np.bincount(item.astype(np.int64) * categories + choice, minlength=items * categories)
    return flat.reshape(items, categories)


def coefficients(
    counts: Ints,
    labels: Sequence[str],
    *,
    values: Sequence[float] | None,
    generator: np.random.Generator,
    sets: int = 2000,
    level: float = 0.95,
    cluster: Ints | None = None,
) -> Agreement:
    """Every coefficient of a table (items x categories), with intervals from `sets` bootstrap samples of the items.

    `values` are the categories' numbers in rising order of meaning (None: no order, nominal only). With `cluster`
    (one code an item, e.g. its dialogue) whole clusters are resampled; one alone has no interval.
    """
    seen = counts.any(1)
    # Drawn with replacement, a single cluster is itself every time: an interval without width would be a lie.
    alone = len(np.unique(np.arange(len(counts))[seen] if cluster is None else cluster[seen])) < 2
    rows, weights = _weighted_rows(counts, cluster, generator, 0 if alone else sets)
    point, drawn = _sums(rows, weights[:1]), _sums(rows, weights[1:])
    tail = (1 - level) / 2

    def made(statistic: Callable[[_Sums], Floats]) -> Coefficient:
        spread = statistic(drawn)
        # A set that happens to hold one category only has no kappa; it is left out rather than taken as 0 or 1.
        low, high = np.nanquantile(spread, [tail, 1 - tail]) if np.isfinite(spread).any() else (np.nan, np.nan)
        return Coefficient(float(statistic(point)[0]), float(low), float(high), spread)

    number = None if values is None else np.asarray(values, dtype=np.float64)
    return Agreement(
        items=int((counts.sum(1) > 0).sum()),
        votes=int(counts.sum()),
        usable_items=int((counts.sum(1) > 1).sum()),
        observed=made(observed),
        fleiss_kappa=made(fleiss),
        alpha_nominal=made(nominal),
        alpha_ordinal=None if number is None else made(ordinal),
        alpha_interval=None if number is None else made(partial(interval, values=number)),
        gwet_ac1=made(gwet),
        categories=_categories(counts, labels),
    )


@dataclass(frozen=True, slots=True)
class _Sums:
    """Weighted sums over items, one row a set: all that the coefficients need."""

    items: Floats  # (sets,) items with any vote
    pairable: Floats  # (sets,) items with two votes or more
    agreeing: Floats  # (sets,) sum of each such item's share of agreeing vote pairs
    shares: Floats  # (sets, C) sum of each item's category shares
    coincidences: Floats  # (sets, C, C) Krippendorff's coincidence matrix


def _weighted_rows(
    counts: Ints, cluster: Ints | None, generator: np.random.Generator, sets: int
) -> tuple[Floats, Floats]:
    """The distinct rows, and how often each stands in the sample (first row of weights) and in every drawn set."""
    rows, inverse, number = np.unique(counts[counts.any(1)], axis=0, return_inverse=True, return_counts=True)
    if cluster is None:
        drawn = generator.multinomial(number.sum(), number / number.sum(), size=sets).astype(np.float64)
    else:
        _, unit = np.unique(cluster[counts.any(1)], return_inverse=True)
        held = np.zeros((int(unit.max()) + 1, len(rows)))
        np.add.at(held, (unit, inverse.ravel()), 1.0)
        drawn = generator.multinomial(len(held), np.full(len(held), 1 / len(held)), size=sets) @ held
    return rows.astype(np.float64), np.vstack([number.astype(np.float64), drawn])


def _sums(rows: Floats, weights: Floats) -> _Sums:
    categories = rows.shape[1]
    size = rows.sum(1)
    pairable = size > 1
    same = np.where(pairable, (rows * (rows - 1)).sum(1) / np.maximum(size * (size - 1), 1), 0.0)
    pairs = rows[:, :, None] * rows[:, None, :] - rows[:, :, None] * np.eye(categories)
    pairs *= (pairable / np.maximum(size - 1, 1))[:, None, None]
    return _Sums(
        items=weights.sum(1),
        pairable=weights @ pairable.astype(np.float64),
        agreeing=weights @ same,
        shares=weights @ (rows / size[:, None]),
        coincidences=(weights @ pairs.reshape(len(rows), -1)).reshape(-1, categories, categories),
    )


def divided(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """Division that gives NaN where there is nothing to divide by (one category only: agreement is not defined)."""
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=np.abs(below) > 1e-15))


def observed(sums: _Sums) -> Floats:
    """Share of agreeing pairs of votes, averaged over items with two votes or more."""
    return divided(sums.agreeing, sums.pairable)


def fleiss(sums: _Sums) -> Floats:
    """Fleiss 1971: (P - Pe) / (1 - Pe), Pe = sum of squared shares; uneven votes as in Gwet 2014, section 2.4."""
    chance = ((sums.shares / sums.items[:, None]) ** 2).sum(1)
    return divided(observed(sums) - chance, 1 - chance)


def gwet(sums: _Sums) -> Floats:
    """Gwet's AC1 (2008): chance is sum of p (1 - p) / (C - 1), which stays small when one category is common."""
    share = sums.shares / sums.items[:, None]
    chance = (share * (1 - share)).sum(1) / max(share.shape[1] - 1, 1)
    return divided(observed(sums) - chance, 1 - chance)


def _alpha(sums: _Sums, distance: Floats) -> Floats:
    """Krippendorff 2011: 1 - observed / expected disagreement, from coincidences; `distance` is (sets or 1, C, C)."""
    margin = sums.coincidences.sum(2)
    observed = (sums.coincidences * distance).sum((1, 2)) * (margin.sum(1) - 1)
    return 1 - divided(observed, (margin[:, :, None] * margin[:, None, :] * distance).sum((1, 2)))


def nominal(sums: _Sums) -> Floats:
    """Alpha where every disagreement counts the same."""
    return _alpha(sums, 1 - np.eye(sums.shares.shape[1])[None])


def interval(sums: _Sums, values: Floats) -> Floats:
    """Alpha where a disagreement counts by the squared difference of the values."""
    return _alpha(sums, ((values[:, None] - values[None, :]) ** 2)[None])


def ordinal(sums: _Sums) -> Floats:
    """Alpha on ranks: the distance of two categories is the number of votes from one to the other, ends half."""
    margin = sums.coincidences.sum(2)
    middle = np.cumsum(margin, axis=1) - margin / 2
    return _alpha(sums, (middle[:, :, None] - middle[:, None, :]) ** 2)


def _categories(counts: Ints, labels: Sequence[str]) -> tuple[Category, ...]:
    """Fleiss 1971 on single categories: P_j = sum n (n-1) / sum n (m-1), kappa_j = (P_j - p_j) / (1 - p_j)."""
    rows = counts[counts.sum(1) > 1].astype(np.float64)
    size = rows.sum(1)
    share = rows.sum(0) / size.sum() if len(rows) else np.full(counts.shape[1], np.nan)
    again = divided((rows * (rows - 1)).sum(0), (rows * (size - 1)[:, None]).sum(0))
    kappa = divided(again - share, 1 - share)
    return tuple(Category(*row) for row in zip(labels, share.tolist(), again.tolist(), kappa.tolist(), strict=True))


def cohen_kappa(table: NDArray[Any]) -> Any:
    """Cohen 1960 for two raters on the same items; `table` (..., C, C) counts first rater's x second's category."""
    share = table / table.sum((-2, -1), keepdims=True)
    chance = (share.sum(-2) * share.sum(-1)).sum(-1)
    return divided(np.trace(share, axis1=-2, axis2=-1) - chance, 1 - chance)


def two_raters(
    item: Ints, rater: Ints, choice: Ints, categories: int, *, generator: np.random.Generator, sets: int
) -> Coefficient | None:
    """Cohen's kappa where exactly two raters have judged items once each; None in every other design."""
    names, who = np.unique(rater, return_inverse=True)
    if len(names) != 2:
        return None
    table = np.full((int(item.max()) + 1, 2), -1)
    table[item, who] = choice
    both = table[(table >= 0).all(1)]
    if len(both) * 2 != len(item):  # not every item has one vote of each rater
        return None
    counts = np.bincount(both[:, 0] * categories + both[:, 1], minlength=categories**2)
    drawn = generator.multinomial(len(both), counts / len(both), size=sets if len(both) > 1 else 0)
    spread = cohen_kappa(drawn.reshape(-1, categories, categories))
    low, high = np.nanquantile(spread, [0.025, 0.975]) if np.isfinite(spread).any() else (np.nan, np.nan)
    value = float(cohen_kappa(counts.reshape(categories, categories)))
    return Coefficient(value, float(low), float(high), spread)


def landis_koch(kappa: float) -> str:
    """The words of Landis and Koch 1977 (p. 165) for the strength of agreement; a convention, not a test."""
    for bound, word in ((0.0, "poor"), (0.2, "slight"), (0.4, "fair"), (0.6, "moderate"), (0.8, "substantial")):
        if kappa < bound or (bound > 0 and kappa <= bound):
            return word
    return "almost perfect"


def label_order(labels: Sequence[str], wanted: str) -> tuple[list[int], list[float] | None]:
    """Codes of the labels in rising order and their values, as `--labels` says; no values for words without an order.

    >>> label_order(("a", "b", "tie"), "tie")
    ([0, 2, 1], [-1.0, 0.0, 1.0])
    """
    codes = list(range(len(labels)))
    if wanted == "tie":
        return [0, 2, 1], [-1.0, 0.0, 1.0]
    if wanted != "any":
        named = [label.strip() for label in wanted.split(",")]
        if sorted(named) != sorted(labels):
            raise InputError(f"--labels names {', '.join(named)}; the votes hold {', '.join(labels)}. Name each once.")
        return [labels.index(label) for label in named], [float(code) for code in codes]
    try:
        return codes, [float(label) for label in labels]
    except ValueError:
        return codes, None
