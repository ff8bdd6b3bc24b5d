"""One response, or several of as many systems, to one conversation: each is rated, or all are ranked.

The layout has the responses' indices in the order shown (`2013`). The answer has them from the best to the worst, with
`=` between equals (`2,0=1,3`), or the rating where a response stands alone (`4`). What a page sends are places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Never

from seedvote.crowd.forms.form import Content, FormRow, HitForm, NoAnswer, Told, body_of, content_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import placed_records
from seedvote.dialogue.media import with_hashes
from seedvote.dialogue.records import ResponseRating, ResponseSet, Utterance
from seedvote.dialogue.seeds import child_random, child_seed
from seedvote.dialogue.validity import claims_of, option_order

MOST = 10  # at once: as many as there are digits


@dataclass(frozen=True, slots=True)
class ResponsesOnPage:
    """One set as the rater sees it; the responses in the order shown."""

    lease: str
    context: Sequence[Utterance]
    responses: Sequence[Content]
    number: int
    fragment: ClassVar[str] = "hit/_responses.html"

    @property
    def letters(self) -> Sequence[str]:
        """What the responses are called on the page; one that stands alone has no name."""
        return [chr(ord("A") + place) for place in range(len(self.responses))] if len(self.responses) > 1 else [""]


def square_of(name: str, responses: int, *, seed: int) -> list[str]:
    """The orders in which one set may be shown: in each place each response stands in one of them."""
    square, mirror = draw_squares(responses, seed=seed)
    return mirror if child_seed(seed, "mirror", name) % 2 else square


@lru_cache(64)
def draw_squares(responses: int, *, seed: int) -> tuple[list[str], list[str]]:
    """The study's Latin square for so many responses and its mirror image, balanced for neighbours (Williams 1949).

    Over the rows of an even number each response follows each other one equally often; an odd number needs both
    squares for that. They are the same for all sets, so that the orders that a rater has seen can be counted.
    """
    zigzag = [(place + 1) // 2 if place % 2 else (responses - place // 2) % responses for place in range(responses)]
    rows = [[(first + shift) % responses for first in zigzag] for shift in range(responses)]
    labels = child_random(seed, "design", responses).sample(range(responses), responses)
    square = [[labels[index] for index in row] for row in rows]
    return ["".join(map(str, row)) for row in square], ["".join(map(str, reversed(row))) for row in square]


def order_of(values: Sequence[float]) -> str:
    """Indices from the smallest value to the largest, equals joined.

    >>> order_of([2, 2, 1, 4])
    '2,0=1,3'
    """
    levels = sorted(set(values))
    return ",".join("=".join(str(i) for i, value in enumerate(values) if value == level) for level in levels)


class ResponseForm(HitForm):
    """One response, or a set of them. Without worked examples: every answer is a matter of degree."""

    file = "response_sets.jsonl"
    command = "python -m generation together"
    record = ResponseSet
    answers = "ratings"
    answer_record = ResponseRating
    fewest_examples = 0
    question_kinds = ("likert", "ranking", "comment")
    is_sided = False
    is_set = True
    is_markable = True
    balances_places = True
    marked = ""
    things = "Sets"
    undone = "Undone: answer again"

    def read_rows(self, path: Path) -> list[FormRow]:
        """The sets of a file."""
        records = [with_hashes(record, path.parent, where) for where, record in placed_records(path, ResponseSet)]
        if large := [record for record in records if len(record.responses) > MOST]:
            contents = f"{large[0].set} has {len(large[0].responses)} responses"
            raise InputError(f"{path}: set {contents}; a page shows at most {MOST} at once. Make smaller sets: --size.")
        return [
            FormRow(record.set, record.kind, body_of(record), record.answer, record.identical) for record in records
        ]

    def possible_answers(self, body: str) -> Sequence[str]:
        """What a check of so many responses may ask."""
        return claims_of(len(self.record_of(body).responses))

    def choose_layout(
        self,
        record: ResponseSet,
        placed: Told,
        lefts: Told,
        *,
        seed: int,
        name: tuple[object, ...],
        before: str | None = None,
    ) -> str:
        """A row of the set's square: one in which it was shown least often, then one that this rater saw least often.

        What comes again keeps its row while that is among them.
        """
        rows = square_of(record.set, len(record.responses), seed=seed)
        for counts in (placed, lefts) if before is None else (placed,):
            fewest = min(counts.get(row, 0) for row in rows)
            rows = [row for row in rows if counts.get(row, 0) == fewest]
        return before if before in rows else rows[child_seed(seed, "row", *name) % len(rows)]

    def on_page(self, lease: str, record: ResponseSet, layout: str, number: int) -> ResponsesOnPage:
        """The texts in the order shown, never whose they are."""
        shown = [content for _, content in self.responses_by_place(record, layout)]
        return ResponsesOnPage(lease, record.context, shown, number)

    def responses_by_place(self, record: ResponseSet, layout: str) -> Sequence[tuple[str, Content]]:
        """All of them, by their indices."""
        return [(index, content_of(record.responses[int(index)])) for index in option_order(layout)]

    def example_from(self, value: object, where: str) -> Never:
        """There are none: every answer is a matter of degree."""
        raise InputError(f"{where}: the form responses has no worked examples. Say in instructions what to look for.")

    def read_pressed(self, sent: Mapping[str, str]) -> str:
        """Nothing: what is asked stands in [[questions]], and the sheet of answers is read as one."""
        raise NoAnswer(f"this form is answered by questions, not by {', '.join(sent) or 'nothing'}")

    def answer_of(self, pressed: str, layout: str) -> str:
        """Nothing, for the same reason."""
        raise NoAnswer(f"{pressed} is no answer to {layout}")

    def first_button(self, answer: str, layout: str) -> str:
        """The places of the best, from 1; the rating of one that stands alone."""
        order = option_order(layout)
        if len(order) == 1:
            return answer
        best = answer.partition(",")[0].split("=")
        return "=".join(str(place) for place, index in enumerate(order, 1) if index in best)
