"""Laws of the share of ties in a set of votes: exact ones, and those that were drawn.

Drawing 50,000 sets and drawing from the law of the number of ties are the same thing, only the second is fast: the sum
of a set depends on the votes through their counts alone. Sources are named at each law.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
CHANCE = 1 / 3  # the share of each of three answers when nobody looks
LATTICE = 200  # votes in a set beyond which a law is drawn as if it had this many
GRID_CELLS = 1 << 22  # largest (votes × ties) grid that is convolved; beyond it the law is drawn


@dataclass(frozen=True, eq=False)
class Law:
    """A distribution over shares: `probability[i]` is that of `share[i]`; shares rise."""

    share: Floats
    probability: Floats
    method: str  # exact law's name, or `sampled`
    set_votes: float  # votes in a set (its expectation, where whole clusters are drawn)

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


# Twin of law_of_ties in crowd/watching/curves.py, which must do without SciPy. tests/house/test_twins.py holds the
# two equal.
def hypergeometric(votes: int, ties: int, size: int) -> Law:
    """Ties in `size` of `votes` votes drawn without replacement: C(K,k) C(N-K,n-k) / C(N,n)."""
    return Law(np.arange(size + 1) / size, _hypergeometric(votes, ties, size), "hypergeometric", size)


def _hypergeometric(votes: int, ties: int, size: int) -> Floats:
    k = np.arange(size + 1)
    legal = (k <= ties) & (size - k <= votes - ties)
    inside = np.where(legal, k, min(size, ties))
    # In logarithms: the binomial coefficients of 2,000 votes are beyond the largest float.
    log = (
        _log_choose(ties, inside) + _log_choose(votes - ties, np.minimum(size - inside, votes - ties))
    ) - _log_choose(votes, np.array(size))
    return _normalised(np.where(legal, np.exp(log), 0.0))


def binomial(share: float, size: int) -> Law:
    """Ties in `size` votes drawn with replacement: C(n,k) p^k (1-p)^(n-k)."""
    k = np.arange(size + 1)
    if share in (0.0, 1.0):
        return Law(k / size, (k == size * share).astype(float), "binomial", size)
    log = _log_choose(size, k) + k * np.log(share) + (size - k) * np.log1p(-share)
    return Law(k / size, _normalised(np.exp(log)), "binomial", size)


def beta_binomial(share: float, size: int, variance: float) -> Law:
    """Ties in `size` votes whose share has the given variance (Skellam 1948).

    The variance is p(1-p)/n (1 + (n-1) r); the law is binomial where that asks for r <= 0.
    """
    if share in (0.0, 1.0):
        return binomial(share, size)
    r = (min(variance / (share * (1 - share)), 0.999) * size - 1) / max(size - 1, 1)
    if r <= 1e-9:
        return binomial(share, size)
    alpha, beta = share * (1 - r) / r, (1 - share) * (1 - r) / r
    k = np.arange(size + 1)
    log = _log_choose(size, k) + betaln(k + alpha, size - k + beta) - betaln(alpha, beta)
    return Law(k / size, _normalised(np.exp(log)), "beta-binomial", size)


def clusters_with_replacement(votes: Ints, ties: Ints, draws: int) -> Law | None:
    """Ties over votes in `draws` whole clusters drawn with replacement: the `draws`-fold convolution of their law.

    `votes` and `ties` are per cluster, shape (clusters,). None where the grid would be too large to convolve.
    """
    set_votes = draws * float(votes.mean())
    if (votes == votes[0]).all():
        mass = _power(np.bincount(ties, minlength=int(votes[0]) + 1) / len(ties), draws)
        return Law(np.arange(len(mass)) / (draws * votes[0]), mass, "exact clusters", set_votes)
    shape = (draws * int(votes.max()) + 1, draws * int(ties.max()) + 1)
    if shape[0] * shape[1] > GRID_CELLS:
        return None
    one = np.zeros(shape)
    np.add.at(one, (votes, ties), 1 / len(votes))
    mass = np.maximum(np.fft.irfft2(np.fft.rfft2(one) ** draws, s=shape), 0.0)
    mass[mass < 1e-15] = 0.0  # what the transform cannot tell from nothing
    at_votes, at_ties = np.nonzero(mass)
    return _gathered(at_ties / at_votes, mass[at_votes, at_ties], "exact clusters", set_votes)


def clusters_without_replacement(votes: Ints, ties: Ints, draws: int) -> Law | None:
    """The same drawn without replacement, for clusters of one size: multivariate hypergeometric, type by type.

    A type is the number of ties in a cluster; given how many clusters are still to come, those of the next type are
    hypergeometric. None where the clusters differ in size or the table would be too large.
    """
    each = int(votes[0])
    if not (votes == each).all() or (each + 1) * draws * draws * draws * each > 100 * GRID_CELLS:
        return None
    state = np.zeros((draws + 1, draws * each + 1))  # [clusters drawn, ties so far]
    state[0, 0] = 1.0
    left = len(ties)
    for kind, count in enumerate(np.bincount(ties, minlength=each + 1).tolist()):
        state = _with_type(state, kind, count, left, draws)
        left -= count
    return Law(np.arange(draws * each + 1) / (draws * each), _normalised(state[draws]), "exact clusters", draws * each)


def _with_type(state: Floats, kind: int, count: int, left: int, draws: int) -> Floats:
    """Share out `count` clusters with `kind` ties among the draws to come, `left` clusters being left in all."""
    chance = np.zeros((draws + 1, draws + 1))  # [clusters drawn before, clusters of this type]
    for drawn in np.flatnonzero(state.any(axis=1)).tolist():
        chance[drawn, : draws - drawn + 1] = _hypergeometric(left, count, draws - drawn)
    after = np.zeros_like(state)
    for more in range(min(count, draws) + 1):
        rows, columns = draws + 1 - more, state.shape[1] - kind * more
        after[more:, kind * more :] += chance[:rows, more, None] * state[:rows, :columns]
    return after


def sampled(shares: Floats, set_votes: float) -> Law:
    """The law of drawn shares, each with the same mass."""
    share, count = np.unique(np.round(shares, 12), return_counts=True)  # shares equal but for rounding are one
    return Law(share, count / len(shares), "sampled", set_votes)


def _gathered(shares: Floats, mass: Floats, method: str, set_votes: float) -> Law:
    share, where = np.unique(np.round(shares, 12), return_inverse=True)
    return Law(share, _normalised(np.bincount(where, weights=mass)), method, set_votes)


def _power(mass: Floats, times: int) -> Floats:
    """The `times`-fold convolution by repeated squaring; only sums of positive numbers, so tails keep their digits."""
    result = np.ones(1)
    while times:
        if times & 1:
            result = np.convolve(result, mass)
        mass = np.convolve(mass, mass)
        times >>= 1
    return result


def _log_choose(n: int, k: NDArray[np.int64]) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _normalised(mass: NDArray[Any]) -> Floats:
    return np.asarray(mass / mass.sum(), dtype=np.float64)


def density(law: Law, grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Density of a law at the points of `grid`, NaN where there is next to none.

    It is the mass within half a vote of each point; a law on uneven shares (whole clusters of several sizes) is
    gathered a little more widely, which adds about one hundredth to the SD that is seen and nothing to any number.
    """
    halves = [0.5 / min(law.set_votes, LATTICE)]
    if len(law.share) > law.set_votes + 1.5:
        halves = [max(halves[0], part * law.sd) for part in (0.15, 0.2, 0.25, 0.3, 0.35)]
    middle = np.cumsum(law.probability) - law.probability / 2
    height = np.zeros(len(grid))
    for half in halves:
        below, above = (np.interp(grid + side, law.share, middle, left=0.0, right=1.0) for side in (-half, half))
        height += (above - below) / (2 * half * len(halves))
    return np.where(height > 0.002 * height.max(), height, np.nan)
