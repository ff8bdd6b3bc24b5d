"""Token metrics of responses as rows of the score table: metrics.parquet.

Every overlap score is of free-running output. What is computed with the reference as input (perplexity, and the BLEU-2
of its argmax, which flatters) stands under its own name with the condition `teacher-forced`.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from seedvote.dialogue.cards import TOKEN, metadata
from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.files import atomic
from seedvote.dialogue.records import Response, Score
from seedvote.dialogue.tokens import normalize, tokenize
from seedvote.generation.batches import Batch, stack_batch
from seedvote.generation.decoding import mask_special
from seedvote.generation.metrics.embedding import Yardstick, row_cosines
from seedvote.generation.metrics.overlap import Synonyms, bleu2, bleu_counts, overlap_scores
from seedvote.generation.models.interface import CHUNK, DialogueModel, Encoded
from seedvote.generation.numbering import Numbered
from seedvote.generation.vocabulary import EOS, PAD, Vocabulary

# Every count that a score may have: asked of the scores themselves, because Parquet wants the names before the rows and
# would drop a count that is not among them without a word.
STAT_NAMES = sorted({"nll", "tokens"}.union(*(counts for _, counts in overlap_scores(("word",), ("word",)).values())))
CARDS = {"token": TOKEN}
AT_ONCE = 1024  # responses whose embeddings are held
GROUP = 4096  # rows that are held before they are written


def overlap_rows(
    responses: Sequence[Response], references: Mapping[str, Example], synonyms: Synonyms | None = None
) -> Iterator[Score]:
    """Rows of every overlap score for every response that has a reference."""
    for response in responses:
        reference = references[response.item].target.text
        for task, (score, stats) in overlap_scores(tokenize(response.text), tokenize(reference), synonyms).items():
            yield _score_row(response, references, task, score, stats)


def most_frequent(train: Sequence[Example], items: Sequence[str]) -> list[Response]:
    """A baseline that has learned nothing but one sentence: the most frequent reference of the training split."""
    counts = Counter(normalize(example.target.text) for example in train)
    text = min(counts, key=lambda candidate: (-counts[candidate], candidate))
    return [Response(item, "most_frequent", None, "last", text, None, "constant") for item in items]


def embedding_rows(
    responses: Sequence[Response], references: Mapping[str, Example], yardstick: Yardstick
) -> Iterator[Score]:
    """Cosine of average embeddings, one row a response."""
    for start in range(0, len(responses), AT_ONCE):
        part = responses[start : start + AT_ONCE]
        theirs = yardstick([normalize(references[response.item].target.text) for response in part])
        ours = yardstick([response.text for response in part])
        for response, score in zip(part, row_cosines(ours, theirs).tolist(), strict=True):
            yield _score_row(response, references, "embedding", score, {})


def _score_row(
    response: Response, references: Mapping[str, Example], task: str, score: float, stats: Mapping[str, float]
) -> Score:
    draw = response.extra.get("draw", 0)
    condition = response.decoding + (f" draw {draw}" if draw else "")
    cluster = references[response.item].dialogue.dialogue
    return Score(
        "token",
        task,
        response.model,
        response.seed,
        response.checkpoint,
        response.item,
        "reference",
        score,
        stats,
        cluster,
        condition,
    )


def forced_rows(
    model: DialogueModel,
    examples: Sequence[Numbered],
    vocabulary: Vocabulary,
    *,
    name: str,
    seed: int,
    checkpoint: str,
    batch_size: int = 32,
) -> Iterator[Score]:
    """Perplexity a token of each reference (with <eos>), and BLEU-2 of the argmax under teacher forcing."""
    order = sorted(examples, key=lambda e: len(e.target))
    for start in range(0, len(order), batch_size):
        part = order[start : start + batch_size]
        losses, best = _teacher_forced(model, stack_batch(part, torch.device("cpu")))
        lengths = [len(example.target) for example in part]
        for example, nats, line in zip(part, torch.split(losses, lengths), torch.split(best, lengths), strict=True):
            cluster, nll = example.item.rpartition(":")[0], float(nats.sum())
            response = vocabulary.spell(number for number in line.tolist() if number != EOS)
            counts = bleu_counts(response, vocabulary.spell(example.target[:-1]))
            for task, score, stats in (
                # exp overflows above 709 nats; a token that costs 700 is as bad as any.
                ("perplexity", math.exp(min(nll / len(line), 700.0)), {"nll": nll, "tokens": float(len(line))}),
                ("bleu2_teacher_forced", bleu2(counts, smooth="exp"), counts),
            ):
                yield Score(
                    "token",
                    task,
                    name,
                    seed,
                    checkpoint,
                    example.item,
                    "reference",
                    score,
                    stats,
                    cluster,
                    "teacher-forced",
                )


@torch.inference_mode()
def _teacher_forced(model: DialogueModel, batch: Batch) -> tuple[Tensor, Tensor]:
    """-log p of each real token of a batch under teacher forcing, and the likeliest token there, row after row."""
    return _forced_behind(model, model.encode(batch.contexts), batch)


@torch.inference_mode()
def summed_nats(model: DialogueModel, encoded: Encoded, batch: Batch) -> list[float]:
    """What each target costs a decoder that sees `encoded`, in nats."""
    losses, _ = _forced_behind(model, encoded, batch)
    return [float(row.sum()) for row in torch.split(losses, (batch.targets != PAD).sum(1).tolist())]


def _forced_behind(model: DialogueModel, encoded: Encoded, batch: Batch) -> tuple[Tensor, Tensor]:
    real = batch.targets != PAD
    hidden = model.decode_targets(encoded, batch.inputs)[real]
    losses, best = [], []
    for states, wanted in zip(torch.split(hidden, CHUNK), torch.split(batch.targets[real], CHUNK), strict=True):
        logits = model.output(states)
        losses.append(cross_entropy(logits, wanted, reduction="none").double())
        best.append(mask_special(logits, first=False).argmax(1))
    return torch.cat(losses), torch.cat(best)


def write_scores(path: Path, rows: Iterable[Score], *, signature: str) -> int:
    """Write rows as Parquet while they come, and count them; `stats` has a number for each of STAT_NAMES."""
    texts = {
        "seed": pa.int64(),
        "score": pa.float64(),
        "stats": pa.struct([(name, pa.float64()) for name in STAT_NAMES]),
    }
    schema = pa.schema(
        [pa.field(field.name, texts.get(field.name, pa.string())) for field in dataclasses.fields(Score)]
    )
    rows, written = iter(rows), 0
    with (
        atomic(path, "wb") as handle,
        pq.ParquetWriter(handle, schema.with_metadata(metadata(signature, CARDS)), compression="zstd") as writer,
    ):
        while part := list(itertools.islice(rows, GROUP)):
            columns = [pa.array([getattr(row, field.name) for row in part], field.type) for field in schema]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))
            written += len(part)
    return written
