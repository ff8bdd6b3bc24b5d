"""Raters one by one, and how far one half of the votes repeats the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binomtest

from analysis.stats.agreement import count_table, divided

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
    """One rater's habits; `left_p` is the exact test that left and right are chosen alike. NaN: cannot be told."""

    rater: str
    votes: int
    tie_rate: float
    left_rate: float
    left_p: float
    with_rest: float
    expected: float


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
    others = counts[item].sum(1) - 1  # without the rater's own vote, with which he always agrees
    has = others > 0
    share = counts.sum(0) / counts.sum()
    rest = np.where(has, (counts[item, choice] - 1) / np.maximum(others, 1), 0.0)
    compared = np.bincount(rater, weights=has, minlength=raters)
    sums = [np.bincount(rater, weights=value, minlength=raters) for value in (rest, has * share[choice])]
    side = np.full(len(item), -1) if left is None else left
    known = (choice < 2) & (side >= 0)
    lefts, knowns = (np.bincount(rater, weights=mask, minlength=raters) for mask in (known & (choice == side), known))
    ties = np.bincount(rater, weights=choice == tie, minlength=raters)
    return RaterTable(
        votes=votes,
        tie_rate=np.full(raters, np.nan) if tie is None else divided(ties, votes.astype(np.float64)),
        left_rate=divided(lefts, knowns),
        lefts=lefts.astype(np.int64),
        decisive=knowns.astype(np.int64),
        with_rest=divided(sums[0], compared),
        expected=divided(sums[1], compared),
        compared=compared.astype(np.int64),
    )


def split_half(unit: Ints, score: Floats, *, generator: np.random.Generator, splits: int = 200) -> SplitHalf:
    """Split every unit's scores at random into two halves; `unit` is an item (or a rater: is the habit stable?).

    Units with one score are left out; of an odd number the spare one goes to either half at random.
    """
    enough = np.bincount(unit)[unit] > 1
    _, codes = np.unique(unit[enough], return_inverse=True)
    values = score[enough]
    units = int(codes.max()) + 1 if codes.size else 0
    if units < 3:
        return SplitHalf(np.nan, np.nan, np.nan, units, np.full(splits, np.nan))
    made = np.array([_one_split(codes, values, units, generator) for _ in range(splits)])
    low, high = np.quantile(made, [0.025, 0.975])
    return SplitHalf(float(made.mean()), float(low), float(high), units, made)


def _one_split(codes: NDArray[np.intp], values: Floats, units: int, generator: np.random.Generator) -> float:
    # One sort shuffles every unit's scores: codes are whole numbers, so a random part below 1 keeps units together.
    order = np.argsort(codes + generator.random(len(codes)), kind="stable")
    starts = np.concatenate([[0], np.flatnonzero(np.diff(codes[order])) + 1])
    place = np.arange(len(codes)) - np.repeat(starts, np.diff(np.append(starts, len(codes))))
    half = (place + generator.integers(2, size=units)[codes[order]]) % 2
    sums = [np.bincount(codes[order][half == side], values[order][half == side], units) for side in (0, 1)]
    sizes = [np.bincount(codes[order][half == side], minlength=units) for side in (0, 1)]
    first, second = (total / size for total, size in zip(sums, sizes, strict=True))
    if first.std() == 0 or second.std() == 0:
        return float("nan")
    r = float(np.corrcoef(first, second)[0, 1])
    # Halves that mirror each other (a, b and tie on every pair) have r = -1, where the step-up has no value.
    return 2 * r / (1 + r) if 1 + r > 1e-9 else float("nan")


def rows(table: RaterTable, names: Sequence[str]) -> list[RaterHabits]:
    """One line a rater who voted, most votes first."""
    order = np.argsort(-table.votes, kind="stable")
    return [
        RaterHabits(
            rater=names[r],
            votes=int(table.votes[r]),
            tie_rate=float(table.tie_rate[r]),
            left_rate=float(table.left_rate[r]),
            left_p=_two_sided(int(table.lefts[r]), int(table.decisive[r])),
            with_rest=float(table.with_rest[r]),
            expected=float(table.expected[r]),
        )
        for r in order
        if table.votes[r]
    ]


def _two_sided(lefts: int, decisive: int) -> float:
    return float(binomtest(lefts, decisive).pvalue) if decisive else float("nan")
