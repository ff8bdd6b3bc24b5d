"""Score tables: several files, one value a seed."""

from functools import partial

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.votes.scores.table import read_scores
from dialogue.errors import InputError

ROW = {"evaluator": "probe", "task": "AllSlots", "model": "hred", "seed": 0, "checkpoint": "last", "item": "d:1"}
ROW |= {"rater": "logistic", "score": 0.5, "cluster": "d", "condition": ""}


def test_several_files_are_one_table_and_a_missing_condition_is_empty(tmp_path):
    counted = [ROW | {"stats": {"tp": 1.0, "fp": 0.0, "fn": 1.0}}, ROW | {"stats": {"tp": 2.0, "fp": 1.0, "fn": 0.0}}]
    plain = [ROW | {"evaluator": "token", "task": "distinct-1", "seed": None, "score": s} for s in (0.25, 0.75)]
    pq.write_table(pa.Table.from_pylist(counted), tmp_path / "scores.parquet")
    pq.write_table(pa.Table.from_pylist(plain).drop(["condition"]), tmp_path / "metrics.parquet")
    table = read_scores([tmp_path / "scores.parquet", tmp_path / "metrics.parquet"])
    assert table.column("condition").to_pylist() == [""] * 4
    assert table.column("evaluator").to_pylist() == ["probe", "probe", "token", "token"]


@pytest.mark.parametrize("name", ["scores.csv", "scores.jsonl", "scores.parquet"])
def test_every_form_of_a_table_reads_the_same(tmp_path, name):
    frame = pd.DataFrame([ROW, ROW | {"item": "d:3", "seed": 1, "score": 0.75}])
    {
        "scores.csv": partial(frame.to_csv, index=False),
        "scores.jsonl": partial(frame.to_json, orient="records", lines=True),
        "scores.parquet": frame.to_parquet,
    }[name](tmp_path / name)
    table, memory = read_scores([tmp_path / name]), read_scores([frame])
    for column in ROW:
        assert table[column].to_pylist() == memory[column].to_pylist(), column
    assert memory["seed"].to_pylist() == [0, 1] and memory["score"].to_pylist() == [0.5, 0.75]


def test_a_table_that_is_none_is_refused_by_name(tmp_path):
    (tmp_path / "scores.parquet").write_text("no")
    with pytest.raises(InputError, match=r"scores.parquet cannot be read as Parquet"):
        read_scores([tmp_path / "scores.parquet"])
    with pytest.raises(InputError, match=r"nowhere.parquet cannot be read: there is no such file"):
        read_scores([tmp_path / "nowhere.parquet"])
    pq.write_table(pa.table({"task": ["x"]}), tmp_path / "scores.parquet")
    with pytest.raises(InputError, match="column evaluator, model, seed"):
        read_scores([tmp_path / "scores.parquet"])
