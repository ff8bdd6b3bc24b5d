"""Talk that no domain covers: an utterance of another corpus is put before or after what the user says.

It stays one turn, so that states, acts and replies are those of the same context; a further act, `general-outside`,
marks it.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from seedvote.dialogue.conditions import OUTSIDE
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue, Turn
from seedvote.evaluators.perturbing.protecting import Protector

SHORTEST, LONGEST = 3, 25  # words of an utterance


def foreign_utterances(dialogues: Iterable[Dialogue], protector: Protector, where: str) -> list[str]:
    """Utterances of another corpus that hold none of this one's values, each once."""
    texts = dict.fromkeys(turn.text.strip() for dialogue in dialogues for turn in dialogue.turns)
    fitting = [text for text in texts if SHORTEST <= len(text.split()) <= LONGEST and not protector.spans(text)]
    if not fitting:
        raise InputError(f"{where} holds no utterance of {SHORTEST} to {LONGEST} words without a value of this corpus.")
    return fitting


def with_foreign(text: str, utterances: Sequence[str], *, rng: random.Random) -> str:
    """The user's words with one utterance before or after them."""
    utterance = rng.choice(utterances)
    utterance = utterance if utterance[-1] in ".!?" else f"{utterance}."
    return f"{utterance} {text}" if rng.random() < 0.5 else f"{text} {utterance}"


def marked(turn: Turn) -> Turn:
    """The turn with the act that says so."""
    acts: Mapping[str, Sequence[tuple[str, str]]] = {**(turn.acts or {}), OUTSIDE: (("none", "none"),)}
    return replace(turn, acts=acts)
