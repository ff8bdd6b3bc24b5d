"""Agreement between raters: Fleiss' kappa, Krippendorff's alpha, Gwet's AC1, Cohen's kappa, every category.

Every coefficient is a function of one matrix, the coincidences of labels among pairs of votes on one item. So its
interval can draw items (or dialogues) and raters anew: each is left out in turn, with all its pairs of votes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from seedvote.analysis.stats.between_raters.coincidences import (
    Coincidences,
    PairedVotes,
    count_coincidences,
    without_each,
)
from seedvote.analysis.stats.between_raters.jackknife import Jackknife, LeftOut, jackknife, on_fishers_z, on_the_logit
from seedvote.analysis.stats.intervals import count_groups, cross_codes, kish, unit_name
from seedvote.dialogue.errors import InputError

Ints = NDArray[np.integer]
Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
Statistic = Callable[[Coincidences], Floats]
CHANCE_CORRECTED = ("fleiss_kappa", "alpha_nominal", "alpha_ordinal", "alpha_interval")
FEWEST_REPEATED = 5  # items on which a rarer label was given twice; with fewer kappa and alpha have no interval
ALIKE = 1e-12  # a share so near to 0 or 1 is 0 or 1 but for rounding


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One coefficient with its interval, standard error and degrees of freedom; NaN: it has none."""

    value: float
    low: float = np.nan
    high: float = np.nan
    se: float = np.nan
    df: float = np.nan


@dataclass(frozen=True, slots=True)
class Category:
    """One category: its share, the chance that a second rater repeats it, and that chance corrected (Fleiss 1971)."""

    label: str
    share: float
    agreement: float
    kappa: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """All coefficients of one study; ordinal and interval alpha are None where the labels have no order."""

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
    unit: str  # what the intervals draw anew, such as pair+rater; "" if there are none
    clusters: Mapping[str, int] = field(default_factory=dict)  # how many of each
    repeated: int = 0  # items on which two votes gave the same label, other than the most common one
    raters_held: bool = False  # raters were to be drawn anew, but one of them is in every pair of votes


def estimate_coefficients(
    item: Ints,
    choice: Ints,
    labels: Sequence[str],
    *,
    values: Sequence[float] | None,
    clusters: Mapping[str, Codes],
    level: float = 0.95,
) -> Agreement:
    """Every coefficient of long votes, with intervals that draw the `clusters` (name -> code of each vote) anew.

    `values` are the categories' numbers in rising order of meaning (None: no order, nominal only). An item with a
    single vote enters nowhere, neither the agreement nor that by chance.
    """
    votes = PairedVotes.of(item, choice, len(labels))
    statistics = _choose_statistics(values)
    codes = {
        name: np.unique(way[votes.kept], return_inverse=True)[1].astype(np.int64) for name, way in clusters.items()
    }
    left_out_by_way = {name: _left_out(votes, way, statistics) for name, way in codes.items()}
    remaining = {name: way for name, way in codes.items() if np.isfinite(left_out_by_way[name]["observed"]).all()}
    ways = _drawn_anew(votes, codes, remaining)
    table = count_coincidences(votes)
    left_out = _left_out(votes, cross_codes([*ways.values()]), statistics) if len(ways) == 2 else None

    share = float(measure_agreement(table))
    is_repeated = find_repeated(votes.counts)
    repeated = int(is_repeated.sum())
    is_constant = (
        min(share, 1 - share) < ALIKE
    )  # votes agree on every item or on none: nothing shows how they would vary

    def build_coefficient(name: str) -> Coefficient:
        value = float(statistics[name](table))
        unseen = is_constant or (repeated < FEWEST_REPEATED and name in CHANCE_CORRECTED)
        if not ways or not np.isfinite(value) or (unseen and name != "observed"):
            return Coefficient(value)
        parts = [
            LeftOut(
                left_out_by_way[way][name],
                kish(codes)
                if way == "rater" or name not in CHANCE_CORRECTED
                else repeating_clusters(codes, is_repeated[votes.item]),
            )
            for way, codes in ways.items()
        ]
        return _attach_interval(
            name, value, jackknife(value, parts, None if left_out is None else left_out[name]), level
        )

    return Agreement(
        items=len(np.unique(item)),
        votes=len(item),
        usable_items=len(votes.counts),
        observed=build_coefficient("observed"),
        fleiss_kappa=build_coefficient("fleiss_kappa"),
        alpha_nominal=build_coefficient("alpha_nominal"),
        alpha_ordinal=None if values is None else build_coefficient("alpha_ordinal"),
        alpha_interval=None if values is None else build_coefficient("alpha_interval"),
        gwet_ac1=build_coefficient("gwet_ac1"),
        categories=_compare_categories(votes.counts, labels),
        unit=unit_name(ways) if ways else "",
        clusters={name: count_groups(codes) for name, codes in ways.items()},
        repeated=repeated,
        raters_held="rater" in codes and "rater" not in remaining,
    )


def find_repeated(counts: Ints) -> NDArray[np.bool_]:
    """Whether an item has two votes or more for one label that is not the most common: what kappa and alpha vary by.

    Where nearly all votes are ties, a study may hold no such item by chance. It then shows an agreement just below that
    by chance and hardly any error, whatever raters would agree on in another one.
    """
    rarer = np.arange(counts.shape[1]) != counts.sum(0).argmax()
    return np.asarray(((counts > 1) & rarer).any(1))


def repeating_clusters(codes: Codes, is_repeated: NDArray[np.bool_]) -> float:
    """The effective number of clusters that hold the votes on repeated items, if fewer than hold all votes.

    Where most votes are ties and dialogues are unequal, a few dialogues decide kappa, and its error is as uncertain as
    they are few: with the clusters of all votes its interval held the truth in .91 of studies.
    """
    return min(kish(codes), kish(codes, is_repeated.astype(np.float64)))


def _choose_statistics(values: Sequence[float] | None) -> dict[str, Statistic]:
    statistics: dict[str, Statistic] = {
        "observed": measure_agreement,
        "fleiss_kappa": fleiss,
        "gwet_ac1": gwet,
        "alpha_nominal": nominal_alpha,
    }
    if values is None:
        return statistics
    number = np.asarray(values, dtype=np.float64)
    return {**statistics, "alpha_ordinal": ordinal_alpha, "alpha_interval": partial(interval_alpha, values=number)}


def _left_out(votes: PairedVotes, way: Codes, statistics: Mapping[str, Statistic]) -> dict[str, Floats]:
    """Every statistic without each cluster in turn."""
    blocks = [
        {name: f(remaining_votes) for name, f in statistics.items()} for remaining_votes in without_each(votes, way)
    ]
    return {name: np.concatenate([np.empty(0), *(block[name] for block in blocks)]) for name in statistics}


def _drawn_anew(votes: PairedVotes, wanted: Mapping[str, Codes], remaining: Mapping[str, Codes]) -> Mapping[str, Codes]:
    """The ways that can be drawn anew: whatever is left out, pairs of votes must remain.

    Raters alone are not enough, since votes on one item say nothing about others.
    """
    several = len(votes.counts) > 1 and all(name == "rater" or name in remaining for name in wanted)
    return remaining if several else {}


def _attach_interval(name: str, value: float, resampled: Jackknife, level: float) -> Coefficient:
    """The interval on the scale that suits the coefficient.

    The chance of kappa and alpha holds squared shares, whose own error makes these coefficients too low in small
    studies; their intervals are laid around the value less that bias.
    """
    if name == "observed" and min(value, 1 - value) < ALIKE:
        return Coefficient(round(value), *_all_alike(round(value), resampled.df, level), 0.0, resampled.df)
    if not resampled.se > 0:  # nothing varies, or something left out leaves no coefficient
        return Coefficient(value)
    if name == "observed":
        low, high = on_the_logit(value, resampled, level)
    else:
        centre = value if name == "gwet_ac1" else value - resampled.bias
        low, high = on_fishers_z(centre, resampled, level)
    return Coefficient(value, low, high, resampled.se, resampled.df)


def _all_alike(value: int, df: float, level: float) -> tuple[float, float]:
    """Clopper and Pearson's interval (1934) where df + 1 clusters have all agreed, or none has."""
    edge = float(betaincinv(df + 1, 1, (1 - level) / 2))
    return (edge, 1.0) if value else (0.0, 1 - edge)


def divide_or_nan(above: NDArray[Any], below: NDArray[Any]) -> Floats:
    """Division that gives NaN where there is nothing to divide by (one category only: agreement is not defined)."""
    return np.asarray(np.divide(above, below, out=np.full(np.shape(above), np.nan), where=np.abs(below) > 1e-12))


def _count_shares(matrix: Floats) -> tuple[Floats, Floats]:
    """Share of agreeing pairs of votes, and of every label among them."""
    total = matrix.sum((-2, -1))
    return divide_or_nan(np.trace(matrix, axis1=-2, axis2=-1), total), divide_or_nan(
        matrix.sum(-1), np.broadcast_to(total[..., None], matrix.shape[:-1])
    )


def measure_agreement(pairs: Coincidences) -> Floats:
    """Share of agreeing pairs of votes, averaged over items."""
    return _count_shares(pairs.by_item)[0]


def fleiss(pairs: Coincidences) -> Floats:
    """Fleiss 1971: (P - Pe) / (1 - Pe), Pe = sum of squared shares, the mean over items."""
    agreeing, share = _count_shares(pairs.by_item)
    chance = (share**2).sum(-1)
    return divide_or_nan(agreeing - chance, 1 - chance)


def gwet(pairs: Coincidences) -> Floats:
    """Gwet's AC1 (2008): chance is sum of p (1 - p) / (C - 1), which stays small when one category is common."""
    agreeing, share = _count_shares(pairs.by_item)
    chance = (share * (1 - share)).sum(-1) / max(share.shape[-1] - 1, 1)
    return divide_or_nan(agreeing - chance, 1 - chance)


def _compute_alpha(pairs: Coincidences, distance: Floats) -> Floats:
    """Krippendorff 2011: 1 - observed / expected disagreement; `distance` is (..., C, C)."""
    margin = pairs.by_vote.sum(-1)
    disagreement = (pairs.by_vote * distance).sum((-2, -1)) * (margin.sum(-1) - 1)
    return 1 - divide_or_nan(disagreement, (margin[..., :, None] * margin[..., None, :] * distance).sum((-2, -1)))


def nominal_alpha(pairs: Coincidences) -> Floats:
    """Alpha where every disagreement counts the same."""
    return _compute_alpha(pairs, 1 - np.eye(pairs.by_vote.shape[-1]))


def interval_alpha(pairs: Coincidences, values: Floats) -> Floats:
    """Alpha where a disagreement counts by the squared difference of the values."""
    return _compute_alpha(pairs, (values[:, None] - values[None, :]) ** 2)


def ordinal_alpha(pairs: Coincidences) -> Floats:
    """Alpha on ranks: the distance of two categories is the number of votes from one to the other, ends half."""
    margin = pairs.by_vote.sum(-1)
    middle = np.cumsum(margin, axis=-1) - margin / 2
    return _compute_alpha(pairs, (middle[..., :, None] - middle[..., None, :]) ** 2)


def _compare_categories(counts: Ints, labels: Sequence[str]) -> tuple[Category, ...]:
    """Fleiss 1971 on single categories: P_j = sum n (n-1) / sum n (m-1), kappa_j = (P_j - p_j) / (1 - p_j)."""
    rows = counts.astype(np.float64)
    size = rows.sum(1)
    share = rows.sum(0) / size.sum() if len(rows) else np.full(counts.shape[1], np.nan)
    again = divide_or_nan((rows * (rows - 1)).sum(0), (rows * (size - 1)[:, None]).sum(0))
    kappa = divide_or_nan(again - share, 1 - share)
    return tuple(Category(*row) for row in zip(labels, share.tolist(), again.tolist(), kappa.tolist(), strict=True))


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
        names = [label.strip() for label in wanted.split(",")]
        if sorted(names) != sorted(labels):
            raise InputError(f"--labels names {', '.join(names)}; the votes hold {', '.join(labels)}. Name each once.")
        return [labels.index(label) for label in names], [float(code) for code in codes]
    try:
        return codes, [float(label) for label in labels]
    except ValueError:
        return codes, None


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
