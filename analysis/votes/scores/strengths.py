"""Votes as panels: the strength of every trained model that votes connect, and how far it moves with items and raters.

Strengths are the least-squares solution of s_i - s_j = mean(i chosen) - mean(j chosen) over the pairs that compare
models i and j; those of models that votes connect sum to zero. Covariances are cluster-robust by dialogue and by rater,
and by both at once (Cameron, Gelbach and Miller 2011); `analysis/votes/clusters.py` has the rule. Every part is a
jackknife (CV3 of MacKinnon, Nielsen and Webb 2023): the usual G/(G-1) is too small where few raters gave most votes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from seedvote.analysis.stats.intervals import crossed, groups, kish, unit_name
from seedvote.analysis.stats.reruns import BOTH
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.scores.panel import PEOPLE, Panel, Scale, System
from seedvote.analysis.votes.systems import placed
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.records import Candidate, Pair

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
PEOPLE_SCALE = Scale(PEOPLE, "net preference", 0)
CHUNK = 500  # clusters left out at once: a matrix of all systems for each
JudgedModel = tuple[str, str, int | None]  # checkpoint, model, seed


def people_panels(votes: Votes, pairs: Sequence[Pair], clusters: str = "auto") -> list[Panel]:
    """One panel for each set of models that votes connect."""
    known = {p.pair: p for p in pairs if p.kind == "real" and _trained(p.a) != _trained(p.b)}
    chosen = placed(votes, known).select(np.array([name in known for name in votes.pairs], bool)[votes.pair])
    if not len(chosen):
        return []
    met = [known[chosen.pairs[code]] for code in chosen.pair]
    models = sorted({_trained(side) for p in met for side in (p.a, p.b)}, key=_order)
    place = {model: k for k, model in enumerate(models)}
    sides = np.array([[place[_trained(p.a)], place[_trained(p.b)]] for p in met])
    net = np.where(chosen.tie, 0.0, np.where(chosen.choice == chosen.labels.index("a"), 1.0, -1.0))
    # Everything that is not a rater is what items are: dialogues, contexts or pairs, whichever the rule takes.
    by = clusters_of(chosen, clusters, part=True)
    ways = {"raters" if name == "rater" else "items": codes for name, codes in by.items()}
    ways = ways or {"items": np.arange(len(chosen))}
    gram = np.zeros((len(models), len(models)))
    np.add.at(gram, (sides[:, 0], sides[:, 1]), 1)
    count, part = connected_components(gram, directed=False)
    return [
        _panel([models[k] for k in np.flatnonzero(part == seed)], sides[rows], net[rows], chosen.pair[rows],
               {way: codes[rows] for way, codes in ways.items()}, np.flatnonzero(part == seed), unit_name(by))
        for seed in range(count)
        for rows in [part[sides[:, 0]] == seed]
    ]  # fmt: skip


def _trained(side: Candidate) -> JudgedModel:
    return side.checkpoint, side.model, side.seed


def _order(model: JudgedModel) -> tuple[str, str, int]:
    return model[0], model[1], -1 if model[2] is None else model[2]


def _panel(
    models: Sequence[JudgedModel],
    sides: Ints,
    score: Floats,
    pair: Ints,
    ways: Mapping[str, Ints],
    of: Ints,
    unit: str,
) -> Panel:
    """Least squares on the votes between `models`, whose codes in `sides` are `of`."""
    first, second = np.searchsorted(of, sides).T
    size = len(models)
    gram, total = np.zeros((size, size)), np.zeros(size)
    for row, column, sign in ((first, first, 1), (second, second, 1), (first, second, -1), (second, first, -1)):
        np.add.at(gram, (row, column), sign)
    np.add.at(total, first, score)
    np.add.at(total, second, -score)
    # Votes fix differences only, so the matrix is singular; its pseudo-inverse is the solution that sums to zero.
    inverse = np.linalg.pinv(gram, hermitian=True)
    strength = inverse @ total
    residual = score - (strength[first] - strength[second])

    def by(codes: Ints) -> Floats:
        """100 x 100 times the covariance (systems, systems) for one way of clustering."""
        moved = left_out(gram, first, second, residual, np.unique(codes, return_inverse=True)[1])
        return 1e4 * (1 - 1 / len(moved) if len(moved) > 1 else np.nan) * moved.T @ moved

    by_way = {way: by(codes) for way, codes in ways.items()}
    covariance = sum(by_way.values(), np.zeros((size, size)))
    covariance = covariance - by(crossed(list(ways.values()))) if len(ways) > 1 else covariance
    checkpoints = "/".join(sorted({model[0] for model in models}))
    examples = {
        name: len(np.unique(pair[np.isin(first, at) | np.isin(second, at)]))
        for name in {model[1] for model in models}
        for at in [[k for k, model in enumerate(models) if model[1] == name]]
    }
    return Panel(
        PEOPLE, "net preference", checkpoints, tuple(System(*model[1:]) for model in models), 100 * strength,
        {**by_way, BOTH: covariance}, {way: groups(codes) for way, codes in ways.items()}, examples,
        effective={way: kish(codes) for way, codes in ways.items()}, unit=unit,
        scale=PEOPLE_SCALE,
    )  # fmt: skip


def left_out(gram: Floats, first: Ints, second: Ints, residual: Floats, codes: Ints) -> Floats:
    """How far the strengths move (clusters, systems) when a cluster's votes are left out: the jackknife, exactly.

    Without cluster g the strengths differ by (X'X - Xg'Xg)^-1 Xg'e_g.
    """
    number, size = int(codes.max()) + 1, len(gram)
    sums = np.zeros((number, size))
    np.add.at(sums, (codes, first), residual)
    np.add.at(sums, (codes, second), -residual)
    moved = np.empty((number, size))
    order, ends = np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))
    for start in range(0, number, CHUNK):
        stop = min(start + CHUNK, number)
        rows = order[(ends[start - 1] if start else 0) : ends[stop - 1]]
        remainder = np.repeat(gram[None], stop - start, axis=0)
        for row, column, sign in ((first, first, -1), (second, second, -1), (first, second, 1), (second, first, 1)):
            np.add.at(remainder, (codes[rows] - start, row[rows], column[rows]), sign)
        moved[start:stop] = _solved(remainder, sums[start:stop])
    return moved


def _solved(gram: Floats, sums: Floats) -> Floats:
    """The solutions that sum to zero; the shortest where what is left connects fewer systems."""
    try:
        solution = np.linalg.solve(gram + 1.0, sums[..., None])[..., 0]  # all ones: the only direction not determined
    except np.linalg.LinAlgError:
        solution = np.full_like(sums, np.inf)
    # No vote is worth more than 1, so a strength that leaps belongs to a system that lost its votes.
    loose = ~(np.abs(solution) < 2).all(1)
    solution[loose] = (np.linalg.pinv(gram[loose], hermitian=True) @ sums[loose][..., None])[..., 0]
    return np.asarray(solution)
