"""Would a re-run reverse two architectures, and how well does a method tell architectures apart at all?

An architecture's value is the mean over its seeds; `analysis/stats/reruns.py` says what a re-run with new seeds, items
or raters does to the difference of two.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import fdtri

from analysis.stats.reruns import (
    BOTH,
    EVERYTHING,
    Error,
    Flip,
    Replicates,
    between,
    difference_errors,
    drawn_anew,
    flips,
)
from analysis.votes.scores.panel import Ints, Panel, Scale

WAYS = ("seeds", "items", "raters", "everything")


@dataclass(frozen=True, slots=True)
class Order:
    """Two architectures as one method orders them, the better first; a flip that the study does not show is None.

    The higher is the better one unless the evaluator's card says that lower is better.
    """

    kind: str
    name: str
    checkpoint: str
    first: str
    second: str
    difference: float  # the first less the second, in the unit shown: below 0 where lower is better
    flips: Mapping[str, Flip | None]
    scale: Scale

    @property
    def sign(self) -> str:
        """`>` between the two, `<` where the lower value is the better one, `=` where neither is better."""
        if self.difference == 0:
            return "="
        return "<" if self.scale.better == "lower" else ">"


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
    upwards = 1 if panel.shown.better == "lower" else -1
    first, second = sorted((one, other), key=lambda model: (upwards * mean[model], model))
    found = flips(panel.replicates, (first, panel.of(first)), (second, panel.of(second)))
    flip_of = {way: found.get(way) for way in WAYS}
    return Order(
        panel.kind, panel.name, panel.checkpoint, first, second, mean[first] - mean[second], flip_of, panel.shown
    )


def between_architectures(panel: Panel) -> Generalisability | None:
    """How far the order of the architectures would hold in a re-run with everything new; None for one architecture.

    The error is the average architecture's, as in `analysis variance`, which cuts components off at zero one by one:
    where none is below zero the two are equal. With one seed each, only items and raters are new.
    """
    found, places = panel.replicates, [panel.of(model) for model in panel.models]
    errors = [(pair, error) for pair in combinations(places, 2) if (error := _drawn_anew(found, *pair)) is not None]
    if not errors:
        return None
    several = [at for at in places if len(at) > 1]
    parts = [(observed - noise) / len(at) for at in several for observed, noise in [between(found, at)]]
    beyond = max(float(np.mean(parts)), 0.0) if parts else 0.0
    drawn = float(np.mean([variance for _, (variance, _) in errors])) / 2
    freedom = min((difference_errors(found, *pair)[EVERYTHING] or error)[1] for pair, error in errors)
    means = np.array([found.values[at].mean() for at in places])
    return _share(float(means.var(ddof=1)), drawn + beyond, len(places) - 1, freedom)


def _drawn_anew(found: Replicates, first: Ints, second: Ints) -> Error | None:
    """The error of a difference of two means over new items and raters."""
    weights = np.zeros(len(found.values))
    weights[first], weights[second] = 1 / len(first), -1 / len(second)
    return drawn_anew(found, weights, BOTH)


def between_seeds(panel: Panel, model: str) -> Generalisability | None:
    """How far the order of one architecture's seeds would hold with new items and raters; None for one seed."""
    at = panel.of(model)
    levels = min(panel.replicates.clusters.values())
    if len(at) < 2 or levels < 2:
        return None
    observed, noise = between(panel.replicates, at)
    above = len(at) - 1
    return _share(observed, noise, above, above * (levels - 1))


def _share(observed: float, error: float, above: float, below: float) -> Generalisability:
    """1 - 1/F for F = observed / error, with the interval that F's law gives (as for an intraclass correlation)."""
    if not (error > 0 and observed > 0):  # values that happen to be equal tell nothing, rather than that all is alike
        return Generalisability(math.nan, 0.0, 1.0, math.nan, (above, below))
    ratio = observed / error
    tails = [float(fdtri(above, below, p)) for p in (0.975, 0.5, 0.025)]
    if ratio <= tails[2]:  # nearer to each other than such an error allows: it is not known, rather than 0 for sure
        return Generalisability(0.0, 0.0, 1.0, ratio, (above, below))
    value, low, high = (float(np.clip(1 - part / ratio, 0, 1)) for part in (1.0, tails[0], tails[2]))
    return Generalisability(value, low, high, ratio, (above, below))
