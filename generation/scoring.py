"""Token metrics of responses as rows of the score table: metrics.parquet.

Every overlap score is of free-running output. What is computed with the reference as input (perplexity, and the BLEU-2
of its argmax, which flatters) stands under its own name with the condition `teacher-forced`.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import torch

from dialogue.corpora.examples import Example
from dialogue.files import atomic
from dialogue.records import Response, Score
from generation.batches import stack
from generation.decoding import mask_special
from generation.models.interface import Model
from generation.numbering import Numbered
from generation.token_metrics import Synonyms, bleu2, bleu_counts, overlap_scores
from generation.vocabulary import EOS, PAD, Vocabulary, normalize, tokenize
from generation.yardsticks import Yardstick, cosines


def overlap_rows(
    responses: Sequence[Response], references: Mapping[str, Example], synonyms: Synonyms | None = None
) -> Iterator[Score]:
    """Rows of every overlap score for every response that has a reference."""
    for response in responses:
        reference = references[response.item].target.text
        for task, (score, stats) in overlap_scores(tokenize(response.text), tokenize(reference), synonyms).items():
            yield _row(response, references, task, score, stats)


def most_frequent(train: Sequence[Example], items: Sequence[str]) -> list[Response]:
    """A baseline that has learned nothing but one sentence: the most frequent reference of the training split."""
    counts = Counter(normalize(example.target.text) for example in train)
    text = min(counts, key=lambda candidate: (-counts[candidate], candidate))
    return [Response(item, "most_frequent", None, "last", text, None, "constant") for item in items]


def embedding_rows(
    responses: Sequence[Response], references: Mapping[str, Example], yardstick: Yardstick
) -> Iterator[Score]:
    """Cosine of average embeddings, one row a response."""
    theirs = yardstick([normalize(references[response.item].target.text) for response in responses])
    ours = yardstick([response.text for response in responses])
    for response, score in zip(responses, cosines(ours, theirs).tolist(), strict=True):
        yield _row(response, references, "embedding", score, {})


def _row(
    response: Response, references: Mapping[str, Example], task: str, score: float, stats: Mapping[str, float]
) -> Score:
    draw = response.extra.get("draw", 0)
    condition = response.decoding + (f" draw {draw}" if draw else "")
    cluster = references[response.item].dialogue.dialogue
    return Score(
        "token", task, response.model, response.seed, response.checkpoint, response.item, "reference", score, stats,
        cluster, condition,
    )  # fmt: skip


def forced_rows(
    model: Model, examples: Sequence[Numbered], vocabulary: Vocabulary, *, name: str, seed: int, checkpoint: str,
    batch_size: int = 32,
) -> Iterator[Score]:  # fmt: skip
    """Perplexity a token of each reference (with <eos>), and BLEU-2 of the argmax under teacher forcing."""
    cpu = torch.device("cpu")
    order = sorted(examples, key=lambda e: len(e.target))
    for start in range(0, len(order), batch_size):
        part = order[start : start + batch_size]
        batch = stack(part, cpu)
        with torch.inference_mode():
            logits = model.output(model.forced(model.encode(batch.contexts), batch.inputs))
            losses = -logits.log_softmax(2).gather(2, batch.targets[:, :, None])[:, :, 0]
            nll = (losses * (batch.targets != PAD)).sum(1).double().tolist()
            best = mask_special(logits.flatten(0, 1), first=False).argmax(1).view(batch.targets.shape).tolist()
        for example, loss, line in zip(part, nll, best, strict=True):
            cluster, tokens = example.item.rpartition(":")[0], len(example.target)
            response = [vocabulary.words[number] for number in line[:tokens] if number != EOS]
            counts = bleu_counts(response, [vocabulary.words[number] for number in example.target[:-1]])
            for task, score, stats in (
                ("perplexity", math.exp(min(loss / tokens, 700.0)), {"nll": loss, "tokens": float(tokens)}),
                ("bleu2_teacher_forced", bleu2(counts, smooth="exp"), counts),
            ):
                yield Score(
                    "token", task, name, seed, checkpoint, example.item, "reference", score, stats, cluster,
                    "teacher-forced",
                )  # fmt: skip


def write_scores(path: Path, rows: Sequence[Score], *, signature: str) -> None:
    """Write rows as Parquet; `stats` is a struct with one number a name, null where a score has none of it."""
    names = sorted({name for row in rows for name in row.stats})
    stats = pa.struct([(name, pa.float64()) for name in names])
    texts = {"seed": pa.int64(), "score": pa.float64(), "stats": stats}
    fields = [pa.field(field.name, texts.get(field.name, pa.string())) for field in dataclasses.fields(Score)]
    columns = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in fields]
    table = pa.Table.from_arrays(columns, schema=pa.schema(fields, metadata={"signature": signature}))
    with atomic(path, "wb") as handle:
        pq.write_table(table, handle, compression="zstd")
