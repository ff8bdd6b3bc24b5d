"""What an evaluator says of itself: written, read again, and refused in a sentence where it makes no sense."""

import json

import pytest

from seedvote.dialogue.cards import (
    BUILT_IN,
    PROBE,
    TOKEN,
    Card,
    TaskCard,
    as_text,
    card_from,
    cards_from,
    join_cards,
    metadata,
)
from seedvote.dialogue.errors import InputError


def test_cards_are_read_as_they_were_written():
    mine = {
        "nuc": Card("next-utterance choice", 3, {"R@1": TaskCard("R@1 of 5", "share", 100.0, chance=0.2)}, ("tfidf",))
    }
    assert cards_from(as_text(mine), "nuc.parquet") == mine
    assert cards_from(as_text(BUILT_IN), "scores.parquet") == dict(BUILT_IN)
    assert metadata("rows:3|v:0", mine)["format"] == "scores"


def test_a_task_that_is_not_named_is_like_the_star_and_keeps_its_name():
    assert PROBE.task("AllSlots").title == "AllSlots" and PROBE.task("AllSlots").aggregate == "micro_f1"
    assert TOKEN.task("bleu2").title == "BLEU-2" and not TOKEN.task("rouge1").main
    assert Card("mine", tasks={"a": TaskCard()}).task("b") is None


@pytest.mark.parametrize(
    ("card", "sentence"),
    [
        (3, "is 3, which is no card"),
        ({}, "title missing"),
        ({"title": " "}, "title is empty"),
        ({"title": "x", "colour": "red"}, "'colour' is no key of a card; legal are title, order, tasks, baselines"),
        ({"title": "x", "order": "first"}, "order is 'first', which is not a whole number"),
        (
            {"title": "x", "tasks": {"a": {"better": "up"}}},
            r"better is 'up', which is not one of higher, lower, neither",
        ),
        ({"title": "x", "tasks": {"a": {"sclae": 1}}}, "'sclae' is no key of a card"),
        ({"title": "x", "tasks": {"a": {"scale": 0}}}, "scale is 0; it must be a number above 0"),
        (
            {"title": "x" * 61},
            r"title has 61 signs \(x{20}\.\.\.\); it stands in every row of a table, so 60 are the most",
        ),
        ({"title": "a\nb"}, r"title has the sign '\\n', which no table can show"),
        ({"title": "x", "tasks": {"a": {"title": "\x1b[31m"}}}, r"tasks.a: title has the sign '\\x1b'"),
        ({"title": "People "}, "the name of what people say; no evaluator bears it"),
        ({"title": "x", "tasks": {"a": {"unit": "share", "chance": 20}}}, r"chance is a share too, .* \(e.g. 0.2\)"),
        ({"title": "x", "tasks": {"a": {"chance": float("nan")}}}, "chance is nan; write a number, or null"),
        ({"title": "x", "tasks": {"a": 1}}, "tasks.a is 1, which is not an object"),
    ],
)
def test_a_card_that_makes_no_sense_is_refused_by_its_place(card, sentence):
    with pytest.raises(InputError, match=sentence):
        card_from(card, "card.json")


def test_cards_that_are_no_json_are_refused_by_file():
    with pytest.raises(InputError, match=r"a.parquet: the cards are not JSON"):
        cards_from("{", "a.parquet")
    with pytest.raises(InputError, match="an object of evaluator and card is expected"):
        cards_from(json.dumps([1]), "a.parquet")


def test_two_places_may_say_the_same_and_nothing_else():
    one, other = Card("mine", tasks={"a": TaskCard()}), Card("mine", tasks={"a": TaskCard(better="lower")})
    assert join_cards([("x", {"mine": one}), ("y", {"mine": one})]) == {"mine": one}
    with pytest.raises(
        InputError, match=r"x and y bring different cards for 'mine': better of a is 'neither' and 'lower'"
    ):
        join_cards([("x", {"mine": one}), ("y", {"mine": other})])


def test_two_evaluators_of_one_title_are_refused():
    with pytest.raises(InputError, match="'token' and 'mine' both have the title 'Token  metrics'"):
        join_cards([("mine.parquet", {"mine": Card("Token  metrics")})])
