"""Synonyms from a local WordNet 3 (Fellbaum 1998), for METEOR: read from its own files, nothing is fetched.

Its folder holds index.noun, data.noun, noun.exc and so on: Debian's `wordnet-base` puts it in /usr/share/wordnet.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from seedvote.dialogue.errors import InputError

HOMES = (Path("/usr/share/wordnet"), Path("/usr/local/share/wordnet"))
# WordNet's rules of detachment (its manual page morphy): an ending, and what stands in its place in the base form.
ENDINGS = {
    "noun": (
        ("s", ""),
        ("ses", "s"),
        ("ves", "f"),
        ("xes", "x"),
        ("zes", "z"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("men", "man"),
        ("ies", "y"),
    ),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}


def find_wordnet() -> Path | None:
    """The WordNet of this machine, where there is one."""
    return next((home for home in HOMES if (home / "data.noun").exists()), None)


class WordNet:
    """Synonyms of single words: every word that shares a sense with the word or with one of its base forms."""

    def __init__(self, home: Path) -> None:
        try:
            self._index = {part: _index(home / f"index.{part}") for part in ENDINGS}
            self._irregular = {part: _irregular(home / f"{part}.exc") for part in ENDINGS}
            # Bytes, not text: the index gives places as byte offsets.
            self._data = {part: (home / f"data.{part}").read_bytes() for part in ENDINGS}
        except (OSError, ValueError, IndexError) as error:
            raise InputError(
                f"{home} is not a WordNet 3 folder, with index.noun, data.noun and so on: {error}."
            ) from error
        self.synonyms = cache(self._synonyms)

    def _synonyms(self, word: str) -> frozenset[str]:
        return frozenset(
            name
            for part in ENDINGS
            for offset in self._offsets(word.lower(), part)
            for name in self._names(part, offset)
        ) | {word}

    def _offsets(self, word: str, part: str) -> Iterator[int]:
        """Where the senses of the word and of its base forms lie, as far as WordNet has them."""
        bases = self._irregular[part].get(word)
        if bases is None:
            bases = [word[: -len(old)] + new for old, new in ENDINGS[part] if word.endswith(old)]
        for base in {word, *bases}:
            yield from _senses(self._index[part], base)

    def _names(self, part: str, offset: int) -> Iterator[str]:
        line = self._data[part][offset : self._data[part].index(b"\n", offset)].decode().split()
        for name in line[4 : 4 + 2 * int(line[3], 16) : 2]:
            if "_" not in name:
                yield name.partition("(")[0]  # adjectives say where they may stand: galore(ip)


def _index(path: Path) -> list[bytes]:
    """The lines, each a lemma and what is known of it, in order; those of the licence begin with a blank.

    To take every line apart would cost a third of a second, and a study asks for a thousandth of them.
    """
    lines = sorted(line for line in path.read_bytes().splitlines() if not line.startswith(b" "))
    if not any(_places(line) for line in lines[:1]):
        raise ValueError(f"{path.name} names no sense")
    return lines


def _senses(index: Sequence[bytes], lemma: str) -> list[int]:
    """The places of the senses of a lemma; none where WordNet does not have it."""
    start = lemma.encode() + b" "
    line = index[place] if (place := bisect_left(index, start)) < len(index) else b""
    return _places(line) if line.startswith(start) else []


def _places(line: bytes) -> list[int]:
    fields = line.split()
    return [int(place) for place in fields[-int(fields[2]) :]]


def _irregular(path: Path) -> dict[str, list[str]]:
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return {fields[0]: fields[1:] for fields in lines if fields}
