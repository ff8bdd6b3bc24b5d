"""Trivial baselines, against the published ones where the labels are the same."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from seedvote.dialogue.cards import PROBE
from seedvote.dialogue.corpora.examples import Example, iterate_examples
from seedvote.dialogue.corpora.reading import read_corpus
from seedvote.dialogue.formulas.counts import micro_f1
from seedvote.dialogue.records import Dialogue, Turn
from seedvote.dialogue.tokens import LONGEST_CONTEXT
from seedvote.probes import baselines, plan
from seedvote.probes.baselines import words_in_window
from seedvote.probes.classifiers import reference
from seedvote.probes.scoring import count_hits
from seedvote.probes.tasks.catalogue import ProbeTask, fixed_rule, or_none, tasks_of, tokenize_words
from seedvote.probes.tasks.labels import label_sides

SHARED = Path(__file__).resolve().parents[3] / "shared"
COLUMNS = {
    "constant": "ovr_constant",
    "majority": "majority_constant",
    "turn_index": "ovr_turn_index_only",
    "context_length": "ovr_context_length_only",
}
# In the published baselines every act of the system's turn is a label, not the first alone.
ALL_ACTS = ProbeTask("ActionSelect", True, fixed_rule(lambda example: or_none(example.target.acts or ())), "all acts")
TASKS = (*tasks_of("multiwoz", "UtteranceLoc,EntitySlots"), ALL_ACTS)
needs_data = pytest.mark.skipif(not SHARED.exists(), reason="the real data lies beside the checkout, not in it")


@pytest.fixture(scope="module")
def published():
    """Task -> its row."""
    rows = csv.DictReader((SHARED / "tables" / "trivial_baselines_multiwoz_valid.csv").read_text().splitlines())
    return {row["task"].split("(")[0]: row for row in rows}


@pytest.fixture(scope="module")
def sides():
    """Fitted on test, reported on valid, as published."""
    return plan.plan_splits(read_corpus(SHARED / "data" / "multiwoz21_valtest"), "valid")


@pytest.fixture(scope="module", params=COLUMNS)
def features(request, sides):
    return request.param, baselines.PLAIN[request.param](sides.fit, [*sides.fit, *sides.report])


@pytest.mark.slow
@needs_data
@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_trivial_baseline_scores_what_was_published(sides, features, published, task):
    """These tasks do not depend on the belief states, which differ between releases."""
    name, x = features
    n = len(sides.fit)
    fit, report = label_sides(task, sides.fit, [sides.fit, sides.report])
    predicted = (
        baselines.always_the_most_frequent(fit, len(x) - n)
        if name == "majority"
        else reference.fit_as_the_papers(x[:n], fit, x[n:]).predicted
    )
    assert f"{100 * count_hits(predicted, report).micro_f1:.1f}" == published[task.name][COLUMNS[name]]


# What the published majority answers: the set of labels that most test examples have.
MAJORITY = {
    "IsMultiTask": ("multi", ["False"]),
    "NumAllTopics": ("ntop", ["1"]),
    "NumRepeatInfo": ("nrep", ["0"]),
    "RepeatInfo": ("rep", ["none"]),
    "NumRecentInfo": ("nrec", ["0"]),
    "NumAllInfo": ("nall", ["2"]),
    "RecentSlots": ("recent", ["none"]),
    "AllTopics": ("alltop", ["restaurant"]),
    "RecentTopic": ("rtopic", ["train"]),
    "AllSlots": ("allslots", [f"train-semi-{slot}" for slot in ("departure", "destination", "day", "arriveBy")]),
}


@needs_data
@pytest.mark.parametrize("task", MAJORITY)
def test_the_published_majority_follows_from_the_published_label_counts(published, task):
    """Both tables are of the same labels, and their F1 is ours."""
    counts = json.loads((SHARED / "tables" / "label_counts_multiwoz_valid_test.json").read_text())["val"]
    counts["recent"] = {"none": counts["nrec"]["0"], "slots": sum(int(k) * n for k, n in counts["nrec"].items())}
    name, answered = MAJORITY[task]
    n = counts["examples(user turns)"]
    tp = sum(counts[name][answer] for answer in answered)
    f1 = micro_f1(tp, n * len(answered) - tp, sum(counts[name].values()) - tp)
    assert f"{100 * f1:.1f}" == published[task]["majority_constant"]


def talk(*texts):
    return Dialogue("D", "train", tuple(Turn(("user", "system")[n % 2], text) for n, text in enumerate(texts)))


def test_baselines_see_what_they_say_and_nothing_else():
    members = list(iterate_examples([talk("one two three", "x", "word " * 8, "x", "word " * 200, "x")]))
    assert baselines.turn_index(members, members).argmax(1).tolist() == [0, 1, 2]
    assert baselines.context_length(members, members).argmax(1).tolist() == [0, 3, 19]
    assert not baselines.constant_feature(members, members).any()


def test_the_majority_is_the_most_frequent_set_of_labels():
    """`a` is the most frequent label, but most examples have `b` and `c`."""
    wanted = iter([["a"], ["b", "c"], ["c", "b"], ["a", "b"], ["a", "c"]])
    members = list(iterate_examples([talk(*["x"] * 10)]))
    rules = {example.item: next(wanted) for example in members}
    (fitted,) = label_sides(
        ProbeTask("T", True, fixed_rule(lambda example: rules[example.item]), ""), members, [members]
    )
    assert baselines.always_the_most_frequent(fitted, 2).tolist() == [[False, True, True]] * 2


def test_the_bag_of_words_knows_the_words_and_not_their_order():
    there = [talk("red green", "x", "blue", "x"), talk("green red", "x", "blue", "x"), talk("red", "x", "red", "x")]
    members = list(iterate_examples(there))
    bag = baselines.bag_of_words(members, members)
    assert np.allclose(bag[0], bag[2]) and np.allclose(bag[1], bag[3])
    assert not np.allclose(bag[0], bag[4]) and not np.allclose(bag[4], bag[5])


def alike(bag, one, other):
    return bool(np.allclose(bag[one], bag[other], atol=1e-4))


def test_bag_of_the_last_turn_sees_that_turn_alone():
    there = [talk("red", "x", "blue green", "x"), talk("grey", "x", "green blue", "x"), talk("red", "y", "blue", "x")]
    members = list(iterate_examples(there))
    last, two = baselines.bag_of_last_turn(members, members), baselines.bag_of_two_turns(members, members)
    assert alike(last, 1, 3) and alike(last, 0, 4) and not alike(last, 1, 5)
    assert alike(two, 1, 3) and not alike(two, 1, 5)  # the system said y
    whole = baselines.bag_of_words(members, members)
    assert not alike(whole, 1, 3)  # red or grey came first


def test_window_holds_the_newest_hundred_tokens():
    (example,) = list(iterate_examples([talk(*["old " * 30, "new " * 60] * 2, "last one", "x")]))[-1:]
    newest = baselines.words_in_window(example)
    assert len(newest) == 100 - 7 and newest[-2:] == ["last", "one"]  # three whole turns and the end of a fourth
    assert newest.count("new") == 60 + 1 and newest.count("old") == 30


def test_bags_come_plain_with_turn_and_narrowed():
    members = list(iterate_examples([talk("red", "x", "red", "x", "red", "x"), talk(*["blue", "x"] * 6)]))
    found = dict(baselines.baseline_features(members, members, width=1))
    assert set(found) == set(PROBE.baselines)
    assert (found["bag_of_words_narrow"] == found["bag_of_words"][:, :1]).all()
    assert alike(found["bag_of_last_turn"], 0, 2) and not alike(found["bag_of_last_turn_position"], 0, 2)


def test_what_is_reported_on_changes_no_feature_of_what_is_fitted():
    """Words and axes come from the fitted examples alone."""
    fit = list(iterate_examples([talk("red green", "x", "blue", "x"), talk("grey", "x", "red", "x")]))
    others = [list(iterate_examples([talk(text, "x")])) for text in ("blue", "strange " * 50)]
    for (name, one), (_, other) in zip(
        *(baselines.baseline_features(fit, [*fit, *more]) for more in others), strict=True
    ):
        assert np.allclose(one[: len(fit)], other[: len(fit)], atol=1e-5), name


@pytest.mark.parametrize("name", baselines.BAGS)
def test_bag_of_few_examples_has_no_empty_axis(name):
    """The classifier scales every axis alike: one without variance would be noise that drowns the words."""
    draw = np.random.default_rng(0)
    words = [f"w{n}" for n in range(300)]

    def talk(n, split):
        said = [Turn(("user", "system")[k % 2], " ".join(draw.choice(words, 12))) for k in range(4)]
        return Dialogue(f"{split}{n}", split, said)

    fit, report = (list(iterate_examples(talk(n, split) for n in range(30))) for split in ("train", "test"))
    bag = baselines.BAGS[name](fit, [*fit, *report])
    known, new = bag[: len(fit)].std(0), bag[len(fit) :].std(0)
    assert bag.shape[1] == len(fit) // 4 and (known > 0.1 * known.max()).all() and (new < 2 * known).all()


def test_the_bag_of_words_of_the_window_holds_what_an_encoder_reads():
    """The newest words of a context are those that a model with a vocabulary of all words would be given."""
    from random import Random

    from seedvote.generation.vocabulary import SPECIAL, Vocabulary

    random = Random(0)
    vocabulary = Vocabulary((*SPECIAL, *(f"w{n}" for n in range(300))))
    for length in range(1, 16):
        said = [" ".join(f"w{random.randrange(300)}" for _ in range(random.randrange(30))) for _ in range(length)]
        turns = [Turn(("user", "system")[n % 2], text) for n, text in enumerate([*said, "x"])]
        numbers = vocabulary.context(turns[:-1], "system")
        assert len(numbers) <= LONGEST_CONTEXT
        seen = [vocabulary.words[number] for number in numbers if number >= len(SPECIAL)]
        assert words_in_window(Example("D:1", Dialogue("D", "train", tuple(turns)), length)) == seen


@pytest.mark.parametrize("longest", [1, 2])
def test_terms_are_weighed_as_scikit_learn_weighs_them(longest):
    texts = [
        "a hotel in the north",
        "the north hotel , the cheap one",
        "",
        "a train to the north of the north",
        "rare words",
    ]
    turns = [(Turn("user", text), Turn("system", "yes")) for text in texts]
    examples = [Example(f"d:{n}", Dialogue("d", "train", pair), 1) for n, pair in enumerate(turns)]
    fit = examples[:4]
    found = baselines.weigh_terms(fit, examples, longest)
    from sklearn.feature_extraction.text import TfidfVectorizer

    reference = TfidfVectorizer(tokenizer=tokenize_words, token_pattern=None, ngram_range=(1, longest), lowercase=False)
    reference.fit(texts[:4])
    wanted = reference.transform(texts).toarray()
    assert found.shape == wanted.shape
    # The columns stand in another order: rows compare by their products.
    assert np.allclose(found @ found.T, wanted @ wanted.T, atol=1e-6)
    assert np.allclose(np.sort(found, 1), np.sort(wanted, 1), atol=1e-6)


def test_terms_join_the_baselines_where_they_are_asked_for():
    turns = tuple(Turn(("user", "system")[n % 2], f"word {n} again") for n in range(12))
    examples = [Example(f"d:{n}", Dialogue("d", "train", turns), n) for n in range(1, 12)]
    names = {terms: [name for name, _ in baselines.baseline_features(examples[:8], examples, terms=terms)]
             for terms in (False, True)}  # fmt: skip
    assert set(names[True]) - set(names[False]) == {"tfidf_words", "tfidf_bigrams"}
