"""Scores of anybody's own evaluator in any table: one score a row, or a column for each metric.

The table goes through the reader of all tables; what is a name and what a metric is told here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.votes.columns import MISSING, Columns, columns_of_table, parquet_names, read_columns
from dialogue.cards import COUNTS, Card
from dialogue.errors import InputError
from dialogue.files import read_records
from dialogue.records import Pair, Response
from dialogue.tables.reading import read_table
from dialogue.tables.table import RawTable

TEXTS = ("model", "checkpoint", "item", "rater", "task", "condition", "reason", "cluster")
NAMES = ("model", "seed", "checkpoint", "item", "rater", "task", "score", "condition", "reason", "cluster")
LONGER = tuple(f"{name}{n}" for name in ("match", "total") for n in (2, 3, 4))  # counts of longer n-grams


class Answerer(NamedTuple):
    """One model of the study as its responses name it."""

    model: str
    seed: int | None
    checkpoint: str

    def __str__(self) -> str:
        return f"{self.model}{'' if self.seed is None else f' seed {self.seed}'} {self.checkpoint}"


@dataclass(frozen=True, slots=True)
class OwnScore:
    """One row of the table, with its place in it."""

    system: Answerer
    item: str
    task: str
    rater: str
    condition: str
    score: float
    reason: str
    cluster: str | None
    stats: Mapping[str, float]
    row: int


class Known(NamedTuple):
    """The study's responses: which model answered which item, and the only checkpoint of each model and seed."""

    keys: set[tuple[Answerer, str]]
    items: set[str]
    checkpoints: Mapping[tuple[str, int | None], set[str]]
    what: str  # the file they stand in


def known_answers(study: Path, card: Card | None) -> Known:
    """From responses.jsonl, else from the sides of pairs.jsonl; by dialogue where the card says so."""
    found: set[tuple[Answerer, str]] = set()
    what = "responses.jsonl" if (study / "responses.jsonl").exists() else "pairs.jsonl"
    if not (study / what).exists():
        raise InputError(
            f"{study} has neither responses.jsonl nor pairs.jsonl, so no score can be held against a response. "
            f"Bring the responses first: python -m generation import {study} TABLE."
        )
    if what == "responses.jsonl":
        found = {(Answerer(r.model, r.seed, r.checkpoint), r.item) for r in read_records(study / what, Response)}
    else:
        for pair in read_records(study / what, Pair):
            if pair.kind == "real":
                found |= {(Answerer(side.model, side.seed, side.checkpoint), pair.item) for side in (pair.a, pair.b)}
    if card is not None and {task.level for task in card.tasks.values()} == {"dialogue"}:
        found = {(system, dialogue_of(item) or item) for system, item in found}
    checkpoints: dict[tuple[str, int | None], set[str]] = {}
    for system, _ in found:
        checkpoints.setdefault(system[:2], set()).add(system.checkpoint)
    return Known(found, {item for _, item in found}, checkpoints, what)


def dialogue_of(item: str) -> str | None:
    """The dialogue of a context id.

    >>> dialogue_of("TOY00289:5"), dialogue_of("q17")
    ('TOY00289', None)
    """
    dialogue, _, number = item.rpartition(":")
    return dialogue if dialogue and number.isdigit() else None


def counts_of(card: Card | None) -> tuple[str, ...]:
    """The columns that are counts, since the card adds them up; elsewhere a column of such a name is a metric."""
    kinds = [] if card is None else [task.aggregate for task in card.tasks.values()]
    found = dict.fromkeys(name for kind in kinds for name in COUNTS[kind])
    return (*found, *(LONGER if "match1" in found else ()))


def read_own(
    path: Path, columns: Mapping[str, str], metrics: Sequence[str], counts: Sequence[str]
) -> tuple[Columns, tuple[str, ...], tuple[str, ...]]:
    """The table with our names, the columns that each hold a metric (none: one `score` a row), and those not read."""
    legal = (*NAMES, *counts)
    if unknown := [name for name in columns if name not in legal]:
        raise InputError(f"--columns names {unknown[0]!r}, which is not one of {', '.join(legal)}.")
    table = None if path.suffix == ".parquet" else read_table(path)
    names = parquet_names(path) if table is None else table.names
    ours = {columns.get(name, name): name for name in legal}
    if absent := [f"{name}={theirs}" for name, theirs in columns.items() if theirs not in names]:
        raise InputError(f"{path} has no column for {absent[0]} (found: {', '.join(names)}).")
    long = "score" in (ours.get(name) for name in names)
    wide = tuple(metrics) if metrics else () if long else _numbers(path, table, [n for n in names if n not in ours])
    if absent := [name for name in wide if name not in names]:
        raise InputError(f"{path} has no column {absent[0]!r} (found: {', '.join(names)}).")
    needed = [name for name in ("model", "item") if name not in (ours.get(one) for one in names)]
    if needed or not (long or wide):
        what = f"no column {needed[0]!r}" if needed else "neither a column `score` nor one for each metric"
        raise InputError(
            f"{path} has {what} (found: {', '.join(names)}). Name it: --columns {(needed or ['score'])[0]}=..."
        )
    kinds = {theirs: _kind(name) for theirs, name in ours.items()} | dict.fromkeys(wide, pa.float64())
    read = read_columns(path, kinds, record="") if table is None else columns_of_table(table, kinds)
    arrays = {name if name in wide else ours[name]: array for name, array in read.arrays.items()}
    unread = tuple(name for name in names if name not in ours and name not in wide)
    return Columns(read.path, arrays, read.found, read.table), wide, unread


def _numbers(path: Path, table: RawTable | None, names: Sequence[str]) -> tuple[str, ...]:
    """Those of the columns that hold numbers and nothing else."""
    if table is None:
        schema = pq.read_schema(path)
        kinds = {name: schema.field(name).type for name in names}
        return tuple(name for name in names if pa.types.is_floating(kinds[name]) or pa.types.is_integer(kinds[name]))
    return tuple(name for name in names if all(map(_is_number, table.values(name))) and table.values(name))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return text.strip().casefold() in MISSING
    return True


def _kind(name: str) -> pa.DataType:
    return pa.string() if name in TEXTS else pa.int64() if name == "seed" else pa.float64()


def own_rows(
    read: Columns, wide: Sequence[str], evaluator: str, known: Known, baselines: Sequence[str], counts: Sequence[str]
) -> list[OwnScore]:
    """One score a row, or one for each metric of a row."""
    lists = {name: array.to_pylist() for name, array in read.arrays.items()}
    number = len(next(iter(lists.values()), []))
    rows = []
    for k in range(number):
        at: dict[str, Any] = {name: column[k] for name, column in lists.items()}
        for name in ("model", "item"):
            if not at[name]:
                raise InputError(f"{read.place(k)}: {name} is empty; every score needs it.")
        system = _system(at, known, baselines, read, k)
        stats = {name: at[name] for name in counts if at.get(name) is not None}
        cluster = at.get("cluster") or dialogue_of(at["item"])
        for task, score in [(name, at[name]) for name in wide] or [(at.get("task") or evaluator, at["score"])]:
            finite = score is not None and math.isfinite(score)
            reason = "" if finite else at.get("reason") or ("empty cell" if score is None else f"it is {score:g}")
            rows.append(
                OwnScore(system, at["item"], task, at.get("rater") or evaluator, at.get("condition") or "",
                         float(score) if finite else math.nan, reason, cluster, stats, k)
            )  # fmt: skip
    return rows


def _system(at: Mapping[str, Any], known: Known, baselines: Sequence[str], read: Columns, row: int) -> Answerer:
    """The model of a row; a checkpoint that the table leaves out is the only one that the study has."""
    model, seed, checkpoint = at["model"], at.get("seed"), at.get("checkpoint")
    if checkpoint or model in baselines:
        return Answerer(model, seed, checkpoint or "none")
    there = known.checkpoints.get((model, seed), set())
    if len(there) > 1:
        raise InputError(
            f"{read.place(row)}: checkpoint is empty, and {known.what} has {', '.join(sorted(there))} of {model}. "
            "Add a column: --columns checkpoint=..."
        )
    return Answerer(model, seed, next(iter(there), "last"))
