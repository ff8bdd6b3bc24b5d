"""The score table of next-utterance choice: a row for every question, answerer and task."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seedvote.dialogue.cards import Card, TaskCard, metadata
from seedvote.dialogue.files import atomic
from seedvote.dialogue.records import Question
from seedvote.evaluators.choosing.answer import TASKS, ChooserGot, ChoosingAnswer

ROWS = pa.schema(
    [
        *((name, pa.string()) for name in ("evaluator", "task", "model")),
        ("seed", pa.int64()),
        *((name, pa.string()) for name in ("checkpoint", "item", "rater")),
        ("score", pa.float64()),
        *((name, pa.string()) for name in ("cluster", "condition", "reason")),
    ]
)
NO_SCORE = "an option has no score"


def choosing_card(answer: ChoosingAnswer) -> Card:
    """How the rows are to be read."""
    sizes = sorted({len(result.options) for result in answer.questions})
    of = f" of {sizes[0]}" if len(sizes) == 1 else ""
    baselines = list(dict.fromkeys(result.who.model for result in answer.answered if result.who.baseline))
    tasks = {
        task: TaskCard(
            f"{task}{of}" if task != "MRR" else "mean reciprocal rank",
            "share",
            100.0,
            "higher",
            chance=chance,
            level="question",
            main=task == "R@1",
        )
        for task, chance in zip(TASKS, answer.chance, strict=True)
    }
    return Card("next-utterance choice", 3, tasks, baselines)


def write_choosing_scores(folder: Path, answer: ChoosingAnswer) -> Path:
    """Write nuc.parquet; its path."""
    path = folder / "nuc.parquet"
    card = choosing_card(answer)
    cards = {"nuc": card}
    if any(result.who.head is not None for result in answer.answered):
        cards["nuc_encoder"] = replace(card, title="next-utterance choice by encoder", baselines=(), raters="drawn")
    schema = ROWS.with_metadata(metadata(answer.signature, cards))
    with atomic(path, "wb") as handle, pq.ParquetWriter(handle, schema, compression="zstd") as writer:
        for result in answer.answered:
            writer.write_table(pa.Table.from_pylist(list(_rows(result, answer.questions)), schema=schema))
    return path


def _rows(result: ChooserGot, questions: Sequence[Question]) -> Iterator[dict[str, Any]]:
    who = result.who
    evaluator = "baseline" if who.baseline else "nuc" if who.head is None else "nuc_encoder"
    rater = who.rater if who.head is None else f"head {who.head}"
    for question, got in zip(questions, result.got.tolist(), strict=True):
        draw = int(question.extra.get("draw", 0) or 0)
        same = {
            "evaluator": evaluator,
            "model": who.model,
            "seed": who.seed,
            "checkpoint": who.checkpoint,
            "item": question.item,
            "rater": rater,
            "cluster": question.dialogue,
            "condition": f"candidates draw {draw}" if draw else "",
        }
        for task, score in zip(TASKS, got, strict=True):
            yield {**same, "task": task, "score": score, "reason": NO_SCORE if np.isnan(score) else ""}
