"""Candidate sets of others in each form, and what is wrong with some."""

import json

import pytest

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.questions import answering_speaker
from seedvote.evaluators.choosing.candidate_sets import read_candidate_sets

SET = {"id": "s1", "article": "m : hi . f : hello , you", "options": ["m : bye", "m : what ?"], "answers": "B"}


@pytest.fixture
def read(tmp_path):
    def call(text, name="sets.jsonl", **options):
        path = tmp_path / name
        path.write_text(text if isinstance(text, str) else "".join(json.dumps(one) + "\n" for one in text))
        return read_candidate_sets(path, **options)

    return call


def test_mutual(read, tmp_path):
    (one,) = read([SET]).questions
    assert [(turn.speaker, turn.text) for turn in one.context] == [("m", "m : hi ."), ("f", "f : hello , you")]
    assert (one.question, one.answer, answering_speaker(one)) == ("s1", 1, "m")
    folder = tmp_path / "dev"
    folder.mkdir()
    (folder / "dev_1.txt").write_text(json.dumps(SET))
    assert read_candidate_sets(folder).questions[0].question == "s1"


@pytest.mark.parametrize("article", ["m : hi . f : hello , you", "M: hi . F: hello , you", "M : hi . f: hello , you"])
def test_speakers_are_told_in_small_and_large_letters(read, article):
    (question,) = read([SET | {"article": article}]).questions
    assert [turn.speaker for turn in question.context] == ["m", "f"]


def test_parlai_in_both_forms(read):
    old = "1 hello\thi\t\thi|bye|no\n2 how are you?\tfine\t\tbad|fine\n1 other\tyes\t\tyes|no\n"
    first, second, third = read(old, "old.txt").questions
    assert [turn.text for turn in second.context] == ["hello", "hi", "how are you?"]
    assert [one.answer for one in (first, second, third)] == [0, 1, 0]
    assert first.dialogue == second.dialogue != third.dialogue
    assert answering_speaker(second) == "system"
    new = "text:hello\tlabels:hi\tlabel_candidates:bye|hi\tepisode_done:True\ntext:x\tlabels:a\tlabel_candidates:a|b\n"
    one, other = read(new, "new.txt").questions
    assert (one.answer, len(other.context)) == (1, 1)


def test_a_table_with_numbers_letters_or_the_text_itself(read):
    table = "id,context,option1,option2,answer\na,hi,yes,no,1\nb,hi there,yes,no,no\nc,well,yes,no,A\n"
    assert [one.answer for one in read(table, "t.csv").questions] == [1, 1, 0]
    counted = "context\toptions\tanswer\nhi\tyes|no\t2\n"
    assert read(counted, "t.tsv", first=1).questions[0].answer == 1
    with pytest.raises(InputError, match=r"t.tsv:2: the answer is '2', and there are 2 options .* --count-from 1"):
        read(counted, "t.tsv")


def test_unequal_numbers_of_options_are_allowed_and_options_alike_left_out(read):
    more = SET | {"id": "s2", "options": ["a", "b", "c"], "answers": ["C"]}
    alike = SET | {"id": "s3", "options": ["a", "A "]}
    empty = SET | {"id": "s4", "options": ["a", " "]}
    found = read([SET, more, alike, empty])
    assert [len(one.options) for one in found.questions] == [2, 3]
    assert found.left == {"two options read the same": 1, "an option has no text": 1}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"answers": "E"}, r"sets.jsonl:1: the answer is 'E', and there are 2 options"),
        ({"answers": -1}, r"the answer is '-1'"),
        ({"answers": "maybe"}, r"the answer is 'maybe', which is no option of 2"),
        ({"answers": ["A", "B"]}, r"2 options are said to be true; a question has one"),
        ({"options": ["a"], "answers": 0}, r"1 option; a question needs two or more"),
        ({"options": "a|b"}, r"options is 'a\|b'; a list of texts"),
        ({"article": ""}, r"the context is empty"),
        ({"article": None}, r"none of context, article"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(read, change, sentence):
    with pytest.raises(InputError, match=sentence):
        read([SET | change])


def test_two_of_one_name_half_a_line_and_nothing_at_all(read):
    with pytest.raises(InputError, match=r"sets.jsonl:2: a second question 's1', after .*sets.jsonl:1"):
        read([SET, SET])
    with pytest.raises(InputError, match=r"sets.jsonl:2: not a JSON object .* cut off"):
        read(json.dumps(SET) + '\n{"id": "s')
    with pytest.raises(InputError, match="no question that could be asked"):
        read([SET | {"options": ["a", "a"]}])
    with pytest.raises(InputError, match="is a file of questions of ours"):
        read([{"format": "questions", "version": 1}])
