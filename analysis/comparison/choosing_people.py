"""People who answered the questions that models ranked: their share of hits, beside the models and apart from them.

They have no architecture and no seed, so they are in no panel: nothing pools them with a model, orders them among
architectures or counts them in seeds. The interval is that of `analysis choose`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from analysis.showing.tables import Table
from analysis.stats.intervals import Interval
from analysis.votes.choices import FIRST, SECOND, Choices, hits_interval, told_of_sources
from dialogue.errors import InputError

CHOSEN = (
    "People's shares are over the questions that they answered, by the interval of `analysis choose`; people less each "
    "model on the very same questions: python -m analysis choose STUDY. No answer of people enters a model's line."
)
BARE = "A share without brackets is of one rater, or its answers have no clusters of the kind that was asked for."


@dataclass(frozen=True, slots=True)
class ChoosingPeople:
    """All people on the questions of one corpus by one metric, in points."""

    corpus: str
    metric: str
    value: float
    low: float | None  # None for one rater
    high: float | None
    answers: int
    questions: int
    raters: int
    chance: float


def choosing_people(choices: Choices | None, clusters: str = "auto") -> tuple[ChoosingPeople, ...]:
    """R@1 of every corpus, and R@2 where somebody was asked for the second best."""
    return () if choices is None else tuple(_shares(choices, clusters))


def _shares(choices: Choices, clusters: str) -> Iterator[ChoosingPeople]:
    for corpus in dict.fromkeys(one.corpus for one in choices.questions):
        part = choices.select(choices.corpus(corpus))
        asked = np.unique(part.pair)
        sizes = np.array([len(choices.questions[k].options) for k in asked])
        for place, metric in enumerate((FIRST, SECOND)[: 1 + choices.second] if len(part) else (), 1):
            found = _interval(part, metric, clusters)
            yield ChoosingPeople(
                corpus, metric, 100 * float(part.hits[metric].mean()),
                None if found is None else 100 * found.low, None if found is None else 100 * found.high,
                len(part), len(asked), len(np.unique(part.rater)), 100 * float(np.minimum(place / sizes, 1).mean()),
            )  # fmt: skip


def _interval(part: Choices, metric: str, clusters: str) -> Interval | None:
    """None too where votes have clusters that answers lack: the comparison of the models stands without it."""
    try:
        return hits_interval(part, metric, clusters)
    except InputError:
        return None


def people_table(found: tuple[ChoosingPeople, ...]) -> Table:
    """A row for each corpus and metric, marked as people."""
    several = len({one.corpus for one in found}) > 1
    head = ["who", *(["corpus"] if several else []), "metric", "value (95 %)", "chance", "raters", "questions",
            "answers"]  # fmt: skip
    rows = [
        ["people", *([one.corpus] if several else []), one.metric,
         f"{one.value:.1f}" + ("" if one.low is None else f" ({one.low:.1f}-{one.high:.1f})"), f"{one.chance:.1f}",
         f"{one.raters:,}", f"{one.questions:,}", f"{one.answers:,}"]
        for one in found
    ]  # fmt: skip
    return Table(head, rows, "People on the questions of next-utterance choice, in points")


def people_said(choices: Choices | None, found: tuple[ChoosingPeople, ...]) -> tuple[str, ...]:
    """What the table says and what it cannot, and what was left out of the answers."""
    if choices is None:
        return ()
    bare = [BARE] if any(one.low is None for one in found) else []
    return (CHOSEN, *bare, *told_of_sources(choices.sources), *choices.notes)
