"""Passages that raters marked as wrong (marks.jsonl), beside the answers that say who was asked to mark any."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from seedvote.analysis.stats.between_raters.overlap import MarkedText, Overlap, measure_overlap
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import MarkedPassage, Pair, ResponseRating, ResponseSet, Vote

FILE = "marks.jsonl"


@dataclass(frozen=True, slots=True)
class TextRun:
    """A run of characters that the same raters marked."""

    text: str
    raters: int
    categories: str
    """Each with the number of its raters; empty where nobody marked it."""


@dataclass(frozen=True, eq=False)
class Passages:
    """What raters marked in the responses of a study."""

    texts: Mapping[tuple[str, str], str]
    asked: Mapping[str, Sequence[str]]
    """Pair or set -> the raters who could mark."""
    passages: Mapping[tuple[str, str], Sequence[MarkedPassage]]
    found: Overlap | None
    """Whether two raters mark the same characters."""
    named: Overlap | None
    """Whether they do with the same category."""
    by_category: Mapping[str, int]

    def runs(self, pair: str, response: str) -> list[TextRun]:
        """The response cut where marks begin and end."""
        text, marks = self.texts.get((pair, response), ""), self.passages.get((pair, response), ())
        cuts = sorted({0, len(text), *(edge for mark in marks for edge in (mark.start, mark.end) if edge <= len(text))})
        return [_make_run(text, start, end, marks) for start, end in pairwise(cuts)]


def _make_run(text: str, start: int, end: int, marks: Sequence[MarkedPassage]) -> TextRun:
    here = {(mark.rater, mark.category) for mark in marks if mark.start <= start and end <= mark.end}
    counts = Counter(category for _, category in here)
    words = ", ".join(f"{category} ({number})" for category, number in sorted(counts.items()))
    return TextRun(text[start:end], len({rater for rater, _ in here}), words)


def read_passages(folder: Path, records: Sequence[Pair | ResponseSet]) -> Passages | None:
    """Those of the answers in a folder that count; None where no passages were asked for."""
    path = folder / FILE
    if not path.exists():
        return None
    asked = _read_asked(folder)
    texts: dict[tuple[str, str], str] = {}
    dialogues: dict[str, str] = {}
    for record in records:
        sides = (("a", record.a), ("b", record.b)) if isinstance(record, Pair) else enumerate(record.responses)
        name = record.pair if isinstance(record, Pair) else record.set
        dialogues[name] = record.dialogue or record.item
        texts |= {(name, str(response)): side.text for response, side in sides}
    passages = defaultdict[tuple[str, str], list[MarkedPassage]](list)
    for mark in read_records(path, MarkedPassage):
        if (key := (mark.pair, mark.response)) in texts and mark.rater in asked.get(mark.pair, ()):
            if texts[key][mark.start : mark.end] != mark.text:
                raise InputError(f"{path}: {mark.text[:40]!r} is not in response {mark.response} of {mark.pair}.")
            passages[key].append(mark)
    both = [
        measure_overlap(
            [_marked_text(dialogues[key[0]], text, asked[key[0]], passages.get(key, ()), named=named)
             for key, text in texts.items() if key[0] in asked]
        )
        for named in (False, True)
    ]  # fmt: skip
    categories = Counter(mark.category for marks in passages.values() for mark in marks)
    return Passages(texts, asked, passages, both[0], both[1], dict(categories.most_common()))


def _read_asked(folder: Path) -> Mapping[str, Sequence[str]]:
    """Who was asked, as the answers that count say."""
    asked = defaultdict[str, dict[str, None]](dict)
    votes, ratings = folder / "votes.jsonl", folder / "ratings.jsonl"
    for vote in read_records(votes, Vote) if votes.exists() else ():
        if vote.marks is not None and vote.counted:
            asked[vote.pair][vote.rater] = None
    for rating in read_records(ratings, ResponseRating) if ratings.exists() else ():
        if rating.marks is not None and rating.counted:
            asked[rating.set][rating.rater] = None
    return {name: list(raters) for name, raters in asked.items()}


def _marked_text(
    dialogue: str, text: str, raters: Sequence[str], marks: Sequence[MarkedPassage], *, named: bool
) -> MarkedText:
    characters: dict[str, set[tuple[int, str]]] = {rater: set() for rater in raters}
    for mark in marks:
        characters[mark.rater] |= {(place, mark.category if named else "") for place in range(mark.start, mark.end)}
    return MarkedText(dialogue, len(text), characters)
