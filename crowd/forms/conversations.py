"""Two whole conversations side by side, in each of which one speaker is judged: A, B or a tie.

They are pairs whose sides have turns (pairs.jsonl), and what raters say of them are votes: layout and answer are those
of `SidedForm`. A page holds what was said and whether the judged speaker said it, never a name of the file's speakers,
which may be that of a system.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from seedvote.crowd.forms.form import OnPage, context_of
from seedvote.crowd.forms.pairs import Button, SidedForm
from seedvote.dialogue.errors import InputError, value_in_short
from seedvote.dialogue.records import Candidate, Pair, Part, Utterance

JUDGED = "system"  # in a worked example that does not say whom


@dataclass(frozen=True, slots=True)
class Line:
    """What one turn shows: the text, and who of the page says it: 0 is judged, the others count from 1."""

    who: int
    text: str
    parts: Sequence[Part] = ()


@dataclass(frozen=True, slots=True)
class ConversationsOnPage:
    """Two conversations as the rater sees them."""

    lease: str
    context: Sequence[Utterance]
    left: Sequence[Line]
    right: Sequence[Line]
    number: int
    fragment: ClassVar[str] = "hit/_conversations.html"


@dataclass(frozen=True, slots=True)
class ConversationsExample:
    """A worked example; `speaker` is judged in both conversations."""

    left: tuple[Utterance, ...]
    right: tuple[Utterance, ...]
    answer: Button
    why: str
    speaker: str = JUDGED


def lines_of(turns: Sequence[Utterance], speaker: str) -> list[Line]:
    """The turns without the names: others are numbered as they begin to speak.

    >>> lines_of([Utterance("x", "Hi."), Utterance("gpt", "Hello."), Utterance("y", "Hey.")], "gpt")
    [Line(who=1, text='Hi.', parts=()), Line(who=0, text='Hello.', parts=()), Line(who=2, text='Hey.', parts=())]
    """
    numbers = {speaker: 0}
    return [Line(numbers.setdefault(turn.speaker, len(numbers)), turn.text, tuple(turn.parts or ())) for turn in turns]


def _side_lines(side: Candidate) -> list[Line]:
    return lines_of(side.turns or (), side.speaker)


class ConversationForm(SidedForm):
    """Two whole conversations."""

    command = "python -m crowd conversations-from FILES --out"
    fewest_examples = 1
    holds_conversations = True

    def on_page(self, lease: str, record: Pair, layout: str, number: int) -> OnPage:
        """The conversations in the order shown, never which is a or b."""
        a, b = _side_lines(record.a), _side_lines(record.b)
        left_lines, right_lines = (a, b) if layout == "a" else (b, a)
        return ConversationsOnPage(lease, record.context, left_lines, right_lines, number)

    def example_from(self, value: object, where: str) -> ConversationsExample:
        """Its table in hit.toml."""
        names = {"left", "right", "answer", "why"}
        if not isinstance(value, Mapping) or not names <= set(value) <= {*names, "speaker"}:
            contents = ", ".join(value) if isinstance(value, Mapping) else value_in_short(value)
            raise InputError(f"{where} needs left, right, answer and why, and may have speaker. Found: {contents}.")
        if value["answer"] not in ("left", "right", "tie"):
            raise InputError(
                f"{where}.answer is {value_in_short(value['answer'])}, which is not one of left, right, tie."
            )
        for name in ("why", "speaker"):
            if not isinstance(value.get(name, ""), str):
                raise InputError(f"{where}.{name} is {value_in_short(value[name])}, which is not text.")
        speaker = value.get("speaker", JUDGED)
        sides = [context_of(value[name], f"{where}.{name}") for name in ("left", "right")]
        for name, side in zip(("left", "right"), sides, strict=True):
            if speaker not in (heard := [line.speaker for line in side]):
                raise InputError(f"{where}.{name}: {speaker!r} says nothing ({', '.join(heard) or 'nobody does'}).")
        return ConversationsExample(sides[0], sides[1], value["answer"], value["why"], speaker)

    def example_said(self, example: ConversationsExample, say: Callable[[str], str]) -> ConversationsExample:
        """Both conversations and the explanation; who speaks is not shown by name."""
        left_turns, right_turns = (
            tuple(replace(line, text=say(line.text)) for line in side) for side in (example.left, example.right)
        )
        return replace(example, left=left_turns, right=right_turns, why=say(example.why))

    def example_on_page(self, example: ConversationsExample, number: int) -> ConversationsOnPage:
        """A worked example."""
        left_lines, right_lines = lines_of(example.left, example.speaker), lines_of(example.right, example.speaker)
        return ConversationsOnPage("", (), left_lines, right_lines, number)
