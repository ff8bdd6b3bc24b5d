"""Answers about sets of responses: whole or refused, by response and never by place, held against what checks ask."""

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seedvote.crowd.forms.form import Incomplete, NoAnswer
from seedvote.crowd.hit.hit import hit_from
from seedvote.crowd.rating.answer_sheet import (
    as_sent,
    holds,
    is_failed,
    read_sheet,
    right_answers,
    turned_back,
    wrong_claim,
)
from seedvote.dialogue.validity import claims_of
from tests.crowd.sets import ALONE, SETS, fields, make_sets

STRICT = hit_from(
    {"form": "responses", "questions": [{"name": "order", "ask": "?", "kind": "ranking", "tie": "none"}]}, "x"
)


def read(sent, hit=SETS):
    return read_sheet(hit.questions, sent, of_sets=True)


@given(st.permutations(range(4)), st.lists(st.integers(1, 4), min_size=4, max_size=4))
def test_what_is_kept_does_not_depend_on_the_places(order, ranks):
    scores = [6 - rank for rank in ranks]
    layout = "".join(map(str, order))
    kept = turned_back(read(fields(SETS, layout, ranks, scores)), layout)
    straight = turned_back(read(fields(SETS, "0123", ranks, scores)), "0123")
    assert kept == straight and kept["fluency"]["scores"] == scores and kept["why"] == {"text": "Because."}
    for one, other in itertools.combinations(range(4), 2):
        first, second = (kept["order"]["ranks"][n] for n in (one, other))
        assert (first < second) == (ranks[one] < ranks[other]) and (first == second) == (ranks[one] == ranks[other])
    assert kept["order"]["choice"] == kept["fluency"]["choice"]  # the same order from ranks and from ratings


@given(st.permutations(range(4)), st.lists(st.integers(1, 4), min_size=4, max_size=4))
def test_what_is_taken_back_is_what_was_sent_and_is_read_as_the_same(order, ranks):
    layout, scores = "".join(map(str, order)), [6 - rank for rank in ranks]
    sent = fields(SETS, layout, ranks, scores)
    kept = turned_back(read(sent), layout)
    filled = as_sent(kept, layout)
    assert turned_back(read(filled), layout) == kept and filled.keys() == sent.keys()
    rated = [name for name in sent if not name.startswith("q-order")]  # ranks 1, 1, 2 come back as 1, 1, 3
    assert {name: filled[name] for name in rated} == {name: sent[name] for name in rated}


@pytest.mark.parametrize(
    "change",
    [
        *({"q-order-0": value} for value in ("", "0", "5", "-1", "1.0", "x", "٣", "01", " 1")),
        {"q-fluency-3": "6"},
        {"q-order-4": "1"},  # five ranks of which the last is legal for five: too many responses
    ],
)
def test_half_a_sheet_or_a_forged_one_is_refused_whole(change):
    with pytest.raises(NoAnswer):
        turned_back(read({**fields(SETS, "0123", (1, 2, 3, 4), (1, 2, 3, 4)), **change}), "0123")


@pytest.mark.parametrize("gone", ["q-order-0", "q-order-3", "q-fluency-0", "q-fluency-3"])
def test_who_forgot_a_response_is_asked_again(gone):
    sent = fields(SETS, "0123", (1, 1, 1, 1), (1, 2, 3, 4))
    with pytest.raises(Incomplete):
        turned_back(read({name: value for name, value in sent.items() if name != gone}), "0123")


def test_equal_ranks_are_refused_where_the_question_has_none():
    assert turned_back(read(fields(STRICT, "10", (1, 2), ()), STRICT), "10")["order"]["ranks"] == [1, 2]
    with pytest.raises(Incomplete, match="no equal ranks"):
        read(fields(STRICT, "10", (1, 1), ()), STRICT)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=5))
def test_every_claim_of_a_check_says_what_it_says(scores):
    answer = {"scores": scores, "points": 5}
    for claim in claims_of(len(scores)):
        word, _, number = claim.partition(":")
        one = int(number) if number else None
        others = [score for index, score in enumerate(scores) if index != one]
        said = {
            "best": lambda one=one, others=others: scores[one] > max(others),
            "worst": lambda one=one, others=others: scores[one] < min(others),
            "low": lambda one=one: scores[one] in (1, 2),
            "high": lambda one=one: scores[one] in (4, 5),
        }.get(word, lambda claim=claim: scores[int(claim[0])] > scores[int(claim[2])])
        assert holds(answer, claim) == said(), claim
        assert is_failed({"q": answer}, {"q": claim}) != said()
    assert is_failed({}, {"q": "low:0"}) and not is_failed({"q": answer}, {})


def test_response_sheet_check_wants_both_answers():
    check = dataclasses.replace(make_sets(0, 1)[0], answers={"fluency": "low:3"})
    layout = "3120"
    good = turned_back(read(fields(SETS, layout, (1, 2, 3, 4), (5, 4, 3, 2))), layout)
    assert not is_failed(good, right_answers(check, "order"))
    assert is_failed(good, right_answers(check, "order", "best:1"))
    assert not is_failed(good, right_answers(check, "order", "void"))
    other = turned_back(read(fields(SETS, layout, (1, 2, 3, 4), (5, 4, 3, 3))), layout)
    assert is_failed(other, right_answers(check, "order"))


@pytest.mark.parametrize(
    ("change", "hit", "sentence"),
    [
        ({"answer": "low:0"}, SETS, "asks low:0, which is of a scale, and the question order is a ranking"),
        ({"answers": {"colour": "best:0"}}, SETS, "asks 'colour'"),
        ({"answers": {"why": "best:0"}}, SETS, "asks 'why'"),
        ({"responses": make_sets(1, size=1)[0].responses, "answer": "low:0"}, SETS, "has one response"),
        ({"responses": make_sets(1, size=2)[0].responses[:1] * 2}, STRICT, "two responses with the same text"),
        ({"answer": "low:0"}, ALONE, ""),
        ({"answers": {"fluency": "high:1"}}, SETS, ""),
    ],
)
def test_a_set_that_cannot_be_asked_is_refused_in_a_sentence(change, hit, sentence):
    said = wrong_claim(dataclasses.replace(make_sets(0, 1)[0], **change), hit.questions)
    assert sentence in said and bool(said) == bool(sentence)
