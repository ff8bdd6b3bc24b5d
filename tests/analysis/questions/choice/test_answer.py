"""Shares, strata and differences from models: against slow twins, and what there is too little for."""

import numpy as np
import pytest

from seedvote.analysis.questions.choice.answer import ALL, answer, people_less_model
from seedvote.analysis.votes.choices import FIRST, SECOND, ModelChoices, answers_given
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import OptionChoice
from tests.analysis.questions.choice.made import made_answers, made_questions


def groups(raters):
    return {f"r{k}": "expert" if k % 2 == 0 else "novice" for k in range(raters)}


def test_shares_are_those_counted_by_hand():
    questions = made_questions(40, ("toy", "other"))
    given = made_answers(questions)
    found = answer(questions, answers_given(given, questions), groups=groups(12), by="knowledge")
    truth = {one.question: one.answer for one in questions}
    corpus = {one.question: one.corpus for one in questions}
    for row in found.rows:
        for cell in row.cells:
            mine = [
                one for one in given
                if corpus[one.question] == cell.corpus
                and (row.name == ALL or groups(12)[one.rater] == row.name)
            ]  # fmt: skip
            hits = [truth[o.question] in ((o.first,) if cell.metric == FIRST else (o.first, o.second)) for o in mine]
            assert (cell.n, cell.value) == (len(mine), pytest.approx(np.mean(hits)))
            assert 0 <= cell.low <= cell.value <= cell.high <= 1
    assert found.unit == "dialogue+rater"
    assert found.chance["toy"] == pytest.approx((0.2, 0.4))


def test_whoever_is_always_right_has_an_interval_below_all():
    questions = made_questions(20)
    given = [OptionChoice(one.question, f"r{k}", one.answer, source="local") for one in questions for k in range(5)]
    (row,) = answer(questions, answers_given(given, questions)).rows
    for cell in row.cells:
        assert (cell.value, cell.high, cell.half, cell.starred) == (1.0, 1.0, 0.0, True)
        assert 0.4 < cell.low < 1


def test_people_less_a_model_is_the_mean_of_pairs():
    questions = made_questions(20)
    given = answers_given(made_answers(questions), questions)
    rng = np.random.default_rng(0)
    hits = rng.integers(0, 2, (3, 20)).astype(float)
    model = ModelChoices("m", "PMI", (0, 1, 2), False, {FIRST: hits, SECOND: hits})
    found = answer(questions, given, [model])
    slow = np.mean([hit - hits[:, k].mean() for hit, k in zip(given.hits[FIRST], given.pair, strict=True)])
    one = found.against[0]
    assert (one.metric, one.difference.value, one.difference.answers) == (FIRST, pytest.approx(slow), len(given))
    assert one.difference.low < one.difference.value < one.difference.high


def test_model_that_answers_like_people_shows_no_difference():
    hits = np.array([1.0, 0, 1, 1, 0, 1, 0, 1])
    ways = {"dialogue": np.arange(8) // 2, "rater": np.arange(8) % 2}
    same = people_less_model(hits, hits[None], ways, ways["dialogue"])
    assert (same.value, same.p) == (0.0, 1.0)
    rng = np.random.default_rng(3)
    hits, wide = rng.integers(0, 2, 400).astype(float), np.arange(400) // 4
    ways = {"dialogue": wide, "rater": np.arange(400) % 20}
    near = (rng.random((3, 400)) < 0.5).astype(float)
    far = np.stack([(rng.random(400) < p).astype(float) for p in (0.2, 0.5, 0.8)])
    reach = [one.high - one.low for one in (people_less_model(hits, m, ways, wide) for m in (near, far))]
    assert reach[1] > 2 * reach[0]


def test_p_and_interval_are_of_one_law():
    generator = np.random.default_rng(5)
    wide = np.arange(120) // 4
    ways = {"dialogue": wide, "rater": np.arange(120) % 6}
    significant = 0
    for centre in np.linspace(0.3, 0.9, 40):
        hits = (generator.random(120) < centre).astype(float)
        model = (generator.random((3, 120)) < np.array([[0.4], [0.6], [0.5]])).astype(float)
        difference = people_less_model(hits, model, ways, wide)
        assert (difference.p < 0.05) == (difference.low > 0 or difference.high < 0)
        significant += difference.p < 0.05
    assert 0 < significant < 40


def test_questions_that_a_model_did_not_answer_are_left_out_of_its_pairs():
    questions = made_questions(20)
    given = answers_given(made_answers(questions), questions)
    hits = np.ones((1, 20))
    hits[:, :10] = np.nan
    model = ModelChoices("m", "log p", (0,), False, {FIRST: hits, SECOND: hits})
    found = answer(questions, given, [model])
    assert found.against[0].difference.answers == int((given.pair >= 10).sum())
    assert next(row for row in found.rows if row.kind == "model").cells[0].n == 10


def test_strata_under_five_people_are_hidden_and_never_one_alone():
    questions = made_questions(20)
    given = answers_given(made_answers(questions, raters=16), questions)
    three = {f"r{k}": "a" if k < 3 else "b" if k < 9 else "c" for k in range(16)}
    found = answer(questions, given, groups=three, by="g")
    assert [row.name for row in found.rows] == [ALL, "c"]
    assert "2 groups with 9 people together" in found.warnings[0]
    profiles = {name: {"age": group} for name, group in three.items()}
    found = answer(questions, given, profiles=profiles)
    assert found.participants == (("age", "c", 7),)
    assert found.hidden == 2


def test_strata_that_differ_are_told_and_two_of_them_are_one_test():
    questions = made_questions(80)
    given = answers_given(made_answers(questions, raters=20, each=4, better=2.5), questions)
    found = answer(questions, given, groups=groups(20), by="knowledge")
    expert, novice = found.rows[1:]
    assert expert.gaps["toy"].value == pytest.approx(-novice.gaps["toy"].value)
    assert expert.p_holm == {"toy": pytest.approx(expert.gaps["toy"].p)}
    assert expert.p_holm["toy"] < 0.05


def test_little_is_no_interval_and_nothing_a_sentence():
    questions = made_questions(8)
    one = [OptionChoice(questions[0].question, "r1", 0, source="local")]
    (row,) = answer(questions, answers_given(one, questions)).rows
    assert {(cell.n, cell.low, cell.high) for cell in row.cells} == {(1, None, None)}
    with pytest.raises(InputError, match="Nobody has answered these questions"):
        answer(questions, answers_given([], questions))
    assert answer(questions, answers_given(one, questions)).unasked == 7


@pytest.mark.slow
@pytest.mark.parametrize(("raters", "questions"), [(60, 200), (20, 200), (12, 100)])
def test_the_intervals_hold_the_truth_and_the_test_of_strata_its_level(raters, questions):
    from tests.analysis.questions.choice.coverage import rates

    found = rates(raters, questions, studies=300)
    assert all(0.90 <= found[name] <= 0.985 for name in ("people", "people - model", "model"))
    assert found["strata"] <= 0.08
