"""Every question with several options and what people picked: the page for a study of the form choice.

It counts and computes no share: those, with their intervals, are what `choose` prints. Nobody's name is kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.votes.choices import answers_kept, told_of_sources
from dialogue.errors import InputError
from dialogue.files import read_records
from dialogue.judges import judges_beside
from dialogue.questions import read_choices, read_questions
from dialogue.records import Comment, OptionChoice, Question
from dialogue.signature import signature

FILE = "questions.jsonl"
ANSWERS = "choices.jsonl"


@dataclass(frozen=True, slots=True)
class QuestionShown:
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
        given, most = sum(self.firsts) + self.nothing, max((*self.firsts, self.nothing))
        if given < 2:
            return "single"
        return "all" if most == given else "most" if 2 * most > given else "split"

    @property
    def picked(self) -> str:
        """What has more first picks than anything else: the true option, another one, or nothing."""
        first, second = sorted(self.firsts, reverse=True)[:2]
        if first == second:
            return "none"
        return "true" if self.firsts[self.source.answer] == first else "other"


@dataclass(frozen=True, eq=False)
class QuestionsToBrowse:
    """Every question but the hidden checks, in the order of the file."""

    questions: tuple[QuestionShown, ...]
    answers: int
    notes: tuple[str, ...]
    signature: str


def is_of_questions(study: Path) -> bool:
    """Whether a folder holds answers to questions, and no votes."""
    return study.is_dir() and (study / ANSWERS).exists() and not (study / "votes.jsonl").exists()


def questions_to_browse(study: Path, *, uncounted: bool = False) -> QuestionsToBrowse:
    """Read a study folder."""
    if not (study / FILE).exists():
        raise InputError(f"{study} has {ANSWERS} and no {FILE}: put the questions beside their answers.")
    questions = read_questions(study / FILE)
    path = study / ANSWERS
    kept, notes = answers_kept(
        read_choices(path, questions, judges=judges_beside([path])), questions, uncounted=uncounted
    )
    given, wrote = defaultdict[str, list[OptionChoice]](list), comments_of_answers(study)
    for one in kept:
        given[one.question].append(one)
    shown = tuple(
        _shown(
            one,
            given[one.question],
            [wrote[key] for a in given[one.question] if (key := (a.question, a.rater)) in wrote],
        )
        for one in questions
        if one.kind != "check"
    )
    recipe = signature(choices=len(kept), questions=len(shown))
    told = told_of_sources(tuple({one.source for one in kept}))
    return QuestionsToBrowse(shown, len(kept), (*told, *notes), recipe)


def _shown(question: Question, given: Sequence[OptionChoice], comments: Sequence[str]) -> QuestionShown:
    firsts, seconds = Counter(one.first for one in given), Counter(one.second for one in given)
    places = range(len(question.options))
    return QuestionShown(
        question, tuple(firsts[n] for n in places), tuple(seconds[n] for n in places), firsts[None], tuple(comments)
    )


def comments_of_answers(study: Path) -> dict[tuple[str, str], str]:
    """What each rater wrote beside each of their answers: (question or set, rater) -> text."""
    path = study / "comments.jsonl"
    wrote = defaultdict[tuple[str, str], list[str]](list)
    for one in read_records(path, Comment) if path.exists() else ():
        wrote[one.pair, one.rater].append(one.text)
    return {key: " / ".join(texts) for key, texts in wrote.items()}
