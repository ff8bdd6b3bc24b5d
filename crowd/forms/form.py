"""What the server must know of a form of HIT. All the rest (leases, gate, doors, undo, pay) knows ids and counters.

A form is a class with these methods; `crowd/forms/known.py` lists them. What is stored of a judgement are two texts
whose meaning is the form's own: the layout (how it was shown) and the answer (what was chosen, whatever the layout).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Protocol

from seedvote.dialogue.errors import InputError, value_in_short
from seedvote.dialogue.files import as_json
from seedvote.dialogue.records import PairKind, Part, Utterance, Vote
from seedvote.dialogue.validity import from_json

Told = Mapping[str, int]
"""Layout -> how often."""


class NoAnswer(ValueError):
    """What a page sent is no answer to what it showed."""


class Incomplete(NoAnswer):
    """What a page sent lacks something that a person may have forgotten, and who may be asked again."""


@dataclass(frozen=True, slots=True)
class FormRow:
    """What the store keeps of one record of the file, beside the record itself."""

    name: str
    kind: PairKind
    body: str
    """The record as JSON."""
    key: str | None
    """Checks: the right answer, as `answers` names it."""
    identical: bool = False
    version: int = 0
    """The part of the study that it belongs to; 0: every rater's."""


@dataclass(frozen=True, slots=True)
class Content:
    """A text on a page, and its parts where it holds more than words."""

    text: str
    parts: Sequence[Part] = ()


def content_of(record: Any) -> Content:
    """What a page shows of a response or an option: not who wrote it, or where it is from.

    >>> content_of(Utterance("gpt", "Hello."))
    Content(text='Hello.', parts=())
    """
    return Content(record.text, tuple(record.parts or ()))


class OnPage(Protocol):
    """What leaves the server of a record, in the order shown; the fragment of the page reads its other fields."""

    @property
    def fragment(self) -> str: ...
    @property
    def lease(self) -> str: ...
    @property
    def context(self) -> Sequence[Utterance]: ...
    @property
    def number(self) -> int: ...


def decisive_part(answer: str) -> str:
    """The part of an answer that a hidden check judges: the first.

    >>> decisive_part("3,0"), decisive_part("tie")
    ('3', 'tie')
    """
    return answer.partition(",")[0]


def context_of(value: object, where: str) -> tuple[Utterance, ...]:
    """The conversation of a worked example."""
    lines: Sequence[object] = value if isinstance(value, list) else [value]
    return tuple(_read_utterance(line, where) for line in lines)


def _read_utterance(line: object, where: str) -> Utterance:
    if not isinstance(line, Mapping) or not all(isinstance(line.get(k), str) for k in ("speaker", "text")):
        raise InputError(f'{where} holds {value_in_short(line)}; each line is {{speaker = "user", text = "..."}}.')
    return Utterance(line["speaker"], line["text"])


def talk_said(lines: Sequence[Utterance], say: Callable[[str], str]) -> tuple[Utterance, ...]:
    """The conversation of a worked example with everything in it said by `say`, who speaks too."""
    return tuple(Utterance(say(line.speaker), say(line.text)) for line in lines)


@lru_cache(4096)  # k raters see each pair, and reading it costs more than storing a vote
def _record_in(kind: type, body: str) -> Any:
    return from_json(kind, json.loads(body), "store")


def body_of(record: Any) -> str:
    """A record as the store keeps it."""
    return json.dumps(as_json(record), ensure_ascii=False, sort_keys=True)


class HitForm:
    """A form of HIT. What one does not say is as here: votes for one of two sides, after worked examples."""

    file: ClassVar[str] = "pairs.jsonl"
    """Its file in a study folder."""
    option: ClassVar[str] = "pairs"
    """The option of commands that names this file."""
    command: ClassVar[str]
    """What makes one."""
    record: ClassVar[type]
    """What a line of it is."""
    answers: ClassVar[str] = "votes"
    """Name, without its ending, of the file of answers."""
    answer_record: ClassVar[type] = Vote
    """What a line of that is."""
    fewest_examples: ClassVar[int] = 1
    """The worked examples that the instructions have at least."""
    question_kinds: ClassVar[tuple[str, ...]] = ("pairwise", "likert", "comment")
    """The kinds of `[[questions]]` that its page can show."""
    is_sided: ClassVar[bool] = True
    """Whether an answer is the left side, the right one or a tie: what is known of votes holds for it."""
    is_set: ClassVar[bool] = False
    """Whether it shows a set of responses, of which each is rated, or all are ranked."""
    is_live: ClassVar[bool] = False
    """Whether raters talk to systems before they answer, which costs time and money (crowd/rating/talks.py)."""
    is_markable: ClassVar[bool] = False
    """Whether passages of what it shows can be marked: single responses, with names of their own."""
    balances_places: ClassVar[bool] = False
    """Whether layouts are balanced among the answers that have a place, rather than among all that were shown."""
    marked: ClassVar[str] = "Ties"
    """The answers that `crowd status` counts; empty: none."""
    chance: ClassVar[float | None] = 1 / 3
    """The share of them that clicking at random would give; None: it depends on the record."""
    things: ClassVar[str] = "Pairs"
    """What is shown at once, as `crowd status` heads the number of it."""
    undone: ClassVar[str] = "Undone: answer this pair again"
    """What the page says when an answer was taken back."""

    def read_rows(self, path: Path) -> Sequence[FormRow]:
        """The records of a file, in its order; refused with their line where they are wrong."""
        raise NotImplementedError

    def make_fingerprint(self, rows: Sequence[FormRow]) -> str:
        """What a file of answers carries, so that it is refused beside other texts; empty: it names what was shown."""
        return ""

    def record_of(self, body: str) -> Any:
        """The record of a row of the store."""
        return _record_in(self.record, body)

    def with_key(self, body: str, key: str) -> str:
        """A check's body with another right answer."""
        return body_of(replace(self.record_of(body), answer=key))

    def possible_answers(self, body: str) -> Sequence[str]:
        """Every answer by which a check may be right."""
        raise NotImplementedError

    def is_marked(self, answer: str, key: Any) -> bool:
        """Whether it is among the answers that `crowd status` counts, where the record's own answer is `key`."""
        return answer == "tie"

    def choose_layout(
        self,
        record: Any,
        placed: Told,
        lefts: Told,
        *,
        seed: int,
        name: tuple[object, ...],
        before: str | None = None,
    ) -> str:
        """How it is shown: `placed` counts its layouts so far, `lefts` those of this rater.

        `before` is how this rater saw it, where their time ran out and it comes again.
        """
        raise NotImplementedError

    def on_page(self, lease: str, record: Any, layout: str, number: int) -> OnPage:
        """What a page shows of it, in the order of the layout: never which response is whose, or which is right."""
        raise NotImplementedError

    def responses_by_place(self, record: Any, layout: str) -> Sequence[tuple[str, Content]]:
        """The responses in the order shown, each with its name in the files; none where none stands alone."""
        return ()

    def example_from(self, value: object, where: str) -> Any:
        """A worked example of hit.toml, or what is wrong with it."""
        raise NotImplementedError

    def right_answer(self, example: Any) -> str:
        """What is pressed by who answers a worked example well."""
        return str(example.answer)

    def example_said(self, example: Any, say: Callable[[str], str]) -> Any:
        """A worked example with every text that a page shows of it said by `say`, in another language."""
        raise NotImplementedError

    def example_on_page(self, example: Any, number: int) -> OnPage:
        """What a page shows of a worked example."""
        raise NotImplementedError

    def read_pressed(self, sent: Mapping[str, str]) -> str:
        """What a page sent, or NoAnswer."""
        raise NotImplementedError

    def answer_of(self, pressed: str, layout: str) -> str:
        """What was chosen, whatever the layout, or NoAnswer."""
        raise NotImplementedError

    def fields_of(self, answer: str, layout: str) -> Mapping[str, str]:
        """The fields of the form that held an answer, for who takes it back; none where one press answers."""
        return {}

    def first_button(self, answer: str, layout: str) -> str:
        """What was pressed first, so that who always presses the same is seen."""
        raise NotImplementedError
