"""Own scores as a score file of a study, every row held against the study's responses.

A score of a response that the study does not have is refused, and a response without a score becomes a missing one
where another model has a score on the same item. So no model is averaged over easier items than another without a word.
"""

from __future__ import annotations

import io
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.votes.columns import Columns
from analysis.votes.scores.files import card_files
from analysis.votes.scores.own import (
    Answerer,
    Known,
    OwnScore,
    counts_of,
    dialogue_of,
    known_answers,
    own_rows,
    read_own,
)
from dialogue.cards import ASIDE, COUNTS, PEOPLE, Card, check_title, joined, metadata
from dialogue.errors import InputError
from dialogue.files import atomic
from dialogue.signature import signature

TAKEN = (*PEOPLE, *ASIDE, "token", "probe", "metrics", "scores")
EXAMPLES = 3  # rows that a complaint names
SCHEMA = pa.schema(
    [(name, pa.string()) for name in ("evaluator", "task", "model")]
    + [("seed", pa.int64())]
    + [(name, pa.string()) for name in ("checkpoint", "item", "rater")]
    + [("score", pa.float64())]
    + [(name, pa.string()) for name in ("cluster", "condition", "reason")]
)


@dataclass(frozen=True, slots=True)
class Brought:
    """What was imported: the file, whether it was there already, and how much of the study it covers."""

    path: Path
    scores: int
    tasks: tuple[str, ...]
    same: bool
    responses: int
    covered: int
    missing: Mapping[str, int]  # reason -> rows
    without: Mapping[Answerer, int]  # models with responses that have no score
    unread: tuple[str, ...]  # columns that are neither a name nor a metric
    signature: str


def bring_scores(
    study: Path,
    path: Path,
    evaluator: str,
    *,
    card: Card | None = None,
    columns: Mapping[str, str] | None = None,
    metrics: Sequence[str] = (),
    replace: bool = False,
) -> Brought:
    """Read the table, hold it against the study, and write STUDY/EVALUATOR.parquet."""
    check_name(evaluator)
    known, counts = known_answers(study, card), counts_of(card)
    read, wide, unread = read_own(path, columns or {}, metrics, counts)
    baselines = () if card is None else card.baselines
    rows = own_rows(read, wide, evaluator, known, baselines, counts)
    _check(read, rows, known, baselines)
    _check_counts(read, rows, card)
    _check_sizes(read, rows, card)
    whole = [*rows, *_absent(rows, known, baselines, path.name)]
    tasks = tuple(dict.fromkeys(row.task for row in rows))
    for task in tasks:
        check_title(task, f"{path}: the name of the metric {task[:20]!r}")
    recipe = signature(evaluator=evaluator, file=path.name, rows=len(rows), tasks=tasks, responses=len(known.keys))
    cards = {} if card is None else {evaluator: card}
    target = study / f"{evaluator}.parquet"
    joined([*card_files(study, but=target.name), (f"the card of {evaluator}", cards)])
    same = _write(target, whole, evaluator, baselines, metadata(recipe, cards), replace=replace)
    return _told(target, rows, whole, known, tasks, unread, recipe, same=same)


def check_name(evaluator: str) -> None:
    """Refuse a name that is no file name, or that another part of the study has."""
    if evaluator.casefold() in TAKEN:
        raise InputError(f"--evaluator is {evaluator!r}, which the study uses itself. Choose another name.")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]*", evaluator):
        raise InputError(f"--evaluator is {evaluator!r}; it names a file, so write letters, digits, _, . and - only.")
    check_title(evaluator, "--evaluator")


def _check(read: Columns, rows: Sequence[OwnScore], known: Known, baselines: Sequence[str]) -> None:
    """Refuse scores of responses that the study does not have, and two scores of one."""
    strange = [row for row in rows if not _fits(row, known, baselines)]
    if strange:
        places = dict.fromkeys(
            f"{read.place(row.row)} ({row.item} of {row.system})" for row in strange[: 50 * EXAMPLES]
        )
        examples = "; ".join(list(places)[:EXAMPLES])
        lines = len({row.row for row in strange})
        raise InputError(
            f"{read.path}: {lines:,} row{'s score' if lines != 1 else ' scores'} a response that {known.what} does not "
            f"have: {examples}. {_likely(strange[0], known)}"
        )
    seen: dict[tuple[Any, ...], OwnScore] = {}
    for row in rows:
        key = (row.system, row.item, row.task, row.rater, row.condition)
        if key in seen:
            raise InputError(
                f"{read.place(row.row)}: {row.item} of {row.system} has a score for {row.task} already "
                f"({read.place(seen[key].row)}). Keep one, or tell them apart by a column rater or condition."
            )
        seen[key] = row


def _fits(row: OwnScore, known: Known, baselines: Sequence[str]) -> bool:
    return row.item in known.items if row.system.model in baselines else (row.system, row.item) in known.keys


def _likely(row: OwnScore, known: Known) -> str:
    """What may be wrong with the first row that fits no response."""
    systems = sorted({str(system) for system, _ in known.keys})
    if row.item not in known.items:
        return f"Its items look like {min(known.items)!r}."
    if row.system.seed is None and any(
        seed is not None for model, seed in known.checkpoints if model == row.system.model
    ):
        return "The table names no seed: --columns seed=..."
    return f"Its models are {', '.join(systems[:6])}{' and more' if len(systems) > 6 else ''}."


def _check_counts(read: Columns, rows: Sequence[OwnScore], card: Card | None) -> None:
    """Refuse a card whose corpus metric needs counts that the table does not have."""
    for row in rows if card else ():
        task = card.task(row.task) if card else None
        if task and (absent := [name for name in COUNTS[task.aggregate] if name not in row.stats]) and not row.reason:
            raise InputError(
                f"{read.place(row.row)}: {row.task} is to be added up as {task.aggregate}, which needs the columns "
                f"{', '.join(COUNTS[task.aggregate])}; missing: {', '.join(absent)}. Or say --aggregate mean."
            )


def _check_sizes(read: Columns, rows: Sequence[OwnScore], card: Card | None) -> None:
    """Refuse percentages that the card calls shares: a hundred times too large, they would stand beside people."""
    for row in rows if card else ():
        task = card.task(row.task) if card else None
        if task and task.unit == "share" and abs(row.score) > 1 + 1e-9:
            raise InputError(
                f"{read.place(row.row)}: {row.task} is {row.score:g}, and the card says it is a share, which is at "
                "most 1. Say --unit points for percentages, --unit none for a bare number, or give every metric its "
                "own unit (--card)."
            )


def _absent(rows: Sequence[OwnScore], known: Known, baselines: Sequence[str], name: str) -> list[OwnScore]:
    """A missing score for every response that has none where another model has one on the same item."""
    scored: dict[tuple[str, str, str], tuple[dict[Answerer, None], dict[str, None]]] = {}
    for row in rows:
        if row.system.model not in baselines:
            systems, items = scored.setdefault((row.task, row.rater, row.condition), ({}, {}))
            systems[row.system] = items[row.item] = None
    there = {(row.system, row.item, row.task, row.rater, row.condition) for row in rows}
    return [
        OwnScore(system, item, *scale, math.nan, f"no row in {name}", dialogue_of(item), {}, -1)
        for scale, (systems, items) in scored.items()
        for system in systems
        for item in items
        if (system, item) in known.keys and (system, item, *scale) not in there
    ]


def _write(
    path: Path, rows: Sequence[OwnScore], evaluator: str, baselines: Sequence[str], said: Mapping[str, str], *,
    replace: bool,
) -> bool:  # fmt: skip
    """Write the file, whole or not at all; whether the same bytes were there already."""
    names = sorted({name for row in rows for name in row.stats})
    columns: dict[str, Any] = {
        "evaluator": ["baseline" if row.system.model in baselines else evaluator for row in rows],
        "task": [row.task for row in rows],
        "model": [row.system.model for row in rows],
        "seed": [row.system.seed for row in rows],
        "checkpoint": [row.system.checkpoint for row in rows],
        "item": [row.item for row in rows],
        "rater": [row.rater for row in rows],
        "score": [row.score for row in rows],
        "cluster": [row.cluster for row in rows],
        "condition": [row.condition for row in rows],
        "reason": [row.reason for row in rows],
    }
    arrays = [pa.array(columns[field.name], field.type) for field in SCHEMA]
    schema = SCHEMA
    if names:
        parts = [pa.array([row.stats.get(name) for row in rows], pa.float64()) for name in names]
        arrays.append(pa.StructArray.from_arrays(parts, names=names))
        schema = SCHEMA.append(pa.field("stats", arrays[-1].type))
    file = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema.with_metadata(dict(said))), file, compression="zstd")
    if path.exists():
        if path.read_bytes() == file.getvalue():
            return True
        if not replace:
            raise InputError(f"{path} holds other scores or another card. Add --replace to write over it.")
    with atomic(path, "wb") as handle:
        handle.write(file.getvalue())
    return False


def _told(
    path: Path, rows: Sequence[OwnScore], whole: Sequence[OwnScore], known: Known, tasks: tuple[str, ...],
    unread: tuple[str, ...], recipe: str, *, same: bool,
) -> Brought:  # fmt: skip
    covered = {(row.system, row.item) for row in rows if not row.reason} & known.keys
    without = Counter(system for system, _ in sorted(known.keys - covered, key=str))
    missing = Counter(row.reason for row in whole if row.reason)
    return Brought(path, len(rows), tasks, same, len(known.keys), len(covered), missing, without, unread, recipe)
