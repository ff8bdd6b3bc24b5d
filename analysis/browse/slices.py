"""The slices of a study's pairs: how long the responses are, how far the conversation is, and what pairs.jsonl adds.

A slice is known before anybody votes; how far raters agree is not, and is none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from dialogue.records import Pair

MOST_VALUES = 12  # of a further field of pairs.jsonl, e.g. `domain`
TURNS = ((1, "0-1"), (3, "2-3"), (7, "4-7"))  # utterances before, up to which


@dataclass(frozen=True, slots=True)
class PairSlice:
    """One way to part the pairs: `values` as (key, words); `codes` has the place of every pair's value, or -1."""

    name: str
    title: str
    values: tuple[tuple[str, str], ...]
    codes: tuple[int, ...]


def slices_of(pairs: Sequence[Pair | None]) -> tuple[PairSlice, ...]:
    """Those with two values or more."""
    fields = dict.fromkeys(name for pair in pairs if pair is not None for name in pair.extra)
    made = [_lengths(pairs), _by("turn", "Utterances before", pairs, _turn), *(_field(pairs, name) for name in fields)]
    return tuple(one for one in made if one is not None and len(one.values) > 1)


def _lengths(pairs: Sequence[Pair | None]) -> PairSlice | None:
    """Thirds of the pairs by the words of both responses together."""
    words = [-1 if pair is None else len(pair.a.text.split()) + len(pair.b.text.split()) for pair in pairs]
    known = np.array([number for number in words if number >= 0])
    if not known.size:
        return None
    low, high = (int(np.quantile(known, share, method="lower")) for share in (1 / 3, 2 / 3))
    bounds = (("short", int(known.min()), low), ("medium", low + 1, high), ("long", high + 1, int(known.max())))
    kept = [(key, low, high) for key, low, high in bounds if ((known >= low) & (known <= high)).any()]
    codes = [next((k for k, (_, low, high) in enumerate(kept) if low <= number <= high), -1) for number in words]
    values = tuple((key, f"{key} ({low} to {high} words)") for key, low, high in kept)
    return PairSlice("length", "Length of both responses", values, tuple(codes))


def _turn(pair: Pair) -> str:
    return next((key for most, key in TURNS if len(pair.context) <= most), "8+")


def _field(pairs: Sequence[Pair | None], name: str) -> PairSlice | None:
    """A further field of pairs.jsonl, if it is a word for each pair and there are few different ones."""
    given = [pair.extra.get(name) for pair in pairs if pair is not None and pair.extra.get(name) not in (None, "")]
    plain = all(isinstance(value, str | int | bool) for value in given)
    if not plain or len({str(value) for value in given}) > MOST_VALUES:
        return None
    title = name.replace("_", " ").capitalize()
    return _by(f"field-{name}", title, pairs, lambda pair: str(pair.extra.get(name) or ""))


def _by(name: str, title: str, pairs: Sequence[Pair | None], of: Callable[[Pair], str]) -> PairSlice:
    told = ["" if pair is None else of(pair) for pair in pairs]
    keys = sorted({*told} - {""})
    return PairSlice(
        name, title, tuple((key, key) for key in keys), tuple(keys.index(one) if one else -1 for one in told)
    )
