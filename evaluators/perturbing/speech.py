"""Speech errors: the word error rate, which words sound alike, and what a recogniser makes of a turn."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from seedvote.evaluators.perturbing.material import Span

# Levenshtein's distance, and the word error rate that follows from it.
#
# Bit-parallel after Myers (1999) in the form of Hyyro (2001): one whole number holds a column of the table, so a pair
# of turns costs as many steps as one of them has words.


def edit_distance(first: Sequence[Hashable], second: Sequence[Hashable]) -> int:
    """The fewest substitutions, deletions and insertions that make one of the other.

    >>> edit_distance("kitten", "sitting"), edit_distance([], ["a", "b"])
    (3, 2)
    """
    if not first:
        return len(second)
    places: dict[Hashable, int] = {}
    for n, part in enumerate(first):
        places[part] = places.get(part, 0) | 1 << n
    last, every = 1 << len(first) - 1, (1 << len(first)) - 1
    up, down, distance = every, 0, len(first)
    for part in second:
        match = places.get(part, 0)
        diagonal = (((match & up) + up) ^ up) | match | down
        more = down | ~(diagonal | up) & every
        fewer = up & diagonal
        distance += bool(more & last) - bool(fewer & last)
        more, fewer = more << 1 | 1, fewer << 1
        up, down = (fewer | ~(diagonal | more)) & every, more & diagonal & every
    return distance


def word_errors(before: str, after: str) -> tuple[int, int]:
    """Errors and words; words are what blanks part, in the letters that they have.

    >>> word_errors("a cheap hotel, please", "a sheep hotel please now")
    (3, 4)
    """
    words = before.split()
    return edit_distance(words, after.split()), len(words)


# Which words sound alike: a rough spelling by sound, and for a word those of a vocabulary that are nearest to it.

SOUNDS = (
    ("^kn|^gn", "n"),
    ("^wr", "r"),
    ("^wh", "w"),
    ("^ps", "s"),
    ("tch", "C"),
    ("ch", "C"),
    ("sh|tio|sio", "S"),
    ("ph", "f"),
    ("th", "T"),
    ("gh(?=t|$)", ""),
    ("gh", "g"),
    ("ck", "k"),
    ("q", "k"),
    ("x", "ks"),
    ("c(?=[eiy])", "s"),
    ("c", "k"),
    ("g(?=[ei])", "j"),
    ("z", "s"),
    ("v", "f"),
    ("d(?=ge)", ""),
    ("mb$", "m"),
    ("([bdfgklmnprst])\\1", r"\1"),
    ("ee|ea|ie|y", "i"),
    ("oo|ou|ew|ue", "u"),
    ("ai|ay|ei|ey", "e"),
    ("oa|ow|aw|au", "o"),
    ("(?<=.)e$", ""),
    ("h(?![aeiou])", ""),
)
_SOUNDS = [(re.compile(pattern), into) for pattern, into in SOUNDS]
VOWELS = str.maketrans("", "", "aeiou")
NEAREST = 4
MOST = 60  # candidates that are compared, the most frequent first


def spell_by_sound(word: str) -> str:
    """The word as it is roughly heard.

    >>> spell_by_sound("phone"), spell_by_sound("night") == spell_by_sound("nite")
    ('fon', True)
    >>> spell_by_sound("know") == spell_by_sound("no")
    True
    """
    for pattern, into in _SOUNDS:
        word = pattern.sub(into, word)
    return word


class Confusions:
    """For a word the words of a vocabulary that sound nearest, found when they are asked for."""

    def __init__(self, counts: Mapping[str, int], never: Iterable[str] = ()) -> None:
        left = set(never)
        self._words = sorted(
            (word for word in counts if word.isalpha() and word.isascii() and len(word) > 1 and word not in left),
            key=lambda word: (-counts[word], word),
        )
        self._sounds = {word: spell_by_sound(word) for word in self._words}
        self._by_bones: dict[str, list[str]] = defaultdict(list)
        for word in self._words:
            for bones in _nearby_sounds(self._sounds[word]):
                self._by_bones[bones].append(word)
        self._known: dict[str, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._words)

    def of(self, word: str) -> tuple[str, ...]:
        """The nearest few, the nearest first; nothing only where the vocabulary holds no other word."""
        if word not in self._known:
            self._known[word] = self._nearest_words(word)
        return self._known[word]

    def _nearest_words(self, word: str) -> tuple[str, ...]:
        heard = spell_by_sound(word)
        similar = dict.fromkeys(
            candidate for bones in _nearby_sounds(heard) for candidate in self._by_bones.get(bones, ())[:MOST]
        )
        candidates = [candidate for candidate in similar if candidate != word][:MOST]
        candidates = candidates or [candidate for candidate in self._words if candidate != word][:MOST]
        candidates.sort(
            key=lambda candidate: edit_distance(heard, self._sounds[candidate])
        )  # stable: the frequent ones first
        return tuple(candidates[:NEAREST])


def _nearby_sounds(heard: str) -> list[str]:
    """The consonants, and the same with each of them left out: words that differ in one consonant meet there."""
    bones = heard.translate(VOWELS)
    return [bones, *dict.fromkeys(bones[:n] + bones[n + 1 :] for n in range(len(bones)) if len(bones) > 1)]


# What a speech recogniser makes of a turn: words heard as others, lost, or put in, at a wanted word error rate.
#
# Substitutions, deletions and insertions come as 65, 15 and 20 of 100 errors. Each word has its own uniform number and
# the error that would befall it, so the errors at a rate of .1 are among those at .2. What is wanted is the rate that
# is measured over all words of all user turns, by Levenshtein's distance; errors fall on unprotected words alone,
# which therefore err more often. Errors beside each other can be explained with fewer, so the measured rate is below
# the share of words that were hit: that share is adjusted until the measured one is right.

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
            else HeardWord(match[0], rng.random(), self._mishear_word(match[0], rng))
            for match in re.finditer(r"\S+", text)
        ]

    def _mishear_word(self, word: str, rng: random.Random) -> str:
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
