"""Two models of a score table compared by the multi-bootstrap, on cubes of summable counts (seeds, items, counts).

There is a cube for each evaluator, task, checkpoint and model; two models are compared on the items that both have.
Tables are read batch by batch and only the two models' rows are kept, as codes. A score that is not there (NaN) is
counted with its reason, and its item is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from seedvote.analysis.stats.multibootstrap import COUNTED, Cube, bootstrap_difference, one_system
from seedvote.analysis.votes.scores.files import Unused, open_scores
from seedvote.analysis.votes.scores.values import (
    KEYS,
    UNSAID,
    Floats,
    Ints,
    cluster_codes,
    counts_in,
    grouped,
    numbers_in,
    texts_of,
)
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.seeds import child_seed

DRAWN_SETS = 5000  # of the multi-bootstrap
NEEDED_HERE = ("model", "seed", "item", "score")


@dataclass(slots=True)
class Cubes:
    """What two models (or all) are compared on, and what is not there."""

    scales: dict[str, dict[str, Cube]]  # name of the scale (`token bleu2 last test`) -> model -> cube
    models: frozenset[str]  # all names in the tables
    missing: tuple[str, ...]  # sentences on scores that are not there


@dataclass(slots=True)
class _Rows:
    """The rows of one model on one scale, in batches: codes of seeds, items and clusters, and the counts."""

    seeds: list[Ints] = field(default_factory=list)
    items: list[Ints] = field(default_factory=list)
    clusters: list[Ints] = field(default_factory=list)
    counts: list[dict[str, Floats]] = field(default_factory=list)
    lost: dict[int, list[Ints]] = field(default_factory=dict)  # seed -> items without a score
    reasons: Counter[str] = field(default_factory=Counter)
    seedless: int = 0

    @property
    def gaps(self) -> Ints:
        """Items without a score under a seed that has others."""
        scored = {int(batch[0]) for batch in self.seeds}
        return np.unique(
            np.concatenate(
                [
                    np.zeros(0, np.int64),
                    *chain.from_iterable(items for seed, items in self.lost.items() if seed in scored),
                ]
            )
        )


def read_cubes(sources: Sequence[Any], models: Sequence[str] = (), metric: str = "micro_f1") -> Cubes:
    """Cubes for a metric of these models, of all where none is named, on the items that all seeds of a model have."""
    counts = [f"stats.{name}" for name in COUNTED[metric]]
    rows: dict[tuple[str, str], _Rows] = {}
    items, clusters, known_models = dict[str, int](), dict[str, int](), set[str]()
    for file in open_scores(sources, NEEDED_HERE):
        for batch in file.batches([*KEYS, "item", "cluster", "score", "reason", *counts]):
            known_models |= set(filter(None, pc.unique(batch.column("model")).to_pylist()))
            _sort_rows(_of_models(batch, models), rows, items, clusters)
    names, scales, sentences = list(items), dict[str, dict[str, Cube]](), list[str]()
    for scale, model in sorted(rows):
        model_rows = rows[scale, model]
        sentences += _describe_gaps(f"{scale} of {model}", model_rows)
        if (cube := _make_cube(model, model_rows, names)) is None:
            why = "no item was scored under all of its seeds" if model_rows.seeds else "it has no score under any seed"
            sentences.append(str(Unused(f"{scale} of {model}", why)))
        else:
            scales.setdefault(scale, {})[model] = cube
    return Cubes(scales, frozenset(known_models), tuple(sentences))


def _of_models(batch: pa.RecordBatch, models: Sequence[str]) -> pa.RecordBatch:
    if not models:
        return batch
    return batch.filter(pc.is_in(batch.column("model").cast(pa.string()), value_set=pa.array(models, pa.string())))


def _sort_rows(
    batch: pa.RecordBatch, rows: dict[tuple[str, str], _Rows], items: dict[str, int], clusters: dict[str, int]
) -> None:
    """Put every row of a batch where it belongs, scores that are not there apart."""
    groups, code = grouped(batch)
    item, cluster = cluster_codes(batch.select(["item"]), items), cluster_codes(batch, clusters)
    score = numbers_in(batch)
    counts = {"n": np.ones(len(batch)), "score": score, **counts_in(batch)}
    for k, (key, seed) in enumerate(groups):
        scale = " ".join(filter(None, (key.evaluator, key.task, key.checkpoint, key.condition))) or "scores"
        into = rows.setdefault((scale, key.model), _Rows())
        at = np.flatnonzero(code == k)
        if seed is None:
            into.seedless += len(at)
            continue
        is_scored = np.isfinite(score[at])
        if (gaps := at[~is_scored]).size:
            into.reasons.update(text or UNSAID for text in texts_of(batch, "reason", gaps))
            into.lost.setdefault(seed, []).append(item[gaps])
        if (at := at[is_scored]).size:
            into.seeds.append(np.full(len(at), seed))
            into.items.append(item[at])
            into.clusters.append(cluster[at])
            into.counts.append({name: column[at] for name, column in counts.items()})


def _describe_gaps(what: str, rows: _Rows) -> Iterator[str]:
    """What of a model's scores is not used, and why."""
    if rows.reasons:
        number, gaps = sum(rows.reasons.values()), len(rows.gaps)
        why = ", ".join(f"{reason} {n:,}" for reason, n in rows.reasons.most_common(5))
        were = "score is missing" if number == 1 else "scores are missing"
        enter = "enters" if number == 1 else "enter"
        items = "1 item is" if gaps == 1 else f"{gaps:,} items are"
        yield f"{what}: {number:,} {were} ({why}) and {enter} no mean; {items} left out for both models."
    scored = {int(batch[0]) for batch in rows.seeds}
    for seed in sorted(set(rows.lost) - scored):
        yield str(Unused(f"{what} seed {seed}", "none of its scores could be made"))
    if rows.seedless:
        yield str(Unused(what, f"{rows.seedless:,} of its rows name no seed"))


def _make_cube(model: str, rows: _Rows, names: Sequence[str]) -> Cube | None:
    """Arrange the rows; several raters (classifiers) of one seed and item are summed. None where no item is whole."""
    if not rows.seeds:
        return None
    seeds, place = np.unique(np.concatenate(rows.seeds), return_inverse=True)
    items, item = np.unique(np.concatenate(rows.items), return_inverse=True)
    shared = [name for name in rows.counts[0] if all(name in part for part in rows.counts)]
    counts = {name: np.concatenate([part[name] for part in rows.counts]) for name in shared}
    counts = {name: column for name, column in counts.items() if np.isfinite(column).all()}
    cube = np.zeros((len(seeds), len(items), len(counts)))
    for k, column in enumerate(counts.values()):
        cells = np.bincount(place * len(items) + item, column, len(seeds) * len(items))
        cube[:, :, k] = cells.reshape(len(seeds), len(items))
    complete = np.flatnonzero((cube[:, :, 0] > 0).all(0) & ~np.isin(items, rows.gaps))
    if not len(complete):
        return None
    cluster = np.zeros(len(items), dtype=np.int64)
    cluster[item] = np.concatenate(rows.clusters)
    order = sorted(map(int, complete), key=lambda k: names[int(items[k])])
    item_names = tuple(names[int(items[k])] for k in order)
    return Cube(model, tuple(int(s) for s in seeds), item_names, tuple(counts), cube[:, order], cluster[order])


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
) -> tuple[tuple[ComparedModels, ...], tuple[str, ...]]:
    """Both models and their difference, seeds and items resampled at once, on every scale that has both.

    Then what was not compared, and the scores that are not there, in sentences.
    """
    cubes = read_cubes(sources, models, metric)
    if not cubes.models:
        raise InputError("--compare needs scores with counts, and the study has none: it compares models by a metric.")
    compared, omissions = list[ComparedModels](), list(cubes.missing)
    for scale, by_model in cubes.scales.items():
        if not set(only.split()) <= set(scale.split()):
            continue
        if absent := [model for model in models if model not in by_model]:
            omissions.append(str(Unused(scale, f"{absent[0]} has no whole item there")))
            continue
        try:
            compared += _compare_on_scale(scale, by_model, models, metric, paired=paired, seed=seed)
        except InputError as error:
            omissions.append(str(Unused(f"{scale} by {metric}", str(error).rstrip("."))))
    if not compared:
        _refuse_comparison(models, cubes.models, omissions)
    return tuple(compared), tuple(f"--compare: {line}" for line in omissions)


def _refuse_comparison(models: tuple[str, str], known: Collection[str], omissions: Sequence[str]) -> None:
    """Say why nothing is compared: a model that no table has, else what was found out scale by scale."""
    if set(models) <= set(known) and omissions:
        raise InputError(f"--compare {','.join(models)} finds nothing to compare. {'; '.join(omissions[:3])}.")
    raise InputError(
        f"No scale has both {models[0]!r} and {models[1]!r} (found: {', '.join(sorted(known))}); "
        "write --compare MODEL,MODEL."
    )


def _compare_on_scale(
    scale: str, cubes: Mapping[str, Cube], models: tuple[str, str], metric: str, *, paired: bool, seed: int
) -> list[ComparedModels]:
    generator = np.random.default_rng(child_seed(seed, "multibootstrap", scale))
    pair = on_common_items(cubes[models[0]], cubes[models[1]])
    contrast = bootstrap_difference(*pair, metric, paired=paired, sets=DRAWN_SETS, generator=generator)
    systems = [one_system(cube, metric, sets=DRAWN_SETS, generator=generator) for cube in pair]
    seeds = len(pair[0].seeds), len(pair[1].seeds)
    return [
        ComparedModels(scale, what, metric, value.value, value.se, value.low, value.high, p, seeds, len(pair[0].items))
        for what, value, p in zip((*models, "difference"), (*systems, contrast), (None, None, contrast.p), strict=True)
    ]


def on_common_items(first: Cube, second: Cube) -> tuple[Cube, Cube]:
    """Both cubes on the items that both have."""
    common = sorted(set(first.items) & set(second.items))
    if not common:
        raise InputError(f"{first.model} and {second.model} have no item in common.")
    return _restrict_items(first, common), _restrict_items(second, common)


def _restrict_items(cube: Cube, items: Sequence[str]) -> Cube:
    place = {name: k for k, name in enumerate(cube.items)}
    columns = np.array([place[name] for name in items])
    return replace(cube, items=tuple(items), counts=cube.counts[:, columns], cluster=cube.cluster[columns])
