"""One condition: the dialogues of a split at one dose of one kind, and what was done to them, counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from dialogue.records import Dialogue, Turn
from evaluators.perturbing.distance import word_errors
from evaluators.perturbing.material import UserTurn, UserTurns
from evaluators.perturbing.outside import marked
from evaluators.perturbing.protecting import intact

KINDS = ("typos", "verbose", "simple", "paraphrase", "speech", "entities", "outside")


@dataclass(frozen=True, slots=True)
class ChangedTurn:
    """One user turn before and after, and what of it was protected."""

    item: str
    before: str
    after: str
    held: Sequence[str]


@dataclass(frozen=True)
class Condition:
    """The dialogues as they are told here."""

    kind: str
    dose: float
    seed: int
    dialogues: Sequence[Dialogue] = field(repr=False)
    databases: Mapping[str, Any] = field(repr=False)
    changed: Sequence[ChangedTurn] = field(repr=False)
    turns: int  # user turns of the split
    unchanged: int  # turns that were chosen and could not be told otherwise
    words: int
    errors: int  # by edit distance over all user turns
    held: int
    kept: int  # protected values that still stand, to the letter
    notes: Sequence[str] = ()

    @property
    def word_error_rate(self) -> float:
        """Errors over words of all user turns."""
        return self.errors / max(1, self.words)


def told_otherwise(
    material: UserTurns, kind: str, dose: float, texts: Mapping[str, str], *, chosen: int, notes: Sequence[str] = ()
) -> Condition:
    """The condition in which the user turns of these items (context id -> text) are replaced."""
    changed = {
        one.item: ChangedTurn(one.item, one.turn.text, texts[one.item], [p.text for p in one.pieces if p.held])
        for one in material.turns
        if texts.get(one.item, one.turn.text) != one.turn.text
    }
    touched = [one for one in material.turns if one.item in changed]
    held = sum(len(changed[one.item].held) for one in touched)
    lost = sum(_lost(one, changed[one.item].after) for one in touched)
    return Condition(
        kind, dose, material.seed,
        [_with_texts(dialogue, changed, kind) for dialogue in material.dialogues], material.corpus.databases,
        list(changed.values()), len(material.turns), chosen - len(changed),
        *_counted(material, {item: one.after for item, one in changed.items()}), held, held - lost, notes,
    )  # fmt: skip


def told_with_entities(
    material: UserTurns, dose: float, dialogues: Sequence[Dialogue], databases: Mapping[str, Any], notes: Sequence[str]
) -> Condition:
    """The same where whole dialogues were replaced."""
    after = {f"{d.dialogue}:{n + 1}": turn.text for d in dialogues for n, turn in enumerate(d.turns)}
    changed = [
        ChangedTurn(one.item, one.turn.text, after[one.item], ())
        for one in material.turns
        if after[one.item] != one.turn.text
    ]
    return Condition(
        "entities", dose, material.seed, dialogues, databases, changed, len(material.turns), 0,
        *_counted(material, after), 0, 0, notes,
    )  # fmt: skip


def _counted(material: UserTurns, after: Mapping[str, str]) -> tuple[int, int]:
    counts = [word_errors(one.turn.text, after.get(one.item, one.turn.text)) for one in material.turns]
    return sum(words for _, words in counts), sum(errors for errors, _ in counts)


def _lost(one: UserTurn, after: str) -> int:
    if intact(one.pieces, after):
        return 0
    held = [piece.text for piece in one.pieces if piece.held]
    return sum(text not in after for text in held) or 1


def _with_texts(dialogue: Dialogue, changed: Mapping[str, ChangedTurn], kind: str) -> Dialogue:
    items = [f"{dialogue.dialogue}:{n + 1}" for n in range(len(dialogue.turns))]
    if not any(item in changed for item in items):
        return dialogue
    return replace(dialogue, turns=tuple(map(lambda i, t: _told(t, changed.get(i), kind), items, dialogue.turns)))


def _told(turn: Turn, change: ChangedTurn | None, kind: str) -> Turn:
    if change is None or turn.speaker != "user":
        return turn
    new = replace(turn, text=change.after)
    return marked(new) if kind == "outside" else new
