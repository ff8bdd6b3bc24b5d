"""Two responses side by side: A, B or a tie. The layout is the response on the left, the answer the response chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from seedvote.crowd.forms.form import (
    Content,
    FormRow,
    HitForm,
    NoAnswer,
    Told,
    body_of,
    content_of,
    context_of,
    talk_said,
)
from seedvote.dialogue.errors import InputError, value_in_short
from seedvote.dialogue.files import placed_records
from seedvote.dialogue.media import with_hashes
from seedvote.dialogue.records import Pair, Utterance
from seedvote.dialogue.seeds import child_seed

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
    left: Content
    right: Content
    number: int
    differs: bool = False
    """Whether it is shown where the responses differ."""
    fragment: ClassVar[str] = "hit/_pair.html"


@dataclass(frozen=True, slots=True)
class WorkedExample:
    """A worked example of the instructions."""

    context: tuple[Utterance, ...]
    left: str
    right: str
    answer: Button
    why: str


class SidedForm(HitForm):
    """Two sides, of which one is chosen, or a tie. The layout is the side on the left, the answer the one chosen."""

    record = Pair
    holds_conversations: ClassVar[bool] = False
    """Whether the sides are whole conversations."""

    def read_rows(self, path: Path) -> list[FormRow]:
        """The pairs of a file, whose sides must all be whole conversations, or none."""
        placed = list(placed_records(path, Pair))
        for where, record in placed:
            if (record.a.turns is not None) != self.holds_conversations:
                raise InputError(f"{where}: {WRONG_FORM[self.holds_conversations]}")
        records = [with_hashes(record, path.parent, where) for where, record in placed]
        if lost := [
            record.pair for record in records if record.kind == "check" and not (record.answer or record.answers)
        ]:
            raise InputError(f"{path}: check {lost[0]} has no answer; a check needs answer: a, b or tie.")
        return [
            FormRow(record.pair, record.kind, body_of(record), record.answer, record.identical) for record in records
        ]

    def possible_answers(self, body: str) -> tuple[str, ...]:
        """Whatever the pair."""
        return ("a", "b", "tie")

    def choose_layout(
        self,
        record: Pair,
        placed: Told,
        lefts: Told,
        *,
        seed: int,
        name: tuple[object, ...],
        before: str | None = None,
    ) -> str:
        """Which response stands on the left: the one that stood there less often in this pair, then for this rater.

        Where both are even, a coin falls that follows from the seed and `name`. What comes again stands as it stood.
        """
        if before is not None:
            return before
        for counts in (
            placed,
            lefts,
        ):  # the pair first: an unbalanced pair biases its result, a rater only their own tally
            if (a := counts.get("a", 0)) != (b := counts.get("b", 0)):
                return "a" if a < b else "b"
        return "a" if child_seed(seed, "left", *name) % 2 else "b"

    def read_pressed(self, sent: Mapping[str, str]) -> str:
        """The button."""
        choice = sent.get("choice", "")
        if choice not in ("left", "right", "tie"):
            raise NoAnswer("a choice is left, right or tie")
        return choice

    def answer_of(self, pressed: str, layout: str) -> str:
        """The response that was chosen, whatever side it was shown on.

        >>> SidedForm().answer_of("right", layout="b")
        'a'
        """
        if pressed == "tie":
            return "tie"
        return layout if pressed == "left" else ("b" if layout == "a" else "a")

    def first_button(self, answer: str, layout: str) -> Button:
        """A tie, or the side of the response that was chosen."""
        return "tie" if answer == "tie" else "left" if answer == layout else "right"


class PairForm(SidedForm):
    """Two responses to one context."""

    command = "python -m generation pair"
    is_markable = True
    fewest_examples = 4  # A, B, tie both good, tie both poor

    def on_page(self, lease: str, record: Pair, layout: str, number: int) -> PairOnPage:
        """The texts in the order shown, never which is a or b."""
        (_, left), (_, right) = self.responses_by_place(record, layout)
        return PairOnPage(lease, record.context, left, right, number)

    def responses_by_place(self, record: Pair, layout: str) -> Sequence[tuple[str, Content]]:
        """Both, the left one first."""
        sides = (("a", content_of(record.a)), ("b", content_of(record.b)))
        return sides if layout == "a" else sides[::-1]

    def example_from(self, value: object, where: str) -> WorkedExample:
        """Its table in hit.toml."""
        if not isinstance(value, Mapping) or set(value) != {"context", "left", "right", "answer", "why"}:
            contents = ", ".join(value) if isinstance(value, Mapping) else value_in_short(value)
            raise InputError(
                f"{where} needs context, left, right, answer and why, and nothing else. Found: {contents}."
            )
        for name in ("left", "right", "why"):
            if not isinstance(value[name], str):
                raise InputError(f"{where}.{name} is {value_in_short(value[name])}, which is not text.")
        if value["answer"] not in ("left", "right", "tie"):
            raise InputError(
                f"{where}.answer is {value_in_short(value['answer'])}, which is not one of left, right, tie."
            )
        context = context_of(value["context"], f"{where}.context")
        return WorkedExample(context, value["left"], value["right"], value["answer"], value["why"])

    def example_said(self, example: WorkedExample, say: Callable[[str], str]) -> WorkedExample:
        """Conversation, responses and explanation."""
        context = talk_said(example.context, say)
        return replace(example, context=context, left=say(example.left), right=say(example.right), why=say(example.why))

    def example_on_page(self, example: WorkedExample, number: int) -> PairOnPage:
        """A worked example."""
        return PairOnPage("", example.context, Content(example.left), Content(example.right), number)
