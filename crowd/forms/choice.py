"""One of several options, the best and the second best: which utterance comes next?

The layout has the options' indices from top to bottom (`20413`), the answer those that were chosen (`3,0`), as
choices.jsonl has them. What a page sends are places from the top.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any, ClassVar

from seedvote.crowd.forms.form import (
    Content,
    FormRow,
    HitForm,
    Incomplete,
    NoAnswer,
    Told,
    body_of,
    content_of,
    context_of,
    decisive_part,
    talk_said,
)
from seedvote.dialogue.errors import InputError, value_in_short
from seedvote.dialogue.files import placed_records
from seedvote.dialogue.media import parts_of, with_hashes
from seedvote.dialogue.questions import read_questions, texts_hash
from seedvote.dialogue.records import OptionChoice, Question, Utterance
from seedvote.dialogue.seeds import child_random, child_seed
from seedvote.dialogue.validity import option_order


@dataclass(frozen=True, slots=True)
class OptionsOnPage:
    """One question as the rater sees it; the options in the order shown."""

    lease: str
    context: Sequence[Utterance]
    options: Sequence[Content]
    number: int
    fragment: ClassVar[str] = "hit/_choice.html"

    @property
    def ranked(self) -> bool:
        """Whether the second best is asked for too: of two options it would be the other one."""
        return len(self.options) > 2


@dataclass(frozen=True, slots=True)
class ChoiceExample:
    """A worked example: `best` and `second` are the numbers of options, from 1."""

    context: tuple[Utterance, ...]
    options: tuple[str, ...]
    best: int
    why: str
    second: int | None = None


def square_rows(question: str, options: int, *, seed: int) -> list[str]:
    """The rows of a Latin square of this question's own: each option stands in each place in one of them.

    Rows that are used equally often, give or take one, put every option in every place equally often, give or take one.
    The places of a cyclic square are shuffled, so that no option follows the same one in all rows.
    """
    draw = child_random(seed, "square", question)
    order, places = draw.sample(range(options), options), draw.sample(range(options), options)
    joined = "" if options <= 10 else ","
    return [joined.join(str(order[(row + place) % options]) for place in places) for row in range(options)]


class ChoiceForm(HitForm):
    """One context and several options."""

    file = "questions.jsonl"
    option = "questions"
    command = "python -m evaluators questions"
    record = Question
    answers = "choices"
    answer_record = OptionChoice
    question_kinds = ("comment",)
    is_sided = False
    balances_places = True
    marked = "Right"
    chance = None
    things = "Asked"
    undone = "Undone: answer this question again"

    def read_rows(self, path: Path) -> list[FormRow]:
        """The questions of a file; each version is for raters of its own."""
        questions = read_questions(path)
        if any(True for question in questions for _ in parts_of(question)):
            places = [where for where, _ in placed_records(path, Question)]
            questions = [with_hashes(*placed) for placed in zip(questions, repeat(path.parent), places)]
        is_parted = len({question.version for question in questions}) > 1
        return [
            FormRow(
                question.question,
                question.kind,
                body_of(question),
                str(question.answer) if question.kind == "check" else None,
                version=question.version if is_parted else 0,
            )
            for question in questions
        ]

    def make_fingerprint(self, rows: Sequence[FormRow]) -> str:
        """The hash that choices.jsonl carries: an index means something only beside the texts that were shown."""
        return texts_hash(self.record_of(row.body) for row in rows)

    def with_key(self, body: str, key: str) -> str:
        """The body of a check with another answer."""
        return body_of(replace(self.record_of(body), answer=int(key)))

    def possible_answers(self, body: str) -> tuple[str, ...]:
        """The indices of its options."""
        return tuple(str(index) for index in range(len(self.record_of(body).options)))

    def is_marked(self, answer: str, key: Any) -> bool:
        """Whether the best option is the true one."""
        return decisive_part(answer) == str(key)

    def choose_layout(
        self,
        record: Question,
        placed: Told,
        lefts: Told,
        *,
        seed: int,
        name: tuple[object, ...],
        before: str | None = None,
    ) -> str:
        """A row of the question's square, of those that were placed least often: see `square_rows`."""
        known = square_rows(record.question, len(record.options), seed=seed)
        fewest = min(placed.get(row, 0) for row in known)
        least = [row for row in known if placed.get(row, 0) == fewest]
        return before if before in least else least[child_seed(seed, "row", *name) % len(least)]

    def on_page(self, lease: str, record: Question, layout: str, number: int) -> OptionsOnPage:
        """The texts in the order shown: not who speaks next, which is true, or where an option is from."""
        options = [content_of(record.options[int(index)]) for index in option_order(layout)]
        return OptionsOnPage(lease, record.context, options, number)

    def example_from(self, value: object, where: str) -> ChoiceExample:
        """Its table in hit.toml."""
        names = {"context", "options", "best", "why"}
        if not isinstance(value, Mapping) or not names <= set(value) <= {*names, "second"}:
            contents = ", ".join(value) if isinstance(value, Mapping) else value_in_short(value)
            raise InputError(f"{where} needs context, options, best and why, and may have second. Found: {contents}.")
        options, best, second, why = value["options"], value["best"], value.get("second"), value["why"]
        if (
            not isinstance(options, (list, tuple))
            or len(options) < 2
            or not all(isinstance(option, str) for option in options)
        ):
            raise InputError(f"{where}.options is {value_in_short(options)}, which is not a list of two texts or more.")
        for name, number in (("best", best), ("second", second)):
            if not ((number is None and name == "second") or (type(number) is int and 1 <= number <= len(options))):
                raise InputError(f"{where}.{name} is {value_in_short(number)}, which is not 1 to {len(options)}.")
        if best == second or not isinstance(why, str):
            raise InputError(f"{where} needs a text why, and a second option that is not the best one.")
        return ChoiceExample(context_of(value["context"], f"{where}.context"), tuple(options), best, why, second)

    def right_answer(self, example: ChoiceExample) -> str:
        """The places of the best and the second best."""
        return ",".join(str(number - 1) for number in (example.best, example.second) if number is not None)

    def example_said(self, example: ChoiceExample, say: Callable[[str], str]) -> ChoiceExample:
        """Conversation, options and explanation."""
        options = tuple(map(say, example.options))
        return replace(example, context=talk_said(example.context, say), options=options, why=say(example.why))

    def example_on_page(self, example: ChoiceExample, number: int) -> OptionsOnPage:
        """A worked example."""
        return OptionsOnPage("", example.context, [Content(option) for option in example.options], number)

    def read_pressed(self, sent: Mapping[str, str]) -> str:
        """The places from the top, from 0, of the best and of the second best.

        >>> ChoiceForm().read_pressed({"first": "4", "second": "0"})
        '4,0'
        """
        first, second = sent.get("first", ""), sent.get("second", "")
        if not first or first == second:
            raise Incomplete("a best option, and another one as second best")
        if not all(place.isascii() and place.isdigit() and len(place) < 4 for place in (first, second or "0")):
            raise NoAnswer("a place is a number")
        return f"{first},{second}" if second else first

    def answer_of(self, pressed: str, layout: str) -> str:
        """The indices of what was chosen, whatever the places.

        >>> ChoiceForm().answer_of("4,0", layout="20413")
        '3,2'
        """
        order, places = option_order(layout), [int(place) for place in pressed.split(",")]
        if max(places) >= len(order):
            raise NoAnswer("there is no such place")
        if len(places) == 1 and len(order) > 2:
            raise Incomplete("the second best is asked for too")
        return ",".join(order[place] for place in places)

    def fields_of(self, answer: str, layout: str) -> Mapping[str, str]:
        """The places of the best and of the second best.

        >>> ChoiceForm().fields_of("3,2", layout="20413")
        {'first': '4', 'second': '0'}
        """
        order = option_order(layout)
        return {
            name: str(order.index(index)) for name, index in zip(("first", "second"), answer.split(","), strict=False)
        }

    def first_button(self, answer: str, layout: str) -> str:
        """The place of the best, from 1."""
        return str(option_order(layout).index(decisive_part(answer)) + 1)
