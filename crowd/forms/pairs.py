"""Two responses side by side: A, B or a tie. The layout is the response on the left, the answer the response chosen."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, Literal, cast

from crowd.forms.form import FormRow, NoAnswer, Told, context_of, talk_said
from dialogue.errors import InputError, value_in_short
from dialogue.files import as_json, from_json, placed_records
from dialogue.records import Choice, Pair, Utterance
from dialogue.seeds import child_seed

FILE = "pairs.jsonl"
ANSWERS = "votes"
MAKE = "python -m generation pair"
FEWEST_EXAMPLES = 4  # A, B, tie both good, tie both poor
SIDED = True
PLACES = False
Button = Literal["left", "right", "tie"]
WRONG_FORM = {
    False: 'a and b are whole conversations. Write form = "conversations" into hit.toml.',
    True: 'a and b are single responses (no turns), and hit.toml has form = "conversations". Make pairs of whole '
    "conversations (python -m crowd conversations-from), or leave form out.",
}


@dataclass(frozen=True, slots=True)
class PairOnPage:
    """One pair as the rater sees it; `lease` is an opaque token that goes back with the answer."""

    lease: str
    context: Sequence[Utterance]
    left: str
    right: str
    number: int
    fragment: ClassVar[str] = "hit/_pair.html"


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """A worked example of the instructions."""

    context: tuple[Utterance, ...]
    left: str
    right: str
    answer: Button
    why: str


def read(path: Path) -> list[FormRow]:
    """The pairs of a file."""
    return rows_of(path, whole=False)


def rows_of(path: Path, *, whole: bool) -> list[FormRow]:
    """The pairs of a file, whose sides must all be whole conversations, or none."""
    placed = list(placed_records(path, Pair))
    for where, record in placed:
        if (record.a.turns is not None) != whole:
            raise InputError(f"{where}: {WRONG_FORM[whole]}")
    records = [record for _, record in placed]
    if lost := [record.pair for record in records if record.kind == "check" and not (record.answer or record.answers)]:
        raise InputError(f"{path}: check {lost[0]} has no answer; a check needs answer: a, b or tie.")
    return [FormRow(one.pair, one.kind, _body(one), one.answer, one.identical) for one in records]


def _body(record: Pair) -> str:
    return json.dumps(as_json(record), ensure_ascii=False, sort_keys=True)


def fingerprint(rows: Sequence[FormRow]) -> str:
    """None: votes name responses, whatever became of the texts."""
    del rows
    return ""


@lru_cache(4096)  # k raters see each pair, and reading it costs more than storing a vote
def record_of(body: str) -> Pair:
    """The Pair record of a row."""
    return from_json(Pair, json.loads(body), "store")


def with_key(body: str, key: str) -> str:
    """The body of a check with another answer."""
    return _body(replace(record_of(body), answer=cast(Choice, key)))


def answers(body: str) -> tuple[str, ...]:
    """Whatever the pair."""
    del body
    return ("a", "b", "tie")


def layout(
    record: Pair, placed: Told, lefts: Told, *, seed: int, name: tuple[object, ...], before: str | None = None
) -> str:
    """Which response stands on the left: the one that stood there less often in this pair, then for this rater.

    Where both are even, a coin falls that follows from the seed and `name`. What comes again stands as it stood.
    """
    del record
    if before is not None:
        return before
    for counts in (placed, lefts):  # the pair first: an unbalanced pair biases its result, a rater only their own tally
        if (a := counts.get("a", 0)) != (b := counts.get("b", 0)):
            return "a" if a < b else "b"
    return "a" if child_seed(seed, "left", *name) % 2 else "b"


def on_page(lease: str, record: Pair, layout: str, number: int) -> PairOnPage:
    """The texts in the order shown, never which is a or b."""
    a, b = record.a.text, record.b.text
    left, right = (a, b) if layout == "a" else (b, a)
    return PairOnPage(lease, record.context, left, right, number)


def example_from(value: object, where: str) -> WorkedExample:
    """Its table in hit.toml."""
    if not isinstance(value, Mapping) or set(value) != {"context", "left", "right", "answer", "why"}:
        found = ", ".join(value) if isinstance(value, Mapping) else value_in_short(value)
        raise InputError(f"{where} needs context, left, right, answer and why, and nothing else. Found: {found}.")
    for name in ("left", "right", "why"):
        if not isinstance(value[name], str):
            raise InputError(f"{where}.{name} is {value_in_short(value[name])}, which is not text.")
    if value["answer"] not in ("left", "right", "tie"):
        raise InputError(f"{where}.answer is {value_in_short(value['answer'])}, which is not one of left, right, tie.")
    context = context_of(value["context"], f"{where}.context")
    return WorkedExample(context, value["left"], value["right"], value["answer"], value["why"])


def example_said(example: WorkedExample, say: Callable[[str], str]) -> WorkedExample:
    """Conversation, responses and explanation."""
    context = talk_said(example.context, say)
    return replace(example, context=context, left=say(example.left), right=say(example.right), why=say(example.why))


def right(example: WorkedExample) -> str:
    """The button."""
    return example.answer


def example_on_page(example: WorkedExample, number: int) -> PairOnPage:
    """A worked example."""
    return PairOnPage("", example.context, example.left, example.right, number)


def pressed(sent: Mapping[str, str]) -> str:
    """The button."""
    choice = sent.get("choice", "")
    if choice not in ("left", "right", "tie"):
        raise NoAnswer("a choice is left, right or tie")
    return choice


def answer_of(pressed: str, layout: str) -> str:
    """The response that was chosen, whatever side it was shown on.

    >>> answer_of("right", layout="b")
    'a'
    """
    if pressed == "tie":
        return "tie"
    return layout if pressed == "left" else ("b" if layout == "a" else "a")


def fields_of(answer: str, layout: str) -> Mapping[str, str]:
    """None: one press answers."""
    del answer, layout
    return {}


def button(answer: str, layout: str) -> Button:
    """A tie, or the side of the response that was chosen."""
    return "tie" if answer == "tie" else "left" if answer == layout else "right"
