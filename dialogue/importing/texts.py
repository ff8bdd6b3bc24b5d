"""Texts of the two responses: a pair whose texts change sides while its systems do not is refused."""

from __future__ import annotations

from collections.abc import Sequence

from dialogue.errors import InputError
from dialogue.importing.meanings import Rows, same_text


def refuse_swapped_texts(rows: Rows, pair: str | None, left: Sequence[int | None]) -> None:
    """On every pair that is judged on several rows, whoever said a text must have said it on all of them."""
    texts = rows.roles.texts
    if texts is None or pair is None:
        return
    met: dict[tuple[str, ...], tuple[dict[str, str], int]] = {}
    for row, name in enumerate(rows.table.text(pair)):
        sides = _speakers(rows, row, left[row])
        both = rows.text_a[row], rows.text_b[row]
        if sides is None or sides[0] == sides[1] or not all(both) or same_text(*both):
            continue
        said = {side: " ".join(text.split()) for side, text in zip(sides, both, strict=True)}
        before, first = met.setdefault((name, *sorted(sides)), (said, row))
        if said != before and said == dict(zip(before, reversed(before.values()), strict=True)):
            raise InputError(
                f"{rows.place(row)}: on pair {name!r}, {sides[0]} and {sides[1]} have changed texts since "
                f"{rows.place(first)} ({texts.a}, {texts.b}). The two sides were swapped in one of these rows and not "
                "in the answer. Name the columns of the two systems (--columns system_a=...,system_b=...), or what "
                "tells which response was on the left (--columns left=...), and mend the rows where these are wrong."
            )


def _speakers(rows: Rows, row: int, left: int | None) -> tuple[str, str] | None:
    """Who said the first and the second text of a row; None where the table does not tell."""
    texts, systems = rows.roles.texts, rows.roles.systems
    assert texts is not None
    if systems is not None:
        return (rows.a[row], rows.b[row]) if systems.kind == texts.kind else None
    if texts.kind == "letters":
        return "a", "b"
    return ("left", "right") if left is None else ("ab"[left], "ab"[1 - left])
