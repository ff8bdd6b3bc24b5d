"""One condition: the dialogues of a split at one dose of one kind, and what was done to them, counted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from seedvote.dialogue.records import Dialogue, Turn
from seedvote.evaluators.perturbing.distance import word_errors
from seedvote.evaluators.perturbing.material import UserTurn, UserTurns
from seedvote.evaluators.perturbing.outside import marked
from seedvote.evaluators.perturbing.protecting import intact

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
        user_turn.item: ChangedTurn(
            user_turn.item, user_turn.turn.text, texts[user_turn.item], [p.text for p in user_turn.pieces if p.held]
        )
        for user_turn in material.turns
        if texts.get(user_turn.item, user_turn.turn.text) != user_turn.turn.text
    }
    touched = [user_turn for user_turn in material.turns if user_turn.item in changed]
    values = sum(len(changed[user_turn.item].held) for user_turn in touched)
    lost = sum(_lost(user_turn, changed[user_turn.item].after) for user_turn in touched)
    return Condition(
        kind,
        dose,
        material.seed,
        [_with_texts(dialogue, changed, kind) for dialogue in material.dialogues],
        material.corpus.databases,
        list(changed.values()),
        len(material.turns),
        chosen - len(changed),
        *_counted(material, {item: user_turn.after for item, user_turn in changed.items()}),
        values,
        values - lost,
        notes,
    )


def told_with_entities(
    material: UserTurns, dose: float, dialogues: Sequence[Dialogue], databases: Mapping[str, Any], notes: Sequence[str]
) -> Condition:
    """The same where whole dialogues were replaced."""
    after = {f"{d.dialogue}:{n + 1}": turn.text for d in dialogues for n, turn in enumerate(d.turns)}
    changed = [
        ChangedTurn(user_turn.item, user_turn.turn.text, after[user_turn.item], ())
        for user_turn in material.turns
        if after[user_turn.item] != user_turn.turn.text
    ]
    return Condition(
        "entities",
        dose,
        material.seed,
        dialogues,
        databases,
        changed,
        len(material.turns),
        0,
        *_counted(material, after),
        0,
        0,
        notes,
    )


def _counted(material: UserTurns, after: Mapping[str, str]) -> tuple[int, int]:
    counts = [
        word_errors(user_turn.turn.text, after.get(user_turn.item, user_turn.turn.text)) for user_turn in material.turns
    ]
    return sum(words for _, words in counts), sum(errors for errors, _ in counts)


def _lost(user_turn: UserTurn, after: str) -> int:
    if intact(user_turn.pieces, after):
        return 0
    values = [piece.text for piece in user_turn.pieces if piece.held]
    return sum(text not in after for text in values) or 1


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
