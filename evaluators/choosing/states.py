"""Frozen encoder states of contexts, replies and options, as `generation encode --questions` writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import from_json, read_json
from seedvote.dialogue.questions import check_texts
from seedvote.dialogue.records import Question, States

Floats = NDArray[np.float64]
FOLDER = "question_states"  # QUESTION_STATES of generation/question_rows.py: tests/house/test_twins.py
AGAIN = "Encode again: python -m generation encode STUDY --questions"


@dataclass(frozen=True, eq=False)
class PairStates:
    """Contexts and the replies that they got, row by row."""

    contexts: Floats
    replies: Floats


@dataclass(frozen=True, eq=False)
class EncoderStates:
    """One checkpoint: what a head is fitted on, and the questions (options one after the other)."""

    model: str
    seed: int | None
    checkpoint: str
    key: str
    train: PairStates
    valid: PairStates
    contexts: Floats
    options: Floats
    sizes: tuple[int, ...]  # options of each question


def state_files(study: Path) -> list[Path]:
    """The matrices of a study, by name."""
    return [path for path in sorted((study / FOLDER).glob("*.npy")) if path.with_suffix(".json").exists()]


def read_question_states(path: Path, questions: Sequence[Question], texts: str) -> EncoderStates:
    """One matrix taken apart; refused where it was made for other questions."""
    sidecar = from_json(States, read_json(path.with_suffix(".json")), str(path.with_suffix(".json")))
    recipe_of_texts = next(
        (
            question.removeprefix("texts:")
            for question in sidecar.extra.get("splits", [])
            if question.startswith("texts:")
        ),
        "",
    )
    check_texts(path, recipe_of_texts or "unknown", texts)
    try:
        matrix = np.load(path).astype(np.float64)
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}). {AGAIN}") from None
    rows = {name: k for k, name in enumerate(sidecar.ids)}
    if len(matrix) != len(rows) or not np.isfinite(matrix).all():
        raise InputError(f"{path} is not whole, or holds what is no number. {AGAIN}")
    try:
        contexts = matrix[[rows[f"question/context/{question.question}"] for question in questions]]
        options = matrix[
            [
                rows[f"question/option/{question.question}/{k}"]
                for question in questions
                for k in range(len(question.options))
            ]
        ]
    except KeyError as error:
        raise InputError(f"{path} lacks {error}. {AGAIN}") from None
    parts = {}
    for split in ("train", "valid"):
        items = [name.split("/", 2)[2] for name in rows if name.startswith(f"{split}/context/")]
        parts[split] = PairStates(
            matrix[[rows[f"{split}/context/{item}"] for item in items]],
            matrix[[rows[f"{split}/reply/{item}"] for item in items]],
        )
    key = str(sidecar.extra.get("key", ""))
    return EncoderStates(
        sidecar.model,
        sidecar.seed,
        sidecar.checkpoint,
        key,
        parts["train"],
        parts["valid"],
        contexts,
        options,
        tuple(len(question.options) for question in questions),
    )
