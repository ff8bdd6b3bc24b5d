"""TF-IDF and length against scikit-learn and numbers computed by others on MuTual."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

from seedvote.dialogue.errors import InputError
from seedvote.evaluators.choosing.answer import answer_questions
from seedvote.evaluators.choosing.candidate_sets import candidate_sets
from seedvote.evaluators.choosing.rules import (
    Chooser,
    by_chance,
    lexical_scores,
    measure_recall,
    read_ranks,
    recall_table,
    tfidf_rows,
)
from tests.evaluators.choosing.made import asked

TEXTS = ["a red room , please", "the red one", "", "no room at all", "a a a b"]


def test_tfidf_is_that_of_scikit_learn():
    theirs = TfidfVectorizer(tokenizer=str.split, token_pattern=None).fit_transform(TEXTS)
    ours = tfidf_rows(TEXTS)
    assert np.allclose((ours @ ours.T).todense(), (theirs @ theirs.T).todense())


def test_the_simple_rules_take_what_they_are_called_after():
    scores = lexical_scores([asked("q", ["hello", "good bye now", "there hello you"], 0)])
    assert {name: int(each[0].argmax()) for name, each in scores.items()} == {
        "shortest": 0, "longest": 1, "overlap": 2, "tfidf": 2,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rule", "wanted"),
    [("tfidf", (0.271, 0.530, 0.538)), ("shortest", (0.299, 0.607)), ("longest", (0.233, 0.495))],
)
def test_mutual_as_others_counted_it(rule, wanted, pytestconfig):
    path = pytestconfig.rootpath.parent / "shared" / "data" / "nuc_mutual" / "dev.jsonl.xz"
    if not path.exists():
        pytest.skip("MuTual is not beside the project (../shared/data)")
    # All 886 sets, two of which have options alike; ties rank in their middle, as there.
    found = [asked(one.name, one.options, "ABCD".index(one.answer), " ".join(turn.text for turn in one.context))
             for one in candidate_sets(path)]  # fmt: skip
    got = recall_table(lexical_scores(found)[rule], [one.answer for one in found], "middle").mean(0)
    assert len(found) == 886
    assert [round(value, 3) for value in got[: len(wanted)]] == pytest.approx(wanted, abs=0.00051)


# Ranks of models as scores of three rules; ranks for other texts are refused.

QUESTIONS = [asked("q1", ["a", "b b"], 0), asked("q2", ["c", "d", "e"], 2)]


@pytest.fixture
def ranks(tmp_path):
    def write(rows, texts="t1"):
        path = tmp_path / "ranks.parquet"
        names = ("question", "option", "model", "seed", "checkpoint", "logprob", "tokens", "logprob_alone", "unknown")
        table = pa.table({name: [row[k] for row in rows] for k, name in enumerate(names)})
        pq.write_table(table.replace_schema_metadata({"format": "ranks", "signature": f"texts:{texts}|v:1"}), path)
        return read_ranks(path, QUESTIONS, "t1")

    return write


def row(question, option, logprob, tokens, alone, seed=0):
    return (question, option, "m", seed, "last", logprob, tokens, alone, 0)


ROWS = [row("q1", 1, -6.0, 4, -5.0), row("q1", 0, -4.0, 2, -2.0), row("q2", 0, -1.0, 1, -1.0),
        row("q2", 2, -3.0, 3, -9.0), row("q2", 1, -2.0, 1, -2.0)]  # fmt: skip


def test_three_rules_whatever_the_order_of_rows(ranks):
    found = {one.rater: one for one in ranks(ROWS).choosers}
    assert [each.tolist() for each in found["log p"].scores] == [[-4, -6], [-1, -2, -3]]
    assert [each.tolist() for each in found["log p a token"].scores] == [[-2, -1.5], [-1, -2, -1]]
    assert [each.tolist() for each in found["PMI"].scores] == [[-2, -1], [0, 0, 6]]


def test_what_is_not_ranked_has_no_score_and_is_counted(ranks):
    found = answer_questions(QUESTIONS, ranks(ROWS[:2]).choosers, "t1")
    model = next(one for one in found.chosen if one.rater == "log p")
    assert (model.questions, model.rates["R@1"].value) == (1, 1.0)


def test_ranks_of_other_texts_or_half_a_file_are_refused(ranks, tmp_path):
    with pytest.raises(InputError, match="belongs to other questions"):
        ranks(ROWS, texts="t2")
    (tmp_path / "ranks.parquet").write_bytes(b"PAR1half")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_ranks(tmp_path / "ranks.parquet", QUESTIONS, "t1")


def test_permuting_options_changes_nothing_and_checks_are_not_counted():
    rng = np.random.default_rng(0)
    texts = ["good day sir", "bye", "what is it ?", "it is late now", "a room there"]
    questions = [asked(f"q{n}", rng.permutation(texts).tolist(), int(rng.integers(5)), "is it late ? yes there")
                 for n in range(30)]  # fmt: skip
    scores = [rng.normal(size=5) for _ in questions]
    turns = [rng.permutation(5) for _ in questions]
    turned = [
        asked(one.question, [one.options[k].text for k in turn], int(np.flatnonzero(turn == one.answer)[0]),
              one.context[0].text)
        for one, turn in zip(questions, turns, strict=True)
    ]  # fmt: skip
    check = asked("check", texts, 0, kind="check")
    moved = [each[turn] for each, turn in zip(scores, turns, strict=True)]
    one = answer_questions([*questions, check], [Chooser("m", 0, "last", "log p", [*scores, np.zeros(5)])], "t")
    other = answer_questions(turned, [Chooser("m", 0, "last", "log p", moved)], "t")
    assert [each.rates for each in one.chosen] == [each.rates for each in other.chosen]
    assert len(one.questions) == 30


def test_drawing_the_false_options_anew_is_a_facet():
    questions = [asked(f"q{n}-{draw}", ["a", "b"], 0, item=f"i{n}", extra={"draw": draw})
                 for draw in range(2) for n in range(10)]  # fmt: skip
    scores = [np.array([1.0, 0.0])] * 10 + [np.array([1.0, 0.0])] * 5 + [np.array([0.0, 1.0])] * 5
    found = answer_questions(questions, [Chooser("m", 0, "last", "log p", scores)], "t")
    assert (found.draws, found.draw_sd) == (2, pytest.approx(np.std([1.0, 0.5], ddof=1)))


# R@k against a slow twin that tries every order of what is tied.


def slow_recall(scores, answer):
    """The mean over every order of the options that is sorted by score."""
    orders = [
        order
        for order in itertools.permutations(range(len(scores)))
        if all(scores[a] >= scores[b] for a, b in itertools.pairwise(order))
    ]
    ranks = [order.index(answer) for order in orders]
    return tuple(np.mean([hit(rank) for rank in ranks]) for hit in (
        lambda rank: rank < 1, lambda rank: rank < 2, lambda rank: 1 / (rank + 1)))  # fmt: skip


def test_ties_share_what_every_order_of_them_would_get():
    rng = np.random.default_rng(0)
    for _ in range(150):
        scores = rng.integers(0, 3, rng.integers(2, 6)).astype(float)
        answer = int(rng.integers(len(scores)))
        assert measure_recall(scores, answer) == pytest.approx(slow_recall(scores, answer))


@pytest.mark.parametrize("options", [2, 4, 5, 10])
def test_equal_scores_give_exactly_k_of_the_options(options):
    first, second, _ = measure_recall(np.full(options, -3.7), options - 1)
    assert (first, second) == (1 / options, 2 / options)
    assert by_chance([options] * 3)[:2] == pytest.approx((1 / options, 2 / options))


def test_oracle_scores_all_and_unscorable_is_no_number():
    assert measure_recall(np.array([0.0, 1.0, 0.5]), 1) == (1.0, 1.0, 1.0)
    assert measure_recall(np.array([-np.inf, 0.0]), 0) == (0.0, 1.0, 0.5)
    assert measure_recall(np.array([-np.inf, -np.inf]), 0) == (0.5, 1.0, 0.75)
    assert all(map(math.isnan, measure_recall(np.array([np.nan, 0.0]), 1)))


def test_chance_of_unequal_questions_is_the_mean():
    assert by_chance([2, 4])[0] == pytest.approx(0.375)


def test_the_order_of_the_options_changes_nothing():
    rng = np.random.default_rng(1)
    scores = [rng.normal(size=5).round(1) for _ in range(50)]
    answers = rng.integers(0, 5, 50).tolist()
    turned = [rng.permutation(5) for _ in range(50)]
    moved = [np.flatnonzero(turn == answer)[0] for turn, answer in zip(turned, answers, strict=True)]
    ours = recall_table([each[turn] for each, turn in zip(scores, turned, strict=True)], moved)
    assert np.array_equal(ours, recall_table(scores, answers))


def test_the_middle_rule_gives_a_rule_and_its_opposite_more_than_chance():
    scores = np.array([1.0, 1.0, 2.0, 0.0])
    assert measure_recall(scores, 0, "middle") == (0.0, 1.0, 0.4)
    assert measure_recall(scores, 0) == (0.0, 0.5, pytest.approx((1 / 2 + 1 / 3) / 2))
