"""Joint goal accuracy beside the detection of foreign talk: each from its own folder, or none."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score, roc_auc_score

from seedvote.probes.foreign import (
    ForeignCalls,
    by_distance,
    by_probe,
    detection_rates,
    joint_accuracies,
    weighted_auroc,
)


def write(folder, *scores):
    rows = [{"task": task, "model": model, "checkpoint": at, "score": score} for task, model, at, score in scores]
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), folder / "task.parquet")


def test_foreign_states_come_from_their_own_folder(tmp_path):
    study, noisy = tmp_path / "study", tmp_path / "noisy"
    assert joint_accuracies(study, noisy, "hred", "last") is None
    others = [("inform", "hred", "last", 0.0), ("jga", "seq2seq", "last", 0.0), ("jga", "hred", "untrained", 0.0)]
    write(study, ("jga", "hred", "last", 1.0), ("jga", "hred", "last", 0.5), *others)
    assert joint_accuracies(study, noisy, "hred", "last") is None  # not scored under the condition
    write(noisy, ("jga", "hred", "last", 0.25), *others)
    assert joint_accuracies(study, noisy, "hred", "last") == (75.0, 25.0)
    assert joint_accuracies(study, noisy, "transformer", "last") is None


# Detecting foreign talk: rates against scikit-learn's, and intervals that hold what is true.


def test_auroc_is_scikit_learns_with_weights_and_ties():
    rng = np.random.default_rng(0)
    scores, truth = rng.integers(0, 6, 200).astype(float), rng.random(200) < 0.3
    weights = rng.integers(0, 4, (5, 200)).astype(float)
    for row, ours in zip(weights, weighted_auroc(scores, truth, weights), strict=True):
        assert ours == pytest.approx(roc_auc_score(truth, scores, sample_weight=row))
    assert np.isnan(weighted_auroc(scores, np.zeros(200, bool), weights)).all()


def test_rates_are_scikit_learns_and_means_over_seeds():
    rng = np.random.default_rng(1)
    truth, clusters = rng.random(300) < 0.4, [f"d{n // 6}" for n in range(300)]
    seeds = [ForeignCalls(scores := rng.normal(truth), scores > 0.3) for _ in range(3)]
    found = detection_rates(seeds, truth, clusters, generator=np.random.default_rng(0))
    for rate, oracle in ((found.f1, f1_score), (found.precision, precision_score), (found.recall, recall_score)):
        assert rate[0] == pytest.approx(np.mean([oracle(truth, one.called) for one in seeds]))
        assert rate[1] < rate[0] < rate[2]
    assert found.auroc[0] == pytest.approx(np.mean([roc_auc_score(truth, one.scores) for one in seeds]))


def test_a_shift_of_the_states_is_found_with_labels_and_without():
    rng = np.random.default_rng(2)
    clean, truth = rng.normal(size=(600, 8)), rng.random(400) < 0.5
    fit, report = rng.normal(size=(400, 8)), rng.normal(size=(400, 8))
    fit[truth, 0] += 4
    report[truth, 0] += 4
    clean[:, 7] = fit[:, 7] = report[:, 7] = 1.0  # a number that never varies
    for found in (by_probe(fit, truth, report), by_distance(clean, report)):
        assert weighted_auroc(found.scores, truth, np.ones((1, 400)))[0] > 0.9
    called = by_distance(clean, report).called
    assert called[~truth].mean() == pytest.approx(0.05, abs=0.04)


@pytest.mark.slow
def test_intervals_hold_the_true_auroc_when_dialogues_differ():
    """50 dialogues of 8 turns, scores with a level of their own in each; the truth from 100,000 turns."""
    rng = np.random.default_rng(3)

    def study(dialogues):
        truth = rng.random(8 * dialogues) < 0.5
        level = np.repeat(rng.normal(0, 0.7, dialogues), 8)
        return rng.normal(level + truth), truth

    scores, truth = study(12_500)
    right = roc_auc_score(truth, scores)
    held = []
    for _ in range(400):
        scores, truth = study(50)
        clusters = [f"d{n // 8}" for n in range(400)]
        found = detection_rates([ForeignCalls(scores, scores > 0)], truth, clusters, generator=rng)
        held.append(found.auroc[1] <= right <= found.auroc[2])
    assert 0.915 <= np.mean(held) <= 0.98  # .94 when it was written down
