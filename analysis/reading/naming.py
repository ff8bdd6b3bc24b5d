"""What another tool calls our columns and choices: `--columns ours=theirs`, `--values ours=theirs`.

A name without a meaning, or with two, is refused with the mapping that would help: a wrong one would turn votes round.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from analysis.reading.columns import Columns
from dialogue.ballots.naming import said_no_vote, typed_names
from dialogue.ballots.words import spoken
from dialogue.errors import InputError

Ints = NDArray[np.int64]
Names = Mapping[str, str] | Iterable[tuple[str, str]]  # ours -> theirs

LABELS = ("a", "b", "tie")
PLACES = (
    " Left and right are places on the page. Map them like this only if A was always on the left; otherwise see "
    "docs/import.md."
)


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
            f"{read.place(row)}: {name} is {found[wrong[0]]!r}, which is not one of {', '.join(legal)}. "
            f"{_way_out(found, legal, found[wrong[0]])} "
            f"(found: {', '.join(map(repr, found[:8]))}).{PLACES if {'left', 'right'} & set(found) else ''}"
        )
    return np.array([legal.index(value) for value in ours], dtype=np.int64)[codes]


def _way_out(found: Sequence[str], legal: Sequence[str], strange: str) -> str:
    """What to type; where a, b and tie all stand there beside the strange word, that its row may be no vote."""
    if set(legal) <= set(found):
        named = typed_names([("tie", strange)])
        return f"If it is one of them, say so (--values {named}); if it is no vote: {said_no_vote(strange)}"
    return f"If the file is from another tool, map it: --values {_likely_values(found, legal)}"


def _likely_values(found: Sequence[str], legal: Sequence[str]) -> str:
    """What `--values` would be, as far as the values speak for themselves: `a=left,b=right,tie=...`.

    Numbers do not where 0 or -1 is among them: 0 may be the first of two answers, or a tie.
    """
    known = [] if {"0", "-1"} & set(found) else found
    return ",".join(
        f"{label}={next((value for value in known if spoken(value) == label), '...')}"
        for label in legal
        if label not in found
    )
