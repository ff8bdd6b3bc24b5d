"""Strengths of two or many systems from votes with ties: Davidson's model (1970) and Rao and Kupper's (1967).

With d = strength of a - strength of b + position (if a stood left, minus it if right, 0 if not known):

    Davidson     a : b : tie = exp(d/2) : exp(-d/2) : nu           (position as in Davidson and Beaver 1977)
    Rao-Kupper   P(a) = 1/(1 + theta exp(-d)), P(b) = 1/(1 + theta exp(d)), tie the rest

A tie is an outcome of its own with its own parameter, never half a win. Without any tie both are Bradley and Terry's
model. Votes are first counted in cells (a, b, side) x (a, b, tie), so a fit costs the same for 10^3 and 10^6 votes, and
all bootstrap sets are fitted at once by Fisher scoring (both log-likelihoods are concave). Strengths sum to zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats
from scipy.sparse.csgraph import connected_components
from scipy.special import expit

from analysis.stats.intervals import crossed
from dialogue.errors import InputError

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]
Model = Literal["davidson", "rao-kupper"]

DRAWN_AT_ONCE = 4_000_000  # numbers drawn at once: bounds the memory of the bootstrap
FAR = 15.0  # a strength further out than this on the log scale has no finite estimate


@dataclass(frozen=True, slots=True)
class Games:
    """Votes counted by cell: who met whom on which side, and how often a, b or neither was chosen."""

    systems: tuple[str, ...]
    a: Ints  # (cells,) code of system a
    b: Ints  # (cells,)
    side: Ints  # (cells,) 1: a stood left, -1: b did, 0: not known
    counts: Floats  # (cells, 3) votes for a, b, tie
    code: Ints  # (votes,) cell * 3 + choice of every vote


@dataclass(frozen=True, slots=True)
class Fit:
    """Estimates on the log scale: one strength a system (sum zero), then position and tie where the votes hold them.

    `tie` is log nu (Davidson) or log theta (Rao-Kupper); `draws` are the drawn sets' estimates, none before a draw.
    """

    model: Model
    systems: tuple[str, ...]
    parameters: Floats  # (P,)
    position: int | None  # place of the position parameter in `parameters`
    tie: int | None
    covariance: Floats  # (P, P)
    log_likelihood: float
    draws: Floats  # (sets, P)
    unbounded: int  # sets without a finite maximum: a system won or lost everything in them
    freedom: float = np.inf  # degrees of freedom of the covariance

    @property
    def strengths(self) -> Floats:
        """The systems' strengths."""
        return self.parameters[: len(self.systems)]

    @property
    def errors(self) -> Floats:
        """Standard error of every parameter."""
        return np.sqrt(np.diag(self.covariance))

    def interval(self, parameter: int, level: float = 0.95) -> tuple[float, float]:
        """Interval of one parameter on the log scale."""
        width = float(stats.t.ppf((1 + level) / 2, self.freedom) * self.errors[parameter])
        return float(self.parameters[parameter]) - width, float(self.parameters[parameter]) + width

    @property
    def wrong_order(self) -> Floats:
        """[i, j]: chance that i is in truth below j, from the t law of their difference; .5 on the diagonal."""
        k = len(self.systems)
        variance = np.diag(self.covariance)[:k]
        spread = np.sqrt(np.maximum(variance[:, None] + variance[None, :] - 2 * self.covariance[:k, :k], 1e-300))
        apart = (self.strengths[:, None] - self.strengths[None, :]) / spread
        return np.asarray(stats.t.sf(apart, self.freedom))

    @property
    def ranks(self) -> Ints:
        """(sets, systems) rank in every drawn set, 1 is best."""
        return np.argsort(np.argsort(-self.draws[:, : len(self.systems)], axis=1), axis=1) + 1


def games(systems: Sequence[str], a: Ints, b: Ints, choice: Ints, left: Ints | None) -> Games:
    """Count votes; `choice` is 0 (a), 1 (b) or 2 (tie); `left` is 0 where a stood left, 1 where b did, else -1."""
    side = np.zeros(len(a), np.int64) if left is None else np.select([left == 0, left == 1], [1, -1], 0)
    swap = a > b  # one cell for both orders: a tie or a win is the same whichever system is called a
    first, second = np.where(swap, b, a).astype(np.int64), np.where(swap, a, b)
    outcome = np.where(swap & (choice < 2), 1 - choice, choice)
    key = (first * len(systems) + second) * 3 + np.where(swap, -side, side) + 1
    held = np.bincount(key, minlength=len(systems) ** 2 * 3)
    cells = np.flatnonzero(held)
    code = (np.cumsum(held > 0) - 1)[key] * 3 + outcome
    counts = np.bincount(code, minlength=3 * len(cells)).reshape(-1, 3).astype(np.float64)
    meeting = cells // 3
    return Games(tuple(systems), meeting // len(systems), meeting % len(systems), cells % 3 - 1, counts, code)


def fit(played: Games, model: Model = "davidson") -> Fit:
    """Maximum likelihood; the covariance takes votes as independent (see `clustered` for the honest one)."""
    _check_finite(played)
    design, position, tie = _design(played)
    theta, information = _scoring(played.counts[None], played, model, design, tie)
    # `_check_finite` sees only wins and ties; a side of the page that always won shows in the size of the estimates.
    if np.abs(theta).max() > FAR:
        raise InputError("One side of the page or one system won every vote, so the strengths have no finite estimate.")
    chances, _, _ = _MODELS[model](theta @ design.T, None if tie is None else theta[:, tie, None])
    seen = played.counts > 0
    return Fit(
        model=model,
        systems=played.systems,
        parameters=theta[0],
        position=position,
        tie=tie,
        covariance=_inverse(information[0], len(played.systems)),
        log_likelihood=float((played.counts[seen] * np.log(chances[0][seen])).sum()),
        draws=np.empty((0, len(theta[0]))),
        unbounded=0,
    )


def clustered(played: Games, found: Fit, by: Mapping[str, NDArray[np.int64]]) -> Fit:
    """The same fit with a covariance robust to votes that share a pair, a rater, ... (name -> codes of the votes).

    The sandwich of White (1982) with the two-way middle of Cameron, Gelbach and Miller (2011); eigenvalues below zero,
    which their difference of matrices may have, are set to zero.
    """
    if not by:
        return found
    design, _, tie = _design(played)
    theta = found.parameters[None]
    _, by_d, by_t = _MODELS[found.model](theta @ design.T, None if tie is None else theta[:, tie, None])
    slopes = by_d[0][:, :, None] * design[:, None, :]
    if tie is not None:
        slopes[:, :, tie] = by_t[0]
    slopes = slopes.reshape(-1, len(found.parameters))
    middle = np.zeros_like(found.covariance)
    for ways in range(1, len(by) + 1):
        for names in combinations(by, ways):
            middle -= (-1) ** ways * _middle(slopes, played.code, crossed([by[name] for name in names]))
    values, vectors = np.linalg.eigh(middle)
    bread = _inverse(_information(played.counts[None], found.model, theta, design, tie)[1][0], len(found.systems))
    freedom = min(len(np.unique(codes)) for codes in by.values()) - 1
    covariance = bread @ (vectors * np.maximum(values, 0)) @ vectors.T @ bread
    return replace(found, covariance=covariance, freedom=float(freedom))


def _middle(slopes: Floats, code: Ints, cluster: Ints) -> Floats:
    """G/(G-1) times the sum over clusters of the outer product of their summed scores."""
    _, place = np.unique(cluster, return_inverse=True)
    groups = int(place.max()) + 1
    held = sparse.csr_matrix((np.ones(len(code)), (place, code)), shape=(groups, len(slopes)))
    sums = held @ slopes
    return np.asarray(sums.T @ sums * (groups / max(groups - 1, 1)))


def normal_draws(found: Fit, *, sets: int, generator: np.random.Generator) -> Fit:
    """The same fit with `sets` draws from the normal law of its estimates and their (clustered) covariance."""
    values, vectors = np.linalg.eigh(found.covariance)
    scatter = generator.standard_normal((sets, len(values))) * np.sqrt(np.maximum(values, 0))
    return replace(found, draws=found.parameters + scatter @ vectors.T)


def bootstrap(played: Games, found: Fit, cluster: Ints | None, *, sets: int, generator: np.random.Generator) -> Fit:
    """The same fit with `sets` refitted bootstrap samples of whole clusters (None: single votes).

    Clusters with the same votes are interchangeable: one multinomial draw says how often each kind comes up.
    """
    kinds, frequency = _kinds(played, cluster, generator)
    design, _, tie = _design(played)
    start = found.parameters
    draws = [np.empty((0, len(start)))]
    # In blocks, because all sets at once would take sets x kinds numbers: gigabytes for a large crowd.
    block = int(np.clip(DRAWN_AT_ONCE // max(len(frequency), 1), 1, 200))
    for first in range(0, sets, block):
        times = _times(frequency, min(block, sets - first), generator)
        counts = (kinds.T @ times.T).T.reshape(len(times), -1, 3)
        draws.append(_scoring(counts, played, found.model, design, tie, start)[0])
    made = np.vstack(draws)
    return replace(found, draws=made, unbounded=int((np.abs(made) > FAR).any(1).sum()))


def _kinds(
    played: Games, cluster: Ints | None, generator: np.random.Generator
) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
    """Distinct clusters (kinds x codes) and how many clusters are of each kind.

    Clusters are compared by a random 64-bit key: the sum of one random number a code, so equal votes give equal keys.
    """
    codes = played.counts.size
    if cluster is None:
        return sparse.identity(codes, format="csr"), played.counts.ravel().astype(np.int64)
    keys = np.zeros(int(cluster.max()) + 1, np.uint64)
    np.add.at(keys, cluster, generator.integers(1, 2**63, size=codes, dtype=np.uint64)[played.code])
    _, example, kind, frequency = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
    empty = keys[example] == 0
    row = np.where(example[kind] == np.arange(len(keys)), kind, -1)[cluster]
    held = row >= 0
    matrix = sparse.csr_matrix((np.ones(held.sum()), (row[held], played.code[held])), shape=(len(example), codes))
    return matrix, np.where(empty, 0, frequency)


def _times(frequency: NDArray[np.int64], sets: int, generator: np.random.Generator) -> Floats:
    """How often each kind comes up in each set, (sets, kinds)."""
    total = int(frequency.sum())
    # A multinomial draw costs one step a kind, single draws one step a cluster: take the cheaper.
    if total > 4 * len(frequency):
        return generator.multinomial(total, frequency / total, size=sets).astype(np.float64)
    kind = np.repeat(np.arange(len(frequency)), frequency)
    drawn = kind[generator.integers(total, size=(sets, total))] + np.arange(sets)[:, None] * len(frequency)
    return np.bincount(drawn.ravel(), minlength=sets * len(frequency)).reshape(sets, -1).astype(np.float64)


def _design(played: Games) -> tuple[Floats, int | None, int | None]:
    """(cells, P) weights of every parameter in d, and the places of the position and the tie parameter."""
    systems, cells = len(played.systems), len(played.a)
    design = np.zeros((cells, systems + 2))
    design[np.arange(cells), played.a] = 1
    design[np.arange(cells), played.b] -= 1
    design[:, systems] = played.side
    # Where a system always stood on the same side, position and strength cannot be told apart: no position then.
    rank = np.linalg.matrix_rank
    position = systems if rank(design[:, : systems + 1]) > rank(design[:, :systems]) else None
    tie = None if played.counts[:, 2].sum() == 0 else systems + (position is not None)
    width = systems + (position is not None) + (tie is not None)
    design = design[:, :width] if position is not None else np.delete(design, systems, axis=1)[:, :width]
    return design, position, tie


def _scoring(
    counts: Floats, played: Games, model: Model, design: Floats, tie: int | None, start: Floats | None = None
) -> tuple[Floats, Floats]:
    """Fisher scoring of all sets at once: counts (sets, cells, 3) to estimates (sets, P), information (sets, P, P)."""
    theta = np.zeros((len(counts), design.shape[1]))
    if start is not None:
        theta[:] = start
    elif tie is not None:
        share = counts[:, :, 2].sum(1) / counts.sum((1, 2))
        theta[:, tie] = np.log(2 * share / (1 - share)) if model == "davidson" else 2 * np.arctanh(share)
    # Only differences of strengths count, so the information is singular: ones there hold the sum of strengths at zero.
    block = np.zeros((design.shape[1], design.shape[1]))
    block[: len(played.systems), : len(played.systems)] = 1.0
    for _ in range(100):
        gradient, information = _information(counts, model, theta, design, tie)
        step = np.linalg.solve(information + block + 1e-12 * np.eye(len(block)), gradient[:, :, None])[:, :, 0]
        theta += np.clip(step, -2, 2)  # a full step can overshoot in a bootstrap set that is nearly separable
        if tie is not None and model == "rao-kupper":
            theta[:, tie] = np.maximum(theta[:, tie], 1e-9)
        moving = (np.abs(step).max(1) > 1e-9) & (np.abs(theta).max(1) <= FAR)
        if not moving.any():
            break
    return theta, information


def _information(counts: Floats, model: Model, theta: Floats, design: Floats, tie: int | None) -> tuple[Floats, Floats]:
    """Gradient (sets, P) and expected information (sets, P, P) of the log-likelihood."""
    chances, by_d, by_t = _MODELS[model](theta @ design.T, None if tie is None else theta[:, tie, None])
    weight = chances * counts.sum(2, keepdims=True)
    gradient = (counts * by_d).sum(2) @ design
    outer = (design[:, :, None] * design[:, None, :]).reshape(len(design), -1)
    width = design.shape[1]
    information = ((weight * by_d**2).sum(2) @ outer).reshape(-1, width, width)
    if tie is not None:
        gradient[:, tie] += (counts * by_t).sum((1, 2))
        cross = (weight * by_d * by_t).sum(2) @ design
        information[:, :, tie] += cross
        information[:, tie, :] += cross
        information[:, tie, tie] += (weight * by_t**2).sum((1, 2))
    return gradient, information


def _inverse(information: Floats, systems: int) -> Floats:
    """Inverse on the space where the strengths sum to zero."""
    ones = np.zeros_like(information)
    ones[:systems, :systems] = 1.0
    return np.asarray(np.linalg.inv(information + ones) - ones / systems**2)


def _davidson(d: Floats, t: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Chances of a, b, tie and the slopes of their logs in d and in t = log nu; d is (sets, cells)."""
    half = np.stack([d / 2, -d / 2, np.full_like(d, -np.inf) if t is None else np.broadcast_to(t, d.shape)], axis=2)
    raised = np.exp(half - half.max(2, keepdims=True))
    chances = raised / raised.sum(2, keepdims=True)
    lean = np.array([0.5, -0.5, 0.0])
    by_d = lean - (chances * lean).sum(2, keepdims=True)
    return chances, by_d, np.array([0.0, 0.0, 1.0]) - chances[:, :, 2:]


def _rao_kupper(d: Floats, t: Floats | None) -> tuple[Floats, Floats, Floats]:
    """The same with t = log theta >= 0: a tie is everything between the two thresholds."""
    gap = np.zeros_like(d) if t is None else t
    a, b = expit(d - gap), expit(-d - gap)
    da, db = a * (1 - a), b * (1 - b)
    if t is None:
        return np.stack([a, b, 0 * a], 2), np.stack([1 - a, -(1 - b), 0 * a], 2), np.zeros((*d.shape, 3))
    tie = np.maximum(np.expm1(2 * gap) * a * b, 1e-300)
    by_d = np.stack([1 - a, -(1 - b), (db - da) / tie], axis=2)
    return np.stack([a, b, tie], axis=2), by_d, np.stack([a - 1, b - 1, (da + db) / tie], axis=2)


_MODELS: dict[Model, Callable[[Floats, Floats | None], tuple[Floats, Floats, Floats]]] = {
    "davidson": _davidson,
    "rao-kupper": _rao_kupper,
}


def _check_finite(played: Games) -> None:
    """Refuse votes without a finite maximum (Ford 1957): everyone must have lost or tied with someone, transitively."""
    k = len(played.systems)
    if not played.counts[:, :2].sum():
        raise InputError("All votes are ties, so no strength can be estimated; more votes or other pairs are needed.")
    won = np.zeros((k, k))
    np.add.at(won, (played.a, played.b), played.counts[:, 0] + played.counts[:, 2])
    np.add.at(won, (played.b, played.a), played.counts[:, 1] + played.counts[:, 2])
    groups, group = connected_components(won > 0, connection="strong")
    if groups > 1:
        names = [name for name, g in zip(played.systems, group, strict=True) if g == group[0]]
        raise InputError(
            f"{', '.join(names)} never met, or always won or always lost against, the other systems, so the strengths "
            "have no finite estimate. Collect votes that link them, or leave them out."
        )
