"""Raters one by one, and how far one half of the votes repeats the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from seedvote.analysis.stats.between_raters.agreement import divide_or_nan
from seedvote.analysis.stats.between_raters.coincidences import count_table

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RaterTable:
    """One row a rater, in the order of the rater codes; `expected` is the agreement that category shares alone give."""

    votes: Ints
    tie_rate: Floats
    left_rate: Floats
    lefts: Ints
    decisive: Ints
    with_rest: Floats
    expected: Floats
    compared: Ints


@dataclass(frozen=True, slots=True)
class RaterHabits:
    """One rater's habits; NaN: cannot be told.

    `left_p` is the exact test that left and right are chosen alike, `spam` MACE's share of votes that do not look.
    """

    rater: str
    votes: int
    tie_rate: float
    left_rate: float
    left_p: float
    with_rest: float
    expected: float
    spam: float = np.nan


@dataclass(frozen=True, slots=True)
class SplitHalf:
    """Correlation of the two half-means over the units, stepped up to full length (Spearman-Brown), for each split."""

    value: float
    low: float
    high: float
    units: int
    distribution: Floats


def rater_table(
    item: Ints, rater: Ints, choice: Ints, categories: int, *, tie: int | None = None, left: Ints | None = None
) -> RaterTable:
    """Every rater's habits; `tie` is the code of a tie, `left` which response stood left (0 = a, 1 = b, -1 unknown).

    What is not given (or never happened) is NaN, not 0.
    """
    raters = int(rater.max()) + 1
    counts = count_table(item, choice, categories)
    votes = np.bincount(rater, minlength=raters)
    other_votes = counts[item].sum(1) - 1  # without the rater's own vote, with which he always agrees
    has = other_votes > 0
    share = counts.sum(0) / counts.sum()
    agreement_with_rest = np.where(has, (counts[item, choice] - 1) / np.maximum(other_votes, 1), 0.0)
    compared = np.bincount(rater, weights=has, minlength=raters)
    sums = [np.bincount(rater, weights=value, minlength=raters) for value in (agreement_with_rest, has * share[choice])]
    side = np.full(len(item), -1) if left is None else left
    known = (choice < 2) & (side >= 0)
    lefts, knowns = (np.bincount(rater, weights=mask, minlength=raters) for mask in (known & (choice == side), known))
    ties = np.bincount(rater, weights=choice == tie, minlength=raters)
    return RaterTable(
        votes=votes,
        tie_rate=np.full(raters, np.nan) if tie is None else divide_or_nan(ties, votes.astype(np.float64)),
        left_rate=divide_or_nan(lefts, knowns),
        lefts=lefts.astype(np.int64),
        decisive=knowns.astype(np.int64),
        with_rest=divide_or_nan(sums[0], compared),
        expected=divide_or_nan(sums[1], compared),
        compared=compared.astype(np.int64),
    )


def split_half(unit: Ints, score: Floats, *, generator: np.random.Generator, splits: int = 200) -> SplitHalf:
    """Split every unit's scores at random into two halves; `unit` is an item (or a rater: is the habit stable?).

    Units with one score are left out; of an odd number the spare one goes to either half at random.
    """
    tables = _by_size(unit, score)
    units = sum(len(table) for table in tables)
    if units < 3:
        return SplitHalf(np.nan, np.nan, np.nan, units, np.full(splits, np.nan))
    correlations = np.array([_one_split(tables, generator) for _ in range(splits)])
    low, high = np.quantile(correlations, [0.025, 0.975])
    return SplitHalf(float(correlations.mean()), float(low), float(high), units, correlations)


def _by_size(unit: Ints, score: Floats) -> list[Floats]:
    """Units with as many scores as each other make one table (units, scores), so that all are shuffled at once."""
    counts = np.bincount(unit)
    ordered = score[np.argsort(unit, kind="stable")]
    starts = np.cumsum(counts) - counts
    sizes = np.unique(counts[counts > 1])
    return [ordered[starts[counts == size][:, None] + np.arange(size)] for size in sizes.tolist()]


def _one_split(tables: Sequence[Floats], generator: np.random.Generator) -> float:
    halves = [_split_halves(generator.permuted(table, axis=1), generator) for table in tables]
    first, second = (np.concatenate(half) for half in zip(*halves, strict=True))
    if first.std() == 0 or second.std() == 0:
        return float("nan")
    r = float(np.corrcoef(first, second)[0, 1])
    # Halves that mirror each other (a, b and tie on every pair) have r = -1, where the step-up has no value.
    return 2 * r / (1 + r) if 1 + r > 1e-9 else float("nan")


def _split_halves(shuffled: Floats, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """The means of the two halves of every row."""
    size = shuffled.shape[1]
    small, large = shuffled[:, : size // 2].mean(1), shuffled[:, size // 2 :].mean(1)
    swap = generator.integers(2, size=len(shuffled)).astype(bool) if size % 2 else np.zeros(len(shuffled), dtype=bool)
    return np.where(swap, large, small), np.where(swap, small, large)


def list_raters(table: RaterTable, names: Sequence[str], spam: Floats | None = None) -> list[RaterHabits]:
    """One line a rater who voted, most votes first; `spam` has MACE's share for each."""
    order = np.argsort(-table.votes, kind="stable")
    chance = left_chance(table.lefts, table.decisive)
    return [
        RaterHabits(
            rater=names[r],
            votes=int(table.votes[r]),
            tie_rate=float(table.tie_rate[r]),
            left_rate=float(table.left_rate[r]),
            left_p=float(chance[r]),
            with_rest=float(table.with_rest[r]),
            expected=float(table.expected[r]),
            spam=float("nan") if spam is None else float(spam[r]),
        )
        for r in order
        if table.votes[r]
    ]


def left_chance(lefts: Ints, decisive: Ints) -> Floats:
    """The exact two-sided binomial p of so many lefts, for all raters at once; NaN without a decisive vote.

    At 1/2 both tails are alike, so it is twice the smaller one (1 where they meet).
    """
    smaller = np.minimum(lefts, decisive - lefts)
    p = np.minimum(1.0, 2 * bdtr(smaller.astype(float), decisive.astype(np.int64), 0.5))
    return np.where(decisive > 0, p, np.nan)
