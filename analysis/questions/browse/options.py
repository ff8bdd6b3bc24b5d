"""Every question with several options and what people picked: the page for a study of the form choice.

It counts and computes no share: those, with their intervals, are what `choose` prints. Nobody's name is kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seedvote.analysis.votes.choices import answers_kept, told_of_sources
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.judges import find_judges
from seedvote.dialogue.questions import read_choices, read_questions
from seedvote.dialogue.records import Comment, OptionChoice, Question
from seedvote.dialogue.signature import signature

FILE = "questions.jsonl"
ANSWERS = "choices.jsonl"


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """One question as the page shows it; the numbers stand in the order of its options."""

    source: Question
    firsts: tuple[int, ...]
    seconds: tuple[int, ...]
    nothing: int
    """Answers that picked none."""
    comments: tuple[str, ...]

    @property
    def agreement(self) -> str:
        """How far raters agree on the best: all, most (more than half), split, or single (fewer than two answers)."""
        answers, most = sum(self.firsts) + self.nothing, max((*self.firsts, self.nothing))
        if answers < 2:
            return "single"
        return "all" if most == answers else "most" if 2 * most > answers else "split"

    @property
    def picked(self) -> str:
        """What has more first picks than anything else: the true option, another one, or nothing."""
        first, second = sorted(self.firsts, reverse=True)[:2]
        if first == second:
            return "none"
        return "true" if self.firsts[self.source.answer] == first else "other"


@dataclass(frozen=True, eq=False)
class QuestionsAnswer:
    """Every question but the hidden checks, in the order of the file."""

    questions: tuple[AnsweredQuestion, ...]
    answers: int
    notes: tuple[str, ...]
    signature: str


def has_choices(study: Path) -> bool:
    """Whether a folder holds answers to questions, and no votes."""
    return study.is_dir() and (study / ANSWERS).exists() and not (study / "votes.jsonl").exists()


def answer_questions(study: Path, *, uncounted: bool = False) -> QuestionsAnswer:
    """Read a study folder."""
    if not (study / FILE).exists():
        raise InputError(f"{study} has {ANSWERS} and no {FILE}: put the questions beside their answers.")
    questions = read_questions(study / FILE)
    path = study / ANSWERS
    choices, notes = answers_kept(
        read_choices(path, questions, judges=find_judges([path])), questions, uncounted=uncounted
    )
    by_question, comments = defaultdict[str, list[OptionChoice]](list), comments_of_answers(study)
    for choice in choices:
        by_question[choice.question].append(choice)
    answered = tuple(
        _answered_question(question, by_question[question.question], comments)
        for question in questions
        if question.kind != "check"
    )
    recipe = signature(choices=len(choices), questions=len(answered))
    sources = told_of_sources(tuple({choice.source for choice in choices}))
    return QuestionsAnswer(answered, len(choices), (*sources, *notes), recipe)


def _answered_question(
    question: Question, choices: Sequence[OptionChoice], comments: Mapping[tuple[str, str], str]
) -> AnsweredQuestion:
    firsts, seconds = Counter(choice.first for choice in choices), Counter(choice.second for choice in choices)
    places = range(len(question.options))
    keys = [(choice.question, choice.rater) for choice in choices]
    return AnsweredQuestion(
        question,
        tuple(firsts[n] for n in places),
        tuple(seconds[n] for n in places),
        firsts[None],
        tuple(comments[key] for key in keys if key in comments),
    )


def comments_of_answers(study: Path) -> dict[tuple[str, str], str]:
    """What each rater wrote beside each of their answers: (question or set, rater) -> text."""
    path = study / "comments.jsonl"
    comments = defaultdict[tuple[str, str], list[str]](list)
    for comment in read_records(path, Comment) if path.exists() else ():
        comments[comment.pair, comment.rater].append(comment.text)
    return {key: " / ".join(texts) for key, texts in comments.items()}
