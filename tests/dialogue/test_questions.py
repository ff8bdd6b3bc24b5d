"""Answers mean something only beside the texts that were shown."""

import dataclasses

import pytest

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_header, write_records
from seedvote.dialogue.questions import read_choices, read_questions, texts_hash, write_choices, write_questions
from seedvote.dialogue.records import Option, OptionChoice, Question, Utterance


def question(number, *texts):
    options = tuple(Option(text, f"d{n}:1") for n, text in enumerate(texts or ("yes .", "no .", "maybe .")))
    return Question(f"q{number}", f"d{number}:3", (Utterance("user", "well ?"),), options, number % 3)


QUESTIONS = [question(n) for n in range(4)]
CHOICES = [OptionChoice(f"q{n}", "r1", n % 3, None, shown="201", source="local") for n in range(4)]


def test_questions_and_choices_come_back_with_one_hash(tmp_path):
    texts = write_questions(tmp_path / "questions.jsonl", QUESTIONS, draw=0, seed=0)
    write_choices(tmp_path / "choices.jsonl", CHOICES, texts)
    assert read_questions(tmp_path / "questions.jsonl") == QUESTIONS
    assert read_choices(tmp_path / "choices.jsonl", QUESTIONS) == CHOICES
    for name in ("questions", "choices"):
        assert f"|texts:{texts}|" in read_header(tmp_path / f"{name}.jsonl")["signature"]


def test_every_text_that_is_shown_is_in_the_hash_and_the_answer_is_not():
    one = QUESTIONS[0]
    changed = [
        dataclasses.replace(one, question="q9"),
        dataclasses.replace(one, context=(Utterance("user", "well ??"),)),
        dataclasses.replace(one, options=one.options[::-1]),
        dataclasses.replace(one, options=(*one.options, Option("other"))),
    ]
    assert len({texts_hash([other]) for other in [one, *changed]}) == 5
    assert texts_hash([dataclasses.replace(one, answer=2, version=3)]) == texts_hash([one])
    assert texts_hash(QUESTIONS) != texts_hash(QUESTIONS[::-1])


def test_questions_that_were_edited_after_they_were_written_are_refused(tmp_path):
    path = tmp_path / "questions.jsonl"
    write_questions(path, QUESTIONS)
    path.write_text(path.read_text().replace("maybe .", "perhaps .", 1))
    with pytest.raises(InputError, match=r"questions\.jsonl: texts were changed after the file was written"):
        read_questions(path)


def test_answers_to_other_texts_are_refused(tmp_path):
    path = tmp_path / "choices.jsonl"
    write_choices(path, CHOICES, texts_hash(QUESTIONS))
    with pytest.raises(InputError, match=r"choices\.jsonl belongs to other questions \(texts:\w{16}\) than"):
        read_choices(path, [question(n, "a", "b", "c") for n in range(4)])


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"question": "q7"}, "choices.jsonl:3: question 'q7' is not among the questions"),
        ({"first": 5, "shown": ""}, "choices.jsonl:3: first is 5, and question 'q1' has 3 options"),
        ({"shown": "01"}, "choices.jsonl:3: shown is '01', and question 'q1' has 3 options"),
        ({"source": "judge"}, "choices.jsonl:3: this vote is a judge's. People and judges are not counted together"),
        ({"rater": "GPT-X "}, "choices.jsonl:3: this vote is a judge's (its rater is 'gpt-x')"),
    ],
)
def test_answers_without_question_or_person_name_a_line(tmp_path, changes, sentence):
    path = tmp_path / "choices.jsonl"
    made = [dataclasses.replace(one, **changes) if one.question == "q1" else one for one in CHOICES]
    write_choices(path, made, texts_hash(QUESTIONS))
    with pytest.raises(InputError) as refused:
        read_choices(path, QUESTIONS, judges={"gpt-x": "is 'gpt-x'"})
    assert sentence in str(refused.value)


def test_two_questions_of_one_id_are_named_with_both_places(tmp_path):
    path = tmp_path / "questions.jsonl"
    write_records(path, [QUESTIONS[0], QUESTIONS[0]], signature="s", kind=Question)
    with pytest.raises(InputError, match=r"questions\.jsonl:3: a second question 'q0', after .*questions\.jsonl:2"):
        read_questions(path)
