"""People who answered the models' questions stand in the comparison as people, with the number of `analysis choose`."""

import dataclasses

import pytest

from analysis.notebook import choice, compare, variance
from analysis.votes.choices import FIRST, SECOND
from dialogue.errors import InputError
from dialogue.questions import write_questions
from tests.analysis.questions.choice.made import made_answers, made_questions, write_choice_study


@pytest.fixture
def questions():
    return made_questions(40, ("toy", "other"))


def test_their_share_and_interval_are_those_of_choose(tmp_path, questions):
    study = write_choice_study(tmp_path, questions, made_answers(questions))
    for clusters in ("auto", "rater"):
        found = compare(study, clusters=clusters).document["people_choosing"]
        cells = choice(study, clusters=clusters).document["rows"][0]["cells"]
        assert {(one["corpus"], one["metric"]) for one in found} == {
            (c, m) for c in ("toy", "other") for m in (FIRST, SECOND)
        }
        for one, cell in zip(found, cells, strict=True):
            assert (one["corpus"], one["metric"], one["answers"]) == (cell["corpus"], cell["metric"], cell["n"])
            for name in ("value", "low", "high"):
                assert one[name] == pytest.approx(100 * cell[name], rel=1e-12)


def test_they_change_no_number_of_a_model_and_are_no_architecture(tmp_path, questions):
    study = write_choice_study(tmp_path, questions, made_answers(questions))
    beside = compare(study).document
    assert "people" in repr(compare(study))
    (study / "choices.jsonl").unlink()
    alone = compare(study).document
    assert alone["people_choosing"] == [] and len(beside["people_choosing"]) == 4
    for name in ("methods", "orders", "generalisability", "verdicts", "costs"):
        assert beside[name] == alone[name]


def test_second_best_is_shown_only_where_it_was_asked_and_simulated_answers_are_named(tmp_path, questions):
    given = [dataclasses.replace(one, second=None, source="simulated") for one in made_answers(questions)]
    found = compare(write_choice_study(tmp_path, questions, given))
    assert {one["metric"] for one in found.document["people_choosing"]} == {FIRST}
    assert "Answers here are simulated: they say nothing about people." in found.document["people_choosing_notes"]


def test_clusters_that_only_votes_have_leave_the_comparison_standing(tmp_path, questions):
    found = compare(write_choice_study(tmp_path, questions, made_answers(questions)), clusters="item+rater").document
    assert {one["low"] for one in found["people_choosing"]} == {None} and found["methods"]
    assert any(note.startswith("A share without brackets") for note in found["people_choosing_notes"])


def test_answers_to_other_texts_are_refused(tmp_path, questions):
    study = write_choice_study(tmp_path, questions, made_answers(questions))
    write_questions(study / "questions.jsonl", made_questions(40, ("toy", "other"), options=6))
    with pytest.raises(InputError, match="belongs to other questions"):
        compare(study)


def test_their_variance_has_dialogues_questions_and_raters(tmp_path):
    questions = made_questions(40)
    study = write_choice_study(tmp_path, questions, made_answers(questions, raters=8))
    tables = {one["name"]: one for one in variance(study, sets=5).document["tables"]}
    found = tables["people's choices: R@1"]
    levels = {part["name"]: part["levels"] for part in found["components"]}
    assert levels == {"dialogue": 10, "question": 40, "rater": 8, "residual": 120}
    (cell,) = [one for one in choice(study).document["rows"][0]["cells"] if one["metric"] == FIRST]
    assert found["mean"] == pytest.approx(100 * cell["value"])
