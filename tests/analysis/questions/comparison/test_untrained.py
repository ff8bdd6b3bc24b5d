"""Whether training was shown to help: from the score table to the sentence."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

from seedvote.analysis.questions.comparison.untrained import (
    above_untrained,
    baselines_above,
    probe_sentences,
    table_above,
)
from seedvote.analysis.votes.scores.files import scores_of

DIALOGUES = 30


def rows(evaluator, model, seed, checkpoint, rate, task="T", rater="logistic", condition="fit=train,report=test"):
    """Two examples a dialogue, right at this rate."""
    rng = np.random.default_rng([DIALOGUES, seed or 0, len(model), len(checkpoint), int(100 * rate)])
    for n in range(2 * DIALOGUES):
        hit = float(rng.random() < rate)
        yield {
            "evaluator": evaluator, "task": task, "model": model, "seed": seed, "checkpoint": checkpoint,
            "item": f"d{n // 2}:{n}", "cluster": f"d{n // 2}", "rater": rater, "condition": condition,
            "score": hit, "stats": {"tp": hit, "fp": 1 - hit, "fn": 1 - hit},
        }  # fmt: skip


def scores(tmp_path, made, seeds=3):
    table = [
        row
        for task, trained, baseline in made
        for seed in range(seeds)
        for row in (
            *rows("probe", "hred", seed, "last", trained, task),
            *rows("probe", "hred", seed, "untrained", 0.3, task),
            *rows("control", "hred", seed, "last", 0.99, task, condition="fit=train,report=test,labels=control-task"),
            *(rows("baseline", "bag_of_last_turn", None, "", baseline, task) if not seed else ()),
            *(rows("baseline", "majority", None, "", 0.2, task, "majority") if not seed else ()),
        )
    ]
    pq.write_table(pa.Table.from_pylist(table), tmp_path / "scores.parquet")
    return scores_of([tmp_path / "scores.parquet"])


def test_untrained_claim_names_its_tasks_and_nearest_rival(tmp_path):
    found = above_untrained(scores(tmp_path, [("A", 0.97, 0.6), ("B", 0.6, 0.9)], seeds=7))
    good, bad = found
    assert good.shown and good.shown_as_trained and not bad.shown and not bad.shown_as_trained
    for margin in (good.here, good.anew):
        assert (margin.cell, margin.rival) == ("hred last", "bag of last turn")
        assert (margin.cells, margin.rivals) == (1, 3)  # two baselines and the untrained encoder; no control
        assert margin.difference == pytest.approx(37, abs=12)
    assert bad.here.difference < 0
    trained, anew = probe_sentences(found, ())
    assert trained.startswith("On 1 of 2 probe tasks (A), a trained encoder beats every baseline and untrained encoder")
    assert anew == "On 1 of 2 probe tasks (A), more than half of new trainings do."
    assert [row[0] for row in table_above(found).rows] == ["A", "B"]


def test_three_seeds_say_how_many_it_takes(tmp_path):
    (task,) = found = above_untrained(scores(tmp_path, [("A", 0.97, 0.6)]))
    assert task.shown_as_trained and not task.shown and task.anew.p > 0.125
    trained, wanting = probe_sentences(found, ())
    assert trained.startswith("On 1 of 1 probe task (A), a trained encoder beats every baseline and untrained encoder")
    assert wanting == "3 seeds cannot show what new seeds would do: 1 trained encoder needs 5."


def test_a_baseline_may_be_shown_to_beat_all_that_was_trained(tmp_path):
    """Of these encoders each must be beaten; of what other seeds may make, the mean."""
    tasks = [("A", 0.5, 0.97), ("B", 0.6, 0.62), ("C", 0.97, 0.6)]
    above, level, below = baselines_above(scores(tmp_path, tasks, seeds=8))
    assert (above.anew.cell, above.anew.rival) == ("bag of last turn", "hred last")
    assert above.anew.difference == pytest.approx(47, abs=12)
    assert (above.anew.cells, above.anew.rivals, above.here.rivals) == (2, 1, 8)  # majority too; each seed by itself
    assert above.here.rival.startswith("hred last (") and above.here.p < 0.01
    assert above.p_here == pytest.approx(3 * above.here.p)  # Holm: three tasks
    assert 2 * 0.5**8 < above.anew.p < 0.05 and above.p_anew == pytest.approx(3 * above.anew.p)
    assert min(level.p_here, level.p_anew) > 0.05 and below.p_here == below.p_anew == 1
    found = above_untrained(scores(tmp_path, tasks, seeds=8))
    *_, sentence = probe_sentences(found, (above, level, below))
    assert sentence == "On 1 of 3 probe tasks (A: bag of last turn), a baseline beats every trained encoder."


def test_these_very_encoders_are_beaten_where_dialogues_alone_say_so(tmp_path):
    """By hand: the difference over its standard error by dialogue, t with one degree less, times two baselines."""
    (found,) = baselines_above(scores(tmp_path, [("A", 0.6, 0.8)], seeds=2))
    table = pq.read_table(tmp_path / "scores.parquet").to_pylist()

    def hits(evaluator, model, seed):
        each = {}
        for row in table:
            if (row["evaluator"], row["model"], row["seed"]) == (evaluator, model, seed) and row[
                "checkpoint"
            ] in "last":
                each.setdefault(row["cluster"], []).append(row["score"])
        return np.array([np.mean(each[name]) for name in sorted(each)])

    worst = []
    for seed in (0, 1):
        apart = 100 * (hits("baseline", "bag_of_last_turn", None) - hits("probe", "hred", seed))
        error = apart.std(ddof=1) / np.sqrt(DIALOGUES)
        worst.append(2 * stats.t.sf(apart.mean() / error, DIALOGUES - 1))
    assert found.here.p == pytest.approx(max(worst), rel=1e-3) and found.p_here == found.here.p


def test_the_best_mean_alone_is_no_claim(tmp_path):
    """Above every baseline by the means, and not by more than dialogues move it."""
    found = above_untrained(scores(tmp_path, [("A", 0.52, 0.5)]))
    assert not found[0].shown and not found[0].shown_as_trained
    sentence, _ = probe_sentences(found, ())
    assert sentence.startswith("With these seeds, no trained encoder is shown to beat every baseline and untrained")


def test_one_seed_says_nothing_of_others(tmp_path):
    (task,) = found = above_untrained(scores(tmp_path, [("A", 0.99, 0.1)], seeds=1))
    assert task.anew is None and not task.shown and task.shown_as_trained
    trained, wanting = probe_sentences(found, ())
    assert wanting == "1 seed cannot show what new seeds would do: 1 trained encoder needs 5."
    assert trained.startswith("On 1 of 1 probe task (A)") and list(probe_sentences((), ())) == []
