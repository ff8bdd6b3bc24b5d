"""[[questions]] of hit.toml: three kinds, each mistake a sentence that names its table and key."""

import json

import pytest

from seedvote.crowd.hit.hit import Hit, hit_as_kept, hit_from, hit_from_kept
from seedvote.dialogue.errors import InputError

BETTER = {"name": "better", "ask": "Which one?", "strength": ["slightly", "clearly"], "tie": "split"}
FLUENCY = {"name": "fluency", "ask": "How fluent?", "kind": "likert", "points": 7, "labels": ["not", "very"]}
WHY = {"name": "why", "ask": "Why?", "kind": "comment", "required": True}


def test_without_questions_nothing_changes():
    assert Hit().questions == () and Hit().lead is None


def test_the_first_question_that_makes_votes_leads():
    hit = hit_from({"questions": [WHY, FLUENCY, BETTER]}, "x")
    assert [one.name for one in hit.questions] == ["why", "fluency", "better"] and hit.lead.name == "fluency"


def test_what_a_store_keeps_of_questions_is_those_questions():
    hit = hit_from({"questions": [BETTER, FLUENCY, WHY], "examples": []}, "x")
    assert hit_from_kept(json.loads(json.dumps(hit_as_kept(hit)))) == hit


def test_a_store_of_before_has_none():
    kept = hit_as_kept(Hit())
    del kept["questions"]
    assert hit_from_kept(json.loads(json.dumps(kept))) == Hit()


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"questions": []}, "questions is [], which is not 1 to 12 tables of name, ask, kind"),
        ({"questions": [{"name": "x"}]}, "which is not 1 to 12 tables"),
        ({"questions": [{**BETTER, "colour": 1}]}, "which is not 1 to 12 tables"),
        ({"questions": [{**BETTER, "name": "Q 1"}]}, "questions[0].name is 'Q 1', which is not a name"),
        ({"questions": [{**BETTER, "tie": "maybe"}]}, "questions[0].tie is 'maybe', which is not one of one"),
        ({"questions": [{**FLUENCY, "points": 1}]}, "questions[0].points is 1, which is not a whole number"),
        ({"questions": [{**FLUENCY, "labels": ["a", "b", "c"]}]}, "questions[0].labels has 3 words; give the 2 ends"),
        ({"questions": [{**FLUENCY, "tie": "one"}]}, "questions[0].tie is for kind pairwise or ranking, and"),
        ({"questions": [BETTER, BETTER]}, "two questions are called better"),
        ({"questions": [WHY]}, "questions holds comments alone"),
        ({"questions": [BETTER], "identical": "tie"}, 'identical is "tie", but nobody can say'),
        ({"examples": []}, "examples holds 0, which is not four tables"),
    ],
)  # fmt: skip
def test_a_mistake_in_a_question_is_told_in_a_sentence(values, sentence):
    with pytest.raises(InputError) as error:
        hit_from(values, "hit.toml")
    assert sentence in str(error.value)
