"""The words by which people and tools say a, b and tie: what speaks for itself, in small letters."""

from __future__ import annotations

import re

TIES = {
    *("tie", "ties", "tied", "same", "equal", "both", "draw", "neither", "no preference", "both good", "both bad"),
    *("about the same", "tie (bothbad)", "tie bothbad", "bothbad", "both equal", "equally good", "undecided"),
    *("no difference", "they are the same", "the same", "neutral"),
}
FIRST = {"a", "left", "1", "first", "model a", "response a", "system a", "assistant a", "option a", "answer a",
         "model 1", "response 1", "system 1", "option 1", "answer 1", "the first", "the left", "top"}  # fmt: skip
SECOND = {"b", "right", "2", "second", "model b", "response b", "system b", "assistant b", "option b", "answer b",
          "model 2", "response 2", "system 2", "option 2", "answer 2", "the second", "the right", "bottom"}  # fmt: skip


def plain_word(text: str) -> str:
    """`Tie (Both-Bad)` as `tie bothbad`: small letters, single spaces, no signs.

    >>> plain_word(" Model_A ")
    'model a'
    """
    return re.sub(r"\s+", " ", re.sub(r"[_.]", " ", text.lower())).strip()


def is_tie(text: str) -> bool:
    """Whether a word says that neither is better."""
    return plain_word(text) in TIES


def spoken(text: str) -> str | None:
    """a, b or tie, where a word says it by itself; a place is said as a or b by whoever knows the places."""
    word = plain_word(text)
    return "tie" if word in TIES else "a" if word in FIRST else "b" if word in SECOND else None
