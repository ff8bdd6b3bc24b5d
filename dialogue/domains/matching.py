"""Whether two names match: the partial ratio of published Inform and Success, on Python's difflib.

The shorter text is compared with equally long windows of the longer one, at the places where difflib finds matching
blocks; the best window's ratio counts, in whole per cent. The rule is the matcher: a search over every window
(rapidfuzz's) accepts more names, and published numbers are then not met (9 of 13 systems where this meets 13).
"""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher
from functools import lru_cache

ALIKE = 90  # per cent, of published Inform and Success
SURE = 0.995  # a window this good ends the search


def partial_ratio(first: str, second: str) -> int:
    """How well the shorter text fits into the longer one, 0 to 100.

    >>> partial_ratio("acorn", "acorn guest house"), partial_ratio("acorn", ""), partial_ratio("kings", "king")
    (100, 0, 100)
    """
    if not first or not second:
        return 0
    short, long = (first, second) if len(first) <= len(second) else (second, first)
    best = 0.0
    for block in SequenceMatcher(None, short, long).get_matching_blocks():
        start = max(block.b - block.a, 0)
        best = max(best, SequenceMatcher(None, short, long[start : start + len(short)]).ratio())
        if best > SURE:
            return 100
    return round(100 * best)


def match_names(first: str, second: str) -> bool:
    """Whether the partial ratio reaches `ALIKE`; texts that share too few letters are not aligned at all."""
    return _may_be_alike(first, second) and partial_ratio(first, second) >= ALIKE


def _may_be_alike(first: str, second: str) -> bool:
    """Whether so many letters are shared that a window could do: a bound, so that no pair above it is lost.

    A window of w letters that matches m of the n short ones has ratio 2m / (n + w) and w >= m, hence at most
    2m / (n + m); and m is at most the number of shared letters.
    """
    short = min(len(first), len(second))
    shared = (_count_letters(first) & _count_letters(second)).total()
    return short > 0 and 200 * shared >= (ALIKE - 0.5) * (short + shared)


@lru_cache(maxsize=1 << 12)
def _count_letters(text: str) -> Counter[str]:
    return Counter(text)
