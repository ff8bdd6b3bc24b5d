"""The panel of one task: every model's value and its error by dialogue, and by rater where raters are drawn from many.

Each of such raters (the seeds of a discriminator) judges every model, so a value is the mean over them, and their
spread is a part of its error like that of the dialogues.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from analysis.votes.scores.panel import Panel, Scale, System
from analysis.votes.scores.values import Floats, Key, Value


def panel_of_scale(key: Key, more: str, found: Mapping[System, Mapping[str, Value]], scale: Scale, unit: str) -> Panel:
    """The panel of system -> rater -> value; `more` is added to the task's name."""
    systems = tuple(sorted(found, key=lambda system: (system.model, -1 if system.seed is None else system.seed)))
    every = [[found[system][name] for name in sorted(found[system])] for system in systems]
    labels = {label: k for k, label in enumerate(dict.fromkeys(c for row in every for v in row for c in v.clusters))}
    own = [scale.factor * np.array([value.value for value in row]) for row in every]
    each = [scale.factor * np.stack([_on_all(value, labels) for value in row]) for row in every]
    values, parts = np.array([row.mean() for row in own]), np.stack([row.mean(0) for row in each])
    covariance, clusters, by_rater = {"items": _by_cluster(parts)}, {"items": len(labels)}, None
    raters = {tuple(sorted(names)) for names in found.values()}
    if len(raters) == 1 and len(own[0]) > 1:  # else some model lacks a rater, and their spread is not known
        apart = np.stack([(row - row.mean()) / len(row) for row in own])
        covariance["raters"], clusters["raters"] = _by_cluster(apart), len(own[0])
        by_rater = np.stack([row[:, None] + len(labels) * part for row, part in zip(own, each, strict=True)], 1)
        unit += "+rater"
    covariance["both"] = sum(covariance.values(), np.zeros_like(covariance["items"]))
    return Panel(
        key.evaluator, key.task + more, key.checkpoint, systems, values, covariance, clusters,
        {system.model: row[0].examples for system, row in zip(systems, every, strict=True)},
        values[:, None] + len(labels) * parts, unit=unit, scale=replace(scale, title=scale.title + more),
        by_rater=by_rater,
    )  # fmt: skip


def _on_all(value: Value, labels: Mapping[str, int]) -> Floats:
    """What each of all dialogues adds to a value's error."""
    row = np.zeros(len(labels))
    row[[labels[label] for label in value.clusters]] = value.parts
    return row


def _by_cluster(parts: Floats) -> Floats:
    """Covariance from what each cluster adds: (systems, clusters) to (systems, systems); NaN for one cluster."""
    groups = parts.shape[1]
    return parts @ parts.T * (groups / (groups - 1) if groups > 1 else math.nan)
