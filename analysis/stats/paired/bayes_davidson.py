"""Davidson's model with raters and items that differ: a Bayesian hierarchical fit for few or unequal raters.

    a : b : tie = exp(d/2) : exp(-d/2) : exp(t)
    d = strength of a - strength of b + position, with what this rater, dialogue and pair add to a and to b
    t = log nu + what this rater, dialogue and pair add

What a rater adds to a system's strength is drawn from N(0, s^2), with one s for the raters' tastes, another for their
inclination to tie, and two for each further way of grouping the votes. Priors: a strength N(0, tau^2), with tau 1, or
half-normal(1) from five systems on; position N(0, 1); log nu N(0, 1.5^2); every s half-normal(1). On the log scale 1 is
much: it turns 50 % of the decisive votes into 73 %.

A strength inside the model is that for one typical rater and pair. What the default estimates is an average over all
raters and pairs, which is nearer to zero: `averaged` gives that one, for new raters and new pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seedvote.analysis.stats.paired.hamiltonian import (
    Drawn,
    Factor,
    Likelihood,
    Link,
    NormalEffects,
    RoundWatcher,
    hamiltonian_draws,
    ignore_round,
    split_r_hat,
)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SPREAD, STRENGTH, POSITION, TIE = 1.0, 1.0, 1.0, 1.5  # prior scales
SEVERAL = 5  # systems from which on the spread of their strengths is asked of the votes
AGREED = 1.1  # R-hat below which the chains agree
LENGTHS = (1, 2, 4)  # of the chains: while they disagree they are drawn anew, longer
NO_TIES = -40.0  # log nu where ties do not exist
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(9)


@dataclass(frozen=True, eq=False)
class HierarchicalFit:
    """Draws of the posterior; D of them. `spreads` holds a standard deviation's draws by `rater taste`, `rater ties`...

    `r_hat` is the largest over strengths, position, ties and the whole scatter: from 1.1 on the chains disagree.
    """

    systems: tuple[str, ...]
    strengths: Floats  # (D, systems), sum zero
    tie: Floats | None  # (D,) log nu
    position: Floats | None  # (D,)
    spreads: Mapping[str, Floats]
    r_hat: float
    chains: int

    def outcome(self, first: int, second: int) -> Floats:
        """(D, 3) chances of one, the other and a tie for a new rater and a new pair, on a side drawn by chance."""
        gaps = self.strengths[:, first] - self.strengths[:, second]
        ties = np.full(len(gaps), NO_TIES) if self.tie is None else self.tie
        return _average_chances(gaps, ties, *self._scatter())

    @property
    def averaged(self) -> Floats:
        """(D, systems) strengths of the average vote: mean log odds against every system, itself with 0; sum zero."""
        k = len(self.systems)
        odds = np.zeros((len(self.strengths), k, k))
        for first in range(k):
            for second in range(first):
                chances = self.outcome(first, second)
                odds[:, first, second] = np.log(chances[:, 0] / chances[:, 1])
                odds[:, second, first] = -odds[:, first, second]
        return np.asarray(odds.mean(2))

    @property
    def ranks(self) -> Ints:
        """(D, systems) rank in every draw, 1 is best."""
        return np.argsort(np.argsort(-self.strengths, axis=1), axis=1) + 1

    def _scatter(self) -> tuple[Floats, Floats]:
        """Standard deviations of d and of t over new raters and pairs."""
        zero = np.zeros(len(self.strengths))
        variance_of = {
            end: sum((s**2 for name, s in self.spreads.items() if name.endswith(end)), zero) for end in _KINDS
        }
        return np.sqrt(2 * variance_of["taste"]), np.sqrt(variance_of["ties"])


_KINDS = ("taste", "ties")


def hierarchical_davidson(
    systems: Sequence[str],
    a: Ints,
    b: Ints,
    choice: Ints,
    left: Ints | None,
    by: Mapping[str, Ints],
    *,
    generator: np.random.Generator,
    chains: int = 16,
    warm_up: int = 120,
    draws: int = 90,
    after_round: RoundWatcher = ignore_round,
) -> HierarchicalFit:
    """Fit to votes; `by` names what votes may share, the widest first (dialogue, pair, rater -> codes of the votes).

    Where the chains do not agree yet, they are drawn anew twice as long, and once more.
    """
    model = davidson_effects(len(systems), a, b, left, by, ties=float((choice == 2).mean()))
    likelihood = davidson_likelihood(choice)
    for longer in LENGTHS:
        chain_draws = hamiltonian_draws(
            model,
            likelihood,
            generator=generator,
            chains=chains,
            warm_up=longer * warm_up,
            draws=longer * draws,
            after_round=after_round,
        )
        fit = hierarchical_fit(systems, model, chain_draws)
        if fit.r_hat < AGREED:
            break
    return fit


def davidson_effects(
    systems: int, a: Ints, b: Ints, left: Ints | None, by: Mapping[str, Ints], *, ties: float
) -> NormalEffects:
    """The model's columns: first all rows of d, then all of t. Without any tie t has no columns and is far below."""
    n = len(a)
    basis = np.array([[1.0], [-1.0]]) / np.sqrt(2) if systems == 2 else np.eye(systems)  # two need one column only
    contrast = basis[a] - basis[b]
    side = np.zeros(n) if left is None else np.select([left == 0, left == 1], [1.0, -1.0], 0.0)
    columns = _Columns(n)
    # The spread of two or three strengths is hardly known, and leaving it open would draw them to each other.
    tau = STRENGTH if systems < SEVERAL else None
    strength = columns.add("strength", _spread_out(contrast, np.zeros(n, np.int64)), tied=False, known=tau)
    if side.any():
        columns.add("position", sparse.csr_matrix(side[:, None]), tied=False, known=POSITION)
    tie = columns.add("tie", sparse.csr_matrix(np.ones((n, 1))), tied=True, known=TIE) if ties else None
    above: list[tuple[Ints, int, int | None]] = [(np.zeros(n, np.int64), strength, tie)]
    for name, codes in by.items():
        codes = np.unique(codes, return_inverse=True)[1]
        if not 1 < codes.max() + 1 < n:
            continue  # one level says nothing, and a level for every vote cannot be told from chance
        taste = columns.add(f"{name} taste", _spread_out(contrast, codes), tied=False)
        incline = columns.add(f"{name} ties", _spread_out(np.ones((n, 1)), codes), tied=True) if ties else None
        for wider, parent, parent_tie in above:
            columns.link(wider, codes, basis.shape[1], parent, taste)
            if parent_tie is not None and incline is not None:
                columns.link(wider, codes, 1, parent_tie, incline)
        above.append((codes, taste, incline))
    information = np.repeat([(1 - ties) / 4, ties * (1 - ties)], n)
    offset = np.repeat([0.0, 0.0 if ties else NO_TIES], n)
    return NormalEffects(
        sparse.hstack(columns.parts).tocsr(), offset, tuple(columns.factors), tuple(columns.links), information
    )


class _Columns:
    """Columns of the model while they are put together."""

    def __init__(self, n: int):
        self.n = n
        self.parts: list[sparse.csr_matrix] = []
        self.factors: list[Factor] = []
        self.links: list[Link] = []

    def add(self, name: str, rows: sparse.csr_matrix, *, tied: bool, known: float | None = None) -> int:
        """A factor with its columns, in the rows of t or of d; returns its place."""
        empty = sparse.csr_matrix(rows.shape)
        self.parts.append(sparse.vstack([empty, rows] if tied else [rows, empty]))
        first = self.factors[-1].last if self.factors else 0
        self.factors.append(Factor(name, first, first + rows.shape[1], SPREAD, known))
        return len(self.factors) - 1

    def link(self, wider: Ints, codes: Ints, width: int, parent: int, child: int) -> None:
        """Note that a wider group is the sum of its narrower ones, where each lies within a single wider one."""
        inside = np.unique(np.stack([codes, wider]), axis=1)
        if inside.shape[1] == codes.max() + 1:
            parents = (inside[1][:, None] * width + np.arange(width)).ravel()
            self.links.append(Link(parent, child, parents))


def _spread_out(weights: Floats, codes: Ints) -> sparse.csr_matrix:
    """Columns group * width + k that hold weights[:, k] in the rows of their group."""
    n, width = weights.shape
    columns = codes[:, None] * width + np.arange(width)
    rows = np.repeat(np.arange(n), width)
    matrix = sparse.csr_matrix((weights.ravel(), (rows, columns.ravel())), shape=(n, (int(codes.max()) + 1) * width))
    matrix.eliminate_zeros()
    return matrix


def davidson_likelihood(choice: Ints) -> Likelihood:
    """Of choices (n,), or (n, chains) where every chain has votes of its own; eta is (2n, chains)."""
    choice = choice if choice.ndim == 2 else choice[:, None]
    n = len(choice)
    lean = np.array([0.5, -0.5, 0.0])[choice]
    tied = (choice == 2).astype(float)

    def evaluate_likelihood(eta: Floats) -> tuple[Floats, Floats]:
        half, t = eta[:n] / 2, eta[n:]
        top = np.maximum(np.abs(half), t)
        for_a, for_b, for_tie = np.exp(half - top), np.exp(-half - top), np.exp(t - top)
        total = for_a + for_b + for_tie
        value = (2 * lean * half + tied * t - top - np.log(total)).sum(0)
        slopes = np.concatenate([lean - (for_a - for_b) / (2 * total), tied - for_tie / total])
        return value, slopes

    return evaluate_likelihood


def hierarchical_fit(systems: Sequence[str], model: NormalEffects, draws: Drawn) -> HierarchicalFit:
    """The draws of all chains put together, by what they are draws of."""
    place = {factor.name: k for k, factor in enumerate(model.factors)}
    own = {name: draws.effects[:, :, model.factors[k].first : model.factors[k].last] for name, k in place.items()}
    raw = own["strength"]
    raw = np.concatenate([raw, -raw], axis=2) / np.sqrt(2) if len(systems) == 2 else raw
    strengths = raw - raw.mean(2, keepdims=True)
    single = {name: own[name][:, :, 0] for name in ("tie", "position") if name in own}
    sds = {name: draws.spreads[:, :, k] for name, k in place.items() if name.endswith(_KINDS)}
    # Pairs and their dialogues may share out a scatter in many ways; what is reported depends on all of it together.
    together = [[sds[name] ** 2 for name in sds if name.endswith(kind)] for kind in _KINDS]
    scatter = [np.sqrt(np.sum(parts, axis=0)) for parts in together if parts]
    flat = {name: part.ravel() for parameters in (single, sds) for name, part in parameters.items()}
    return HierarchicalFit(
        systems=tuple(systems),
        strengths=strengths.reshape(-1, len(systems)),
        tie=flat.get("tie"),
        position=flat.get("position"),
        spreads={name: flat[name] for name in sds},
        r_hat=max(map(split_r_hat, [*np.moveaxis(strengths, 2, 0), *single.values(), *scatter])),
        chains=draws.effects.shape[1],
    )


def _average_chances(gaps: Floats, ties: Floats, scatter: Floats, scatter_ties: Floats) -> Floats:
    """Chances (D, 3) averaged over normal d and t by Gauss and Hermite's rule."""
    d = gaps[:, None] + scatter[:, None] * NODES
    t = ties[:, None] + scatter_ties[:, None] * NODES
    weight = WEIGHTS / WEIGHTS.sum()
    raised = np.stack(np.broadcast_arrays(d[:, :, None] / 2, -d[:, :, None] / 2, t[:, None, :]))
    raised = np.exp(raised - raised.max(0))
    chances = raised / raised.sum(0)
    return np.asarray(np.einsum("cdij,i,j->dc", chances, weight, weight))
