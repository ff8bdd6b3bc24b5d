"""Errors of Davidson's and Rao-Kupper's models for votes that share raters and dialogues: the clustered sandwich.

White's sandwich (1982) with the two-way middle of Cameron, Gelbach and Miller (2011). Every part is a jackknife, as for
means (intervals.py): a cluster that holds much of what is known about a system pulls the fit towards itself, so its
residuals are too small. With A the inverse information and I_g a cluster's information, its score is multiplied by
(1 - A^1/2 I_g A^1/2)^-1 on the scale of the estimates, which makes it the step that the fit takes when the cluster is
left out (Bell and McCaffrey 2002; for models of this kind Mancl and DeRouen 2001). No variance is below that by one way
of clustering alone. Quantiles are t's: each way counts with its effective number of clusters less one (Satterthwaite
1946), that among the decisive votes where it is smaller, as for a net preference (stats/net_preference.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.stats.intervals import cross_codes, kish
from seedvote.analysis.stats.paired.davidson import CellWeights, Fit, Floats, Games, Ints, design_of, predict_outcomes

AT_ONCE = 4_000_000  # numbers held at once: bounds the memory for hundreds of systems
TIE = 2
ALONE = 1e-6  # what a cluster leaves of a direction that it alone determines


def cluster_errors(played: Games, fit: Fit, by: Mapping[str, NDArray[np.int64]]) -> Fit:
    """The same fit with a covariance robust to votes that share a pair, a rater, ... (name -> codes of the votes)."""
    if not by:
        return fit
    decisive = (played.code % 3 != TIE).astype(float)
    return with_clusters(
        fit, by, decisive, partial(_estimate_covariance, played, score_cells(played, fit)), played.weights
    )


def with_clusters(
    fit: Fit,
    by: Mapping[str, NDArray[np.int64]],
    decisive: Floats,
    sandwich: Callable[[NDArray[np.int64]], Floats],
    weight: Floats | None = None,
) -> Fit:
    """The same fit with the covariance of all ways together; `sandwich` gives that of one way from its codes.

    Eigenvalues below zero, which the difference of matrices may have, are set to zero. Clusters are counted by the
    parts of their votes in the variance, which go with the square of what a vote counts (`weight`).
    """
    parts = {
        names: sandwich(cross_codes([by[name] for name in names]))
        for ways in range(1, len(by) + 1)
        for names in combinations(by, ways)
    }
    covariance = _add_ways(parts, list(by))
    values, vectors = np.linalg.eigh(covariance)
    part = np.ones(len(decisive)) if weight is None else weight**2
    freedom = [max(min(kish(codes, part), kish(codes, part * decisive)) - 1, 1.0) for codes in by.values()]
    return replace(
        fit,
        covariance=(vectors * np.maximum(values, 0)) @ vectors.T,
        one_way=tuple(parts[(name,)] for name in by),
        others=tuple(_add_ways(parts, [other for other in by if other != name]) for name in by),
        freedom=min(freedom),
        counted=tuple(freedom),
    )


def _add_ways(parts: Mapping[tuple[str, ...], Floats], names: Sequence[str]) -> Floats:
    """The covariance of these ways together: by each, less by each two, and so on (zero for none)."""
    some = [(-1) ** (len(ways) - 1) * part for ways, part in parts.items() if set(ways) <= set(names)]
    return np.asarray(np.sum(some, axis=0)) if some else np.zeros_like(next(iter(parts.values())))


@dataclass(frozen=True, slots=True)
class CellScores:
    """What one vote in every cell tells, on the two coordinates d and tie."""

    design: CellWeights
    scores: Floats  # (cells, 3, 2) slopes of the log chance of each choice
    root: Floats  # (cells, 2, 2) symmetric root of one vote's information
    root_inverse: Floats  # (cells, 2, 2)
    scale: Floats  # (P, P) root of the inverse information: what it is multiplied with has the scale of the estimates


def score_cells(played: Games, fit: Fit) -> CellScores:
    """At this fit, whose covariance is that of independent votes."""
    design = design_of(played)
    chances, by_d, by_t = predict_outcomes(fit.model, fit.parameters, design)
    scores = np.stack([by_d, by_t if design.tie is not None else np.zeros_like(by_d)], axis=2)
    information = np.einsum("ck,cki,ckj->cij", chances, scores, scores)
    values, vectors = np.linalg.eigh(fit.covariance)
    scale = (vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T
    return CellScores(design, scores, _raise_to_power(information, 0.5), _raise_to_power(information, -0.5), scale)


def _raise_to_power(matrices: Floats, exponent: float) -> Floats:
    """A power of symmetric matrices (n, k, k), on the space where they are not zero."""
    values, vectors = np.linalg.eigh(matrices)
    positive = values > 1e-12
    raised = np.where(positive, np.where(positive, values, 1.0) ** exponent, 0.0)
    return np.asarray((vectors * raised[:, None, :]) @ np.swapaxes(vectors, 1, 2))


def _estimate_covariance(played: Games, at_cells: CellScores, cluster: Ints) -> Floats:
    """The covariance (P, P) for one way of clustering."""
    middle, number = np.zeros_like(at_cells.scale), 0
    for _, factor, residual in _by_cluster(played, at_cells, cluster):
        steps = _compute_steps(factor, residual)
        middle += steps.T @ steps
        number += len(steps)
    return np.asarray(at_cells.scale @ middle @ at_cells.scale * (1 - 1 / number))


@dataclass(frozen=True, slots=True)
class ClusterSteps:
    """The step of a fit without each cluster, and the root of the covariance that brings steps to the parameters."""

    codes: Ints  # (clusters,)
    steps: Floats  # (clusters, P)
    scale: Floats  # (P, P)

    @property
    def covariance(self) -> Floats:
        """The covariance (P, P) for this way of clustering."""
        shrinking = 1 - 1 / len(self.steps)
        return np.asarray(self.scale @ (self.steps.T @ self.steps) @ self.scale * shrinking)


def find_steps(played: Games, at_cells: CellScores, cluster: Ints, moves: Floats) -> ClusterSteps:
    """The steps where each vote's score in d has been moved by `moves` (votes,).

    Moves have no part in the information: what they rest on was not fitted to these votes.
    """
    batches = [
        (codes, _compute_steps(factor, residual))
        for codes, factor, residual in _by_cluster(played, at_cells, cluster, moves)
    ]
    codes, steps = (np.concatenate(column) for column in zip(*batches, strict=True))
    return ClusterSteps(codes, steps, at_cells.scale)


def _by_cluster(
    played: Games, at_cells: CellScores, cluster: Ints, moves: Floats | None = None
) -> Iterator[tuple[Ints, Floats, Floats]]:
    """Clusters of as many cells each, some at once: their codes, factors of their information (n, rows, P), and
    residuals (n, rows).

    A factor K has K'K = A^1/2 I_g A^1/2, and its residuals u make K'u the cluster's score on the scale of the
    estimates. `moves` (votes,) are added to the scores in d.
    """
    meetings, place = np.unique(cluster * len(played.a) + played.code // 3, return_inverse=True)
    cells_of_votes = place * 3 + played.code % 3
    counts = np.bincount(cells_of_votes, weights=played.weight, minlength=3 * len(meetings))
    counts = counts.reshape(-1, 3).astype(np.float64)
    cell, times = meetings % len(played.a), np.sqrt(counts.sum(1))
    scores = np.einsum("ek,eki->ei", counts, at_cells.scores[cell])
    if moves is not None:
        scores[:, 0] += np.bincount(place, weights=moves, minlength=len(meetings))
    residual = np.einsum("eij,ej->ei", at_cells.root_inverse[cell], scores) / times[:, None]
    _, first, cells = np.unique(meetings // len(played.a), return_index=True, return_counts=True)
    for size in np.unique(cells):
        entries = first[cells == size][:, None] + np.arange(size)
        step = max(AT_ONCE // (2 * int(size) * len(at_cells.scale)), 1)
        for some in (entries[k : k + step] for k in range(0, len(entries), step)):
            factor = _factor_information(at_cells, cell[some.ravel()], times[some.ravel()])
            codes = (meetings // len(played.a))[some[:, 0]]
            yield codes, factor.reshape(len(some), 2 * size, -1), residual[some].reshape(len(some), -1)


def _factor_information(at_cells: CellScores, cell: Ints, times: Floats) -> Floats:
    """(entries, 2, P): the root of the information of all votes of an entry, times the scale of the estimates."""
    of_d = at_cells.design.weights[cell] @ at_cells.scale
    tie = at_cells.design.tie
    of_tie = np.zeros_like(of_d) if tie is None else np.broadcast_to(at_cells.scale[tie], of_d.shape)
    rows = np.stack([of_d, of_tie], axis=1)
    return np.asarray((at_cells.root[cell] * times[:, None, None]) @ rows)


def _compute_steps(factor: Floats, residual: Floats) -> Floats:
    """(n, P): the step of the fit without each cluster, K'(1 - KK')^-1 u, from the smaller of KK' and K'K."""
    turned = np.swapaxes(factor, 1, 2)
    if factor.shape[1] <= factor.shape[2]:
        return np.asarray(turned @ (_invert_remainder(factor @ turned) @ residual[:, :, None]))[:, :, 0]
    return np.asarray(_invert_remainder(turned @ factor) @ (turned @ residual[:, :, None]))[:, :, 0]


def _invert_remainder(leverage: Floats) -> Floats:
    """(1 - leverage)^-1 for matrices (n, k, k); where a cluster alone knows a direction, its residual there is zero."""
    values, vectors = np.linalg.eigh(leverage)
    raised = 1 / np.maximum(1 - values, ALONE)
    return np.asarray((vectors * raised[:, None, :]) @ np.swapaxes(vectors, 1, 2))
