"""Whose states are drawn together: a model untrained and trained, its top layer where it has several."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from seedvote.probes.comparisons import Axes, common_axes, epoch_of
from seedvote.probes.states import Representation, layer_of


def model_axes(representations: Sequence[Representation], items: Sequence[Sequence[str]]) -> dict[str, Axes]:
    """For each model and seed its states untrained and last, or those of its one checkpoint, on common axes.

    `items`: the examples that fit the axes, and those that are shown; of both, those that have states.
    """
    axes = {}
    for name, (first, last) in _pair_with_untrained(representations).items():
        whose = [last] if first is None or first.width != last.width else [first, last]
        known = set.intersection(*(set(who.ids) for who in whose))
        sides = [[item for item in side if item in known] for side in items]
        if all(len(side) > 1 for side in sides):
            axes[name] = common_axes(*([_widen(who.rows(side)) for who in whose] for side in sides))
    return axes


@dataclass(frozen=True, slots=True)
class CloudSpread:
    """One checkpoint's states around their own mean: the SD along its own two leading axes, and what these hold.

    `share` of its variance lies on the two axes. `shift` is how far its mean is from that of the untrained twin, as a
    share of the variance of both together (NaN without a twin): no part of the axes.
    """

    model: str
    checkpoint: str
    first: float
    second: float
    share: float
    shift: float


def cloud_spreads(representations: Sequence[Representation], items: Sequence[Sequence[str]]) -> Iterator[CloudSpread]:
    """Every model and seed untrained, after each epoch, and at last; the axes are fitted on the first side alone."""
    models: dict[tuple[str, int | None], list[Representation]] = {}
    for who in _keep_top_layers(representations):
        if who.checkpoint == "last" or epoch_of(who.checkpoint) is not None:
            models.setdefault((layer_of(who.model)[0], who.seed), []).append(who)
    for (model, seed), whose in sorted(models.items(), key=str):
        name = model if seed is None else f"{model}-{seed}"
        raw = next((_split_states(who, items) for who in whose if who.checkpoint == "untrained"), None)
        for who in sorted(whose, key=_in_order):
            fit, plotted = _split_states(who, items)
            if min(len(fit), len(plotted)) < 2:
                continue
            own = common_axes([fit], [plotted])
            like = raw is not None and raw[0].shape == fit.shape and who.checkpoint != "untrained"
            shift = common_axes([raw[0], fit], [raw[1], plotted]).shift if raw is not None and like else math.nan
            first, second = own.clouds[0].std(0)
            yield CloudSpread(name, who.checkpoint, float(first), float(second), own.share, shift)


def _in_order(who: Representation) -> float:
    epoch = epoch_of(who.checkpoint)
    return math.inf if epoch is None else epoch


def _split_states(who: Representation, items: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
    known = set(who.ids)
    fit, plotted = (_widen(who.rows([item for item in side if item in known])) for side in items)
    return fit, plotted


def _pair_with_untrained(
    representations: Sequence[Representation],
) -> dict[str, tuple[Representation | None, Representation]]:
    """For each model its untrained twin, of the same seed if there is one, and the checkpoint that stands for it."""
    models: dict[tuple[str, int | None], list[Representation]] = {}
    for who in _keep_top_layers(representations):
        models.setdefault((layer_of(who.model)[0], who.seed), []).append(who)
    pairs: dict[str, tuple[Representation | None, Representation]] = {}
    for (model, seed), whose in models.items():
        trained = [who for who in whose if who.checkpoint != "untrained"]
        if trained:
            last = next((who for who in trained if who.checkpoint == "last"), trained[0])
            siblings = [who for (name, _), them in models.items() if name == model for who in them]
            twins = sorted((w for w in siblings if w.checkpoint == "untrained"), key=lambda w: w.seed != seed)
            pairs[model if seed is None else f"{model}-{seed}"] = (next(iter(twins), None), last)
    return pairs


def _keep_top_layers(representations: Sequence[Representation]) -> list[Representation]:
    tops: dict[str, int] = {}
    for model, layer in (layer_of(who.model) for who in representations):
        tops[model] = max(layer or 0, tops.get(model, 0))
    return [who for who in representations if (layer_of(who.model)[1] or 0) == tops[layer_of(who.model)[0]]]


def _widen(states: np.ndarray) -> np.ndarray:
    """At least two columns, since there are two axes."""
    return states if states.shape[1] > 1 else np.hstack([states, np.zeros_like(states)])
