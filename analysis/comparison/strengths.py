"""Votes as panels: the strength of every trained model that votes connect, and how far it moves with items and raters.

Strengths are the least-squares solution of s_i - s_j = mean(i chosen) - mean(j chosen) over the pairs that compare
models i and j; those of models that votes connect sum to zero. Covariances are cluster-robust by dialogue and by rater,
and by both at once (Cameron, Gelbach and Miller 2011).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from analysis.reading.panel import Panel, System
from analysis.stats.intervals import crossed
from dialogue.records import Candidate, Pair

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
JudgedModel = tuple[str, str, int | None]  # checkpoint, model, seed


def people_panels(pair: Sequence[str], net: Floats, pairs: Sequence[Pair], rater: Ints | None = None) -> list[Panel]:
    """One panel for each set of models that votes connect; `net` is +1 (a), -1 (b), 0 (tie), one a vote."""
    known = {p.pair: p for p in pairs if p.kind == "real" and _trained(p.a) != _trained(p.b)}
    kept = np.array([place for place, name in enumerate(pair) if name in known], np.int64)
    if not len(kept):
        return []
    met = [known[pair[place]] for place in kept]
    models = sorted({_trained(side) for p in met for side in (p.a, p.b)}, key=_order)
    place = {model: k for k, model in enumerate(models)}
    sides = np.array([[place[_trained(p.a)], place[_trained(p.b)]] for p in met])
    score, of_item = (
        np.asarray(net, float)[kept],
        np.unique([p.dialogue or p.item for p in met], return_inverse=True)[1],
    )
    ways = {"items": of_item} if rater is None else {"items": of_item, "raters": rater[kept]}
    gram = np.zeros((len(models), len(models)))
    np.add.at(gram, (sides[:, 0], sides[:, 1]), 1)
    count, part = connected_components(gram, directed=False)
    names = np.array([p.pair for p in met])
    return [
        _panel([models[k] for k in np.flatnonzero(part == one)], sides[rows], score[rows], names[rows],
               {way: codes[rows] for way, codes in ways.items()}, np.flatnonzero(part == one))
        for one in range(count)
        for rows in [part[sides[:, 0]] == one]
    ]  # fmt: skip


def _trained(side: Candidate) -> JudgedModel:
    return side.checkpoint, side.model, side.seed


def _order(model: JudgedModel) -> tuple[str, str, int]:
    return model[0], model[1], -1 if model[2] is None else model[2]


def _panel(
    models: Sequence[JudgedModel],
    sides: Ints,
    score: Floats,
    names: npt.NDArray[np.str_],
    ways: Mapping[str, Ints],
    of: Ints,
) -> Panel:
    """Least squares on the votes between `models`, whose codes in `sides` are `of`."""
    first, second = np.searchsorted(of, sides).T
    size = len(models)
    gram, total = np.zeros((size, size)), np.zeros(size)
    for one, other, sign in ((first, first, 1), (second, second, 1), (first, second, -1), (second, first, -1)):
        np.add.at(gram, (one, other), sign)
    np.add.at(total, first, score)
    np.add.at(total, second, -score)
    # Votes fix differences only, so the matrix is singular; its pseudo-inverse is the solution that sums to zero.
    inverse = np.linalg.pinv(gram, hermitian=True)
    strength = inverse @ total
    residual = score - (strength[first] - strength[second])

    def by(codes: Ints) -> Floats:
        """100 x 100 times the sandwich (systems, systems) for one way of clustering."""
        _, place = np.unique(codes, return_inverse=True)
        groups = int(place.max()) + 1
        sums = np.zeros((groups, size))
        np.add.at(sums, (place, first), residual)
        np.add.at(sums, (place, second), -residual)
        return 1e4 * (groups / (groups - 1) if groups > 1 else np.nan) * inverse @ sums.T @ sums @ inverse

    found = {way: by(codes) for way, codes in ways.items()}
    both = found["items"] if len(ways) == 1 else found["items"] + found["raters"] - by(crossed(list(ways.values())))
    checkpoints = "/".join(sorted({model[0] for model in models}))
    examples = {
        name: len(np.unique(names[np.isin(first, at) | np.isin(second, at)]))
        for name in {model[1] for model in models}
        for at in [[k for k, model in enumerate(models) if model[1] == name]]
    }
    return Panel(
        "people", "net preference", checkpoints, tuple(System(*model[1:]) for model in models), 100 * strength,
        {**found, "both": both}, {way: len(np.unique(codes)) for way, codes in ways.items()}, examples,
    )  # fmt: skip
