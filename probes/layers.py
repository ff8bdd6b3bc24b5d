"""Representations that are layers of one model: its scores over them, and its top layer alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seedvote.probes.controls import CONTROL_TASK, TRUE
from seedvote.probes.states import layer_of
from seedvote.probes.summary import TaskScore


def top_layers(scores: Iterable[TaskScore]) -> list[TaskScore]:
    """The highest probed layer of every model alone, under the model's name; models without layers as they are."""
    rows = [(score, *layer_of(score.model)) for score in scores]
    tops: dict[str, int] = {}
    for _, model, layer in rows:
        if layer is not None:
            tops[model] = max(layer, tops.get(model, 0))
    return [score for score, model, layer in rows if layer is None or layer == tops[model]]


@dataclass(frozen=True, slots=True)
class LayerCurve:
    """One model on one task over its layers; `values` in points (seeds x layers), and what it is: see `curves`."""

    task: str
    model: str
    kind: str
    layers: np.ndarray
    values: np.ndarray


def layer_curves(scores: Iterable[TaskScore]) -> list[LayerCurve]:
    """For each task and model its scores as `trained`, `untrained` and on the `control` task, over seeds and layers.

    `trained` is the one checkpoint that stands for the model: last, or else the first by name. A model without layers
    has one place.
    """
    by_curve: dict[tuple[str, str, str], dict[int, dict[object, list[float]]]] = {}
    every = [score for score in scores if score.evaluator in ("probe", "control")]
    chosen = _choose_checkpoints(every)
    for score in every:
        model, layer = layer_of(score.model)
        kind = _kind_of_curve(score, chosen[model])
        if kind:
            of_layer = by_curve.setdefault((score.task, model, kind), defaultdict(lambda: defaultdict(list)))
            of_layer[-1 if layer is None else layer][score.seed].append(score.f1)
    return [_make_curve(*key, by_layer) for key, by_layer in by_curve.items()]


def _choose_checkpoints(scores: Sequence[TaskScore]) -> dict[str, str]:
    """The checkpoint of each model that stands for it trained."""
    checkpoints: dict[str, set[str]] = defaultdict(set)
    for score in scores:
        checkpoints[layer_of(score.model)[0]].add(score.checkpoint)
    return {
        model: "last" if "last" in names else min(names - {"untrained"}, default="")
        for model, names in checkpoints.items()
    }


def _kind_of_curve(score: TaskScore, chosen: str) -> str:
    if score.checkpoint == "untrained":
        return "untrained" if score.labels == TRUE else ""
    if score.checkpoint != chosen:
        return ""
    return {TRUE: "trained", CONTROL_TASK: "control"}.get(score.labels, "")


def _make_curve(
    task: str, model: str, kind: str, by_layer: Mapping[int, Mapping[object, Sequence[float]]]
) -> LayerCurve:
    layers = sorted(by_layer)
    seeds = sorted(set.intersection(*(set(by_layer[layer]) for layer in layers)), key=str)
    values = [[float(np.mean(by_layer[layer][seed])) for layer in layers] for seed in seeds]
    return LayerCurve(task, model, kind, np.array(layers), np.array(values).reshape(len(seeds), len(layers)))
