"""Laws of the share of ties in a set of votes: exact ones, and those that were drawn.

Drawing 50,000 sets and drawing from the law of the number of ties are the same thing, only the second is fast: the sum
of a set depends on the votes through their counts alone. Sources are named at each law.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CHANCE = 1 / 3  # the share of each of three answers when nobody looks
LATTICE = 200  # votes in a set beyond which a law is drawn as if it had this many
GRID_CELLS = 1 << 22  # a hundred times as many products is the most that an exact law may cost; beyond it, it is drawn


@dataclass(frozen=True, eq=False)
class Law:
    """A distribution over shares: `probability[i]` is that of `share[i]`; shares rise."""

    share: Floats
    probability: Floats
    method: str  # exact law's name, or `sampled`
    set_votes: int  # votes in a set
    drawn: int = 0  # sets that were drawn; 0 for an exact law

    @property
    def mean(self) -> float:
        """Expected share."""
        return float(self.share @ self.probability)

    @property
    def sd(self) -> float:
        """Standard deviation of the share from set to set."""
        return float(np.sqrt(float((self.share - self.mean) ** 2 @ self.probability)))

    def quantile(self, q: float) -> float:
        """Smallest share at or under which the law has mass q."""
        # 1e-12: a sum of probabilities may miss q by rounding and would then answer with the next share.
        at = int(np.searchsorted(np.cumsum(self.probability), q * (1 - 1e-12)))
        return float(self.share[min(at, len(self.share) - 1)])

    def above(self, share: float) -> float:
        """Probability of a share larger than `share`."""
        return float(min(1.0, self.probability[self.share > share + 1e-12].sum()))

    def within(self, edges: Floats) -> Floats:
        """Mass between neighbouring edges; a share's own mass is spread half to each side, as a curve is drawn."""
        middle = np.cumsum(self.probability) - self.probability / 2
        return np.diff(np.interp(edges, self.share, middle, left=0.0, right=1.0))


# Twin of law_of_ties in crowd/watching/share_interval.py, which must do without SciPy; tests/house/test_twins.py
# holds the two equal.
def hypergeometric_law(votes: int, ties: int, size: int) -> Law:
    """Ties in `size` of `votes` votes drawn without replacement: C(K,k) C(N-K,n-k) / C(N,n)."""
    return Law(np.arange(size + 1) / size, _hypergeometric_mass(votes, ties, size), "hypergeometric", size)


def _hypergeometric_mass(votes: int, ties: int, size: int) -> Floats:
    k = np.arange(size + 1)
    legal = (k <= ties) & (size - k <= votes - ties)
    inside = np.where(legal, k, min(size, ties))
    # In logarithms: the binomial coefficients of 2,000 votes are beyond the largest float.
    log = (
        _log_choose(ties, inside) + _log_choose(votes - ties, np.minimum(size - inside, votes - ties))
    ) - _log_choose(votes, np.array(size))
    return _normalise_mass(np.where(legal, np.exp(log), 0.0))


def binomial_law(share: float, size: int) -> Law:
    """Ties in `size` votes drawn with replacement: C(n,k) p^k (1-p)^(n-k)."""
    k = np.arange(size + 1)
    if share in (0.0, 1.0):
        return Law(k / size, (k == size * share).astype(float), "binomial", size)
    log = _log_choose(size, k) + k * np.log(share) + (size - k) * np.log1p(-share)
    return Law(k / size, _normalise_mass(np.exp(log)), "binomial", size)


def beta_binomial(share: float, size: int, variance: float) -> Law:
    """Ties in `size` votes whose share has the given variance (Skellam 1948).

    The variance is p(1-p)/n (1 + (n-1) r); the law is binomial where that asks for r <= 0.
    """
    if share in (0.0, 1.0):
        return binomial_law(share, size)
    r = (min(variance / (share * (1 - share)), 0.999) * size - 1) / max(size - 1, 1)
    if r <= 1e-9:
        return binomial_law(share, size)
    alpha, beta = share * (1 - r) / r, (1 - share) * (1 - r) / r
    k = np.arange(size + 1)
    log = _log_choose(size, k) + betaln(k + alpha, size - k + beta) - betaln(alpha, beta)
    return Law(k / size, _normalise_mass(np.exp(log)), "beta-binomial", size)


def clusters_with_replacement(votes: Ints, ties: Ints, size: int) -> Law | None:
    """Ties in exactly `size` votes: clusters drawn with replacement until the set is full, the last one cut at random.

    `votes` and `ties` are per cluster, shape (clusters,). A renewal process: the ties among the first v votes, where v
    ends a cluster, follow from those before its last cluster. Only sums of positive numbers, so tails keep their
    digits. None where there are too many sizes of clusters for the table.
    """
    sizes, place = np.unique(votes, return_inverse=True)
    if size * size * int((sizes[sizes <= size] + 1).sum()) > 100 * GRID_CELLS:
        return None
    law_of_size = {
        int(cluster_size): np.bincount(ties[place == at]) / len(votes)
        for at, cluster_size in enumerate(sizes)
        if cluster_size <= size
    }
    begun: list[Floats] = [np.ones(1)]  # [v]: ties among the first v votes, with the chance that v ends a cluster
    for v in range(1, size):
        before = [
            (part, begun[v - cluster_size])
            for cluster_size, part in law_of_size.items()
            if cluster_size <= v and begun[v - cluster_size].any()
        ]
        begun.append(_sum_vectors([np.convolve(*factors) for factors in before], v + 1))
    cut_masses = _cut_clusters(votes, ties, law_of_size, size)
    mass = _sum_vectors([np.convolve(begun[size - r], cut_masses[r]) for r in range(1, size + 1)], size + 1)
    return Law(np.arange(size + 1) / size, _normalise_mass(mass), "exact clusters", size)


def _cut_clusters(votes: Ints, ties: Ints, law_of_size: Mapping[int, Floats], size: int) -> list[Floats]:
    """[r]: ties among r random votes of a cluster, with the chance that it has r or more, for r = 0..size."""
    kinds, counts = np.unique(np.stack([votes, ties], axis=1)[votes > size], axis=0, return_counts=True)
    large = [n * _hypergeometric_mass(v, t, size) for (v, t), n in zip(kinds.tolist(), counts.tolist(), strict=True)]
    parts = [_sum_vectors(large, size + 1) / len(votes)]
    for r in range(size, 0, -1):
        parts[-1] = _sum_vectors([parts[-1], law_of_size.get(r, np.zeros(1))], r + 1)
        parts.append(_without_one(parts[-1]))
    return parts[::-1]


def _without_one(mass: Floats) -> Floats:
    """The law of the ties that are left when one vote is taken away at random; `mass` (votes + 1,)."""
    votes = len(mass) - 1
    k = np.arange(votes)
    return np.asarray(mass[:-1] * (votes - k) / votes + mass[1:] * (k + 1) / votes)


def clusters_without_replacement(votes: Ints, ties: Ints, size: int) -> Law | None:
    """The same drawn without replacement, for clusters of one size: multivariate hypergeometric, type by type.

    A type is the number of ties in a cluster; given how many clusters are still to come, those of the next type are
    hypergeometric. None where the clusters differ in size or the table would be too large.
    """
    cluster_size, draws, over = int(votes[0]), size // int(votes[0]), size % int(votes[0])
    if (
        not (votes == cluster_size).all()
        or (cluster_size + 1) ** 2 * (draws + 1) ** 3 * cluster_size > 100 * GRID_CELLS
    ):
        return None
    types = np.bincount(ties, minlength=cluster_size + 1)
    if not over:
        return Law(
            np.arange(size + 1) / size, _normalise_mass(_draw_whole_clusters(types, draws)), "exact clusters", size
        )
    mass = np.zeros(size + 1)
    for kind in np.flatnonzero(types).tolist():  # the type of the cluster that is cut
        other_types = types - (np.arange(cluster_size + 1) == kind)
        mass += (
            types[kind]
            / len(ties)
            * np.convolve(_draw_whole_clusters(other_types, draws), _hypergeometric_mass(cluster_size, kind, over))
        )
    return Law(np.arange(size + 1) / size, _normalise_mass(mass), "exact clusters", size)


def _draw_whole_clusters(types: Ints, draws: int) -> Floats:
    """Ties in `draws` whole clusters, of which there are `types[k]` with k ties."""
    state = np.zeros((draws + 1, draws * (len(types) - 1) + 1))  # [clusters drawn, ties so far]
    state[0, 0] = 1.0
    clusters_left = int(types.sum())
    for kind, count in enumerate(types.tolist()):
        state = _with_type(state, kind, count, clusters_left, draws)
        clusters_left -= count
    return np.asarray(state[draws])


def _with_type(state: Floats, kind: int, count: int, left: int, draws: int) -> Floats:
    """Share out `count` clusters with `kind` ties among the draws to come, `left` clusters being left in all."""
    chance = np.zeros((draws + 1, draws + 1))  # [clusters drawn before, clusters of this type]
    for drawn_count in np.flatnonzero(state.any(axis=1)).tolist():
        chance[drawn_count, : draws - drawn_count + 1] = _hypergeometric_mass(left, count, draws - drawn_count)
    after = np.zeros_like(state)
    for drawn_now in range(min(count, draws) + 1):
        rows, columns = draws + 1 - drawn_now, state.shape[1] - kind * drawn_now
        after[drawn_now:, kind * drawn_now :] += chance[:rows, drawn_now, None] * state[:rows, :columns]
    return after


def sampled_law(shares: Floats, set_votes: int) -> Law:
    """The law of drawn shares, each with the same mass."""
    share, count = np.unique(np.round(shares, 12), return_counts=True)  # shares equal but for rounding are one
    return Law(share, count / len(shares), "sampled", set_votes, len(shares))


def _sum_vectors(parts: Sequence[Floats], length: int) -> Floats:
    """The sum of vectors of several lengths."""
    total = np.zeros(length)
    for part in parts:
        total[: len(part)] += part
    return total


def _log_choose(n: int, k: NDArray[np.int64]) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _normalise_mass(mass: NDArray[Any]) -> Floats:
    return np.asarray(mass / mass.sum(), dtype=np.float64)


def estimate_density(law: Law, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Density of a law at the points of `grid`, the mass within half a vote of each; NaN where it is next to 0."""
    half = 0.5 / min(law.set_votes, LATTICE)
    middle = np.cumsum(law.probability) - law.probability / 2
    below, above = (np.interp(grid + side, law.share, middle, left=0.0, right=1.0) for side in (-half, half))
    height = (above - below) / (2 * half)
    return np.where(height > 0.002 * height.max(), height, np.nan)
