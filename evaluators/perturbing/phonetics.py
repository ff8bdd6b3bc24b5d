"""Which words sound alike: a rough spelling by sound, and for a word those of a vocabulary that are nearest to it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping

from seedvote.evaluators.perturbing.distance import edit_distance

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


def sound(word: str) -> str:
    """The word as it is roughly heard.

    >>> sound("night") == sound("nite"), sound("phone"), sound("know") == sound("no")
    (True, 'fon', True)
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
        self._sounds = {word: sound(word) for word in self._words}
        self._by_bones: dict[str, list[str]] = defaultdict(list)
        for word in self._words:
            for bones in _around(self._sounds[word]):
                self._by_bones[bones].append(word)
        self._known: dict[str, tuple[str, ...]] = {}

    def __len__(self) -> int:
        return len(self._words)

    def of(self, word: str) -> tuple[str, ...]:
        """The nearest few, the nearest first; nothing only where the vocabulary holds no other word."""
        if word not in self._known:
            self._known[word] = self._nearest(word)
        return self._known[word]

    def _nearest(self, word: str) -> tuple[str, ...]:
        heard = sound(word)
        similar = dict.fromkeys(
            candidate for bones in _around(heard) for candidate in self._by_bones.get(bones, ())[:MOST]
        )
        candidates = [candidate for candidate in similar if candidate != word][:MOST]
        candidates = candidates or [candidate for candidate in self._words if candidate != word][:MOST]
        candidates.sort(
            key=lambda candidate: edit_distance(heard, self._sounds[candidate])
        )  # stable: the frequent ones first
        return tuple(candidates[:NEAREST])


def _around(heard: str) -> list[str]:
    """The consonants, and the same with each of them left out: words that differ in one consonant meet there."""
    bones = heard.translate(VOWELS)
    return [bones, *dict.fromkeys(bones[:n] + bones[n + 1 :] for n in range(len(bones)) if len(bones) > 1)]
