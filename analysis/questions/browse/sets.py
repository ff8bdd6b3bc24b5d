"""Every set of responses and what raters said of each: the page for a study of the form responses.

It lists ranks and ratings and computes none of their means: those, with their intervals, are what `ranks` and `ratings`
print. Which response stands highest, and how far raters agree on it, is said of one question. Nobody's name is kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seedvote.analysis.questions.browse.options import comments_of_answers
from seedvote.analysis.votes.choices import told_of_sources
from seedvote.analysis.votes.passages import Passages, read_passages
from seedvote.analysis.votes.systems import key_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import ResponseRating, ResponseSet
from seedvote.dialogue.signature import signature

FILE = "response_sets.jsonl"
ANSWERS = "ratings.jsonl"


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
    return study.is_dir() and (study / ANSWERS).exists() and not (study / "votes.jsonl").exists()


def answer_sets(study: Path, *, sets: Path | None = None, question: str = "", uncounted: bool = False) -> SetsAnswer:
    """Read a study folder; `sets` may lie elsewhere."""
    path = sets or study / FILE
    if not path.exists():
        raise InputError(f"{study} has {ANSWERS}, and {path} is not there: name the file of sets: --pairs FILE.")
    records = [record for record in read_records(path, ResponseSet) if record.kind != "check"]
    ratings = [rating for rating in read_records(study / ANSWERS, ResponseRating) if rating.kind != "check"]
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
                f"{path} does not hold set {rating.set!r} of {study / ANSWERS}. Give the sets of these ratings."
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
