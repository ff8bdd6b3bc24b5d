"""The two responses where a table itself holds their texts: which one an answer quotes, and whether sides were swapped.

A table may name the winner by its text. It then stands for a side of its row, which is compared with both texts and
never guessed. And wherever one pair is judged on several rows, its texts must not change sides by themselves.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace

from dialogue.ballots.judgement import LEFT
from dialogue.ballots.systems import SIDES, Kind, SystemColumns, plain_name
from dialogue.errors import InputError
from dialogue.tables.table import RawTable, cell_text

NOUNS = ("response", "text", "answer", "output", "completion", "reply", "message", "generation")
WORDS: Mapping[Kind, tuple[str, str]] = {"letters": ("a", "b"), "places": ("left", "right")}


@dataclass(frozen=True, slots=True)
class TextColumns:
    """The column of the text on the first side, that on the second, and how these are told apart."""

    a: str
    b: str
    kind: Kind


def text_columns(names: Iterable[str]) -> TextColumns | None:
    """The two columns of texts, by their names; None where there is no such pair, or more than one.

    >>> text_columns(["Response A", "Response B", "winner"])
    TextColumns(a='Response A', b='Response B', kind='letters')
    """
    plain = {plain_name(name): name for name in names}
    found = [
        TextColumns(plain[one], plain[other], kind)
        for kind, sides in SIDES.items()
        for first, second in sides
        for noun in NOUNS
        for form in ("{noun}_{side}", "{side}_{noun}", "{noun}{side}")
        if (one := form.format(noun=noun, side=first)) in plain
        and (other := form.format(noun=noun, side=second)) in plain
    ]
    return found[0] if len(found) == 1 else None


def same_text(one: str, other: str) -> bool:
    """Whether two cells hold one text, however it is spaced."""
    return one.split() == other.split()


def quoted_side(answer: str, texts: tuple[str, str], columns: TextColumns, where: str) -> str:
    """The side whose text the answer quotes, in the words of the columns; any other answer as it is."""
    fits = [bool(text) and same_text(answer, text) for text in texts]
    if all(fits):
        raise InputError(
            f"{where}: the answer is the text of {columns.a} and of {columns.b}, which are the same, so it names no "
            "side. Write a tie there, or leave the row out."
        )
    return WORDS[columns.kind][fits.index(True)] if any(fits) else answer


@dataclass(slots=True)
class SideCheck:
    """Refuses a pair whose two texts change sides from one row to another while their systems do not."""

    columns: TextColumns
    met: dict[tuple[str, ...], tuple[dict[str, str], str]] = field(default_factory=dict)

    def see(self, pair: str, sides: tuple[str, str], texts: tuple[str, str], where: str) -> None:
        """One row: `sides` are whoever said the two texts, the systems or the letters of the responses."""
        if sides[0] == sides[1] or not all(texts) or same_text(*texts):
            return
        said = {side: " ".join(text.split()) for side, text in zip(sides, texts, strict=True)}
        key = (pair, *sorted(sides))
        before, first = self.met.setdefault(key, (said, where))
        if said != before and said == dict(zip(before, reversed(before.values()), strict=True)):
            raise InputError(
                f"{where}: on pair {pair!r}, {sides[0]} and {sides[1]} have changed texts since {first} "
                f"({self.columns.a}, {self.columns.b}). The two sides were swapped in one of these rows and not in the "
                "answer. Name the columns of the two systems (--columns system_a=...,system_b=...), or what tells "
                "which response was on the left (--columns left=...), and mend the rows where these are wrong."
            )


def sides_named(
    columns: TextColumns, systems: SystemColumns | None, named: tuple[str, str], turned: bool | None
) -> tuple[str, str] | None:
    """Who said the first and the second text of a row; None where the table does not tell.

    `named` are the two systems of the row, `turned` whether response b stood first (None: not known).
    """
    if systems is not None:
        return named if systems.kind in (columns.kind, "stated") else None
    if columns.kind == "letters" or turned is None:
        return WORDS[columns.kind]
    return ("b", "a") if turned else ("a", "b")


def with_sides(
    table: RawTable, names: Mapping[str, str], systems: SystemColumns | None, no_vote: Collection[str] = ()
) -> RawTable:
    """The table with every answer that quotes a response as that side; refused where a pair's texts were swapped."""
    columns = text_columns(name for name in table.names if name not in names.values())
    choice, pair, left = (names.get(name, name) for name in ("choice", "pair", "left"))
    if columns is None or not {choice, pair} <= set(table.names):
        return table
    check, answers = SideCheck(columns), list(table.columns[choice])
    for number, (where, row) in enumerate(table.rows()):
        cells = {name: cell_text(value).strip() for name, value in row.items()}
        texts = cells[columns.a], cells[columns.b]
        both = ("", "") if systems is None else (cells[systems.a], cells[systems.b])
        first = LEFT.get(cells.get(left, ""))
        if sides := sides_named(columns, systems, both, None if first is None else first == "b"):
            check.see(cells[pair], sides, texts, where)
        if cells[choice] in no_vote:
            continue
        side = quoted_side(cells[choice], texts, columns, where)
        answers[number] = answers[number] if side == cells[choice] else side
    return replace(table, columns={**table.columns, choice: answers})
