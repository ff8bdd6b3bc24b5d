"""Joint goal accuracy beside the detection of foreign talk: each from its own folder, or none."""

import pyarrow as pa
import pyarrow.parquet as pq

from seedvote.probes.foreign import joint_accuracies


def write(folder, *scores):
    rows = [{"task": task, "model": model, "checkpoint": at, "score": score} for task, model, at, score in scores]
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / "task.parquet")


def test_clean_and_condition_are_read_each_from_its_folder_and_of_that_model_alone(tmp_path):
    study, noisy = tmp_path / "study", tmp_path / "noisy"
    assert joint_accuracies(study, noisy, "hred", "last") is None
    others = [("inform", "hred", "last", 0.0), ("jga", "seq2seq", "last", 0.0), ("jga", "hred", "untrained", 0.0)]
    write(study, ("jga", "hred", "last", 1.0), ("jga", "hred", "last", 0.5), *others)
    assert joint_accuracies(study, noisy, "hred", "last") is None  # not scored under the condition
    write(noisy, ("jga", "hred", "last", 0.25), *others)
    assert joint_accuracies(study, noisy, "hred", "last") == (75.0, 25.0)
    assert joint_accuracies(study, noisy, "transformer", "last") is None
