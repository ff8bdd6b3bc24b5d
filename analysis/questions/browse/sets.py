"""Pages for studies of the forms responses and choice: every set or question, and what raters said or picked.

They list ranks and ratings, and counts of picks, and compute no mean or share of them: those, with their intervals, are
what `ranks`, `ratings` and `choose` print. Which response stands highest, and how far raters agree on it, is said of
one question. Nobody's name is kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seedvote.analysis.votes.choices import answers_kept, told_of_sources
from seedvote.analysis.votes.passages import Passages, read_passages
from seedvote.analysis.votes.systems import key_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.judges import find_judges
from seedvote.dialogue.questions import read_choices, read_questions
from seedvote.dialogue.records import Comment, OptionChoice, Question, ResponseRating, ResponseSet
from seedvote.dialogue.signature import signature

QUESTION_FILE = "questions.jsonl"
CHOICE_FILE = "choices.jsonl"


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
    return study.is_dir() and (study / CHOICE_FILE).exists() and not (study / "votes.jsonl").exists()


def answer_questions(study: Path, *, uncounted: bool = False) -> QuestionsAnswer:
    """Read a study folder."""
    if not (study / QUESTION_FILE).exists():
        raise InputError(f"{study} has {CHOICE_FILE} and no {QUESTION_FILE}: put the questions beside their answers.")
    questions = read_questions(study / QUESTION_FILE)
    path = study / CHOICE_FILE
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


SETS_FILE = "response_sets.jsonl"
RATINGS_FILE = "ratings.jsonl"


@dataclass(frozen=True, slots=True)
class RatedSet:
    """One set as the page shows it; all lists stand in the order of its responses."""

    source: ResponseSet
    systems: tuple[str, ...]
    values: tuple[tuple[tuple[str, str], ...], ...]
    """Question and what its raters said: `1, 2.5, 1`, in the order of the raters."""
    highest: tuple[tuple[int, ...], ...]
    """What each rater put highest in the question that is looked at; several where they are equal."""
    answers: int
    comments: tuple[str, ...]

    @property
    def best(self) -> tuple[int, ...]:
        """What most raters put highest; empty where nobody answered."""
        numbers = Counter(index for indices in self.highest for index in indices)
        return tuple(sorted(index for index, number in numbers.items() if number == max(numbers.values())))

    @property
    def agreement(self) -> str:
        """How far raters agree on the highest: all, most (more than half), split, or single (fewer than two)."""
        if len(self.highest) < 2:
            return "single"
        most = Counter(self.highest).most_common(1)[0][1]
        return "all" if most == len(self.highest) else "most" if 2 * most > len(self.highest) else "split"


@dataclass(frozen=True, eq=False)
class SetsAnswer:
    """Every set but the hidden checks, in the order of the file; `question` is the one that is looked at."""

    sets: tuple[RatedSet, ...]
    question: str
    answers: int
    notes: tuple[str, ...]
    signature: str
    passages: Passages | None = None
    """What raters marked, where they were asked to."""


def has_ratings(study: Path) -> bool:
    """Whether a folder holds ranks and ratings of sets, and no votes."""
    return study.is_dir() and (study / RATINGS_FILE).exists() and not (study / "votes.jsonl").exists()


def answer_sets(study: Path, *, sets: Path | None = None, question: str = "", uncounted: bool = False) -> SetsAnswer:
    """Read a study folder; `sets` may lie elsewhere."""
    path = sets or study / SETS_FILE
    if not path.exists():
        raise InputError(f"{study} has {RATINGS_FILE}, and {path} is not there: name the file of sets: --pairs FILE.")
    records = [record for record in read_records(path, ResponseSet) if record.kind != "check"]
    ratings = [rating for rating in read_records(study / RATINGS_FILE, ResponseRating) if rating.kind != "check"]
    counted = [rating for rating in ratings if uncounted or rating.counted]
    questions = list(dict.fromkeys(rating.question for rating in ratings))
    if question and question not in questions:
        raise InputError(f"--question is {question!r}; the questions are {', '.join(questions)}.")
    lead = question or next(iter(questions), "")
    sets_by_name, by_set = {record.set: record for record in records}, defaultdict[str, list[ResponseRating]](list)
    names: dict[tuple[str, int | None, str], str] = {}
    for rating in counted:
        record = sets_by_name.get(rating.set)
        if record is None or rating.response >= len(record.responses):
            raise InputError(
                f"{path} does not hold set {rating.set!r} of {study / RATINGS_FILE}. Give the sets of these ratings."
            )
        by_set[rating.set].append(rating)
        names[key_of(record.responses[rating.response])] = rating.system
    comments = comments_of_answers(study)
    rated = tuple(_rated_set(record, by_set[record.set], lead, names, comments) for record in records)
    answers = len({(rating.set, rating.rater) for rating in counted})
    omitted = len({(rating.set, rating.rater) for rating in ratings}) - answers
    notes = [*told_of_sources([rating.source for rating in counted])]
    notes += [f"{omitted:,} answers that do not count are left out."] if omitted else []
    recipe = signature(answers=answers, sets=len(rated), question=lead)
    return SetsAnswer(rated, lead, answers, tuple(notes), recipe, read_passages(study, records))


def _rated_set(
    record: ResponseSet,
    ratings: Sequence[ResponseRating],
    lead: str,
    names: Mapping[tuple[str, int | None, str], str],
    comments: Mapping[tuple[str, str], str],
) -> RatedSet:
    raters, places = list(dict.fromkeys(rating.rater for rating in ratings)), range(len(record.responses))
    table = {(rating.question, rating.response, rating.rater): _read_value(rating) for rating in ratings}
    values = tuple(
        tuple(
            (question, ", ".join(f"{table[question, n, rater]:g}" for rater in raters if (question, n, rater) in table))
            for question in dict.fromkeys(rating.question for rating in ratings)
        )
        for n in places
    )
    by_cell = {(rating.response, rating.rater): rating for rating in ratings if rating.question == lead}
    rows = [[by_cell[n, rater] for n in places if (n, rater) in by_cell] for rater in raters]
    return RatedSet(
        record,
        tuple(names.get(key_of(response), response.model) for response in record.responses),
        values,
        tuple(_find_highest(row) for row in rows if len(row) == len(places)),
        len(raters),
        tuple(comments[record.set, rater] for rater in raters if comments.get((record.set, rater))),
    )


def _read_value(rating: ResponseRating) -> float:
    value = rating.score if rating.rank is None else rating.rank
    return float("nan") if value is None else float(value)


def _find_highest(row: Sequence[ResponseRating]) -> tuple[int, ...]:
    """Rank 1 is the highest, and so is the largest rating."""
    heights = [_read_value(rating) if rating.rank is None else -rating.rank for rating in row]
    return tuple(n for n, height in enumerate(heights) if height == max(heights))
