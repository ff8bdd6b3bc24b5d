"""Every set of responses and what raters said of each: the page for a study of the form responses.

It lists ranks and ratings and computes none of their means: those, with their intervals, are what `ranks` and `ratings`
print. Which response stands highest, and how far raters agree on it, is said of one question. Nobody's name is kept.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.browse.questions import comments_of_answers
from analysis.votes.choices import told_of_sources
from analysis.votes.systems import key_of
from dialogue.errors import InputError
from dialogue.files import read_records
from dialogue.records import ResponseRating, ResponseSet
from dialogue.signature import signature

FILE = "response_sets.jsonl"
ANSWERS = "ratings.jsonl"


@dataclass(frozen=True, slots=True)
class SetShown:
    """One set as the page shows it; all lists stand in the order of its responses."""

    source: ResponseSet
    systems: tuple[str, ...]
    told: tuple[tuple[tuple[str, str], ...], ...]
    """Question and what its raters said: `1, 2.5, 1`, in the order of the raters."""
    highest: tuple[tuple[int, ...], ...]
    """What each rater put highest in the question that is looked at; several where they are equal."""
    answers: int
    comments: tuple[str, ...]

    @property
    def best(self) -> tuple[int, ...]:
        """What most raters put highest; empty where nobody answered."""
        met = Counter(index for one in self.highest for index in one)
        return tuple(sorted(index for index, number in met.items() if number == max(met.values())))

    @property
    def agreement(self) -> str:
        """How far raters agree on the highest: all, most (more than half), split, or single (fewer than two)."""
        if len(self.highest) < 2:
            return "single"
        most = Counter(self.highest).most_common(1)[0][1]
        return "all" if most == len(self.highest) else "most" if 2 * most > len(self.highest) else "split"


@dataclass(frozen=True, eq=False)
class SetsToBrowse:
    """Every set but the hidden checks, in the order of the file; `question` is the one that is looked at."""

    sets: tuple[SetShown, ...]
    question: str
    answers: int
    notes: tuple[str, ...]
    signature: str


def is_of_sets(study: Path) -> bool:
    """Whether a folder holds ranks and ratings of sets, and no votes."""
    return study.is_dir() and (study / ANSWERS).exists() and not (study / "votes.jsonl").exists()


def sets_to_browse(
    study: Path, *, sets: Path | None = None, question: str = "", uncounted: bool = False
) -> SetsToBrowse:
    """Read a study folder; `sets` may lie elsewhere."""
    path = sets or study / FILE
    if not path.exists():
        raise InputError(f"{study} has {ANSWERS}, and {path} is not there: name the file of sets: --pairs FILE.")
    records = [one for one in read_records(path, ResponseSet) if one.kind != "check"]
    given = [one for one in read_records(study / ANSWERS, ResponseRating) if one.kind != "check"]
    kept = [one for one in given if uncounted or one.counted]
    asked = list(dict.fromkeys(one.question for one in given))
    if question and question not in asked:
        raise InputError(f"--question is {question!r}; the questions are {', '.join(asked)}.")
    lead = question or next(iter(asked), "")
    known, by_set = {one.set: one for one in records}, defaultdict[str, list[ResponseRating]](list)
    names: dict[tuple[str, int | None, str], str] = {}
    for one in kept:
        if one.set not in known or one.response >= len(known[one.set].responses):
            raise InputError(
                f"{path} does not hold set {one.set!r} of {study / ANSWERS}. Give the sets of these ratings."
            )
        by_set[one.set].append(one)
        names[key_of(known[one.set].responses[one.response])] = one.system
    wrote = comments_of_answers(study)
    shown = tuple(_shown(one, by_set[one.set], lead, names, wrote) for one in records)
    answers = len({(one.set, one.rater) for one in kept})
    left = len({(one.set, one.rater) for one in given}) - answers
    notes = [*told_of_sources([one.source for one in kept])]
    notes += [f"{left:,} answers that do not count are left out."] if left else []
    return SetsToBrowse(shown, lead, answers, tuple(notes), signature(answers=answers, sets=len(shown), question=lead))


def _shown(
    record: ResponseSet, given: Sequence[ResponseRating], lead: str,
    names: Mapping[tuple[str, int | None, str], str], wrote: Mapping[tuple[str, str], str],
) -> SetShown:  # fmt: skip
    raters, places = list(dict.fromkeys(one.rater for one in given)), range(len(record.responses))
    said = {(one.question, one.response, one.rater): one for one in given}
    told = tuple(
        tuple(
            (question, ", ".join(f"{_value(one):g}" for rater in raters if (one := said.get((question, n, rater)))))
            for question in dict.fromkeys(one.question for one in given)
        )
        for n in places
    )
    led = [[said.get((lead, n, rater)) for n in places] for rater in raters]
    return SetShown(
        record, tuple(names.get(key_of(one), one.model) for one in record.responses), told,
        tuple(_highest([one for one in row if one is not None]) for row in led if None not in row), len(raters),
        tuple(text for rater in raters if (text := wrote.get((record.set, rater)))),
    )  # fmt: skip


def _value(one: ResponseRating) -> float:
    told = one.score if one.rank is None else one.rank
    return float("nan") if told is None else float(told)


def _highest(row: Sequence[ResponseRating]) -> tuple[int, ...]:
    """Rank 1 is the highest, and so is the largest rating."""
    worth = [_value(one) if one.rank is None else -one.rank for one in row]
    return tuple(n for n, value in enumerate(worth) if value == max(worth))
