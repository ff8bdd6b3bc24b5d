"""Trivial baselines, against the published ones where the labels are the same."""

import csv
from pathlib import Path

import numpy as np
import pytest

from dialogue.corpora.examples import examples
from dialogue.corpora.reading import read_corpus
from dialogue.records import Dialogue, Turn
from probes import baselines, reference, splits
from probes.plan import lay_out
from probes.scoring import count

SHARED = Path(__file__).resolve().parents[2] / "shared"
COLUMNS = {
    "constant": "ovr_constant",
    "majority": "majority_constant",
    "turn_index": "ovr_turn_index_only",
    "context_length": "ovr_context_length_only",
}
needs_data = pytest.mark.skipif(not SHARED.exists(), reason="the real data lies beside the checkout, not in it")


@pytest.fixture(scope="module")
def measured():
    """Fitted on test, scored on valid, the papers' way: task and baseline -> micro-F1 in points."""
    sides = splits.plan(read_corpus(SHARED / "data" / "multiwoz21_valtest"), "valid")
    study = lay_out(read_corpus(SHARED / "data" / "multiwoz21_valtest"), "UtteranceLoc,AllTopics,EntitySlots", sides)
    n, found = len(sides.fit), {}
    for name in COLUMNS:
        x = baselines.BASELINES[name](sides.fit, [*sides.fit, *sides.report])
        for question in study.questions:
            predicted = (
                baselines.always_the_most_frequent(question.fit, len(x) - n)
                if name == "majority"
                else reference.fit_as_the_papers(x[:n], question.fit, x[n:]).predicted
            )
            found[question.task, name] = 100 * count(predicted, question.report).micro_f1
    return found


@needs_data
@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("task", ["UtteranceLoc", "EntitySlots"])
def test_a_trivial_baseline_scores_what_was_published(measured, task, name):
    """These two tasks do not depend on the belief states, which differ between releases."""
    rows = csv.DictReader((SHARED / "tables" / "trivial_baselines_multiwoz_valid.csv").read_text().splitlines())
    published = {row["task"].split("(")[0]: float(row[COLUMNS[name]]) for row in rows}
    assert measured[task, name] == pytest.approx(published[task], abs=0.15)


@needs_data
def test_the_constant_of_all_topics_scores_what_was_published(measured):
    assert measured["AllTopics", "majority"] == pytest.approx(30.1, abs=0.05)
    assert measured["AllTopics", "constant"] == 0


def talk(*texts):
    return Dialogue("D", "train", tuple(Turn(("user", "system")[n % 2], text) for n, text in enumerate(texts)))


def test_baselines_see_what_they_say_and_nothing_else():
    members = list(examples([talk("one two three", "x", "word " * 8, "x", "word " * 200, "x")]))
    assert baselines.turn_index(members, members).argmax(1).tolist() == [0, 1, 2]
    assert baselines.context_length(members, members).argmax(1).tolist() == [0, 1, 12]
    assert not baselines.constant(members, members).any()


def test_the_bag_of_words_knows_the_words_and_not_their_order():
    there = [talk("red green", "x", "blue", "x"), talk("green red", "x", "blue", "x"), talk("red", "x", "red", "x")]
    members = list(examples(there))
    bag = baselines.bag_of_words(members, members)
    assert np.allclose(bag[0], bag[2]) and np.allclose(bag[1], bag[3])
    assert not np.allclose(bag[0], bag[4]) and not np.allclose(bag[4], bag[5])
