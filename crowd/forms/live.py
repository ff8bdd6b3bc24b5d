"""Two systems that answer the same rater at once: they talk, then choose A, B or a tie.

A pair of pairs.jsonl names the systems (`model`) and a `topic`; its texts are empty, since nobody has talked yet. A
side with `turns` is played instead: its judged speaker says those, whatever the rater writes. So a hidden check is a
system next to a side that speaks of something else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal

from seedvote.crowd.forms.conversations import JUDGED, ConversationForm, Line, lines_of
from seedvote.crowd.forms.form import FormRow, body_of
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import placed_records
from seedvote.dialogue.records import Candidate, Pair, Side, Utterance

RATER = 1  # who of a page's lines says what the rater wrote, see Line
TalkStage = Literal["say", "choose", "wait", "failed"]


@dataclass(frozen=True, slots=True)
class LiveOnPage:
    """Two conversations under way; `lease` is an opaque token that goes back with every message and with the vote."""

    lease: str
    context: Sequence[Utterance]
    left: Sequence[Line]
    right: Sequence[Line]
    number: int
    topic: str = ""
    stage: TalkStage = "say"
    """What comes next: a message, a message or the vote, replies that are waited for, or replies that did not come."""
    turn: int = 1
    """The number of the message that comes next, or whose replies are waited for."""
    fewest: int = 1
    most: int = 1
    characters: int = 1000
    may_ask: bool = True
    """Of replies that did not come: whether they may be asked for again."""
    may_return: bool = False
    """And whether the conversation may be handed back."""
    is_spent: bool = False
    """Whether the study has no money for a further message."""
    fragment: ClassVar[str] = "hit/_live.html"

    @property
    def may_say(self) -> bool:
        """Whether there is room for a further message."""
        return self.stage in ("say", "choose") and self.turn <= self.most and not self.is_spent


def is_played(side: Candidate) -> bool:
    """Whether the side is no system but says what the file has."""
    return side.turns is not None


def played_text(side: Candidate, number: int) -> str:
    """What a side that is played says for the `number`-th time, counted from 0; after its last words it begins anew."""
    texts = [turn.text for turn in side.turns or () if turn.speaker == side.speaker]
    return texts[number % len(texts)]


def topic_of(pair: Pair) -> str:
    """What the rater is asked to talk about: the field `topic` of the pair, if it has one."""
    return str(pair.extra.get("topic") or "")


def opening_of(pair: Pair) -> tuple[Line, ...]:
    """What both conversations begin with: the judged speaker's lines, and those that the rater is taken to have said.

    >>> opening_of(Pair("p", "i", [Utterance("user", "Hi.")], Candidate("", "m"), Candidate("", "n")))
    (Line(who=1, text='Hi.', parts=()),)
    """
    return tuple(replace(line, who=min(line.who, RATER)) for line in lines_of(pair.context, JUDGED))


def opening_asks(pair: Pair) -> bool:
    """Whether the opening ends with words of the rater's, so that both sides speak first."""
    opening = opening_of(pair)
    return bool(opening) and opening[-1].who != 0


class LiveForm(ConversationForm):
    """Two conversations that the rater holds."""

    command = "python -m crowd live-from TOPICS --out"
    is_live = True
    things = "Topics"

    def read_rows(self, path: Path) -> list[FormRow]:
        """The pairs of a file, whose sides are systems or are played."""
        records = []
        for where, record in placed_records(path, Pair):
            for name, side in (("a", record.a), ("b", record.b)):
                if side.turns is None and side.text:
                    raise InputError(
                        f'{where}: {name} has a text, but with form = "live" systems answer while raters talk. Leave '
                        "text empty, or give turns to have them played."
                    )
            said = (*record.context, *(record.a.turns or ()), *(record.b.turns or ()))
            if any(turn.parts for turn in said):
                raise InputError(f"{where}: live conversations are words alone. Leave parts out of context and turns.")
            if record.kind == "check" and not (record.answer or record.answers):
                raise InputError(f"{where}: check {record.pair} has no answer; a check needs answer: a, b or tie.")
            records.append(record)
        return [FormRow(record.pair, record.kind, body_of(record), record.answer) for record in records]

    def on_page(self, lease: str, record: Pair, layout: str, number: int) -> LiveOnPage:
        """A conversation that has not begun; what was said is added by who knows it."""
        opening = opening_of(record)
        return LiveOnPage(lease, (), opening, opening, number, topic_of(record))


def sides_of(pair: Pair) -> dict[Side, Candidate]:
    """Both sides by their names."""
    return {"a": pair.a, "b": pair.b}
