"""The papers' tables from one study: their ±, what stands where, and what is said of what is not there."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from probes import papers
from probes.scoring import spread
from probes.summary import TaskScore, cells

TASKS = ("IsMultiTopic", "RecentTopic")


def score(task, model, seed, checkpoint, f1, classifier="logistic"):
    return TaskScore("probe", task, model, seed, checkpoint, classifier, "fit=train,report=test", f1, 100)


@pytest.fixture(scope="module")
def scores():
    found = [
        score(task, model, seed, checkpoint, 20 + 40 * (task == TASKS[0]) + 10 * (checkpoint != "untrained") + 3 * seed)
        for task in TASKS for model in ("seq2seq", "hred") for seed in range(3)
        for checkpoint in ("untrained", "last", "best_bleu", "best_embedding", "epoch-1")
    ]  # fmt: skip
    return [*found, score(TASKS[0], "hred", 0, "last", 50.0, "mlp:0")]


def table(text):
    return {tuple(line.strip("| ").split(" | "))[:2]: line.strip("| ").split(" | ") for line in text.splitlines()[4:]}


def test_a_cell_has_the_mean_what_the_papers_print_and_the_sd(scores):
    logistic, mlp = papers.probe_tables(cells(scores), TASKS, "multiwoz")
    rows = table(papers.paper_page(logistic))
    assert rows["seq2seq", "last"][2:] == ["73.00 ± 0.09 (SD 3.0)", "33.00 ± 0.09 (SD 3.0)"]
    assert set(rows) == {(model, at) for model in ("seq2seq", "hred") for at in ("untrained", "last", "best_bleu")}
    assert table(papers.paper_page(mlp)) == {("hred", "last"): ["hred", "last", "50.00", "-"]}
    values = np.array([50.0, 61.0, 77.0])
    assert papers.as_the_papers(spread(values)) == pytest.approx(100 * np.var(values / 100, ddof=1))


def test_difficulty_and_selection_have_numbers(scores):
    of = [one for one in scores if one.classifier == "logistic"]
    rows = papers.difficulty(cells(of)).rows
    assert ("hred", "last", "easy", "73.00", "-", "1", "IsMultiTopic") in rows
    chosen = {row[:2]: row[2:] for row in papers.selection(of).rows}
    assert chosen["hred", "embedding"] == ("53.00", "3.00", "3") and set(chosen) == {
        (model, metric) for model in ("hred", "seq2seq") for metric in ("bleu", "embedding")
    }


def test_sizes_are_counted_in_the_weights(tmp_path):
    folder = tmp_path / "models" / "hred-0"
    folder.mkdir(parents=True)
    header = {
        "__metadata__": {"epoch": "0"},
        "a": {"dtype": "F32", "shape": [3, 4]},
        "b": {"dtype": "F32", "shape": [5]},
    }
    told = json.dumps(header).encode()
    (folder / "untrained.safetensors").write_bytes(len(told).to_bytes(8, "little") + told + bytes(4 * 17))
    assert papers.sizes(tmp_path).rows == (("hred", "17", "0.0M"),)


def test_bleu_of_every_seed_names_the_decoding(tmp_path):
    rows = [("bleu2", "hred", seed, "last", how, value + seed)
            for seed in (0, 1) for how, value in (("greedy", 10.0), ("nucleus:0.9", 5.0))]  # fmt: skip
    names = ("task", "model", "seed", "checkpoint", "condition", "score")
    pq.write_table(pa.table(dict(zip(names, zip(*rows, strict=True), strict=True))), tmp_path / "metrics.parquet")
    found = papers.bleu_by_seed(tmp_path)
    assert found.rows[0] == ("hred", "last", "bleu2", "greedy", "10.00", "11.00", "10.50", "0.71")
    assert [row[3] for row in found.rows] == ["greedy", "nucleus:0.9"]


def test_the_index_says_what_is_not_there_and_how_to_make_it(tmp_path):
    nothing = [papers.sizes(tmp_path), papers.bleu_by_seed(tmp_path), papers.difficulty([]), papers.selection([])]
    assert all(one.missing and not one.rows for one in nothing)
    page = papers.index(nothing, {"evolution": "not drawn yet", "states": ""}, tmp_path, "NOT THE OFFICIAL SPLIT")
    assert "BLEU-2 by seed: **not here**, there is no metrics.parquet | BLEU-2 of every model |" in page
    assert f"`python -m generation score {tmp_path}`" in page and "[states.png](../probes/states.png)" in page
    assert "probe scores over epochs: **not here**, not drawn yet" in page
    assert page.rstrip().endswith("NOT THE OFFICIAL SPLIT")
