"""Levenshtein's distance, and the word error rate that follows from it.

Bit-parallel after Myers (1999) in the form of Hyyro (2001): one whole number holds a column of the table, so a pair of
turns costs as many steps as one of them has words.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence


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
