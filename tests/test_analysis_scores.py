"""Score tables: several files, one value a seed."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from analysis.scores import read_scores, seed_values
from dialogue.errors import InputError

ROW = {"evaluator": "probe", "task": "AllSlots", "model": "hred", "seed": 0, "checkpoint": "last", "item": "d:1"}
ROW |= {"rater": "logistic", "score": 0.5, "cluster": "d", "condition": ""}


def test_counts_become_micro_f1_and_other_scores_their_mean(tmp_path):
    counted = [ROW | {"stats": {"tp": 1.0, "fp": 0.0, "fn": 1.0}}, ROW | {"stats": {"tp": 2.0, "fp": 1.0, "fn": 0.0}}]
    plain = [ROW | {"evaluator": "token", "task": "distinct-1", "seed": None, "score": s} for s in (0.25, 0.75)]
    pq.write_table(pa.Table.from_pylist(counted), tmp_path / "scores.parquet")
    pq.write_table(pa.Table.from_pylist(plain).drop(["condition"]), tmp_path / "metrics.parquet")
    found = {
        v.evaluator: v for v in seed_values(read_scores([tmp_path / "scores.parquet", tmp_path / "metrics.parquet"]))
    }
    assert found["probe"].value == pytest.approx(2 * 3 / (2 * 3 + 2))
    assert (found["token"].value, found["token"].seed, found["token"].examples) == (0.5, None, 2)


def test_a_table_that_is_none_is_refused_by_name(tmp_path):
    (tmp_path / "scores.parquet").write_text("no")
    with pytest.raises(InputError, match=r"scores.parquet cannot be read as Parquet"):
        read_scores([tmp_path / "scores.parquet"])
    pq.write_table(pa.table({"task": ["x"]}), tmp_path / "scores.parquet")
    with pytest.raises(InputError, match="column evaluator, model, seed"):
        read_scores([tmp_path / "scores.parquet"])
