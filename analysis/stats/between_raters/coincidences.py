"""Krippendorff's coincidence matrix: how often two votes on one item gave each two labels.

Everything that agreement is computed from. It is made of pairs of votes, so a rater who is left out takes every pair
with him that one of his votes is in, and an item or a dialogue every pair of votes on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]
BLOCK = 4_000_000  # entries of the matrices that are held at a time
NOTHING = 1e-9  # below it a sum is what rounding leaves of zero: the smallest weight is 1 / (m (m - 1))


@dataclass(frozen=True, slots=True)
class Coincidences:
    """Ordered pairs of votes on the same item, label x label (..., C, C), in two weightings."""

    by_item: Floats  # every item counts 1, however many votes it has
    by_vote: Floats  # every item counts as many as its votes, as Krippendorff has it


@dataclass(frozen=True, eq=False)
class PairedVotes:
    """The votes on items with two votes or more; `kept` says which of all votes they are."""

    kept: NDArray[np.bool_]
    item: Ints  # code of the item, into `counts`
    choice: Ints
    counts: Ints  # items x labels

    @classmethod
    def of(cls, item: Ints, choice: Ints, categories: int) -> PairedVotes:
        """Leave out every item with a single vote: it says nothing about agreement, nor then about chance."""
        comparable = (np.bincount(item) > 1)[item] if item.size else np.zeros(0, dtype=bool)
        codes = np.unique(item[comparable], return_inverse=True)[1]
        return cls(comparable, codes, choice[comparable], count_table(codes, choice[comparable], categories))

    @property
    def weights(self) -> tuple[Floats, Floats]:
        """What one ordered pair of votes on each item counts, by item and by vote."""
        size = self.counts.sum(1).astype(np.float64)
        return 1 / (size * (size - 1)), 1 / (size - 1)


def count_table(item: Ints, choice: Ints, categories: int) -> Ints:
    """Items x categories counts from long votes; `item` holds codes 0..n-1, `choice` codes 0..categories-1."""
    items = int(item.max()) + 1 if item.size else 0
    flat = np.bincount(item.astype(np.int64) * categories + choice, minlength=items * categories)
    return flat.reshape(items, categories)


def count_coincidences(votes: PairedVotes) -> Coincidences:
    """All pairs of votes; the same sums as over single items, by one product a weighting."""
    counts = votes.counts.astype(np.float64)
    return Coincidences(*((counts.T * by) @ counts - np.diag(by @ counts) for by in votes.weights))


def without_each(votes: PairedVotes, cluster: Ints) -> Iterator[Coincidences]:
    """What is left when each cluster (codes 0..n-1, one a vote) is left out in turn; as many at a time as fit."""
    items, categories = votes.counts.shape
    if not items:
        return
    cells, cell = np.unique(cluster.astype(np.int64) * items + votes.item, return_inverse=True)
    own = count_table(cell, votes.choice, categories)  # of one cluster on one item
    owner, at = np.divmod(cells, items)
    starts = np.searchsorted(owner, np.arange(int(owner[-1]) + 2))
    table, weights = count_coincidences(votes), votes.weights
    size = max(1, BLOCK // categories**2)
    for first, last in pairwise(np.unique([0, *owner[size::size], len(starts) - 1])):
        rows = slice(starts[first], starts[last])
        gone = _count_pairs(votes.counts[at[rows]]) - _count_pairs(votes.counts[at[rows]] - own[rows])
        heads = starts[first:last] - starts[first]
        lost = [np.add.reduceat(gone * by[at[rows]][:, None, None], heads) for by in weights]
        yield Coincidences(_subtract_lost(table.by_item, lost[0]), _subtract_lost(table.by_vote, lost[1]))


def _count_pairs(counts: Ints) -> Floats:
    """Ordered pairs of two different votes on one item, (items, C, C)."""
    rows = counts.astype(np.float64)
    return np.asarray(rows[:, :, None] * rows[:, None, :] - rows[:, :, None] * np.eye(rows.shape[1]))


def _subtract_lost(table: Floats, lost: Floats) -> Floats:
    remainder = table - lost
    return np.where(remainder < NOTHING, 0.0, remainder)
