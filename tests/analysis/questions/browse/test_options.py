"""The page of questions: what was picked, whose comments stand where, and nothing of a rater or a hidden check."""

import re

import pytest

from seedvote.analysis.questions.browse.page import questions_page
from seedvote.analysis.questions.browse.sets import answer_questions
from seedvote.analysis.questions.table import COMMANDS
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.questions import read_questions, texts_hash, write_questions
from seedvote.dialogue.records import Comment, Option, OptionChoice, Question, Utterance
from seedvote.dialogue.shell.command_line import dispatch
from seedvote.dialogue.signature import signature

HOSTILE = '</script><img src=x onerror="document.title=1">'


def question(n, kind="real"):
    options = [Option(f"{n} option {k} {HOSTILE if n == 1 else ''}", f"d{k}:1") for k in range(3)]
    return Question(f"q{n}", f"d{n}:1", [Utterance("user", f"Hello {n}")], options, answer=n % 3, kind=kind)


def answer(n, rater, first, second, **more):
    return OptionChoice(f"q{n}", rater, first, second, shown="012", round=1, source="local", **more)


@pytest.fixture
def study(tmp_path):
    write_questions(tmp_path / "questions.jsonl", [*(question(n) for n in range(3)), question(3, "check")])
    answers = [
        *(answer(0, f"rater-{k}", 0, 1) for k in range(3)),
        *(answer(1, f"rater-{k}", k, (k + 1) % 3) for k in range(3)),
        answer(2, "rater-0", 1, 0, counted=False),
        answer(2, "rater-1", 2, 0, rater_status="blocked"),
        answer(3, "rater-0", 0, 1, kind="check"),
    ]
    texts = texts_hash(read_questions(tmp_path / "questions.jsonl"))
    write_records(tmp_path / "choices.jsonl", answers, signature=signature(choices=9, texts=texts), kind=OptionChoice)
    wrote = [("q1", "rater-2", HOSTILE), ("q1", "rater-9", "Nobody's."), ("q2", "rater-1", "Blocked."),
             ("", "rater-0", "At the end.")]  # fmt: skip
    comments = [Comment(pair, rater, "why", text) for pair, rater, text in wrote]
    write_records(tmp_path / "comments.jsonl", comments, signature="c", kind=Comment)
    return tmp_path


def test_it_counts_what_choose_counts(study):
    found = answer_questions(study)
    assert [one.firsts for one in found.questions] == [(3, 0, 0), (1, 1, 1), (0, 0, 0)]
    assert [one.seconds for one in found.questions] == [(0, 3, 0), (1, 1, 1), (0, 0, 0)]
    assert [one.agreement for one in found.questions] == ["all", "split", "single"]
    assert [one.picked for one in found.questions] == ["true", "none", "none"]
    assert [one.comments for one in found.questions] == [(), (HOSTILE,), ()]
    assert found.answers == 6 and any("blocked" in note for note in found.notes)
    more = answer_questions(study, uncounted=True)
    assert more.questions[2].firsts == (0, 1, 1) and more.questions[2].comments == ("Blocked.",)


def test_the_page_holds_texts_as_texts_and_nobody(study):
    page = questions_page(answer_questions(study), "study")
    assert HOSTILE not in page and "&lt;img" in page and page.count("<article") == 3
    assert "rater-" not in page and "q3" not in page and "At the end." not in page
    assert len(re.findall("really said", page)) == 3 and "3 best, 0 second best" in page


def test_the_command_finds_the_form_by_itself(study, capsys):
    dispatch("analysis", "", COMMANDS, ["browse", str(study)])
    said = capsys.readouterr().out
    assert "3 questions with 6 answers: all raters alike 1" in said and "browse.html" in said
    assert "every question" in (study / "browse.html").read_text("utf-8")
    (study / "questions.jsonl").unlink()
    with pytest.raises(InputError, match=r"no questions\.jsonl"):
        answer_questions(study)


@pytest.mark.browser
def test_the_filters_say_how_many_questions_they_keep(study, chromium):
    dispatch("analysis", "", COMMANDS, ["browse", str(study)])
    page = chromium.new_page()
    page.goto((study / "browse.html").as_uri())
    page.get_by_label("with comments").check()
    assert page.locator("article:visible").count() == 1
    assert page.locator("#told").inner_text() == "1 of 3 questions."
    assert page.title() == f"{study.resolve().name}: every question"
    page.close()
