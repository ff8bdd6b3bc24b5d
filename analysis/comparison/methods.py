"""Every way of judging the models of one study as panels over architectures and seeds, people first."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from analysis.comparison.strengths import people_panels
from analysis.reading.panel import Panel, System
from analysis.reading.study import Study
from analysis.reading.values import Floats, Key, Value

TOKEN_METRICS = ("bleu2", "rouge_l", "meteor", "embedding")
KIND_ORDER = {"people": 0, "token": 1, "probe": 2}


def panels_of(study: Study, clusters: str = "auto") -> list[Panel]:
    """People, then token metrics, then probes on their main split; baselines stay in their own table."""
    found: list[Panel] = []
    votes = study.votes
    if votes is not None and study.pairs:
        found += people_panels(votes, study.pairs, clusters)
    unit = "dialogue" if study.scores is not None and "cluster" in study.scores.column_names else "item"
    found += [panel for panel in score_panels(study.by_seed, unit) if panel.kind in KIND_ORDER]
    return sorted(found, key=lambda p: (KIND_ORDER[p.kind], p.checkpoint != "last", p.checkpoint, p.name))


def score_panels(values: Mapping[Key, Mapping[int | None, Value]], unit: str = "dialogue") -> list[Panel]:
    """One panel for each evaluator, task, checkpoint, rater and condition, from what `by_seed` found."""
    groups = {key: found for key, found in values.items() if _first_answer(key)}
    raters: dict[tuple[str, str], set[str]] = {}
    scales: dict[Key, dict[System, Value]] = {}
    for key, found in groups.items():
        raters.setdefault((key.evaluator, key.task), set()).add(key.rater)
        scales.setdefault(key._replace(model=""), {}).update({System(key.model, s): v for s, v in found.items()})
    return [
        _panel(key, f"{key.task}, {key.rater}" if len(raters[key.evaluator, key.task]) > 1 else key.task, found, unit)
        for key, found in scales.items()
    ]


def _panel(key: Key, name: str, found: Mapping[System, Value], unit: str) -> Panel:
    systems = tuple(sorted(found, key=lambda system: (system.model, -1 if system.seed is None else system.seed)))
    labels = {label: k for k, label in enumerate(dict.fromkeys(c for s in systems for c in found[s].clusters))}
    parts = np.zeros((len(systems), len(labels)))
    for row, system in zip(parts, systems, strict=True):
        row[[labels[label] for label in found[system].clusters]] = found[system].parts
    scale = 1.0 if key.evaluator == "token" else 100.0  # token metrics come in points, shares do not
    items = scale**2 * _by_cluster(parts)
    values = scale * np.array([found[system].value for system in systems])
    return Panel(
        key.evaluator, name, key.checkpoint, systems, values, {"items": items, "both": items},
        {"items": len(labels)}, {s.model: found[s].examples for s in systems},
        values[:, None] + scale * len(labels) * parts, unit=unit,
    )  # fmt: skip


def _by_cluster(parts: Floats) -> Floats:
    """Covariance from what each cluster adds: (systems, clusters) to (systems, systems); NaN for one cluster."""
    groups = parts.shape[1]
    return parts @ parts.T * (groups / (groups - 1) if groups > 1 else math.nan)


def _first_answer(key: Key) -> bool:
    """Leave out second draws of a response, constant ones, and metrics that no one compares models by."""
    first = " draw " not in key.condition and key.condition != "constant"
    return key.evaluator != "token" or (key.task in TOKEN_METRICS and first)
