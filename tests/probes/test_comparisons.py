"""What the pictures are made of, against the papers' own tables, and the pictures themselves."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from seedvote.analysis.questions.comparison.answer import read_published
from seedvote.dialogue.errors import InputError
from seedvote.probes import comparisons
from seedvote.probes.comparisons import (
    by_selector,
    common_axes,
    compare_metric,
    difficulty_by,
    layer_curves,
    means_by_difficulty,
    rank_difficulty,
    read_metric,
    score_courses,
    top_layers,
)
from seedvote.probes.states import read_states
from seedvote.probes.summary import TaskScore, gather_cells


def test_the_difficulty_groups_of_the_paper_come_out_in_all_fifteen_cells(pytestconfig):
    with (pytestconfig.rootpath / "tests" / "golden" / "difficulty_groups.csv").open(newline="") as handle:
        printed = {(row["model"], row["group"]): row for row in csv.DictReader(handle)}
    means = {(s.task, s.model, s.checkpoint): s.f1 for s in read_published() if s.corpus == "multiwoz"}
    groups = {(group.model, group.difficulty): group for group in means_by_difficulty(means, "best_bleu")}
    assert len(printed) == 15 and groups.keys() == printed.keys()
    for key, row in printed.items():
        assert groups[key].mean == pytest.approx(float(row["mean_f1"]), abs=0.1)
        assert groups[key].sd == pytest.approx(float(row["sd_across_tasks"]), abs=0.1)
    assert set(groups["hred", "easy"].tasks) == {"IsMultiTopic", "NumAllTopics", "NumRepeatInfo", "RepeatInfo"}
    assert set(groups["hred", "medium"].tasks) == {"AllTopics", "NumRecentInfo", "RecentSlots", "UtteranceLoc"}
    assert len(groups["hred", "hard"].tasks) == 8


def test_a_task_is_easy_above_50_points_and_medium_from_25():
    scores = {"a": [40.0, 60.2], "b": [50.0], "c": [25.0], "d": [24.9]}
    assert rank_difficulty(scores) == {"a": "easy", "b": "medium", "c": "medium", "d": "hard"}


def score(task="T", model="m", seed=0, checkpoint="last", f1=50.0, evaluator="probe"):
    return TaskScore(evaluator, task, model, seed, checkpoint, "logistic", "fit=train,report=test", f1, 10)


def test_the_course_of_a_model_has_the_seeds_that_every_epoch_has():
    rows = [score(seed=s, checkpoint=c, f1=10 * s + e) for s in (0, 1) for e, c in enumerate(("untrained", "epoch-1"))]
    (course,) = score_courses([*rows, score(seed=2, checkpoint="epoch-1"), score(checkpoint="best_bleu")])
    assert course.epochs.tolist() == [0, 1] and course.values.tolist() == [[0, 1], [10, 11]]


def test_rank_correlation_needs_three_points_and_is_that_of_the_ranks():
    rows = [score(seed=seed, f1=value) for seed, value in enumerate((10.0, 20.0, 90.0))]
    metric = {("m", 0, "last"): 1.0, ("m", 1, "last"): 5.0, ("m", 2, "last"): 6.0}
    (found,) = compare_metric(rows, metric)
    assert found.correlation == pytest.approx(1)
    assert compare_metric(rows[:2], metric) == []


def test_a_token_metric_is_averaged_over_items(tmp_path):
    same = {"model": "m", "seed": 0, "checkpoint": "last"}
    rows = [same | {"task": task, "score": value} for task, value in (("bleu2", 1.0), ("bleu2", 3.0), ("other", 9.0))]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "metrics.parquet")
    assert read_metric(tmp_path / "metrics.parquet", "bleu2") == {("m", 0, "last"): 2.0}
    with pytest.raises(InputError, match="python -m generation score"):
        read_metric(tmp_path / "absent.parquet", "bleu2")


def test_selectors_average_over_tasks_for_each_seed():
    rows = [score(task=t, seed=s, checkpoint="best_bleu", f1=10 * s + i) for s in (0, 1) for i, t in enumerate("AB")]
    assert by_selector([*rows, score()]) == {("m", "bleu"): [0.5, 10.5]}


def test_difficulty_uses_untrained_models_or_bag_of_words():
    means = {("A", "mine", "last"): 90.0, ("B", "mine", "last"): 80.0}
    words = {"A": 60.0, "B": 20.0}
    assert difficulty_by(means, words) == ({"A": "easy", "B": "hard"}, "bag of words")
    untrained = {("A", "mine", "untrained"): 30.0, ("B", "mine", "untrained"): 70.0}
    assert difficulty_by({**means, **untrained}, words) == ({"A": "medium", "B": "easy"}, "untrained models")
    recurrent = {("A", "hred", "untrained"): 10.0}
    assert difficulty_by({**means, **untrained, **recurrent}, words) == ({"A": "hard"}, "untrained recurrent models")


def test_common_axes_follow_the_direction_of_most_variance():
    rng = np.random.default_rng(0)
    first, last = rng.standard_normal((300, 5)), rng.standard_normal((300, 5)) * [9, 1, 1, 1, 1] + [20, 0, 0, 0, 0]
    axes = common_axes([first, last], [first, last])
    before, after = axes.clouds
    assert np.ptp(after[:, 0]) > 5 * np.ptp(before[:, 0]) and axes.share > 0.9


def test_the_shift_between_checkpoints_is_a_number_and_no_axis():
    """The same clouds 1,000 apart: the axes and their share stay, and nearly all variance is the shift."""
    rng = np.random.default_rng(1)
    first, last = rng.standard_normal((300, 5)), rng.standard_normal((300, 5)) * [3, 2, 1, 1, 1]
    near, far = common_axes([first, last], [first, last]), common_axes([first, last + 1000], [first, last + 1000])
    assert near.shift < 0.02 and far.shift > 0.999
    assert far.share == pytest.approx(near.share) and far.share < 0.8
    assert all(np.allclose(np.abs(a), np.abs(b)) for a, b in zip(near.clouds, far.clouds, strict=True))
    assert all(abs(cloud.mean()) < 1e-9 for cloud in far.clouds)
    assert common_axes([first], [first]).shift < 1e-20


def test_a_cell_keeps_the_spread_over_seeds_and_over_the_classifiers_seeds():
    rows = [
        TaskScore("probe", "T", "m", seed, "last", f"mlp:{net}", "fit=train,report=test", 50 + 10 * seed + net, 5)
        for seed in (0, 1, 2)
        for net in (0, 2)
    ]
    (cell,) = gather_cells(rows)
    assert cell.seeds.values == (51, 61, 71) and cell.seeds.sd == pytest.approx(10)
    assert cell.seeds.low == pytest.approx(5.21, abs=0.01) and cell.seeds.high == pytest.approx(62.8, abs=0.1)
    assert cell.rater_sd == pytest.approx(2**0.5)
    assert np.isnan(cell.selectivity)


def test_epochs_are_read_from_checkpoint_names():
    assert [comparisons.epoch_of(name) for name in ("untrained", "epoch-7", "last")] == [0, 7, None]


# Scores over layers: which checkpoint stands for a model, its control and untrained twin, and its top layer alone.


def layer_score(model, seed, checkpoint, f1, labels="", evaluator="probe"):
    condition = "fit=train,report=test" + (f",labels={labels}" if labels else "")
    return TaskScore(evaluator, "T", model, seed, checkpoint, "logistic", condition, f1, 10)


ROWS = [
    *(layer_score(f"m.layer-{n:02d}", None, "last", 10.0 * n) for n in (0, 2, 11)),
    *(layer_score(f"m.layer-{n:02d}", None, "best_bleu", 99.0) for n in (0, 2, 11)),
    *(layer_score(f"m.layer-{n:02d}", s, "untrained", n + s / 10) for n in (0, 2, 11) for s in (0, 1)),
    *(layer_score(f"m.layer-{n:02d}", None, "last", 5.0, "control-task", "control") for n in (0, 2, 11)),
    *(layer_score(f"m.layer-{n:02d}", None, "last", 7.0, "shuffled", "control") for n in (0, 2, 11)),
    *(layer_score("flat", seed, "epoch-2", 40.0 + 10 * seed) for seed in (0, 1)),
    layer_score("bag_of_words", None, "", 60.0, evaluator="baseline"),
]  # fmt: skip


def test_comparisons_have_control_and_untrained_by_layer():
    found = {(one.model, one.kind): (one.layers.tolist(), one.values.tolist()) for one in layer_curves(ROWS)}
    assert found == {
        ("m", "trained"): ([0, 2, 11], [[0.0, 20.0, 110.0]]),
        ("m", "untrained"): ([0, 2, 11], [[0.0, 2.0, 11.0], [0.1, 2.1, 11.1]]),
        ("m", "control"): ([0, 2, 11], [[5.0, 5.0, 5.0]]),
        ("flat", "trained"): ([-1], [[40.0], [50.0]]),
    }


def test_other_pictures_show_the_top_layer():
    kept = {(one.model, one.checkpoint) for one in top_layers(ROWS)}
    whole = {("flat", "epoch-2"), ("bag_of_words", "")}
    assert kept == whole | {("m.layer-11", name) for name in ("last", "best_bleu", "untrained")}


@pytest.mark.parametrize("layer", ["3", -1, 1.5, True])
def test_a_layer_is_a_number_from_0(tmp_path, layer):
    np.save(tmp_path / "a.npy", np.zeros((2, 3)))
    (tmp_path / "a.json").write_text(json.dumps({"ids": ["d:1", "d:3"], "model": "mine", "layer": layer}))
    with pytest.raises(InputError, match="not the number of a layer"):
        read_states(tmp_path / "a.npy")
    (tmp_path / "a.json").write_text(json.dumps({"ids": ["d:1", "d:3"], "model": "mine", "layer": 3}))
    assert read_states(tmp_path / "a.npy").model == "mine.layer-03"


@pytest.mark.parametrize(("width", "columns"), [(1, 2), (2, 2), (3, 3)])
def test_states_of_one_number_get_a_second_axis_and_others_stay(width, columns):
    states = np.arange(4.0 * width).reshape(4, width)
    widened = comparisons._widen_states(states)
    assert widened.shape == (4, columns) and (widened[:, :width] == states).all() and not widened[:, width:].any()
