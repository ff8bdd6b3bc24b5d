"""Whose states are drawn together: a model untrained and trained, its top layer where it has several."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from probes.comparisons import Axes, common_axes
from probes.states import Representation, layer_of


def model_axes(found: Sequence[Representation], items: Sequence[Sequence[str]]) -> dict[str, Axes]:
    """For each model and seed its states untrained and last, or those of its one checkpoint, on common axes.

    `items`: the examples that fit the axes, and those that are shown; of both, those that have states.
    """
    axes = {}
    for name, (first, last) in _pairs(found).items():
        whose = [last] if first is None or first.width != last.width else [first, last]
        known = set.intersection(*(set(who.ids) for who in whose))
        sides = [[item for item in side if item in known] for side in items]
        if all(len(side) > 1 for side in sides):
            axes[name] = common_axes(*([_wide(who.rows(side)) for who in whose] for side in sides))
    return axes


def _pairs(found: Sequence[Representation]) -> dict[str, tuple[Representation | None, Representation]]:
    """The untrained twin, of the same seed if there is one, beside the checkpoint that stands for each model."""
    models: dict[tuple[str, int | None], list[Representation]] = {}
    for who in _tops(found):
        models.setdefault((layer_of(who.model)[0], who.seed), []).append(who)
    pairs: dict[str, tuple[Representation | None, Representation]] = {}
    for (model, seed), whose in models.items():
        trained = [who for who in whose if who.checkpoint != "untrained"]
        if trained:
            last = next((who for who in trained if who.checkpoint == "last"), trained[0])
            others = [who for (name, _), them in models.items() if name == model for who in them]
            twins = sorted((w for w in others if w.checkpoint == "untrained"), key=lambda w: w.seed != seed)
            pairs[model if seed is None else f"{model}-{seed}"] = (next(iter(twins), None), last)
    return pairs


def _tops(found: Sequence[Representation]) -> list[Representation]:
    tops: dict[str, int] = {}
    for model, layer in (layer_of(who.model) for who in found):
        tops[model] = max(layer or 0, tops.get(model, 0))
    return [who for who in found if (layer_of(who.model)[1] or 0) == tops[layer_of(who.model)[0]]]


def _wide(states: np.ndarray) -> np.ndarray:
    """At least two columns, since there are two axes."""
    return states if states.shape[1] > 1 else np.hstack([states, np.zeros_like(states)])
