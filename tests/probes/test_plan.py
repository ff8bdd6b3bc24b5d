"""Controls: labels by word type, which only a classifier that remembers can answer, and shuffled ones."""

import json

import numpy as np
import pytest

from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.corpora.toy.write import write_toy
from seedvote.probes import plan
from seedvote.probes.plan import Options, lay_out
from seedvote.probes.states import read_states
from seedvote.probes.suite import Material, fit_and_score
from seedvote.probes.summary import TaskScore, gather_cells


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A folder and the plan of two tasks on a small corpus."""
    folder = tmp_path_factory.mktemp("controls")
    write_toy(folder / "corpus", 80, seed=0, kind="multiwoz")
    corpus = read_corpus(folder / "corpus")
    return folder, lay_out(corpus, "NumAllTopics,AllTopics", plan.plan_splits(corpus, "test"))


def sets(labels):
    return [tuple(part) for part in np.split(labels.columns, labels.starts[1:-1])]


def test_control_labels_follow_the_word_type(planned):
    for labelled in planned[1].labelled_tasks:
        made = plan.control_task(labelled, seed=0)
        by_type = {}
        for types, side in zip(labelled.word_types, (made.fit, made.choose, made.report), strict=True):
            for word, labels in zip(types, sets(side), strict=True):
                by_type.setdefault(int(word), set()).add(labels)
        assert all(len(found) == 1 for found in by_type.values())
        assert set().union(*by_type.values()) <= set(sets(labelled.fit)) and len(set().union(*by_type.values())) > 1
        assert sets(plan.control_task(labelled, seed=1).fit) != sets(made.fit)


def test_shuffled_labels_keep_their_counts(planned):
    for labelled in planned[1].labelled_tasks:
        made = plan.shuffled_labels(labelled, seed=0)
        assert sorted(sets(made.fit)) == sorted(sets(labelled.fit)) and sets(made.fit) != sets(labelled.fit)
        assert made.report is labelled.report


def outcomes(planned, name, states):
    """Micro-F1 of the first task by kind of labels."""
    folder, plan = planned
    np.save(folder / f"{name}.npy", states.astype(np.float32))
    (folder / f"{name}.json").write_text(json.dumps({"ids": list(plan.items), "model": name}))
    who = Material(read_states(folder / f"{name}.npy"), plan)
    (found,) = fit_and_score([who], plan.labelled_tasks[0], Options())
    return {one.labels: 100 * one.counts.micro_f1 for one in found}


def test_selectivity_is_high_for_answers_not_for_words(planned):
    """A state that is the newest word remembers its control task; one that is the answer knows no word."""
    labelled = planned[1].labelled_tasks[0]
    truth = np.concatenate([side.dense() for side in (labelled.fit, labelled.choose, labelled.report)])
    types = np.concatenate(labelled.word_types)
    answer = outcomes(planned, "answer", 4.0 * truth)
    word = outcomes(planned, "word", 4.0 * np.eye(types.max() + 1)[types])
    assert answer[plan.TRUE] > 95 and answer[plan.TRUE] - answer[plan.CONTROL_TASK] > 15
    assert word[plan.CONTROL_TASK] > 90 and word[plan.TRUE] - word[plan.CONTROL_TASK] < -15
    assert abs(answer[plan.SHUFFLED] - word[plan.SHUFFLED]) < 25  # as good as constant, both


def test_a_cell_keeps_both_controls_apart_and_reads_tables_that_have_one():
    rows = [
        TaskScore("probe" if not kind else "control", "T", "m", 0, "last", "logistic", f"fit=a,report=b{kind}", f1, 9)
        for kind, f1 in (("", 80.0), (",labels=shuffled", 30.0), (",labels=control-task", 70.0))
    ]
    (cell,) = gather_cells(rows)
    assert (cell.seeds.mean, cell.above_shuffled, cell.selectivity) == (80, 50, 10)
    (older,) = gather_cells(rows[:2])  # written before there were control tasks
    assert older.above_shuffled == 50 and np.isnan(older.selectivity)
