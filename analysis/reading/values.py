"""Score tables as panels: token metrics and probes over architectures and seeds.

A value is the mean of the scores, or micro-F1 from summable counts. Its error is cluster-robust by dialogue (linearised
ratio; Liang and Zeger 1986), so that noise of the items is not taken for seeds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.reading.panel import Panel, System

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
TOKEN_METRICS = ("bleu2", "rouge_l", "meteor", "embedding")


class Key(NamedTuple):
    """What a group of scores has in common, but for the seed."""

    evaluator: str
    task: str
    model: str
    checkpoint: str
    rater: str
    condition: str


class Value(NamedTuple):
    """One model's value and what each dialogue adds to its error, both in parts of one."""

    value: float
    examples: int
    clusters: tuple[str, ...]
    parts: Floats  # (clusters,), sum zero

    @property
    def error(self) -> float:
        """Standard error by dialogue; NaN for a single one."""
        groups = len(self.parts)
        return math.sqrt(groups / (groups - 1) * float(self.parts @ self.parts)) if groups > 1 else math.nan


def by_seed(table: pa.Table) -> dict[Key, dict[int | None, Value]]:
    """Key without the seed -> seed -> value with its error by dialogue."""
    keys, code = _grouped(table)
    order = np.argsort(code, kind="stable")
    bounds = np.searchsorted(code[order], np.arange(len(keys) + 1))
    top, bottom, cluster, names = _parts(table)
    found: dict[Key, dict[int | None, Value]] = {}
    for number, (key, seed) in enumerate(keys):
        rows = order[bounds[number] : bounds[number + 1]]
        found.setdefault(key, {})[seed] = ratio(top[rows], bottom[rows], cluster[rows], names)
    return found


def from_scores(table: pa.Table) -> list[Panel]:
    """One panel for each evaluator, task, checkpoint, rater and condition."""
    return from_values(by_seed(table))


def from_values(values: Mapping[Key, Mapping[int | None, Value]]) -> list[Panel]:
    """The same from what `by_seed` found."""
    groups = {key: found for key, found in values.items() if _first_answer(key)}
    raters: dict[tuple[str, str], set[str]] = {}
    scales: dict[Key, dict[System, Value]] = {}
    for key, found in groups.items():
        raters.setdefault((key.evaluator, key.task), set()).add(key.rater)
        scales.setdefault(key._replace(model=""), {}).update({System(key.model, s): v for s, v in found.items()})
    return [
        _panel(key, f"{key.task}, {key.rater}" if len(raters[key.evaluator, key.task]) > 1 else key.task, found)
        for key, found in scales.items()
    ]


def _panel(key: Key, name: str, found: Mapping[System, Value]) -> Panel:
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
        values[:, None] + scale * len(labels) * parts,
    )  # fmt: skip


def _by_cluster(parts: Floats) -> Floats:
    """Covariance from what each cluster adds: (systems, clusters) to (systems, systems); NaN for one cluster."""
    groups = parts.shape[1]
    return parts @ parts.T * (groups / (groups - 1) if groups > 1 else math.nan)


def _grouped(table: pa.Table) -> tuple[list[tuple[Key, int | None]], Ints]:
    """The distinct keys with their seed and, for each row, which of them it has."""
    code = np.zeros(len(table), dtype=np.int64)
    for name in (*Key._fields, "seed"):
        column = table.column(name).combine_chunks().dictionary_encode("encode")
        code = code * len(column.dictionary) + np.asarray(column.indices, dtype=np.int64)
        code = np.unique(code, return_inverse=True)[1]
    _, first = np.unique(code, return_index=True)
    parts = table.select([*Key._fields, "seed"]).take(pa.array(first)).to_pylist()
    return [(Key(*(part[name] for name in Key._fields)), part["seed"]) for part in parts], code


def _first_answer(key: Key) -> bool:
    """Leave out second draws of a response, constant ones, and what a person would not compare models by."""
    first = " draw " not in key.condition and key.condition != "constant"
    return key.evaluator != "token" or (key.task in TOKEN_METRICS and first)


def _parts(table: pa.Table) -> tuple[Floats, Floats, Ints, list[str]]:
    """Numerator, denominator and cluster code of each row (2tp and 2tp+fp+fn where counted, else score and 1)."""
    top = np.asarray(table.column("score"), dtype=float).copy()
    bottom = np.ones(len(table))
    if "stats" in table.column_names:
        stats = table.column("stats").combine_chunks()
        if pa.types.is_struct(stats.type) and {"tp", "fp", "fn"} <= {field.name for field in stats.type}:
            tp, fp, fn = (np.asarray(stats.field(n).fill_null(np.nan), dtype=float) for n in ("tp", "fp", "fn"))
            counted = np.isfinite(tp)
            top[counted], bottom[counted] = 2 * tp[counted], (2 * tp + fp + fn)[counted]
    name = "cluster" if "cluster" in table.column_names else "item"
    labels = table.column(name).fill_null("").combine_chunks().dictionary_encode()
    return top, bottom, np.asarray(labels.indices, dtype=np.int64), labels.dictionary.to_pylist()


def ratio(top: Floats, bottom: Floats, cluster: Ints, names: Sequence[str]) -> Value:
    """sum(top) / sum(bottom) and what each cluster adds to its error (the linearised ratio)."""
    total, codes = float(bottom.sum()), np.unique(cluster)
    labels = tuple(names[code] for code in codes)
    if total == 0:
        return Value(1.0, len(top), labels, np.full(len(codes), math.nan))
    value = float(top.sum()) / total
    residual = np.bincount(np.searchsorted(codes, cluster), top - value * bottom)
    return Value(value, len(top), labels, residual / total)
