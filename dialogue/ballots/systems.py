"""Columns that name the two systems of a row, and what an answer says about them.

`A` in a table with `model_a` is that column's system; `left` in a table with `model_left` too. `left` beside `model_a`
is a place beside a letter: whether A stood on the left, only a person knows, so it is asked and never guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from dialogue.ballots.naming import IGNORED, typed_names
from dialogue.errors import InputError, Unclear

Kind = Literal["letters", "places", "stated"]
NOUNS = ("model", "system", "assistant", "bot", "agent")
SIDES: Mapping[Kind, tuple[tuple[str, str], ...]] = {
    "letters": (("a", "b"), ("1", "2"), ("first", "second")),
    "places": (("left", "right"), ("top", "bottom")),
}
PLACES = {"left": "a", "right": "b", "top": "a", "bottom": "b"}
LETTERS = {"a": "a", "b": "b"}
PREFIX = re.compile(r"^(?:input|fields|metadata|data|meta)\.", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SystemColumns:
    """The column of the system that the first answer stands for, that of the second, and how these are told apart."""

    a: str
    b: str
    kind: Kind


def plain_name(name: str) -> str:
    """A column's name without its tool's prefix, capitals and signs: `Input.Model A` is `model_a`."""
    text = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", PREFIX.sub("", name.strip()))
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_")


def system_columns(names: Iterable[str], stated: Mapping[str, str]) -> SystemColumns | None:
    """Those that the user names; else those whose names say it; several such pairs are a doubt."""
    names = list(names)
    a, b = (stated.get(f"system_{side}") for side in "ab")
    if IGNORED in (a, b):
        return None
    if a and b:
        return SystemColumns(a, b, "stated")
    if a or b:
        raise InputError("--columns names one of system_a and system_b; name both.")
    found = list(_found({plain_name(name): name for name in names if name not in stated.values()}))
    if len(found) > 1:
        raise Unclear(
            "Two pairs of columns may name the systems: " + "; ".join(f"{one.a} and {one.b}" for one in found) + ".",
            *({"--columns": typed_names([("system_a", one.a), ("system_b", one.b)])} for one in found),
        )
    return found[0] if found else None


def _found(plain: Mapping[str, str]) -> Iterable[SystemColumns]:
    for kind, sides in SIDES.items():
        for first, second in sides:
            for noun in NOUNS:
                for form in ("{noun}_{side}", "{side}_{noun}", "{noun}{side}"):
                    one, other = (form.format(noun=noun, side=side) for side in (first, second))
                    if one in plain and other in plain:
                        yield SystemColumns(plain[one], plain[other], kind)


def refuse_place_for_letter(words: Iterable[str], found: SystemColumns, where: str) -> None:
    """`left` beside `model_a`, or `A` beside `model_left`: a doubt that the user settles."""
    sides, other = {"letters": (PLACES, "stood on the left"), "places": (LETTERS, "was called A")}.get(
        found.kind, ({}, "")
    )
    met = [word for word in words if word.strip().lower() in sides]
    if not met:
        return
    first, second = ("left", "right") if found.kind == "letters" else ("A", "B")
    raise Unclear(
        f"{where}: the answer {met[0]!r} names a side, and the columns {found.a} and {found.b} do not say who {other}. "
        f"If {found.a} always {other}, say so by --values; if the sides changed, name the column that tells which "
        "response was on the left (a or b): --columns left=...",
        {"--values": typed_names([("a", _as_met(first, met)), ("b", _as_met(second, met))])},
    )


def _as_met(word: str, met: list[str]) -> str:
    return next((one for one in met if one.strip().lower() == word.lower()), word)
