"""What another tool calls our columns and choices: `--columns ours=theirs`, `--values ours=theirs`.

A name without a meaning, or with two, is refused with the mapping that would help: a wrong one would turn votes round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.votes.columns import Columns
from dialogue.errors import InputError

Ints = NDArray[np.int64]
Names = Mapping[str, str] | Iterable[tuple[str, str]]  # ours -> theirs

LABELS = ("a", "b", "tie")


def known_columns(columns: Mapping[str, str], known: Sequence[str]) -> Mapping[str, str]:
    """`columns` as it is, if it names columns that votes have."""
    if unknown := [name for name in columns if name not in known]:
        raise InputError(f"--columns names {unknown[0]!r}, which is not one of {', '.join(known)}.")
    return columns


def legal_labels(found: tuple[str, ...], values: Mapping[str, str], labels: str) -> tuple[str, ...]:
    """a, b and tie; or, where every value is a label, the values found in their order."""
    if labels == "tie":
        return LABELS
    names = {values.get(name, name) for name in found}
    try:
        return tuple(sorted(names, key=float))
    except ValueError:
        return tuple(sorted(names))


def translated(
    read: Columns,
    rows: Ints,
    codes: Ints,
    found: tuple[str, ...],
    values: Mapping[str, str],
    legal: tuple[str, ...],
    name: str,
) -> Ints:
    """Codes into `legal`; a value that is not legal is named with its line and the mapping that would help."""
    ours = [values.get(value, value) for value in found]
    if wrong := [code for code, value in enumerate(ours) if value not in legal]:
        row = int(rows[np.flatnonzero(codes == wrong[0])[0]])
        raise InputError(
            f"{read.place(row)}: {name} is {found[wrong[0]]!r}, which is not one of {', '.join(legal)} (found: "
            f"{', '.join(map(repr, found[:8]))})."
        )
    return np.array([legal.index(value) for value in ours], dtype=np.int64)[codes]
