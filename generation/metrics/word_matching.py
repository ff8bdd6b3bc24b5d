"""Which words METEOR takes for one another: words with one stem, and synonyms."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from seedvote.dialogue.errors import InputError

# The stemmer of M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the later rules that nltk
# takes by default: METEOR matches words by it.
#
# A word is seen as [C](VC)^m[V]; m, its measure, and the last letters decide which suffix may go. Steps and rules are
# numbered as in the paper. Later rules: words of one or two letters stay ("is" is not "i"), as do some irregular ones;
# -ied and -ies keep their e in words of four letters; y becomes i after a consonant only; -bli, -fulli and -logi.

STEP_2 = {
    "ational": "ate",
    "tional": "tion",
    "enci": "ence",
    "anci": "ance",
    "izer": "ize",
    "bli": "ble",
    "entli": "ent",
    "eli": "e",
    "ousli": "ous",
    "ization": "ize",
    "ation": "ate",
    "ator": "ate",
    "alism": "al",
    "iveness": "ive",
    "fulness": "ful",
    "ousness": "ous",
    "aliti": "al",
    "iviti": "ive",
    "biliti": "ble",
    "fulli": "ful",
}
STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
STEP_4 = {
    "al": "",
    "ance": "",
    "ence": "",
    "er": "",
    "ic": "",
    "able": "",
    "ible": "",
    "ant": "",
    "ement": "",
    "ment": "",
    "ent": "",
    "ion": "",
    "ou": "",
    "ism": "",
    "ate": "",
    "iti": "",
    "ous": "",
    "ive": "",
    "ize": "",
}

IRREGULAR = {
    "sky": "sky",
    "skies": "sky",
    "dying": "die",
    "lying": "lie",
    "tying": "tie",
    "news": "news",
    "howe": "howe",
    "inning": "inning",
    "innings": "inning",
    "outing": "outing",
    "outings": "outing",
    "canning": "canning",
    "cannings": "canning",
    "proceed": "proceed",
    "exceed": "exceed",
    "succeed": "succeed",
}


@cache
def stem_word(word: str) -> str:
    """The stem of a lower-case word.

    >>> [stem_word(word) for word in ("booked", "bookings", "relational", "hopping", "happy")]
    ['book', 'book', 'relat', 'hop', 'happi']
    """
    if len(word) <= 2 or word in IRREGULAR:
        return IRREGULAR.get(word, word)
    word = _step_2(_step_1c(_step_1b(_step_1a(word))))
    word = _strip_longest(word, STEP_3, 1)
    word = _strip_longest(word, STEP_4, 2)
    return _step_5(word)


def _letter_shape(word: str) -> str:
    """A letter c or v for each letter: y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape


def _count_measures(word: str) -> int:
    return len(re.findall("v+c", _letter_shape(word)))


def _ends_short(word: str) -> bool:
    """Whether it ends with consonant, vowel, consonant, or is a vowel and a consonant."""
    shape = _letter_shape(word)
    return shape == "vc" or (shape[-3:] == "cvc" and word[-1] not in "wxy")


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _letter_shape(word)[-1] == "c"


def _step_1a(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    return word[:-2] if word.endswith("sses") else word[:-1] if word.endswith("s") and word[-2:] != "ss" else word


def _step_1b(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _count_measures(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if word.endswith(ending) and "v" in _letter_shape(word.removesuffix(ending)):
            return _tidy_ending(word.removesuffix(ending))
    return word


def _step_1c(word: str) -> str:
    return word[:-1] + "i" if len(word) > 2 and word[-1] == "y" and _letter_shape(word)[-2] == "c" else word


def _step_2(word: str) -> str:
    if word.endswith("alli") and _count_measures(word[:-4]) > 0:
        return _step_2(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _count_measures(word[:-3]) > 0 else word
    return _strip_longest(word, STEP_2, 1)


def _tidy_ending(word: str) -> str:
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _ends_double(word) and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _count_measures(word) == 1 and _ends_short(word) else word


def _strip_longest(word: str, rules: dict[str, str], least: int) -> str:
    """Apply the rule of the longest suffix that fits, if the measure before it is large enough."""
    for ending in sorted(rules, key=len, reverse=True):
        if word.endswith(ending):
            before = word.removesuffix(ending)
            allowed = _count_measures(before) >= least and (ending != "ion" or before.endswith(("s", "t")))
            return before + rules[ending] if allowed else word
    return word


def _step_5(word: str) -> str:
    if word.endswith("e"):  # 5a
        before, m = word[:-1], _count_measures(word[:-1])
        word = before if m > 1 or (m == 1 and not _ends_short(before)) else word
    return word[:-1] if word.endswith("ll") and _count_measures(word[:-1]) > 1 else word  # 5b


# Synonyms from a local WordNet 3 (Fellbaum 1998), for METEOR: read from its own files, nothing is fetched.
#
# Its folder holds index.noun, data.noun, noun.exc and so on: Debian's `wordnet-base` puts it in /usr/share/wordnet.

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
            self._index = {part: _read_index(home / f"index.{part}") for part in ENDINGS}
            self._irregular = {part: _read_irregular(home / f"{part}.exc") for part in ENDINGS}
            # Bytes, not text: the index gives places as byte offsets.
            self._data = {part: (home / f"data.{part}").read_bytes() for part in ENDINGS}
        except (OSError, ValueError, IndexError) as error:
            raise InputError(
                f"{home} is not a WordNet 3 folder, with index.noun, data.noun and so on: {error}."
            ) from error
        self.synonyms = cache(self._find_synonyms)

    def _find_synonyms(self, word: str) -> frozenset[str]:
        return frozenset(
            name
            for part in ENDINGS
            for offset in self._find_offsets(word.lower(), part)
            for name in self._list_names(part, offset)
        ) | {word}

    def _find_offsets(self, word: str, part: str) -> Iterator[int]:
        """Where the senses of the word and of its base forms lie, as far as WordNet has them."""
        bases = self._irregular[part].get(word)
        if bases is None:
            bases = [word[: -len(old)] + new for old, new in ENDINGS[part] if word.endswith(old)]
        for base in {word, *bases}:
            yield from _find_senses(self._index[part], base)

    def _list_names(self, part: str, offset: int) -> Iterator[str]:
        line = self._data[part][offset : self._data[part].index(b"\n", offset)].decode().split()
        for name in line[4 : 4 + 2 * int(line[3], 16) : 2]:
            if "_" not in name:
                yield name.partition("(")[0]  # adjectives say where they may stand: galore(ip)


def _read_index(path: Path) -> list[bytes]:
    """The lines, each a lemma and what is known of it, in order; those of the licence begin with a blank.

    To take every line apart would cost a third of a second, and a study asks for a thousandth of them.
    """
    lines = sorted(line for line in path.read_bytes().splitlines() if not line.startswith(b" "))
    if not any(_line_places(line) for line in lines[:1]):
        raise ValueError(f"{path.name} names no sense")
    return lines


def _find_senses(index: Sequence[bytes], lemma: str) -> list[int]:
    """The places of the senses of a lemma; none where WordNet does not have it."""
    start = lemma.encode() + b" "
    line = index[place] if (place := bisect_left(index, start)) < len(index) else b""
    return _line_places(line) if line.startswith(start) else []


def _line_places(line: bytes) -> list[int]:
    fields = line.split()
    return [int(place) for place in fields[-int(fields[2]) :]]


def _read_irregular(path: Path) -> dict[str, list[str]]:
    lines = (line.split() for line in path.read_text(encoding="utf-8").splitlines())
    return {fields[0]: fields[1:] for fields in lines if fields}
