"""Resampling whole clusters, with or without replacement, for one way of clustering or two crossed ones.

Each function draws all sets at once. A resampled share depends on the clusters only through their votes and ties, so
those two numbers a cluster are all that is drawn from.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
BATCH = 128  # sets drawn at a time by the crossed bootstrap: their weights stay in the cache of the processor


@dataclass(frozen=True, eq=False)
class Clusters:
    """Votes and sum of values of each cluster, shape (clusters,)."""

    votes: Ints
    sums: Floats

    @classmethod
    def of(cls, values: ArrayLike, codes: Ints) -> Clusters:
        """Gather values (n,) by cluster code (n,)."""
        votes = np.bincount(codes)
        sums = np.asarray(np.bincount(codes, weights=np.asarray(values, dtype=float)), dtype=float)
        return cls(votes[votes > 0], sums[votes > 0])

    def draws(self, size: int) -> int:
        """How many clusters come nearest to `size` votes."""
        return max(1, round(size / float(self.votes.mean())))


def cluster_shares(
    clusters: Clusters, *, draws: int, sets: int, replace: bool, generator: np.random.Generator
) -> Floats:
    """Mean of the values in each of `sets` sets of `draws` whole clusters, shape (sets,)."""
    count = len(clusters.votes)
    shares = np.empty(sets)
    step = max(1, 2_000_000 // draws)
    for start in range(0, sets, step):
        rows = min(step, sets - start)
        if replace:
            chosen = generator.integers(0, count, size=(rows, draws))
        else:
            chosen = _distinct(count, draws, rows, generator)
        shares[start : start + rows] = clusters.sums[chosen].sum(1) / clusters.votes[chosen].sum(1)
    return shares


def _distinct(count: int, draws: int, rows: int, generator: np.random.Generator) -> Ints:
    """`draws` different numbers under `count` in each of `rows` rows: Floyd's algorithm (Bentley and Floyd 1987)."""
    taken = np.zeros((rows, count), dtype=bool)
    chosen = np.empty((rows, draws), dtype=np.int64)
    row = np.arange(rows)
    for column, last in enumerate(range(count - draws, count)):
        pick = generator.integers(0, last + 1, size=rows)
        pick = np.where(taken[row, pick], last, pick)
        taken[row, pick] = True
        chosen[:, column] = pick
    return chosen


def bootstrap_mean(values: ArrayLike, codes: Ints, *, sets: int, generator: np.random.Generator) -> Floats:
    """Cluster bootstrap of a mean: as many clusters as there are, drawn with replacement, shape (sets,).

    Clusters with the same votes and sum are one type, and how often each type is drawn is multinomial.
    """
    clusters = Clusters.of(values, codes)
    table = np.stack([clusters.votes.astype(float), clusters.sums], axis=1)
    types, counts = np.unique(table, axis=0, return_counts=True)
    number = len(table)
    # With nearly as many types as clusters the multinomial saves nothing and its matrix is large.
    if len(types) > number / 8:
        return cluster_shares(clusters, draws=number, sets=sets, replace=True, generator=generator)
    drawn = generator.multinomial(number, counts / number, size=sets) @ types
    return np.asarray(drawn[:, 1] / drawn[:, 0])


def crossed_bootstrap(
    values: ArrayLike, first: Ints, second: Ints, *, sets: int, generator: np.random.Generator
) -> Floats:
    """Mean of the votes whose cluster is kept in both ways, each cluster kept or not by a coin; shape (sets,).

    These are the double-or-nothing product weights of Owen and Eckles (2012). Their variance is known to be too large:
    the part of the single vote counts three times, those of the two ways once, so intervals are wider than they need
    be where votes are mostly noise.
    """
    values = np.asarray(values, dtype=np.float32)
    a, rows = np.unique(first, return_inverse=True)
    b, columns = np.unique(second, return_inverse=True)
    summed = csr_array((values, (columns, rows)), shape=(len(b), len(a)))
    counted = csr_array((np.ones_like(values), (columns, rows)), shape=(len(b), len(a)))
    found: list[Floats] = []
    while (missing := sets - sum(map(len, found))) > 0:
        left, right = _coins(len(a), generator), _coins(len(b), generator)
        votes = np.einsum("ij,ij->j", counted @ left, right)
        sums = np.einsum("ij,ij->j", summed @ left, right)
        # A set in which no vote is left has no mean: another is drawn in its place.
        found.append((sums[votes > 0] / votes[votes > 0])[:missing].astype(float))
    return np.concatenate(found)


def _coins(count: int, generator: np.random.Generator) -> NDArray[np.float32]:
    """0 or 1 for each of `count` clusters in each set of a batch, shape (count, BATCH)."""
    # Eight coins a byte: the coins are most of the work, and a generator's bytes are its cheapest product.
    bits = np.frombuffer(generator.bytes(count * BATCH // 8), dtype=np.uint8)
    return np.unpackbits(bits).reshape(count, BATCH).astype(np.float32)
