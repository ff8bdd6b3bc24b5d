"""People, token metrics and probes on the same axes: how far each moves with the seed, and with the items.

Every method gives one value a trained model. For scores that is the mean, or micro-F1 from summable counts; for votes
it is the seed's strength: the least-squares solution of s_i - s_j = mean(a chosen) - mean(b chosen) over the pairs that
compare seeds i and j, with the strengths of one architecture summing to zero. All are shown in points (x 100).

`sd` moves with the training seed (`analysis.spread`); `item_se` is the standard error from having drawn these dialogues
and no others, cluster-robust by dialogue (linearised ratio; Liang and Zeger 1986), so noise is not taken for seeds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from analysis.spread import Spread, spread
from dialogue.records import Pair

Floats = npt.NDArray[np.float64]
TOKEN_METRICS = ("bleu2", "rouge_l", "meteor", "embedding")


class Key(NamedTuple):
    """What a group of scores has in common, but for the seed."""

    evaluator: str
    task: str
    model: str
    checkpoint: str
    rater: str
    condition: str


@dataclass(frozen=True, slots=True)
class Method:
    """One way of judging one architecture at one checkpoint, over its seeds; values and errors in points."""

    kind: str
    name: str
    model: str
    checkpoint: str
    seeds: tuple[int, ...]
    values: tuple[float, ...]
    item_se: tuple[float, ...]
    items: int

    @property
    def over_seeds(self) -> Spread:
        """The SD over seeds with its interval."""
        return spread(self.values)

    @property
    def noise(self) -> float:
        """Root mean square of the item errors: the SD over seeds that identical models would show."""
        return math.sqrt(float(np.mean(np.square(self.item_se))))


def by_seed(table: pa.Table) -> dict[Key, dict[int | None, tuple[float, float, int]]]:
    """Key without the seed -> seed -> (value, standard error of the items, examples), in parts of one."""
    keys, code = _grouped(table)
    order = np.argsort(code, kind="stable")
    bounds = np.searchsorted(code[order], np.arange(len(keys) + 1))
    top, bottom, cluster = _parts(table)
    found: dict[Key, dict[int | None, tuple[float, float, int]]] = {}
    for number, (key, seed) in enumerate(keys):
        rows = order[bounds[number] : bounds[number + 1]]
        value, error = ratio_with_error(top[rows], bottom[rows], cluster[rows])
        found.setdefault(key, {})[seed] = (value, error, len(rows))
    return found


def from_scores(table: pa.Table) -> list[Method]:
    """One method for each evaluator, task, model, checkpoint, rater and condition that has two seeds or more."""
    groups = {key: found for key, found in by_seed(table).items() if _first_answer(key)}
    raters: dict[tuple[str, str], set[str]] = {}
    for key in groups:
        raters.setdefault((key.evaluator, key.task), set()).add(key.rater)
    methods = []
    for key, found in groups.items():
        seeds = tuple(sorted(seed for seed in found if seed is not None))
        if len(seeds) > 1:
            values, errors, items = zip(*(found[seed] for seed in seeds), strict=True)
            name = f"{key.task}, {key.rater}" if len(raters[key.evaluator, key.task]) > 1 else key.task
            place = key.model, key.checkpoint, seeds
            scale = 1 if key.evaluator == "token" else 100  # token metrics come in points, shares do not
            points = _points(values, scale), _points(errors, scale)
            methods.append(Method(key.evaluator, name, *place, *points, max(items)))
    return methods


def _grouped(table: pa.Table) -> tuple[list[tuple[Key, int | None]], npt.NDArray[np.int64]]:
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
    """Leave out second draws of a response, and what a person would not compare models by."""
    return key.evaluator != "token" or (key.task in TOKEN_METRICS and " draw " not in key.condition)


def _points(values: Sequence[float], scale: float) -> tuple[float, ...]:
    return tuple(scale * value for value in values)


def _parts(table: pa.Table) -> tuple[Floats, Floats, npt.NDArray[np.int64]]:
    """Numerator, denominator and cluster code of each row: 2tp and 2tp+fp+fn where counted, else score and 1."""
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
    return top, bottom, np.asarray(labels.indices, dtype=np.int64)


def ratio_with_error(top: Floats, bottom: Floats, cluster: npt.NDArray[np.int64]) -> tuple[float, float]:
    """sum(top) / sum(bottom) and its cluster-robust standard error; NaN error for a single cluster."""
    total = float(bottom.sum())
    if total == 0:
        return 1.0, math.nan
    value = float(top.sum()) / total
    _, codes = np.unique(cluster, return_inverse=True)
    residual = np.bincount(codes, top - value * bottom)
    groups = len(residual)
    if groups < 2:
        return value, math.nan
    return value, math.sqrt(groups / (groups - 1) * float(np.sum(residual**2))) / total


def from_votes(pair: Sequence[str], net: Floats, pairs: Sequence[Pair]) -> list[Method]:
    """One method for each architecture whose seeds were compared; `net` is +1 (a), -1 (b), 0 (tie), one a vote."""
    known = {p.pair: p for p in pairs if p.kind == "real" and p.a.model == p.b.model}
    methods = []
    for model in sorted({p.a.model for p in known.values()}):
        votes = [(known[name], value) for name, value in zip(pair, net, strict=True) if name in known]
        chosen = [(p, v) for p, v in votes if p.a.model == model and p.a.seed is not None and p.b.seed is not None]
        if chosen and len(seeds := _seeds(chosen)) > 1:
            methods.append(_strengths(model, seeds, chosen))
    return methods


def _seeds(chosen: Sequence[tuple[Pair, float]]) -> list[int]:
    return sorted({seed for p, _ in chosen for seed in (p.a.seed, p.b.seed) if seed is not None})


def _strengths(model: str, seeds: list[int], chosen: Sequence[tuple[Pair, float]]) -> Method:
    position: dict[int | None, int] = {seed: column for column, seed in enumerate(seeds)}
    design = np.zeros((len(chosen), len(seeds)))
    for row, (p, _) in enumerate(chosen):
        design[row, position[p.a.seed]] += 1
        design[row, position[p.b.seed]] -= 1
    net = np.array([value for _, value in chosen])
    inverse = np.linalg.pinv(design.T @ design)
    strength = inverse @ design.T @ net
    _, cluster = np.unique([p.dialogue or p.item for p, _ in chosen], return_inverse=True)
    scores = np.zeros((cluster.max() + 1, len(seeds)))
    np.add.at(scores, cluster, design * (net - design @ strength)[:, None])
    groups = len(scores)
    covariance = groups / max(groups - 1, 1) * inverse @ scores.T @ scores @ inverse
    errors = np.sqrt(np.diag(covariance)) if groups > 1 else np.full(len(seeds), math.nan)
    items = len({p.pair for p, _ in chosen})
    points = _points(strength.tolist(), 100), _points(errors.tolist(), 100)
    return Method("people", "net preference", model, chosen[0][0].a.checkpoint, tuple(seeds), *points, items)
