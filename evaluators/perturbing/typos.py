"""Slips of the keyboard: a neighbouring key, a letter lost, doubled or swapped, and the abbreviations of chats."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from seedvote.evaluators.perturbing.material import Span

ROWS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
SHARE = 0.2  # of the words that may be changed; one at least
SHORT = {
    "please": "pls",
    "you": "u",
    "your": "ur",
    "are": "r",
    "thanks": "thx",
    "people": "ppl",
    "and": "n",
    "about": "abt",
    "because": "cuz",
    "information": "info",
    "tomorrow": "tmrw",
    "okay": "k",
    "with": "w",
    "see": "c",
    "really": "rly",
    "number": "num",
    "something": "smth",
    "goodbye": "bye",
}
EDITABLE = re.compile(r"[A-Za-z]{2,}")


def _map_neighbours() -> dict[str, str]:
    """Letter -> the letters beside it on its row, and above and below."""
    places = {key: (row, column) for row, keys in enumerate(ROWS) for column, key in enumerate(keys)}
    near = {(0, -1), (0, 1), (-1, 0), (-1, 1), (1, 0), (1, -1)}
    return {
        key: "".join(k for k, (r, c) in places.items() if (r - row, c - column) in near)
        for key, (row, column) in places.items()
    }


BESIDE = _map_neighbours()


def mistype_turn(pieces: Sequence[Span], *, rng: random.Random) -> str:
    """The turn with one word in five mistyped, one at least where any may be."""
    words = [(n, match) for n, piece in enumerate(pieces) if not piece.held for match in EDITABLE.finditer(piece.text)]
    hit = [word for word in words if rng.random() < SHARE] or ([rng.choice(words)] if words else [])
    texts = [piece.text for piece in pieces]
    for n, match in reversed(hit):  # from the end, so that places before stay
        texts[n] = texts[n][: match.start()] + mistype_word(match[0], rng=rng) + texts[n][match.end() :]
    return "".join(texts)


def mistype_word(word: str, *, rng: random.Random) -> str:
    """One slip in one word; never the word itself."""
    if (short := SHORT.get(word.lower())) and rng.random() < 0.5:
        return short
    slips: list[Callable[[str, int, random.Random], str]] = [
        _hit_neighbour,
        _drop_letter,
        _double_letter,
        _swap_letters,
    ]
    for _ in range(8):
        at = rng.randrange(len(word))
        if (slip := rng.choice(slips)(word, at, rng)) not in (word, ""):
            return slip
    return word + word[-1]


def _hit_neighbour(word: str, at: int, rng: random.Random) -> str:
    near = BESIDE.get(word[at].lower(), "")
    return word[:at] + rng.choice(near) + word[at + 1 :] if near else word


def _drop_letter(word: str, at: int, rng: random.Random) -> str:
    del rng
    return word[:at] + word[at + 1 :]


def _double_letter(word: str, at: int, rng: random.Random) -> str:
    del rng
    return word[: at + 1] + word[at:]


def _swap_letters(word: str, at: int, rng: random.Random) -> str:
    del rng
    return word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]
