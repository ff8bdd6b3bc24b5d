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
CELLS = 4_000_000  # numbers of a batch of shuffles: 16 MB
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


def set_shares(clusters: Clusters, *, size: int, sets: int, replace: bool, generator: np.random.Generator) -> Floats:
    """Share of ties in each of `sets` sets of exactly `size` votes, shape (sets,); sums of clusters are whole numbers.

    Clusters come in random order until the set is full; of the last one, as many votes as are missing, at random.
    """
    step = sets if replace else max(1, CELLS // len(clusters.votes))
    parts = [_fill_sets(clusters, size, min(step, sets - start), replace, generator) for start in range(0, sets, step)]
    return np.concatenate(parts) / size


def _fill_sets(clusters: Clusters, size: int, rows: int, replace: bool, generator: np.random.Generator) -> Ints:
    """Ties in each of `rows` sets. Without replacement this is the shuffle of Fisher and Yates, as far as needed."""
    number, all_ties = len(clusters.votes), clusters.sums.astype(np.int64)
    order = None if replace else np.tile(np.arange(number, dtype=np.int32), (rows, 1))
    ties, missing, unfilled, draw = np.zeros(rows, np.int64), np.full(rows, size), np.arange(rows), 0
    while len(unfilled):
        place = generator.integers(0 if replace else draw, number, len(unfilled))
        chosen = place if order is None else order[unfilled, place]
        if order is not None:
            order[unfilled, place] = order[unfilled, draw]
        votes, added_ties, room = clusters.votes[chosen], all_ties[chosen], missing[unfilled]
        cut = votes > room
        added_ties[cut] = generator.hypergeometric(added_ties[cut], votes[cut] - added_ties[cut], room[cut])
        ties[unfilled] += added_ties
        missing[unfilled] -= np.minimum(votes, room)
        unfilled, draw = unfilled[missing[unfilled] > 0], draw + 1
    return ties


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
        return _redraw_clusters(clusters, sets, generator)
    sums = generator.multinomial(number, counts / number, size=sets) @ types
    return np.asarray(sums[:, 1] / sums[:, 0])


def _redraw_clusters(clusters: Clusters, sets: int, generator: np.random.Generator) -> Floats:
    number = len(clusters.votes)
    shares = np.empty(sets)
    step = max(1, 2_000_000 // number)
    for start in range(0, sets, step):
        chosen = generator.integers(0, number, size=(min(step, sets - start), number))
        shares[start : start + step] = clusters.sums[chosen].sum(1) / clusters.votes[chosen].sum(1)
    return shares


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
    means: list[Floats] = []
    while (missing := sets - sum(map(len, means))) > 0:
        left, right = _toss_coins(len(a), generator), _toss_coins(len(b), generator)
        votes = np.einsum("ij,ij->j", counted @ left, right)
        sums = np.einsum("ij,ij->j", summed @ left, right)
        # A set in which no vote is left has no mean: another is drawn in its place.
        means.append((sums[votes > 0] / votes[votes > 0])[:missing].astype(float))
    return np.concatenate(means)


def narrow_shares(shares: Floats, *, around: float, sd: float) -> Floats:
    """The same drawn shares with no larger SD than `sd`, each moved towards `around` in proportion.

    For the crossed bootstrap, whose variance is known to be too large: its shape is kept, its width is the interval's.
    """
    spread = float(shares.std())
    return around + (shares - around) * min(1.0, sd / spread) if spread > 0 else shares


def _toss_coins(count: int, generator: np.random.Generator) -> NDArray[np.float32]:
    """0 or 1 for each of `count` clusters in each set of a batch, shape (count, BATCH)."""
    # Eight coins a byte: the coins are most of the work, and a generator's bytes are its cheapest product.
    bits = np.frombuffer(generator.bytes(count * BATCH // 8), dtype=np.uint8)
    return np.unpackbits(bits).reshape(count, BATCH).astype(np.float32)
