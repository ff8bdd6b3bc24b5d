"""Likelihoods of options as answers to questions, by three rules; the ranks themselves are never one number.

`log p` is the sum over an option's tokens, which favours short options; `log p a token` their mean; `PMI` takes off
what the option gets after a context that says nothing, which favours what this context makes likelier.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.questions import check_texts, read_texts_hash
from seedvote.dialogue.records import Question

Floats = NDArray[np.float64]
NEEDED = ("question", "option", "model", "seed", "checkpoint", "logprob", "tokens", "logprob_alone")
NUMBERS = ("logprob", "tokens", "logprob_alone")


@dataclass(frozen=True, slots=True, eq=False)
class Chooser:
    """Whoever or whatever gives every option of every question a score; NaN where it has none."""

    model: str
    seed: int | None
    checkpoint: str
    rater: str  # the rule, or the head with its seed
    scores: Sequence[Floats]
    baseline: bool = False
    head: int | None = None  # seed of a head on frozen states, of which each model has several


@dataclass(frozen=True, slots=True)
class Ranks:
    """All choosers by likelihood, and the share of unknown words in true and in false options of each model."""

    choosers: tuple[Chooser, ...]
    unknown: Mapping[str, tuple[float, float]]


def read_ranks(path: Path, questions: Sequence[Question], texts: str) -> Ranks:
    """The ranks of these questions; refused where they were made for other texts."""
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path} cannot be read as Parquet ({error}). Rank again: python -m generation rank") from None
    if absent := [name for name in NEEDED if name not in table.column_names]:
        raise InputError(f"{path}: column {', '.join(absent)} missing; ranks have {', '.join(NEEDED)}.")
    recipe = (table.schema.metadata or {}).get(b"signature", b"").decode()
    check_texts(path, read_texts_hash({"signature": recipe}), texts)
    places, starts = option_places(questions)
    column = {name: table.column(name).to_pylist() for name in table.column_names}
    groups: dict[tuple[str, int | None, str], list[int]] = {}
    for row, who in enumerate(zip(column["model"], column["seed"], column["checkpoint"], strict=True)):
        groups.setdefault(who, []).append(row)
    choosers, unknown = [], {}
    for who, rows in sorted(
        groups.items(), key=lambda group: (group[0][0], -1 if group[0][1] is None else group[0][1])
    ):
        at = np.array([places.get((column["question"][row], column["option"][row]), -1) for row in rows])
        scores = {}
        for name in (*NUMBERS, *(["unknown"] if "unknown" in column else [])):
            flat = np.full(starts[-1], np.nan)
            flat[at[at >= 0]] = np.array([column[name][row] for row in rows], dtype=float)[at >= 0]
            scores[name] = flat
        for rule, flat in by_rules(*(scores[name] for name in NUMBERS)).items():
            choosers.append(Chooser(*who, rule, [flat[a:b] for a, b in pairwise(starts)]))
        if "unknown" in scores:
            unknown[who[0]] = _unknown(scores["unknown"] / scores["tokens"], questions, starts)
    return Ranks(tuple(choosers), unknown)


def by_rules(logprob: Floats, tokens: Floats, alone: Floats) -> dict[str, Floats]:
    """The scores of the three rules.

    >>> {rule: float(score[0]) for rule, score in by_rules(np.array([-6.0]), np.array([3.0]), np.array([-8.0])).items()}
    {'log p': -6.0, 'log p a token': -2.0, 'PMI': 2.0}
    """
    return {"log p": logprob, "log p a token": logprob / tokens, "PMI": logprob - alone}


def option_places(questions: Sequence[Question]) -> tuple[dict[tuple[str, int], int], list[int]]:
    """The place of every option in one long row, and where each question begins in it (and the row's end)."""
    places: dict[tuple[str, int], int] = {}
    starts = [0]
    for question in questions:
        places |= {(question.question, k): starts[-1] + k for k in range(len(question.options))}
        starts.append(starts[-1] + len(question.options))
    return places, starts


def _unknown(share: Floats, questions: Sequence[Question], starts: Sequence[int]) -> tuple[float, float]:
    true = np.zeros(len(share), dtype=bool)
    true[[start + question.answer for start, question in zip(starts, questions, strict=False)]] = True
    return float(np.nanmean(share[true])), float(np.nanmean(share[~true]))
