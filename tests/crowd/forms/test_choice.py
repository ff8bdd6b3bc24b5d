"""Several options at once: squares that balance the places, and answers that do not depend on them."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowd.forms import choice
from crowd.forms.form import Incomplete, NoAnswer
from dialogue.records import Option, Question, Utterance
from dialogue.validity import option_order


def question(options=5, name="q1"):
    made = [Option(f"option {number}", f"d{number}:1") for number in range(options)]
    return Question(name, "d:1", [Utterance("user", "Hello.")], made, 2, extra={"speaker": "system", "draw": 0})


@given(st.integers(2, 12), st.integers(0, 2**62))
def test_the_rows_of_a_square_put_each_option_in_each_place_once(options, seed):
    rows = [option_order(row) for row in choice.square_rows("q", options, seed=seed)]
    for place in range(options):
        assert sorted(int(row[place]) for row in rows) == list(range(options))
    for row in rows:
        assert sorted(map(int, row)) == list(range(options))


@given(st.integers(2, 7), st.integers(1, 23), st.integers(0, 1000))
def test_every_option_stands_in_every_place_equally_often_also_where_raters_drop_out(options, raters, seed):
    asked, draw, placed = question(options), random.Random(seed), Counter()
    for number in range(3 * raters):
        while sum(placed.values()) < raters:
            placed[choice.layout(asked, placed, {}, seed=seed, name=(number, sum(placed.values())))] += 1
        for row in draw.sample(sorted(placed.elements()), draw.randint(0, raters)) if number < 3 * raters - 1 else []:
            placed[row] -= 1
    stood = Counter((place, index) for row in placed.elements() for place, index in enumerate(option_order(row)))
    each = [stood[place, str(index)] for place in range(options) for index in range(options)]
    assert max(each) - min(each) <= 1


def test_what_comes_again_keeps_its_layout_while_it_is_among_the_rarest():
    asked = question()
    one, two, *_ = choice.square_rows("q1", 5, seed=0)
    assert choice.layout(asked, {}, {}, seed=0, name=("r",), before=one) == one
    assert choice.layout(asked, {one: 1}, {}, seed=0, name=("r",), before=one) != one
    assert choice.layout(asked, {one: 1}, {}, seed=0, name=("r",), before=two) == two


@given(st.permutations(range(5)), st.permutations(range(5)))
def test_the_answer_names_options_whatever_their_places(order, places):
    layout = "".join(map(str, order))
    shown = choice.on_page("t", question(), layout, 1)
    first, second = places[:2]
    answer = choice.answer_of(choice.pressed({"first": str(first), "second": str(second)}), layout)
    assert [f"option {index}" for index in answer.split(",")] == [shown.options[first], shown.options[second]]


@pytest.mark.parametrize(
    "sent", [{}, {"first": "1"}, {"second": "1"}, {"first": "1", "second": "1"}, {"first": "", "second": "2"}]
)
def test_who_forgot_a_choice_is_asked_again(sent):
    with pytest.raises(Incomplete):
        choice.answer_of(choice.pressed(sent), "20413")


@pytest.mark.parametrize("first", ["9", "-1", "a", "1,2", "٣", "00001", "1 "])
def test_what_no_page_sends_is_refused(first):
    with pytest.raises(NoAnswer) as found:
        choice.answer_of(choice.pressed({"first": first, "second": "0"}), "20413")
    assert not isinstance(found.value, Incomplete)


def test_of_two_options_only_the_best_is_asked_for():
    assert not choice.on_page("t", question(2), "10", 1).ranked
    assert choice.answer_of(choice.pressed({"first": "0"}), "10") == "1"


def test_more_than_ten_options_have_commas():
    rows = choice.square_rows("q", 12, seed=0)
    assert choice.answer_of("3,0", rows[0]) == ",".join(rows[0].split(",")[place] for place in (3, 0))
