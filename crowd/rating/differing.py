"""Where two near-identical responses differ, word by word, and whether a rater is shown it: `differences` in hit.toml.

The script of D edits (Myers 1986, An O(ND) difference algorithm) stops where more than NEAR allows would be needed, so
long texts that have little in common cost no more than near ones.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

from seedvote.crowd.hit.hit import Differences
from seedvote.crowd.store.identity import keyed
from seedvote.dialogue.records import Pair

NEAR = 0.7  # part of the words of both texts that they have in common, in order: 2 common / (left + right)
MOST_WORDS = 1_000  # of both texts together
_SPACELESS = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
_SIGNS = "!-/:-@\\[-`{-~«»¿¡‘-”…،؛؟।。、，！？：；（）「」"
_ABUGIDAS = (range(0xE00, 0xF00), range(0x1000, 0x10A0), range(0x1780, 0x1800))  # Thai and Lao, Myanmar, Khmer
_VOWELS = "".join(chr(code) for some in _ABUGIDAS for code in some if unicodedata.category(chr(code)).startswith("M"))
_ACCENTS = "\u0300-\u036f\u20d0-\u20ff\u3099\u309a\ufe00-\ufe0f\U000e0100-\U000e01ef"
_JOINED = _ACCENTS + _VOWELS  # stands on the sign before it
_STACKED = "[\u1039\u17d2]."  # a consonant below another one
_WORD = re.compile(f"[{_SPACELESS}](?:{_STACKED}|[{_JOINED}])*|[{_SIGNS}][{_JOINED}]*|[^\\s{_SPACELESS}{_SIGNS}]+")

Ranges = Sequence[tuple[int, int]]


def are_differences_shown(setting: Differences, secret: str, rater: str, pair: Pair) -> bool | None:
    """Whether this rater is shown where the responses differ; None where nothing could be shown to anybody.

    Of a half it follows from the study's secret, so that it is the same however often the page is asked for.
    """
    if setting == "off" or pair.a.parts or pair.b.parts or not find_differences(pair.a.text, pair.b.text):
        return None
    return setting == "on" or int(keyed(secret, "differences", rater, pair.pair)[:8], 16) % 2 == 0


@lru_cache(4096)  # every rater of a pair sees the same texts
def find_differences(left: str, right: str) -> tuple[Ranges, Ranges] | None:
    """The characters of each text that the other lacks; None where they are the same words, or not near-identical.

    >>> find_differences("We open at nine today.", "We open at ten today.")
    (((11, 15),), ((11, 14),))
    >>> find_differences("Yes, of course.", "No idea.") is None
    True
    """
    if left > right:  # of several ways to align them one is taken, whichever text comes first
        found = find_differences(right, left)
        return found and (found[1], found[0])
    texts = (left, right)
    words = [[match.span() for match in _WORD.finditer(text)] for text in texts]
    total = sum(map(len, words))
    if not total or total > MOST_WORDS:
        return None
    first, second = ([text[start:end] for start, end in spans] for text, spans in zip(texts, words, strict=True))
    common = _find_common(first, second, int(total * (1 - NEAR) + 1e-9))
    if common is None or 2 * len(common) == total:
        return None
    sides = zip(words, zip(*common, strict=True), strict=True)
    ranges = [tuple(_join_rest(spans, set(places))) for spans, places in sides]
    return ranges[0], ranges[1]


def _find_common(first: Sequence[str], second: Sequence[str], most: int) -> Sequence[tuple[int, int]] | None:
    """The places of a longest common subsequence, or None where it leaves more than `most` words over."""
    reach, history = {1: 0}, list[dict[int, int]]()
    for edits in range(most + 1):
        for line in range(-edits, edits + 1, 2):
            goes_down = line == -edits or (line != edits and reach[line - 1] < reach[line + 1])
            x = reach[line + 1] if goes_down else reach[line - 1] + 1
            while x < len(first) and 0 <= x - line < len(second) and first[x] == second[x - line]:
                x += 1
            reach[line] = x
            if x >= len(first) and x - line >= len(second):
                return _trace_back(history, len(first), len(second))
        history.append(dict(reach))
    return None


def _trace_back(history: Sequence[dict[int, int]], x: int, y: int) -> Sequence[tuple[int, int]]:
    common = []
    for edits in range(len(history), 0, -1):
        reach, line = history[edits - 1], x - y
        goes_down = line == -edits or (line != edits and reach[line - 1] < reach[line + 1])
        before = line + 1 if goes_down else line - 1
        from_x = reach[before]
        while x > from_x + (not goes_down):
            x, y = x - 1, y - 1
            common.append((x, y))
        x, y = from_x, from_x - before
    common += [(place, place) for place in range(x - 1, -1, -1)]
    return common[::-1]


def _join_rest(spans: Ranges, kept: set[int]) -> Iterator[tuple[int, int]]:
    """The words that are not kept; neighbours become one range, with the space between them."""
    begin = None
    for place, (start, _) in enumerate(spans):
        if place not in kept:
            begin = start if begin is None else begin
            if place + 1 == len(spans) or place + 1 in kept:
                yield begin, spans[place][1]
                begin = None
