"""What a verdict, a question, a choice, a profile or a state may not say, told in one sentence with its line."""

import dataclasses
import json
import re

import pytest

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import as_json, placed_records, read_header, read_records, write_records
from seedvote.dialogue.records import Option, OptionChoice, Question, Rater, Response, Utterance, Verdict, Vote
from seedvote.dialogue.validity import complaint

VERDICT = Verdict("p1", "gpt-x", "ba", "a", probability={"a": 0.7, "b": 0.1, "tie": 0.2}, reply="B", tokens_in=412)
QUESTION = Question(
    question="q1",
    item="d1:3",
    context=(Utterance("user", "a room , please"),),
    options=(Option("for how many nights ?", "d1:3"), Option("goodbye .", "d2:5")),
    answer=0,
    extra={"difficulty": "hard"},
)
CHOICE = OptionChoice("q1", "r1", 1, 0, shown="10", round=1)
RATER = Rater("r1", "local", "passed", 3, 0, 24, profile={"age": "25-34"})
RESPONSE = Response(
    "d1:3", "ours", 0, "last", "ok .", state={"hotel": {"area": "north"}, "taxi": {}}, domains=("hotel",)
)
RECORDS = (VERDICT, QUESTION, CHOICE, RATER, RESPONSE)
IDS = [type(record).__name__ for record in RECORDS]


@pytest.mark.parametrize("record", RECORDS, ids=IDS)
def test_new_records_come_back_as_they_were(tmp_path, record):
    path = tmp_path / "file.jsonl"
    write_records(path, [record], signature="s", kind=type(record))
    assert read_records(path, type(record)) == [record]
    assert read_header(path)["version"] == 1
    value = as_json(record) | {"colour": "red"}
    path.write_text(json.dumps(value) + "\n")
    assert as_json(read_records(path, type(record))[0]) == value  # what a record does not know is kept


@pytest.mark.parametrize(
    ("record", "changes", "sentence"),
    [
        (VERDICT, {"choice": "left"}, "choice is 'left', which is not one of a, b, tie, unusable."),
        (VERDICT, {"order": "left"}, "order is 'left', which is not one of ab, ba."),
        (VERDICT, {"judge": "  "}, "judge is empty; write a text."),
        (VERDICT, {"probability": {"a": 0.5, "b": 0.5}}, "probability has a, b; it needs a, b and tie"),
        (VERDICT, {"probability": {"a": 0.5, "b": 0.5, "tie": 0.5}}, "probability adds to 1.5; those of a, b and tie"),
        (VERDICT, {"probability": {"a": 1.5, "b": -0.5, "tie": 0}}, "probability.a is 1.5; a probability is between"),
        (VERDICT, {"probability": {"a": "most"}}, "probability.a is 'most', which is not a number"),
        (VERDICT, {"probability": [0.2, 0.3, 0.5]}, "probability is [0.2, 0.3, 0.5], which is not an object"),
        (VERDICT, {"draw": -1}, "draw is -1; it is a number from 0 on, or null."),
        (VERDICT, {"tokens_in": "many"}, "tokens_in is 'many', which is not a whole number."),
        (VERDICT, {"reply": "x" * 2001}, "reply has 2,001 characters; keep the first 2,000."),
        (QUESTION, {"answer": 2}, "answer is 2; it is the index of the true option, here 0 to 1."),
        (QUESTION, {"answer": -1}, "answer is -1; it is the index"),
        (QUESTION, {"answer": "goodbye ."}, "answer is 'goodbye .', which is not a whole number."),
        (QUESTION, {"answer": "0"}, "answer is '0', which is not a whole number."),
        (QUESTION, {"answer": True}, "answer is True, which is not a whole number."),
        (QUESTION, {"options": []}, "the question has no options; it needs two or more."),
        (QUESTION, {"options": [{"text": "a"}]}, "the question has 1 option; it needs two or more."),
        (QUESTION, {"options": [{"text": "a"}, {"text": " "}]}, "options[1].text is empty; every option needs a text."),
        (QUESTION, {"options": [{"text": "Yes."}, {"text": "no"}, {"text": "yes ."}]}, "options 0 and 2 read the same"),
        (QUESTION, {"options": ["a", "b"]}, "options[0] is 'a', which is not an object."),
        (QUESTION, {"version": 0}, "version is 0; versions count from 1."),
        (QUESTION, {"kind": "control"}, "kind is 'control', which is not one of real, check."),
        (CHOICE, {"first": 1, "second": 1}, "first and second are both 1; they are two different options"),
        (CHOICE, {"first": None}, "second is 0 and first is null; write the only choice as first."),
        (CHOICE, {"first": 2}, "first is 2, and only options 0 to 1 were shown (10)."),
        (CHOICE, {"shown": "11"}, "shown is '11'; it names every option once"),
        (CHOICE, {"shown": "0"}, "shown is '0'; it names every option once"),
        (CHOICE, {"first": "b"}, "first is 'b', which is not a whole number."),
        (RATER, {"profile": {"age": "x" * 81}}, "profile.age has 81 characters; it is an answer chosen from a list"),
        (RATER, {"profile": {"age": 31}}, "profile.age is 31, which is not text."),
        (RESPONSE, {"state": {"hotel": "north"}}, "state.hotel is 'north', which is not an object."),
        (RESPONSE, {"state": {"hotel": {"area": ["north", "south"]}}}, "state.hotel.area is ['north', 'south'], which"),
        (RESPONSE, {"state": {"hotel": {"": "north"}}}, "state has a slot without a name"),
        (RESPONSE, {"domains": "hotel"}, "domains is 'hotel', which is not an object."),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence_with_its_line(tmp_path, record, changes, sentence):
    path = tmp_path / "file.jsonl"
    path.write_text(json.dumps(as_json(record) | changes) + "\n")
    with pytest.raises(InputError, match=re.escape(f"file.jsonl:1: {sentence}")):
        read_records(path, type(record))


def test_nothing_wrong_is_written_either(tmp_path):
    wrong = dataclasses.replace(QUESTION, answer=7)
    with pytest.raises(InputError, match=r"q\.jsonl: questions, record 2: answer is 7"):
        write_records(tmp_path / "q.jsonl", [QUESTION, wrong], signature="s", kind=Question)
    assert not list(tmp_path.iterdir())


def test_numbers_that_are_none_are_said(tmp_path):
    path = tmp_path / "v.jsonl"
    path.write_text(json.dumps(as_json(VERDICT) | {"seconds": float("nan")}) + "\n")
    with pytest.raises(InputError, match=r"v\.jsonl:1: seconds is nan; it is a number from 0 on"):
        read_records(path, Verdict)


def test_rounded_probabilities_and_more_than_ten_options_are_legal():
    thirds = dataclasses.replace(VERDICT, probability={"a": 0.333, "b": 0.333, "tie": 0.333})
    assert complaint(thirds) == ""
    many = dataclasses.replace(CHOICE, first=11, second=3, shown="11,10,9,8,7,6,5,4,3,2,1,0")
    assert complaint(many) == ""


def test_files_of_earlier_versions_are_read_and_written_again_to_the_byte(tmp_path):
    old = {
        Response: {"item": "d:1", "model": "m", "seed": 0, "checkpoint": "last", "text": "x", "logprob": None,
                   "decoding": "greedy"},
        Rater: {"rater": "r", "source": "local", "status": "passed", "checks_seen": 1, "checks_failed": 0, "votes": 2,
                "consented": None, "median_seconds": None},
    }  # fmt: skip
    for kind, value in old.items():
        path = tmp_path / "old.jsonl"
        header = {"format": "responses" if kind is Response else "raters", "version": 1, "signature": "s|v:0.2.0"}
        path.write_text(f"{json.dumps(header)}\n{json.dumps(value)}\n")
        before = path.read_bytes()
        write_records(path, read_records(path, kind), signature="s|v:0.2.0", kind=kind)
        assert path.read_bytes() == before


def test_an_empty_state_is_not_a_missing_one(tmp_path):
    path = tmp_path / "r.jsonl"
    some = [dataclasses.replace(RESPONSE, state=state, domains=None) for state in (None, {})]
    write_records(path, some, signature="s", kind=Response)
    assert [response.state for response in read_records(path, Response)] == [None, {}]


def test_records_with_their_places(tmp_path):
    path = tmp_path / "votes.jsonl"
    path.write_text('\n{"pair": "p", "rater": "r", "choice": "a", "round": 1}\n')
    assert [(place, vote.pair) for place, vote in placed_records(path, Vote)] == [(f"{path}:2", "p")]
