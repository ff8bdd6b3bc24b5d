"""Scores are written while they come, with every count, and no more logits than a chunk's are held."""

import itertools
import math

import pyarrow.parquet as pq
import pytest
import torch

from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.records import Dialogue, Response, Turn
from seedvote.dialogue.tokens import tokenize
from seedvote.generation.batches import stack_batch
from seedvote.generation.metrics import scoring
from seedvote.generation.metrics.overlap import overlap_scores
from seedvote.generation.metrics.scoring import forced_rows, overlap_rows, write_scores
from seedvote.generation.models.architectures import ARCHITECTURES, build_model, sizes_of
from seedvote.generation.numbering import Numbered
from seedvote.generation.vocabulary import EOS, EOU, OTHER, PAD, SPECIAL, Vocabulary

WORDS = Vocabulary((*SPECIAL, *(f"w{i}" for i in range(20))))
TEXTS = ["w1 w2 w3 .", "w3 w3", "w4 w1 w2", "w5"]
DIALOGUES = [Dialogue(f"d{n}", "test", (Turn("user", "w0"), Turn("system", text))) for n, text in enumerate(TEXTS)]
REFERENCES = {e.item: e for e in iterate_examples(DIALOGUES)}
RESPONSES = [Response(item, "hred", 0, "last", text) for item, text in zip(REFERENCES, reversed(TEXTS), strict=True)]


@pytest.mark.parametrize("group", [1, 3, 100])
def test_every_score_and_every_count_is_written_whatever_is_held_at_once(tmp_path, monkeypatch, group):
    monkeypatch.setattr(scoring, "GROUP", group)
    expected = [
        (name, score, {count: float(value) for count, value in stats.items()})
        for response in RESPONSES
        for name, (score, stats) in overlap_scores(
            tokenize(response.text), tokenize(REFERENCES[response.item].target.text)
        ).items()
    ]
    rows = overlap_rows(RESPONSES, REFERENCES)
    assert write_scores(tmp_path / "metrics.parquet", rows, signature="invented") == len(expected)
    table = pq.read_table(tmp_path / "metrics.parquet")
    assert table.schema.metadata[b"signature"] == b"invented"
    found = [
        (row["task"], row["score"], {name: value for name, value in row["stats"].items() if value is not None})
        for row in table.to_pylist()
    ]
    assert found == expected


def test_no_more_rows_are_asked_for_than_are_written_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr(scoring, "GROUP", 3)
    asked, written = 0, []

    def asking():
        nonlocal asked
        for row in overlap_rows(RESPONSES, REFERENCES):
            asked += 1
            yield row

    def counting(writer, table, real=pq.ParquetWriter.write_table):
        written.append((asked, len(table)))
        real(writer, table)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", counting)
    assert write_scores(tmp_path / "metrics.parquet", asking(), signature="invented") == asked
    assert [before for before, _ in written] == list(itertools.accumulate(rows for _, rows in written))
    assert len(written) > 5


@pytest.mark.parametrize("model", ARCHITECTURES)
def test_perplexity_in_chunks_is_that_of_the_whole_batch(monkeypatch, model):
    torch.random.default_generator.manual_seed(0)
    ready = build_model(model, len(WORDS), sizes_of(model, "tiny")).eval()
    chosen = [Numbered(f"d{n}:1", [OTHER, *[9] * (n % 7), EOU], [*range(7, 8 + n), EOS]) for n in range(12)]
    batch = stack_batch(chosen, torch.device("cpu"))
    with torch.inference_mode():
        logs = ready.output(ready.decode_targets(ready.encode(batch.contexts), batch.inputs)).double().log_softmax(2)
    nll = -(logs.gather(2, batch.targets[:, :, None])[:, :, 0] * (batch.targets != PAD)).sum(1)
    monkeypatch.setattr(scoring, "CHUNK", 7)
    rows = list(forced_rows(ready, chosen, WORDS, name=model, seed=0, checkpoint="last"))
    found = {row.item: row.score for row in rows if row.task == "perplexity"}
    expected = {e.item: math.exp(float(nats) / len(e.target)) for e, nats in zip(chosen, nll, strict=True)}
    assert found == pytest.approx(expected, rel=1e-5)
