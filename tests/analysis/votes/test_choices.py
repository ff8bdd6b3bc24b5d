"""Answers of people from our own file and from any table, and which of them count."""

from dataclasses import replace

import pytest

from seedvote.analysis.votes.choices import FIRST, SECOND, answers_given, read_answers
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.questions import texts_hash, write_choices
from seedvote.dialogue.records import OptionChoice
from tests.analysis.questions.choice.made import made_questions

QUESTIONS = made_questions(6)


def test_a_table_gives_the_same_as_our_own_file(tmp_path):
    given = [OptionChoice(one.question, f"r{k}", k, (k + 1) % 5, source="local", seconds=3.5)
             for one in QUESTIONS for k in range(3)]  # fmt: skip
    write_choices(tmp_path / "choices.jsonl", given, texts_hash(QUESTIONS))
    ours = read_answers(tmp_path / "choices.jsonl", QUESTIONS)
    text = {one.question: [option.text for option in one.options] for one in QUESTIONS}
    lines = [f"{o.rater},{o.question},{o.first + 1},{text[o.question][o.second]},3.5" for o in given]
    (tmp_path / "t.csv").write_text("\n".join(["who,question,best,next,seconds", *lines]))
    theirs = read_answers(
        tmp_path / "t.csv", QUESTIONS, columns={"rater": "who", "first": "best", "second": "next"}, first=1
    )
    for name in (FIRST, SECOND):
        assert ours.hits[name].tolist() == theirs.hits[name].tolist()
    assert (ours.pair.tolist(), ours.rater.tolist()) == (theirs.pair.tolist(), theirs.rater.tolist())
    assert ours.seconds.tolist() == theirs.seconds.tolist()
    assert theirs.sources == ("imported",)


def test_what_does_not_count_is_left_out_and_told():
    one = OptionChoice("q0", "r1", 0, source="local")
    given = [one, replace(one, rater="r2", rater_status="blocked"), replace(one, rater="r3", counted=False),
             replace(one, rater="r4", kind="check"), one, replace(one, rater="r5", first=None)]  # fmt: skip
    found = answers_given(given, QUESTIONS)
    assert (len(found), found.hits[FIRST].tolist()) == (2, [1.0, 0.0])
    said = "\n".join(found.notes)
    for sentence in ("1, answers of raters who are blocked", "1, answers that do not count", "answers to hidden checks",
                     "1, a second answer of one rater", "1 answers choose nothing", "no second choice"):  # fmt: skip
        assert sentence in said
    assert len(answers_given(given, QUESTIONS, uncounted=True)) == 4


@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ("q0,r1,7,", r"t.csv:2: first is '7'; the question has options 0 to 4.*--count-from 1"),
        ("q99,r1,0,", r"t.csv:2: question 'q99' is not among the questions"),
        (",r1,0,", r"t.csv:2: no question or no rater here"),
        ("q0,r1,0,0", r"first and second are both 0"),
        ("q0,r1,,2", r"second is 2 and first is null"),
        ("q0,gpt-x,0,", None),
    ],
)
def test_a_bad_row_is_named(tmp_path, row, sentence):
    (tmp_path / "t.csv").write_text(f"question,rater,first,second\n{row}\n")
    if sentence is None:
        assert len(read_answers(tmp_path / "t.csv", QUESTIONS)) == 1
        return
    with pytest.raises(InputError, match=sentence):
        read_answers(tmp_path / "t.csv", QUESTIONS)


def test_a_judge_is_refused_and_so_are_answers_to_other_texts(tmp_path):
    (tmp_path / "t.csv").write_text("question,rater,first,source\nq0,x,0,judge\n")
    with pytest.raises(InputError, match="judge"):
        read_answers(tmp_path / "t.csv", QUESTIONS)
    write_choices(tmp_path / "choices.jsonl", [OptionChoice("q0", "r", 0)], "other")
    with pytest.raises(InputError, match="belongs to other questions"):
        read_answers(tmp_path / "choices.jsonl", QUESTIONS)
