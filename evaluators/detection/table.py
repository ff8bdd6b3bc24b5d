"""The score table of the discriminators: for each tested reply of a model, how likely a person wrote it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from seedvote.dialogue.cards import Card, TaskCard, metadata
from seedvote.dialogue.files import atomic
from seedvote.evaluators.detection.answer import SEARCHES, Detection
from seedvote.evaluators.detection.material import Generator
from seedvote.evaluators.detection.trials import Trial
from seedvote.evaluators.detection.work import SIMPLE, TrialResult

SCORED = pa.schema(
    [
        *((name, pa.string()) for name in ("evaluator", "task", "model")),
        ("seed", pa.int64()),
        *((name, pa.string()) for name in ("checkpoint", "item", "rater")),
        ("score", pa.float64()),
        *((name, pa.string()) for name in ("cluster", "condition")),
    ]
)


def _share(title: str) -> TaskCard:
    # No chance line: a half is the most that a good model can reach, not what guessing gets.
    return TaskCard(title, "share", 100.0, "higher")


DETECTION_CARD = Card(
    "discriminator",
    4,
    {
        "human_like": _share("chance that a person wrote it"),
        "fooled": _share("replies taken for a person's"),
        "human_like_shared": _share("chance that a person wrote it, one for all models"),
        "fooled_shared": _share("replies taken for a person's, one for all models"),
    },
    SIMPLE,
    raters="drawn",
)


def write_detection_scores(folder: Path, detection: Detection) -> Path:
    """Write adversarial.parquet; its path."""
    path = folder / "adversarial.parquet"
    schema = SCORED.with_metadata(metadata(detection.signature, {"adversarial": DETECTION_CARD}))
    # One model has one clean score: that of its own law, not of a search; other decodings are conditions.
    first = min((who.decoding for who in detection.own), key=lambda name: (name.startswith(SEARCHES), name))
    with atomic(path, "wb") as handle, pq.ParquetWriter(handle, schema, compression="zstd") as writer:
        for who, (trial, result) in detection.own.items():
            rows = list(
                _rows(who, trial, result, detection.folds, 0, "", "" if who.decoding == first else who.decoding)
            )
            if who in detection.together:
                together, chances, of = detection.together[who]
                rows += _rows(
                    who,
                    together,
                    chances,
                    detection.folds,
                    of,
                    "_shared",
                    "" if who.decoding == first else who.decoding,
                )
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    return path


def _rows(
    who: Generator, trial: Trial, result: TrialResult, folds: int, of: int, suffix: str, condition: str
) -> Iterator[dict[str, Any]]:
    showings = trial.in_all("test", folds)
    network = any(rater not in SIMPLE for rater in result.test)
    for rater, chances in result.test.items():
        is_baseline = rater in SIMPLE and (network or rater != "bag")
        for showing, chance in zip(showings, chances, strict=True):
            if showing.human or showing.of != of:
                continue
            same = {
                "evaluator": "baseline" if is_baseline else "adversarial",
                "model": rater if is_baseline else who.model,
                "seed": None if is_baseline else who.seed,
                "checkpoint": who.checkpoint,
                "item": showing.occasion.item,
                "rater": who.name if is_baseline else rater,
                "cluster": showing.occasion.dialogue,
                "condition": condition,
            }
            yield {**same, "task": f"human_like{suffix}", "score": float(chance)}
            yield {**same, "task": f"fooled{suffix}", "score": float(chance > 0.5)}
