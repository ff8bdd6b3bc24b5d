"""One response, or several of as many systems, to one conversation: each is rated, or all are ranked.

The layout has the responses' indices in the order shown (`2013`). The answer has them from the best to the worst, with
`=` between equals (`2,0=1,3`), or the rating where a response stands alone (`4`). What a page sends are places.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Never

from crowd.forms.form import FormRow, NoAnswer, Told
from dialogue.errors import InputError
from dialogue.files import as_json, from_json, read_records
from dialogue.records import ResponseSet, Utterance
from dialogue.seeds import child_random, child_seed
from dialogue.validity import claims_of, option_order

FILE = "response_sets.jsonl"
ANSWERS = "ratings"
MAKE = "python -m generation together"
FEWEST_EXAMPLES = 0
SIDED = False
PLACES = True
MOST = 10  # at once: as many as there are digits


@dataclass(frozen=True, slots=True)
class ResponsesOnPage:
    """One set as the rater sees it; the responses in the order shown."""

    lease: str
    context: Sequence[Utterance]
    responses: Sequence[str]
    number: int
    fragment: ClassVar[str] = "hit/_responses.html"

    @property
    def letters(self) -> Sequence[str]:
        """What the responses are called on the page; one that stands alone has no name."""
        return [chr(ord("A") + place) for place in range(len(self.responses))] if len(self.responses) > 1 else [""]


def read(path: Path) -> list[FormRow]:
    """The sets of a file."""
    records = read_records(path, ResponseSet)
    if large := [one for one in records if len(one.responses) > MOST]:
        found = f"{large[0].set} has {len(large[0].responses)} responses"
        raise InputError(f"{path}: set {found}; a page shows at most {MOST} at once. Make smaller sets: --size.")
    return [FormRow(one.set, one.kind, _body(one), one.answer, one.identical) for one in records]


def _body(record: ResponseSet) -> str:
    return json.dumps(as_json(record), ensure_ascii=False, sort_keys=True)


def fingerprint(rows: Sequence[FormRow]) -> str:
    """None: ratings name systems, whatever became of the texts."""
    del rows
    return ""


@lru_cache(4096)  # as for pairs
def record_of(body: str) -> ResponseSet:
    """The ResponseSet record of a row."""
    return from_json(ResponseSet, json.loads(body), "store")


def with_key(body: str, key: str) -> str:
    """The body of a check that asks something else."""
    return _body(replace(record_of(body), answer=key))


def answers(body: str) -> Sequence[str]:
    """What a check of so many responses may ask."""
    return claims_of(len(record_of(body).responses))


def layout(
    record: ResponseSet, placed: Told, lefts: Told, *, seed: int, name: tuple[object, ...], before: str | None = None
) -> str:
    """A row of the set's square, of those that it was shown in least often; of these, that this rater saw least often.

    What comes again keeps its row while that is among them.
    """
    rows = square_of(record.set, len(record.responses), seed=seed)
    for counts in (placed, lefts) if before is None else (placed,):
        fewest = min(counts.get(row, 0) for row in rows)
        rows = [row for row in rows if counts.get(row, 0) == fewest]
    return before if before in rows else rows[child_seed(seed, "row", *name) % len(rows)]


def square_of(name: str, responses: int, *, seed: int) -> list[str]:
    """The orders in which one set may be shown: in each place each response stands in one of them."""
    one, mirror = squares(responses, seed=seed)
    return mirror if child_seed(seed, "mirror", name) % 2 else one


@lru_cache(64)
def squares(responses: int, *, seed: int) -> tuple[list[str], list[str]]:
    """The study's Latin square for so many responses and its mirror image, balanced for neighbours (Williams 1949).

    Over the rows of an even number each response follows each other one equally often; an odd number needs both
    squares for that. They are the same for all sets, so that the orders that a rater has seen can be counted.
    """
    zigzag = [(place + 1) // 2 if place % 2 else (responses - place // 2) % responses for place in range(responses)]
    rows = [[(first + shift) % responses for first in zigzag] for shift in range(responses)]
    named = child_random(seed, "design", responses).sample(range(responses), responses)
    one = [[named[index] for index in row] for row in rows]
    return ["".join(map(str, row)) for row in one], ["".join(map(str, reversed(row))) for row in one]


def on_page(lease: str, record: ResponseSet, layout: str, number: int) -> ResponsesOnPage:
    """The texts in the order shown, never whose they are."""
    shown = [record.responses[int(index)].text for index in option_order(layout)]
    return ResponsesOnPage(lease, record.context, shown, number)


def example_from(value: object, where: str) -> Never:
    """There are none: every answer is a matter of degree."""
    del value
    raise InputError(f"{where}: the form responses has no worked examples. Say in instructions what to look for.")


def example_said(example: Never, say: Callable[[str], str]) -> object:
    """There are none."""
    del say
    return example


def right(example: Never) -> str:
    """There are none."""
    return example


def example_on_page(example: Never, number: int) -> ResponsesOnPage:
    """There are none."""
    del number
    return example


def pressed(sent: Mapping[str, str]) -> str:
    """Nothing: what is asked stands in [[questions]], and the sheet of answers is read as one."""
    raise NoAnswer(f"this form is answered by questions, not by {', '.join(sent) or 'nothing'}")


def answer_of(pressed: str, layout: str) -> str:
    """Nothing, for the same reason."""
    raise NoAnswer(f"{pressed} is no answer to {layout}")


def fields_of(answer: str, layout: str) -> Mapping[str, str]:
    """None: the sheet of answers holds them."""
    del answer, layout
    return {}


def order_of(values: Sequence[float]) -> str:
    """Indices from the smallest value to the largest, equals joined.

    >>> order_of([2, 2, 1, 4])
    '2,0=1,3'
    """
    levels = sorted(set(values))
    return ",".join("=".join(str(i) for i, value in enumerate(values) if value == level) for level in levels)


def button(answer: str, layout: str) -> str:
    """The places of the best, from 1; the rating of one that stands alone."""
    order = option_order(layout)
    if len(order) == 1:
        return answer
    best = answer.partition(",")[0].split("=")
    return "=".join(str(place) for place, index in enumerate(order, 1) if index in best)
