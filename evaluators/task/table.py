"""The score table of task success: a row for every dialogue (Inform, Success) and turn (states, BLEU)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seedvote.dialogue.cards import BY, Card, TaskCard, metadata
from seedvote.dialogue.files import atomic, write_json
from seedvote.evaluators.task.bleu import COUNTS, bleu4
from seedvote.evaluators.task.evaluation import Evaluation, TaskSystem
from seedvote.evaluators.task.outcomes import DialogueOutcome
from seedvote.evaluators.task.states import Tracked

STATS = ("tp", "fp", "fn", "inform", "success", *COUNTS)
SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in ("evaluator", "task", "model")),
        ("seed", pa.int64()),
        *((name, pa.string()) for name in ("checkpoint", "item", "rater")),
        ("score", pa.float64()),
        ("stats", pa.struct([(name, pa.float64()) for name in STATS])),
        ("cluster", pa.string()),
        ("condition", pa.string()),
    ]
)
PARTED = {"inform": "Inform", "success": "Success", "jga": "joint goal accuracy"}  # tasks that are asked by domain too
CARD = Card(
    "task success",
    5,
    {
        "inform": TaskCard("Inform", "share", 100.0, better="higher", level="dialogue"),
        "success": TaskCard("Success", "share", 100.0, better="higher", level="dialogue"),
        "jga": TaskCard("joint goal accuracy", "share", 100.0, better="higher"),
        "slot_f1": TaskCard("slot F1", "share", 100.0, better="higher", aggregate="micro_f1"),
        "bleu": TaskCard("BLEU", "points", better="higher", aggregate="bleu", main=False),
        "combined": TaskCard("Combined", "points", better="higher", level="dialogue", aggregate="combined", main=False),
    },
)
Row = dict[str, Any]


def write_task_scores(folder: Path, evaluation: Evaluation, document: Mapping[str, Any], condition: str = "") -> Path:
    """Write task.parquet and task.json into a folder; the path of the table. `condition`: of the corpus answered."""
    folder.mkdir(parents=True, exist_ok=True)
    schema = SCHEMA.with_metadata(metadata(evaluation.signature, {"task": _card(evaluation)}))
    path = folder / "task.parquet"
    with atomic(path, "wb") as handle, pq.ParquetWriter(handle, schema, compression="zstd") as writer:
        for system in evaluation.systems:
            writer.write_table(pa.Table.from_pylist(list(_rows(system, condition)), schema=schema))
    write_json(folder / "task.json", document)
    return path


def _card(evaluation: Evaluation) -> Card:
    """The card, with a task for each domain that occurs."""
    outcomes = [outcome for system in evaluation.systems for outcome in system.outcomes]
    names = {name for outcome in outcomes for name, *_ in _by_domain(outcome)}
    parted = {
        name: replace(CARD.tasks[task], title=f"{PARTED[task]}, {domain}", main=False)
        for name in sorted(names)
        for task, _, domain in [name.partition(BY)]
    }
    return replace(CARD, tasks={**CARD.tasks, **parted})


def _rows(system: TaskSystem, condition: str) -> Iterator[Row]:
    for outcome in system.outcomes:
        same = {
            "evaluator": "task",
            "model": system.key.model,
            "seed": system.key.seed,
            "checkpoint": system.key.checkpoint,
            "rater": f"domains by {system.rule or 'none'}",
            "cluster": outcome.dialogue,
            "condition": condition,
        }
        for task, item, score, stats in (*_scores(outcome), *_by_domain(outcome)):
            yield {**same, "task": task, "item": item, "score": score, "stats": stats}


def _scores(outcome: DialogueOutcome) -> Iterator[tuple[str, str, float, dict[str, float] | None]]:
    name = outcome.dialogue
    if outcome.reached is not None:
        yield "inform", name, float(outcome.reached.inform), None
        yield "success", name, float(outcome.reached.success), None
    if outcome.reached is not None and len(outcome.bleu):
        yield "combined", name, *_combined_counts(outcome)
    for n, turn in enumerate(outcome.tracked):
        counts = {"tp": float(turn.tp), "fp": float(turn.fp), "fn": float(turn.fn)}
        yield "jga", _item(name, n), float(turn.joint), None
        yield "slot_f1", _item(name, n), _f1(turn), counts
    for n, row in enumerate(outcome.bleu):
        yield "bleu", _item(name, n), float(bleu4(row)), dict(zip(COUNTS, map(float, row), strict=True))


def _by_domain(outcome: DialogueOutcome) -> Iterator[tuple[str, str, float, None]]:
    """Domain by domain: what its part of the goal reached, and its part of each annotated state."""
    name = outcome.dialogue
    if outcome.reached is not None:
        for domain, informed in outcome.reached.informed.items():
            yield f"inform{BY}{domain}", name, float(informed), None
            yield f"success{BY}{domain}", name, float(informed and outcome.reached.succeeded[domain]), None
    for n, turn in enumerate(outcome.tracked):
        for domain, right in turn.by_domain.items():
            yield f"jga{BY}{domain}", _item(name, n), float(right), None


def _combined_counts(outcome: DialogueOutcome) -> tuple[float, dict[str, float]]:
    """Combined of one dialogue, and the counts from which that of many is made."""
    met, sums = outcome.reached, outcome.bleu.sum(0)
    counts_met = {"inform": float(met is not None and met.inform), "success": float(met is not None and met.success)}
    return 50 * sum(counts_met.values()) + float(bleu4(sums)), {
        **counts_met,
        **dict(zip(COUNTS, map(float, sums), strict=True)),
    }


def _item(dialogue: str, answer: int) -> str:
    """The context's id: answers stand at 1, 3, 5, ... in a dialogue."""
    return f"{dialogue}:{2 * answer + 1}"


def _f1(turn: Tracked) -> float:
    """F1 of one turn; 1 where neither has a slot."""
    all_slots = 2 * turn.tp + turn.fp + turn.fn
    return 2 * turn.tp / all_slots if all_slots else 1.0
