"""Score tables as values: what each evaluator gives each model and seed, with its error by dialogue.

A value is the mean of the scores, or micro-F1 from summable counts. Its error is cluster-robust by dialogue (linearised
ratio; Liang and Zeger 1986), so that noise of the items is not taken for seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


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
