"""Which tasks are easy: the papers' numbers and those of a study are grouped in one way."""

import numpy as np
import pytest

from seedvote.analysis.questions.comparison import published
from seedvote.dialogue.formulas.difficulty import RECURRENT, rank_difficulty
from seedvote.probes import comparisons


def test_a_task_is_easy_above_50_points_and_medium_from_25():
    scores = {"a": [40.0, 60.2], "b": [50.0], "c": [25.0], "d": [24.9]}
    assert rank_difficulty(scores) == {"a": "easy", "b": "medium", "c": "medium", "d": "hard"}


def random_scores(rng):
    tasks = [f"task-{number}" for number in range(12)]
    easier = dict(zip(tasks, rng.permutation([60, 55, 51, 50, 45, 30, 26, 25, 24, 20, 10, 5]), strict=True))
    return {
        (task, model, checkpoint): float(easier[task])
        if checkpoint == "untrained" and rng.random() < 0.8
        else float(rng.uniform(0, 100))
        for task in tasks
        for model in (*RECURRENT, "transformer")
        for checkpoint in ("untrained", "best_bleu")
    }


def test_tasks_are_as_difficult_in_a_study_as_in_the_papers():
    compared = 0
    for seed in range(20):
        means = random_scores(np.random.default_rng(seed))
        cells = [published.Published("multiwoz", t, m, c, f1, 0.0) for (t, m, c), f1 in means.items()]
        levels = comparisons.task_difficulty(means)
        assert levels == published.difficulty_of_tasks(cells)
        if all(list(levels.values()).count(name) > 1 for name in set(levels.values())):  # theirs has no SD of one task
            ours = {(g.model, g.difficulty): g for g in comparisons.means_by_difficulty(means, "best_bleu")}
            theirs = {(g.model, g.group): g for g in published.difficulty_groups(cells)}
            assert ours.keys() == theirs.keys() and len(ours) >= 5
            compared += 1
            for key, group in ours.items():
                assert set(group.tasks) == set(theirs[key].tasks)
                assert (group.mean, group.sd) == pytest.approx((theirs[key].mean, theirs[key].sd), abs=1e-10)
    assert compared > 5
