"""Next-utterance choice by likelihood: how likely each option is under a model, and the ranks on disk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor
from torch.nn.functional import log_softmax

from seedvote.dialogue.files import atomic
from seedvote.dialogue.questions import answering_speaker
from seedvote.dialogue.records import Question, Turn
from seedvote.dialogue.signature import signature
from seedvote.generation.batches import pad_rows, stack_contexts
from seedvote.generation.models.interface import CHUNK, DialogueModel, Encoded
from seedvote.generation.vocabulary import BOS, EOU, OTHER, PAD, UNK, Vocabulary

# How likely a model finds each option of a question: the log-probability of its words and of its end.
#
# A context is encoded once, however many options it has, and options of like length are read together. Numbers are of
# double precision, so that a batch changes nothing that could be seen: each option in a row of its own gives the same
# to 1e-9 (benchmarks/bench_rank.py). `alone` is the same after a context that says nothing, which PMI takes off.

QUESTIONS_AT_ONCE = 64
ROWS_AT_ONCE = 128
SAYS_NOTHING = (OTHER, EOU)

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RankedOption:
    """One option under one model."""

    question: str
    option: int
    logprob: float
    tokens: int  # with <eos>
    alone: float  # log-probability after a context that says nothing
    unknown: int  # tokens that the model does not know


@dataclass(frozen=True, slots=True)
class NumberedQuestion:
    """A question as token numbers."""

    name: str
    context: Tokens
    options: tuple[Tokens, ...]


def number_questions(questions: Sequence[Question], vocabulary: Vocabulary) -> list[NumberedQuestion]:
    """Questions as a model reads them."""
    numbered = []
    for question in questions:
        speaker = answering_speaker(question)
        context = vocabulary.context([Turn(turn.speaker, turn.text) for turn in question.context], speaker)
        options = tuple(tuple(vocabulary.target(Turn(speaker, option.text))) for option in question.options)
        numbered.append(NumberedQuestion(question.question, tuple(context), options))
    return numbered


@torch.inference_mode()
def rank_options(
    model: DialogueModel, questions: Sequence[NumberedQuestion], device: torch.device
) -> Iterator[RankedOption]:
    """Every option of every question, questions of like length first."""
    model = model.double().eval()
    different = sorted(
        {option for question in questions for option in question.options}, key=lambda option: (len(option), option)
    )
    unconditional = dict(
        zip(different, _option_likelihoods(model, [SAYS_NOTHING], [(0, o) for o in different], device), strict=True)
    )
    order = sorted(questions, key=lambda question: (len(question.context), question.name))
    for start in range(0, len(order), QUESTIONS_AT_ONCE):
        part = order[start : start + QUESTIONS_AT_ONCE]
        rows = [(k, option) for k, question in enumerate(part) for option in question.options]
        logprobs = iter(_option_likelihoods(model, [question.context for question in part], rows, device))
        for question in part:
            for place, option in enumerate(question.options):
                yield RankedOption(
                    question.name,
                    place,
                    next(logprobs),
                    len(option),
                    unconditional[option],
                    sum(token == UNK for token in option),
                )


def _option_likelihoods(
    model: DialogueModel, contexts: Sequence[Tokens], rows: Sequence[tuple[int, Tokens]], device: torch.device
) -> list[float]:
    """Log-probability of each (place of its context, tokens), in the order given."""
    encoded = model.encode(stack_contexts(contexts, device))
    order = sorted(range(len(rows)), key=lambda row: len(rows[row][1]))
    logprobs = [0.0] * len(rows)
    for start in range(0, len(order), ROWS_AT_ONCE):
        chosen = order[start : start + ROWS_AT_ONCE]
        context_rows = torch.tensor([rows[row][0] for row in chosen], device=device)
        sums = target_likelihood(model, encoded.rows(context_rows), [rows[row][1] for row in chosen], device)
        for row, value in zip(chosen, sums.tolist(), strict=True):
            logprobs[row] = value
    return logprobs


def target_likelihood(
    model: DialogueModel, encoded: Encoded, targets: Sequence[Tokens], device: torch.device
) -> Tensor:
    """The log-probability of each target under its own encoded context (rows)."""
    wanted = pad_rows(targets, device)
    hidden = model.decode_targets(encoded, pad_rows([(BOS, *target[:-1]) for target in targets], device))
    real = wanted != PAD
    states, tokens = hidden[real], wanted[real]
    parts = [
        log_softmax(model.output(some), 1).gather(1, those[:, None])[:, 0]
        for some, those in zip(torch.split(states, CHUNK), torch.split(tokens, CHUNK), strict=True)
    ]
    row = real.nonzero()[:, 0]
    return torch.zeros(len(targets), dtype=states.dtype, device=device).index_add(0, row, torch.cat(parts))


# Ranks on disk: STUDY/ranks.parquet, a row an option and checkpoint, gathered from one file a checkpoint.
#
# The files of the checkpoints stay in STUDY/ranks, so that a run that was killed goes on, and a model that was trained
# anew is ranked anew.

SCHEMA = pa.schema(
    [
        ("question", pa.string()),
        ("option", pa.int64()),
        ("model", pa.string()),
        ("seed", pa.int64()),
        ("checkpoint", pa.string()),
        ("logprob", pa.float64()),
        ("tokens", pa.int64()),
        ("logprob_alone", pa.float64()),
        ("unknown", pa.int64()),
    ]
)


def write_ranks(
    path: Path, options: Iterable[RankedOption], model: str, seed: int | None, checkpoint: str, *, texts: str, key: str
) -> None:
    """The ranks of one checkpoint, with the hash of the questions and the key of all that they follow from."""
    rows = sorted(options, key=lambda ranked: (ranked.question, ranked.option))
    columns = [
        [ranked.question for ranked in rows],
        [ranked.option for ranked in rows],
        [model] * len(rows),
        [seed] * len(rows),
        [checkpoint] * len(rows),
        [ranked.logprob for ranked in rows],
        [ranked.tokens for ranked in rows],
        [ranked.alone for ranked in rows],
        [ranked.unknown for ranked in rows],
    ]
    schema = SCHEMA.with_metadata({"texts": texts, "key": key})
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path, "wb") as handle:
        pq.write_table(pa.Table.from_arrays(arrays, schema=schema), handle, compression="zstd")


def gather_ranks(study: Path, texts: str) -> tuple[Path, int, int]:
    """Write ranks.parquet from all checkpoints ranked on these texts; its path, checkpoints and rows."""
    parts = [
        path
        for path in sorted((study / "ranks").glob("*.parquet"))
        if (pq.read_schema(path).metadata or {}).get(b"texts") == texts.encode()
    ]
    path, rows = study / "ranks.parquet", 0
    recipe = signature(checkpoints=len(parts), texts=texts)
    schema = SCHEMA.with_metadata({"format": "ranks", "signature": recipe})
    with atomic(path, "wb") as handle, pq.ParquetWriter(handle, schema, compression="zstd") as writer:
        for part in parts:
            table = pq.read_table(part)
            rows += len(table)
            writer.write_table(table.cast(schema))
    return path, len(parts), rows
