"""Scores over layers: which checkpoint stands for a model, its control and untrained twin, and its top layer alone."""

import json

import numpy as np
import pytest

from seedvote.dialogue.errors import InputError
from seedvote.probes.layers import layer_curves, top_layers
from seedvote.probes.states import read_states
from seedvote.probes.summary import TaskScore


def score(model, seed, checkpoint, f1, labels="", evaluator="probe"):
    condition = "fit=train,report=test" + (f",labels={labels}" if labels else "")
    return TaskScore(evaluator, "T", model, seed, checkpoint, "logistic", condition, f1, 10)


ROWS = [
    *(score(f"m.layer-{n:02d}", None, "last", 10.0 * n) for n in (0, 2, 11)),
    *(score(f"m.layer-{n:02d}", None, "best_bleu", 99.0) for n in (0, 2, 11)),
    *(score(f"m.layer-{n:02d}", s, "untrained", n + s / 10) for n in (0, 2, 11) for s in (0, 1)),
    *(score(f"m.layer-{n:02d}", None, "last", 5.0, "control-task", "control") for n in (0, 2, 11)),
    *(score(f"m.layer-{n:02d}", None, "last", 7.0, "shuffled", "control") for n in (0, 2, 11)),
    *(score("flat", seed, "epoch-2", 40.0 + 10 * seed) for seed in (0, 1)),
    score("bag_of_words", None, "", 60.0, evaluator="baseline"),
]  # fmt: skip


def test_each_model_has_its_scores_its_control_and_its_untrained_twin_over_layers():
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
