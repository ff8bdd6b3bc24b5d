"""Which response an answer stands for, where the table itself names the two systems of every row.

Every pair is turned so that `a` is one and the same system in all of its votes: a table may name the two in either
order, and one that is read without its two columns gives a preference between two places.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from analysis.reading.columns import Columns, codes_of
from analysis.reading.naming import LABELS, translated
from dialogue.ballots.systems import PLACES, SystemColumns, refuse_place_for_letter
from dialogue.ballots.words import spoken
from dialogue.errors import InputError

Ints = NDArray[np.int64]
NAME = "the system of that name"  # what an answer says that is a system's name


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


def choices_of(
    read: Columns,
    rows: Ints,
    codes: Ints,
    found: tuple[str, ...],
    values: Mapping[str, str],
    sides: Sides | None,
    columns: SystemColumns | None,
    left: Ints | None,
) -> tuple[Ints, dict[str, str]]:
    """The choices as codes of a, b and tie, and what every word was taken for."""
    words = {word: values.get(word, values.get(word.strip(), word)) for word in found}
    placed = left is not None and [word for word in found if words[word].strip().lower() in PLACES]
    if sides is not None and columns is not None:
        words = _meanings(read, found, words, values, sides, columns, bool(placed))
    if placed:
        return _by_place(read, rows, codes, found, words, left), words
    plain = translated(read, rows, codes, found, {w: LABELS[0] if m == NAME else m for w, m in words.items()}, LABELS,
                       "choice")  # fmt: skip
    return (plain if sides is None else _by_name(read, rows, codes, found, words, plain, sides)), words


def _meanings(
    read: Columns,
    found: tuple[str, ...],
    words: Mapping[str, str],
    values: Mapping[str, str],
    sides: Sides,
    columns: SystemColumns,
    placed: bool,
) -> dict[str, str]:
    """Stated words as stated; the name of a system as that system; others as they speak for themselves."""
    known = {}
    unstated = [word for word in found if word not in values and word.strip() not in values]
    for word in found:
        said = words[word] if word not in unstated or words[word] in LABELS else spoken(word)
        if word in sides.systems and word in unstated:
            if said is not None:
                raise InputError(
                    f"{read.path}: the answer {word!r} is the name of a system and of a side. Rename the system in the "
                    "table, so that every answer has one meaning."
                )
            said = NAME
        known[word] = word if said is None else said
    if not placed:
        refuse_place_for_letter(unstated, columns, str(read.path))
    return known


def _by_place(
    read: Columns, rows: Ints, codes: Ints, found: tuple[str, ...], words: Mapping[str, str], left: Ints | None
) -> Ints:
    """Left and right as the responses that stood there."""
    assert left is not None
    where = [PLACES.get(word.strip().lower(), words[word]) for word in found]
    plain = translated(read, rows, codes, found, dict(zip(found, where, strict=True)), LABELS, "choice")
    place = np.array([word.strip().lower() in PLACES for word in found])[codes]
    if (lost := np.flatnonzero(place & (left < 0))).size:
        raise InputError(
            f"{read.place(int(rows[lost[0]]))}: the answer names a place, and left is empty. Fill it, or leave the row "
            "out."
        )
    return np.where(place & (left == 1), 1 - plain, plain)


def _by_name(
    read: Columns, rows: Ints, codes: Ints, found: tuple[str, ...], words: Mapping[str, str], plain: Ints, sides: Sides
) -> Ints:
    """The name of a system as the side on which it stood."""
    places = {name: code for code, name in enumerate(sides.systems)}
    system = np.array([places[word] if words[word] == NAME else -1 for word in found])[codes]
    named = system >= 0
    if (lost := np.flatnonzero(named & (system != sides.a) & (system != sides.b))).size:
        row = int(lost[0])
        raise InputError(
            f"{read.place(int(rows[row]))}: the answer is {found[codes[row]]!r}, and this row compares "
            f"{sides.systems[sides.a[row]]} with {sides.systems[sides.b[row]]} ({len(lost)} such rows). Are the "
            "columns of the systems the right ones? Name them: --columns system_a=...,system_b=..."
        )
    return np.where(named, np.where(system == sides.a, 0, 1), plain)


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
