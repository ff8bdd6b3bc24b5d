"""The stemmer of M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980: METEOR matches words by it.

A word is seen as [C](VC)^m[V]; m, its measure, and the last letters decide which suffix may go. Steps and rules are
numbered as in the paper.
"""

from __future__ import annotations

import re
from functools import cache

STEP_2 = {
    "ational": "ate", "tional": "tion", "enci": "ence", "anci": "ance", "izer": "ize", "abli": "able", "alli": "al",
    "entli": "ent", "eli": "e", "ousli": "ous", "ization": "ize", "ation": "ate", "ator": "ate", "alism": "al",
    "iveness": "ive", "fulness": "ful", "ousness": "ous", "aliti": "al", "iviti": "ive", "biliti": "ble",
}  # fmt: skip
STEP_3 = {"icate": "ic", "ative": "", "alize": "al", "iciti": "ic", "ical": "ic", "ful": "", "ness": ""}
STEP_4 = {
    "al": "", "ance": "", "ence": "", "er": "", "ic": "", "able": "", "ible": "", "ant": "", "ement": "", "ment": "",
    "ent": "", "ion": "", "ou": "", "ism": "", "ate": "", "iti": "", "ous": "", "ive": "", "ize": "",
}  # fmt: skip


@cache
def stem(word: str) -> str:
    """The stem of a lower-case word.

    >>> [stem(word) for word in ("booked", "bookings", "relational", "hopping", "happy")]
    ['book', 'book', 'relat', 'hop', 'happi']
    """
    word = _step_1(word)
    word = _longest(word, STEP_2, 1)
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


def _ends_cvc(word: str) -> bool:
    return _shape(word)[-3:] == "cvc" and word[-1] not in "wxy"


def _ends_double(word: str) -> bool:
    return len(word) > 1 and word[-1] == word[-2] and _shape(word)[-1] == "c"


def _step_1(word: str) -> str:
    for ending, new in (("sses", "ss"), ("ies", "i"), ("ss", "ss"), ("s", "")):  # 1a
        if word.endswith(ending):
            word = word.removesuffix(ending) + new
            break
    if word.endswith("eed"):  # 1b
        word = word[:-1] if _measure(word[:-3]) > 0 else word
    else:
        for ending in ("ed", "ing"):
            if word.endswith(ending) and "v" in _shape(word.removesuffix(ending)):
                word = _tidy(word.removesuffix(ending))
                break
    return word[:-1] + "i" if word.endswith("y") and "v" in _shape(word[:-1]) else word  # 1c


def _tidy(word: str) -> str:
    if word.endswith(("at", "bl", "iz")):
        return word + "e"
    if _ends_double(word) and word[-1] not in "lsz":
        return word[:-1]
    return word + "e" if _measure(word) == 1 and _ends_cvc(word) else word


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
        word = before if m > 1 or (m == 1 and not _ends_cvc(before)) else word
    return word[:-1] if word.endswith("ll") and _measure(word[:-1]) > 1 else word  # 5b
