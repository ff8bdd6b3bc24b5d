"""Two models of a score table compared by the multi-bootstrap, on cubes of summable counts (seeds, items, counts).

There is a cube for each evaluator, task, checkpoint and model; two models are compared on the items that both have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from analysis.reading.columns import codes_of
from analysis.reading.scores import read_scores
from analysis.stats.multibootstrap import Cube, difference, one_system
from dialogue.errors import InputError
from dialogue.seeds import child_seed

DRAWN_SETS = 5000  # of the multi-bootstrap
NAMED = ("evaluator", "task", "checkpoint", "condition")


def read_cubes(sources: Sequence[Any]) -> dict[str, dict[str, Cube]]:
    """Name of the scale (`token bleu2 last test`) -> model -> cube, on the items that all its seeds have."""
    table = read_scores(sources, needed=("model", "seed", "item", "score"))
    # A score that could not be made (NaN, or none) is no number: its item is left out, as if it were not there.
    table = table.filter(pc.and_(pc.is_valid(table["seed"]), pc.is_finite(table["score"])))
    texts = [table[name].cast(pa.string()).fill_null("").to_pylist() for name in NAMED]
    scale = np.array([" ".join(filter(None, parts)) or "scores" for parts in zip(*texts, strict=True)], dtype=object)
    model = np.array(table["model"].to_pylist(), dtype=object)
    counts = _counts(table)
    return {
        name: {
            who: _cube(who, table.filter(pa.array(rows)), {key: column[rows] for key, column in counts.items()})
            for who in sorted(set(model[scale == name]))
            for rows in [(scale == name) & (model == who)]
        }
        for name in sorted(set(scale))
    }


@dataclass(frozen=True, slots=True)
class ComparedModels:
    """One line of a comparison on one scale: either model alone, or their `difference` (which alone has a p)."""

    name: str
    what: str
    metric: str
    value: float
    se: float
    low: float
    high: float
    p: float | None
    seeds: tuple[int, int]  # of the first and the second model
    items: int


def compared_models(
    sources: Sequence[Any], models: tuple[str, str], metric: str = "mean", only: str = "", *, paired: bool, seed: int
) -> tuple[ComparedModels, ...]:
    """Both models and their difference, seeds and items resampled at once, on every scale that has both."""
    if not sources:
        raise InputError("--compare needs scores with counts, and the study has none: it compares models by a metric.")
    scales = read_cubes(sources)
    found = [
        line
        for scale, cubes in scales.items()
        if set(models) <= set(cubes) and set(only.split()) <= set(scale.split())
        for line in _on_one_scale(scale, cubes, models, metric, paired=paired, seed=seed)
    ]
    if not found:
        known = ", ".join(sorted({model for cubes in scales.values() for model in cubes}))
        first, second = models
        raise InputError(f"No scale has both {first!r} and {second!r} (found: {known}); write --compare MODEL,MODEL.")
    return tuple(found)


def _on_one_scale(
    scale: str, cubes: Mapping[str, Cube], models: tuple[str, str], metric: str, *, paired: bool, seed: int
) -> list[ComparedModels]:
    generator = np.random.default_rng(child_seed(seed, "multibootstrap", scale))
    pair = on_common_items(cubes[models[0]], cubes[models[1]])
    apart = difference(*pair, metric, paired=paired, sets=DRAWN_SETS, generator=generator)
    alone = [one_system(cube, metric, sets=DRAWN_SETS, generator=generator) for cube in pair]
    seeds = len(pair[0].seeds), len(pair[1].seeds)
    return [
        ComparedModels(scale, what, metric, found.value, found.se, found.low, found.high, p, seeds, len(pair[0].items))
        for what, found, p in zip((*models, "difference"), (*alone, apart), (None, None, apart.p), strict=True)
    ]


def on_common_items(one: Cube, other: Cube) -> tuple[Cube, Cube]:
    """Both cubes on the items that both have."""
    common = sorted(set(one.items) & set(other.items))
    if not common:
        raise InputError(f"{one.model} and {other.model} have no item in common.")
    return _restricted(one, common), _restricted(other, common)


def _restricted(cube: Cube, items: Sequence[str]) -> Cube:
    place = {name: k for k, name in enumerate(cube.items)}
    kept = np.array([place[name] for name in items])
    return replace(cube, items=tuple(items), counts=cube.counts[:, kept], cluster=cube.cluster[kept])


def _counts(table: pa.Table) -> Mapping[str, np.ndarray]:
    """`n`, `score` and the fields of `stats`, each (rows,)."""
    counts = {"n": np.ones(len(table)), "score": np.asarray(table["score"], dtype=np.float64)}
    if "stats" in table.column_names:
        stats = table["stats"].combine_chunks()
        fields = [field.name for field in stats.type] if pa.types.is_struct(stats.type) else []
        counts |= {name: np.asarray(pc.fill_null(pc.struct_field(stats, name), 0.0), np.float64) for name in fields}
    return counts


def _cube(model: str, table: pa.Table, counts: Mapping[str, np.ndarray]) -> Cube:
    """Arrange the rows; several raters (classifiers) of one seed and item are summed."""
    item, items = codes_of(table["item"])
    seed = np.asarray(table["seed"], dtype=np.int64)
    seeds, place = np.unique(seed, return_inverse=True)
    cube = np.zeros((len(seeds), len(items), len(counts)))
    for k, column in enumerate(counts.values()):
        np.add.at(cube[:, :, k], (place, item), column)
    kept = (cube[:, :, 0] > 0).all(0)
    if not kept.any():
        raise InputError(f"{model}: no item was scored under all of its seeds.")
    item_names = table["item"].combine_chunks()
    # An item without a dialogue is a cluster of its own.
    named = "cluster" in table.column_names
    cluster, _ = codes_of(pc.coalesce(table["cluster"].combine_chunks(), item_names) if named else item_names)
    of_item = np.zeros(len(items), dtype=np.int64)
    of_item[item] = cluster
    order = np.array(sorted(np.flatnonzero(kept), key=lambda k: items[k]))
    return Cube(
        model,
        tuple(int(s) for s in seeds),
        tuple(items[k] for k in order),
        tuple(counts),
        cube[:, order],
        of_item[order],
    )
