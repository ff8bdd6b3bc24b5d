"""Would a re-run reverse two architectures, and how well does a method tell architectures apart at all?

An architecture's value is the mean over its seeds. The error of a difference has one part for each thing that is new
in a re-run: seeds (sample variance of each architecture by itself, never pooled: one unstable architecture must not
lend its spread to the others), items and raters (cluster-robust). With everything new, the seeds' part is what their
variance has beyond the items and raters that both parts contain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import f

from analysis.reading.panel import Floats, Ints, Panel
from analysis.stats.reruns import Flip, predicted

WAYS = ("seeds", "items", "raters", "everything")


@dataclass(frozen=True, slots=True)
class Order:
    """Two architectures as one method orders them, the higher first; a flip that the study does not show is None."""

    kind: str
    name: str
    checkpoint: str
    first: str
    second: str
    difference: float  # points
    flips: Mapping[str, Flip | None]


@dataclass(frozen=True, slots=True)
class Generalisability:
    """E rho^2: the share of the variance between the things compared that a re-run would show again; with its F."""

    value: float
    low: float
    high: float
    f: float
    freedom: tuple[float, float]


def orders(panel: Panel) -> list[Order]:
    """Every pair of architectures of the panel."""
    return [_order(panel, one, other) for one, other in combinations(panel.models, 2)]


def ordered(panels: Iterable[Panel]) -> list[tuple[Panel, Order]]:
    """Every order of every panel, with its panel."""
    return [(panel, order) for panel in panels for order in orders(panel)]


def _order(panel: Panel, one: str, other: str) -> Order:
    mean = {model: float(panel.values[panel.of(model)].mean()) for model in (one, other)}
    first, second = sorted((one, other), key=lambda model: (-mean[model], model))
    parts = _errors(panel, first, second)
    leader, follower = (first, mean[first]), (second, mean[second])
    flips = {way: None if part is None else predicted(leader, follower, *part) for way, part in parts.items()}
    if flips["everything"] is not None:  # more that is new is never surer, whatever the degrees of freedom say
        flips["everything"] = max((flip for flip in flips.values() if flip is not None), key=lambda flip: flip.p)
    return Order(panel.kind, panel.name, panel.checkpoint, first, second, mean[first] - mean[second], flips)


def _errors(panel: Panel, first: str, second: str) -> dict[str, tuple[float, float] | None]:
    """Way -> variance of the difference of two architectures and its degrees of freedom; None: not known."""
    weights = np.zeros(len(panel.systems))
    for model, sign in ((first, 1.0), (second, -1.0)):
        at = panel.of(model)
        weights[at] = sign / len(at)
    found: dict[str, tuple[float, float] | None] = {way: _drawn(panel, weights, way) for way in ("items", "raters")}
    seeds = [_of_seeds(panel, model) for model in (first, second)]
    both = _drawn(panel, weights, "both")
    known = [part for part in seeds if part is not None]
    found["seeds"] = _sum([(part[0], part[2]) for part in known]) if len(known) == 2 else None
    if len(known) < 2 or both is None:
        return {**found, "everything": None}
    beyond = sum(max(variance - noise, 0.0) for variance, noise, _ in known)
    variance = both[0] + beyond
    spread = both[0] ** 2 / both[1] + sum(part[0] ** 2 / part[2] for part in known)
    return {**found, "everything": (variance, variance**2 / spread if spread else math.inf)}


def _drawn(panel: Panel, weights: Floats, way: str) -> tuple[float, float] | None:
    """Variance of a weighted sum of the values over new items, raters or both."""
    covariance = panel.covariance.get(way)
    groups = min(panel.clusters.values()) if way == "both" else panel.clusters.get(way, 0)
    if covariance is None or groups < 2:
        return None
    ways = [way] if way != "both" else [name for name in panel.clusters if panel.clusters[name] > 1]
    least = max(float(weights @ panel.covariance[name] @ weights) for name in ways)
    return max(float(weights @ covariance @ weights), least, 0.0), groups - 1.0  # rounding may go below zero


def _of_seeds(panel: Panel, model: str) -> tuple[float, float, int] | None:
    """Variance of an architecture's mean over its seeds, how much of it items and raters make, degrees of freedom."""
    at = panel.of(model)
    if len(at) < 2:
        return None
    observed, noise = variance_between_seeds(panel, at)
    return observed / len(at), noise / len(at), len(at) - 1


def variance_between_seeds(panel: Panel, at: Ints) -> tuple[float, float]:
    """The sample variance over these seeds, and what it would be on average, were the seeds all alike."""
    return float(panel.values[at].var(ddof=1)), noise_between_seeds(panel, at)


def noise_between_seeds(panel: Panel, at: Ints) -> float:
    """What the sample variance over these seeds would be on average, were the seeds all alike."""
    # The larger of the ways: items and raters are crossed, and their sum would count a vote's own noise twice.
    parts = [found[np.ix_(at, at)] for found in panel.covariance.values()]
    return max(float(np.trace(part) - part.sum() / len(at)) / (len(at) - 1) for part in parts)


def _sum(parts: list[tuple[float, int]]) -> tuple[float, float]:
    """Sum of independent variances with Satterthwaite's degrees of freedom."""
    total = sum(part for part, _ in parts)
    spread = sum(part**2 / freedom for part, freedom in parts)
    return total, total**2 / spread if spread else math.inf


def between_architectures(panel: Panel) -> Generalisability | None:
    """How far the order of the architectures would hold in a re-run with everything new; None for one architecture.

    With one seed each, only items and raters are new.
    """
    models = panel.models
    if len(models) < 2:
        return None
    means = np.array([panel.values[panel.of(model)].mean() for model in models])
    parts = [found["everything"] or _both(panel, *pair) for pair in combinations(models, 2)
             for found in [_errors(panel, *pair)]]  # fmt: skip
    known = [part for part in parts if part is not None]
    if not known:
        return None
    error = float(np.mean([variance for variance, _ in known])) / 2
    return _share(float(means.var(ddof=1)), error, len(models) - 1, min(freedom for _, freedom in known))


def _both(panel: Panel, first: str, second: str) -> tuple[float, float] | None:
    weights = np.array([(s.model == first) / len(panel.of(first)) - (s.model == second) / len(panel.of(second))
                        for s in panel.systems])  # fmt: skip
    return _drawn(panel, weights, "both")


def between_seeds(panel: Panel, model: str) -> Generalisability | None:
    """How far the order of one architecture's seeds would hold with new items and raters; None for one seed."""
    at = panel.of(model)
    if len(at) < 2 or min(panel.clusters.values()) < 2:
        return None
    observed, noise = variance_between_seeds(panel, at)
    above = len(at) - 1
    return _share(observed, noise, above, above * (min(panel.clusters.values()) - 1))


def _share(observed: float, error: float, above: float, below: float) -> Generalisability:
    """1 - 1/F for F = observed / error, with the interval that F's law gives (as for an intraclass correlation)."""
    if error <= 0:
        return Generalisability(math.nan, 0.0, 1.0, math.nan, (above, below))
    ratio = observed / error
    tails = [float(f.ppf(p, above, below)) for p in (0.975, 0.5, 0.025)]
    low, high = (1 - tails[k] / ratio if ratio > 0 else 0.0 for k in (0, 2))
    value = 1 - 1 / ratio if ratio > 0 else 0.0
    value, low, high = (float(np.clip(part, 0, 1)) for part in (value, low, high))
    return Generalisability(value, low, high, ratio, (above, below))
