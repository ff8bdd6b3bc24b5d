"""Two systems of every vote, turned so that `a` is one and the same system in all votes of a pair.

A table may name the two in either order; read without these columns it gives a preference between places.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.votes.columns import Columns, codes_of
from dialogue.errors import InputError

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Sides:
    """The system on either side of every vote, as the table has it."""

    a: Ints  # code into `systems`
    b: Ints
    systems: tuple[str, ...]


def systems_beside(read: Columns, rows: Ints, a: Any, b: Any) -> Sides | None:
    """The two systems of every vote; None where the table names none."""
    if a is None or b is None or a.null_count + b.null_count == len(a) + len(b):
        return None
    texts = []
    for name, array in (("system_a", a), ("system_b", b)):
        codes, names = codes_of(array)
        if (missing := np.flatnonzero(codes < 0)).size:
            raise InputError(f"{read.place(int(rows[missing[0]]))}: {name} is empty; every vote compares two systems.")
        texts.append(np.array(names, dtype=object)[codes])
    systems, joined = np.unique(np.concatenate(texts).astype(str), return_inverse=True)
    return Sides(joined[: len(rows)], joined[len(rows) :], tuple(systems.tolist()))


def oriented(
    pair: Ints, pairs: tuple[str, ...], choice: Ints, left: Ints | None, item: Ints | None, sides: Sides
) -> dict[str, Any]:
    """Every pair turned one way, as fields of votes; a pair that several comparisons share becomes several pairs."""
    low, high = np.minimum(sides.a, sides.b), np.maximum(sides.a, sides.b)
    turned = sides.a > sides.b
    key = (pair * len(sides.systems) + low) * len(sides.systems) + high
    _, first, of_vote = np.unique(key, return_index=True, return_inverse=True)
    shared = len(first) > len(np.unique(pair))
    names = [pairs[pair[k]] for k in first.tolist()]
    if shared:
        names = [
            f"{name}|{sides.systems[low[k]]}|{sides.systems[high[k]]}" for name, k in zip(names, first, strict=True)
        ]
    return {
        "pair": of_vote, "pairs": tuple(names), "item": pair if shared and item is None else item,
        "choice": np.where(turned & (choice < 2), 1 - choice, choice),
        "left": None if left is None else np.where(turned & (left >= 0), 1 - left, left),
        "system_a": low, "system_b": high, "systems": sides.systems,
    }  # fmt: skip
