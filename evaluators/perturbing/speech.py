"""What a speech recogniser makes of a turn: words heard as others, lost, or put in, at a wanted word error rate.

Substitutions, deletions and insertions come as 65, 15 and 20 of 100 errors. Each word has its own uniform number and
the error that would befall it, so the errors at a rate of .1 are among those at .2. What is wanted is the rate that is
measured over all words of all user turns, by Levenshtein's distance; errors fall on unprotected words alone, which
therefore err more often. Errors beside each other can be explained with fewer, so the measured rate is below the share
of words that were hit: that share is adjusted until the measured one is right.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from seedvote.evaluators.perturbing.distance import word_errors
from seedvote.evaluators.perturbing.phonetics import Confusions
from seedvote.evaluators.perturbing.protecting import Span

SUBSTITUTED, DELETED = 0.65, 0.15  # the rest are insertions
HEARD = ("uh", "um", "er", "the", "a", "and", "so", "to", "in", "it")
NEAR = 0.001  # how close the measured rate must come to the wanted one
ROUNDS = 12
_CORE = re.compile(r"^(\W*)(.*?)(\W*)$", re.S)


class HeardWord(NamedTuple):
    """A word as it stands between blanks; `number` None: it is protected. `misheard` is what it may become."""

    text: str
    number: float | None
    misheard: str


@dataclass(frozen=True, slots=True)
class Heard:
    """All turns at one rate: the texts, the rate that hit words, and what was measured."""

    texts: Sequence[str]
    hit: float
    measured: float
    reached: bool


class Recogniser:
    """Turns as words with the error that may befall each."""

    def __init__(self, confusions: Confusions) -> None:
        self._confusions = confusions

    def listen(self, pieces: Sequence[Span], *, rng: random.Random) -> list[HeardWord]:
        """The turn's words; a word is protected if any of its letters is."""
        marks = "".join(("\x01" if piece.held else "\x00") * len(piece.text) for piece in pieces)
        text = "".join(piece.text for piece in pieces)
        return [
            HeardWord(match[0], None, "")
            if "\x01" in marks[match.start() : match.end()]
            else HeardWord(match[0], rng.random(), self._misheard(match[0], rng))
            for match in re.finditer(r"\S+", text)
        ]

    def _misheard(self, word: str, rng: random.Random) -> str:
        kind = rng.random()
        parts = _CORE.match(word)
        before, core, after = parts.groups() if parts else ("", word, "")
        if kind < DELETED:
            return ""
        similar_words = self._confusions.of(core.lower()) if kind < DELETED + SUBSTITUTED and core else ()
        if not similar_words:
            return f"{word} {rng.choice(HEARD)}"
        similar_word = rng.choice(similar_words)
        return before + (similar_word.capitalize() if core[0].isupper() else similar_word) + after


def at_rate(turns: Sequence[Sequence[HeardWord]], before: Sequence[str], wanted: float) -> Heard:
    """Every turn with as many errors as make the wanted rate, or as many as there can be."""
    total = sum(map(len, turns))
    free = sum(word.number is not None for words in turns for word in words)
    if not wanted or not free:
        return Heard(list(before), 0.0, 0.0, not wanted)
    low, high, hit = 0.0, 1.0, min(1.0, wanted * total / free)
    for _ in range(ROUNDS):
        texts = [as_heard(words, text, hit) for words, text in zip(turns, before, strict=True)]
        measured = error_rate(before, texts)
        if abs(measured - wanted) <= NEAR or (hit == 1.0 and measured < wanted):
            break
        low, high = (hit, high) if measured < wanted else (low, hit)
        guess = hit * wanted / measured if measured else high
        hit = guess if low < guess < high else 1.0 if guess >= 1.0 == high else (low + high) / 2
    return Heard(texts, hit, measured, abs(measured - wanted) <= 0.01)


def as_heard(words: Sequence[HeardWord], before: str, hit: float) -> str:
    """One turn at a rate that hits words; a turn in which none is hit stays as it was."""
    if not any(word.number is not None and word.number < hit for word in words):
        return before
    heard = (word.misheard if word.number is not None and word.number < hit else word.text for word in words)
    return " ".join(filter(None, heard))


def error_rate(before: Sequence[str], after: Sequence[str]) -> float:
    """Errors over words, of all turns together."""
    counts = [word_errors(*pair) for pair in zip(before, after, strict=True)]
    return sum(errors for errors, _ in counts) / max(1, sum(words for _, words in counts))
