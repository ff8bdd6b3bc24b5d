"""The stemmer of M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the later rules that nltk
takes by default: METEOR matches words by it.

A word is seen as [C](VC)^m[V]; m, its measure, and the last letters decide which suffix may go. Steps and rules are
numbered as in the paper. Later rules: words of one or two letters stay ("is" is not "i"), as do some irregular ones;
-ied and -ies keep their e in words of four letters; y becomes i after a consonant only; -bli, -fulli and -logi.
"""

from __future__ import annotations

import re
from functools import cache

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
def stem(word: str) -> str:
    """The stem of a lower-case word.

    >>> [stem(word) for word in ("booked", "bookings", "relational", "hopping", "happy")]
    ['book', 'book', 'relat', 'hop', 'happi']
    """
    if len(word) <= 2 or word in IRREGULAR:
        return IRREGULAR.get(word, word)
    word = _step_2(_step_1c(_step_1b(_step_1a(word))))
    word = _longest(word, STEP_3, 1)
    word = _longest(word, STEP_4, 2)
    return _step_5(word)


def _shape(word: str) -> str:
    """A letter c or v for each letter: y is a vowel after a consonant."""
    shape = ""
    for letter in word:
        vowel = letter in "aeiou" or (letter == "y" and shape[-1:] == "c")
        shape += "v" if vowel else "c"
    return shape


def _measure(word: str) -> int:
    return len(re.findall("v+c", _shape(word)))


def _ends_short(word: str) -> bool:
    """Whether it ends with consonant, vowel, consonant, or is a vowel and a consonant."""
    shape = _shape(word)
    return shape == "vc" or (shape[-3:] == "cvc" and word[-1] not in "wxy")


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _step_1a(word: str) -> str:
    if word.endswith("ies"):
        return word[:-1] if len(word) == 4 else word[:-2]
    return word[:-2] if word.endswith("sses") else word[:-1] if word.endswith("s") and word[-2:] != "ss" else word


def _step_1b(word: str) -> str:
    if word.endswith("ied"):
        return word[:-1] if len(word) == 4 else word[:-2]
    if word.endswith("eed"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    for ending in ("ed", "ing"):
        if word.endswith(ending) and "v" in _shape(word.removesuffix(ending)):
            return _tidy(word.removesuffix(ending))
    return word


def _step_1c(word: str) -> str:
    return word[:-1] + "i" if len(word) > 2 and word[-1] == "y" and _shape(word)[-2] == "c" else word


def _step_2(word: str) -> str:
    if word.endswith("alli") and _measure(word[:-4]) > 0:
        return _step_2(word[:-2])
    if word.endswith("logi"):
        return word[:-1] if _measure(word[:-3]) > 0 else word
    return _longest(word, STEP_2, 1)


def _tidy(word: str) -> str:
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _ends_double(word) and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_short(word) else word


def _longest(word: str, rules: dict[str, str], least: int) -> str:
    """Apply the rule of the longest suffix that fits, if the measure before it is large enough."""
    for ending in sorted(rules, key=len, reverse=True):
        if word.endswith(ending):
            before = word.removesuffix(ending)
            allowed = _measure(before) >= least and (ending != "ion" or before.endswith(("s", "t")))
            return before + rules[ending] if allowed else word
    return word


def _step_5(word: str) -> str:
    if word.endswith("e"):  # 5a
        before, m = word[:-1], _measure(word[:-1])
        word = before if m > 1 or (m == 1 and not _ends_short(before)) else word
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word  # 5b
