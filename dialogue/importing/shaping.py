"""One row a judgement, from tables of other shapes: nested, one row a person, one column a rater, rankings, counts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.columns import (
    BETTER_WORDS,
    LIKELY,
    NEGATIVE,
    SYSTEM_WORDS,
    leaf_name,
    plain_name,
    system_columns,
    twins,
)
from seedvote.dialogue.importing.naming import IGNORED, typed_names
from seedvote.dialogue.importing.order import speaks_of_order
from seedvote.dialogue.importing.rankings import taken_apart
from seedvote.dialogue.importing.reading import Stated
from seedvote.dialogue.importing.recognising import recognised, tools_known
from seedvote.dialogue.importing.scores_of_sides import LONE_RESPONSE, SCORES_OF_PAIR, in_pairs
from seedvote.dialogue.importing.tools import TOOLS
from seedvote.dialogue.importing.wide import melted
from seedvote.dialogue.importing.words import spoken
from seedvote.dialogue.tables.nesting import exploded, flat_table
from seedvote.dialogue.tables.table import RawTable

SEVERAL = "|"  # between the columns of several raters, or of ranks: choice=ann|bob
OF_RATER = re.compile(r"^(rater|annotator|judge|worker|coder|labell?er|evaluator|person|expert|assessor)(_\w+|\d+)?$")
COUNTS = {"wins", "win", "votes", "vote", "n", "count", "counts", "won", "preferred"}  # and no other word
TIE_COUNTS = ("ties", "n_ties", "tie", "ties_count", "count_tie", "n_tie", "count_ties", "votes_tie", "draws")
MOST_COUNTED = 100_000


@dataclass(frozen=True, eq=False)
class Shaped:
    """A table with one judgement a row, its tool, and how it came to that."""

    table: RawTable
    tool: str
    asked: Stated
    form: str = ""
    dropped: Mapping[str, int] = field(default_factory=dict)
    rater: Mapping[str, str] = field(default_factory=dict)
    read: int | None = None


def shaped(table: RawTable, stated: Stated) -> Shaped:
    """The table in long form; what is already so stays as it is."""
    if stated.explode:
        table = exploded(table, stated.explode)
    if stated.wide is not None:
        return _one_row_a_person(table, stated)
    if stated.tool and stated.tool not in (*TOOLS, "plain"):
        raise InputError(f"--from is {stated.tool!r}; the tools are {', '.join(TOOLS)} and plain.")
    if not tools_known(table.names) and stated.tool in ("", "plain"):
        table = _two_systems_apart(flat_table(table))
    if not stated.tool:
        if (apart := in_pairs(table, stated.columns)) is not None:
            pairs, field_of_scores = apart
            dropped = {LONE_RESPONSE: lone} if (lone := len(table) - 2 * len(pairs)) else {}
            stated = replace(stated, columns={**stated.columns, field_of_scores: SCORES_OF_PAIR})
            return Shaped(pairs, "plain", stated, "one row a response", dropped, read=len(pairs) + lone)
        if (ranked := taken_apart(table, stated.columns)) is not None:
            used = ("item", "rater", "ranks")
            unused = {ours: theirs for ours, theirs in stated.columns.items() if ours not in used}
            rows_read = len(ranked.table) + sum(ranked.dropped.values())
            stated = replace(stated, columns=unused)
            return Shaped(ranked.table, "plain", stated, ranked.kind, ranked.dropped, read=rows_read)
        if (counted := _counted(table, stated)) is not None:
            return counted
        if columns := _columns_of_raters(table, stated):
            return _one_column_a_rater(table, stated, columns)
    return Shaped(table, stated.tool or recognised(table, stated.columns), stated)


def _two_systems_apart(table: RawTable) -> RawTable:
    """`models: ["alpha", "beta"]` as two columns, and the numbers of both, as in `scores: [5, 2]`."""
    for name, cells in table.columns.items():
        if not all(isinstance(cell, list) and len(cell) == 2 for cell in cells):
            continue
        is_systems = plain_name(leaf_name(name)).removesuffix("s") in SYSTEM_WORDS
        holds_numbers = all(isinstance(part, int | float) for cell in cells for part in cell)
        if is_systems or (holds_numbers and not speaks_of_order(name)):
            table = table.with_columns(**{f"{name}.{side}": [cell[side] for cell in cells] for side in (0, 1)})
    return table


def _one_row_a_person(table: RawTable, stated: Stated) -> Shaped:
    assert stated.wide is not None
    long = melted(table, stated.wide, stated.columns)
    columns = {ours: theirs for ours, theirs in stated.columns.items() if ours not in ("rater", "submitted")}
    form = f"wide table, one row a person, key {stated.wide.name}"
    rows_read = len(long.table) + sum(long.dropped.values())
    rater = {"rater": long.rater} if long.rater else {}
    return Shaped(
        long.table, "plain", replace(stated, columns=columns, wide=None), form, long.dropped, rater, rows_read
    )


def _columns_of_raters(table: RawTable, stated: Stated) -> list[str]:
    """The columns that hold one rater's answers each: stated as `choice=ann|bob`, or called after raters."""
    stated_choice = stated.columns.get("choice", "")
    if SEVERAL in stated_choice and stated_choice not in table.names:
        names = [name.strip() for name in stated_choice.split(SEVERAL)]
        if missing := [name for name in names if name not in table.names]:
            raise InputError(f"{table.path} has no column {missing[0]!r} (found: {', '.join(table.names)}).")
        return names
    if {"choice", "worse", "rater"} & {*stated.columns, *map(plain_name, table.names)}:
        return []
    columns = [name for name in table.names if OF_RATER.match(plain_name(name))]
    says = [name for name in columns if (values := table.values(name)) and all(map(spoken, values))]
    return says if len(says) > 1 and len(says) == len(columns) else []


def _one_column_a_rater(table: RawTable, stated: Stated, columns: list[str]) -> Shaped:
    """One row an answer; the column is the rater."""
    names = [name for name in table.names if name not in columns]
    rows = [(row, name) for row in range(len(table)) for name in columns]
    long: dict[str, list[object]] = {name: [table.columns[name][row] for row, _ in rows] for name in names}
    if "pair" not in stated.columns and not {"pair", "item"} & {plain_name(name) for name in names}:
        long["pair"] = [f"row {row + 1}" for row, _ in rows]
    long |= {"rater": [name for _, name in rows], "choice": [table.columns[name][row] for row, name in rows]}
    places = [table.place(row) for row, _ in rows]
    stated_columns = {ours: theirs for ours, theirs in stated.columns.items() if ours != "choice"}
    blank = [row for row, cell in enumerate(long["choice"]) if cell in (None, "")]
    result = RawTable(table.path, long, (), table.notes, places=tuple(places))
    if blank and len(blank) < len(rows):
        result = result.take([row for row in range(len(rows)) if row not in set(blank)])
    form = f"table with one column a rater ({', '.join(columns[:6])}{', ...' if len(columns) > 6 else ''})"
    dropped = {"a rater who did not judge this row": len(blank)} if blank else {}
    return Shaped(result, "plain", replace(stated, columns=stated_columns), form, dropped, read=len(rows))


def _counted(table: RawTable, stated: Stated) -> Shaped | None:
    """Counts of wins in place of votes: each becomes as many rows."""
    if {"choice", "worse", "scores", "ranks"} & {*stated.columns} or {"choice", "worse"} & {
        *map(plain_name, table.names)
    }:
        return None
    plain = {plain_name(leaf_name(name)): name for name in table.names}
    counts = [two for shared, two in twins(table.names) if shared and set(shared) <= COUNTS]
    if len(counts) != 1 or system_columns(table, stated.columns) is None:
        return None
    two = counts[0]
    if names := [name for name in table.names if name not in (two.a, two.b) and _seems_an_answer(table, name)]:
        raise Unclear(
            f"{table.path}: {two.a} and {two.b} seem to count votes, and {names[0]} seems to hold the answer of one "
            f"vote. If each row is one vote, say so; if it counts several, delete the column {names[0]}.",
            *({"--columns": typed_names([("choice", name)])} for name in names),
        )
    tie = next((plain[name] for name in TIE_COUNTS if name in plain), "")
    columns = {name: [_whole(table, row, cell) for row, cell in enumerate(table.text(name))]
               for name in (two.a, two.b, tie) if name}  # fmt: skip
    total = sum(chain.from_iterable(columns.values()))
    if not 0 < total <= MOST_COUNTED:
        raise InputError(f"{table.path}: {two.a} and {two.b} count {total:,} votes; at most {MOST_COUNTED:,} are read.")
    rows = [(row, choice) for row in range(len(table)) for name, choice in ((two.a, "a"), (two.b, "b"), (tie, "tie"))
            if name for _ in range(columns[name][row])]  # fmt: skip
    long = {name: [cells[row] for row, _ in rows] for name, cells in table.columns.items() if name not in columns}
    if not {"pair", "item"} & {*long, *stated.columns}:
        long["pair"] = [f"row {row + 1}" for row, _ in rows]
    long["choice"] = [choice for _, choice in rows]
    places = tuple(table.place(row) for row, _ in rows)
    note = f"{len(table):,} rows of counts are {len(rows):,} votes"
    result = RawTable(table.path, long, (), (*table.notes, note), places=places)
    stated_columns = {ours: theirs for ours, theirs in stated.columns.items() if ours != "choice"} | {"rater": IGNORED}
    return Shaped(result, "plain", replace(stated, columns=stated_columns), "counts of wins", read=len(rows))


def _seems_an_answer(table: RawTable, name: str) -> bool:
    """Whether a column may hold an answer of its own: by its name, or since all of its words say sides."""
    plain, values = plain_name(leaf_name(name)), table.values(name)
    if not values or plain in TIE_COUNTS:
        return False
    is_named = plain in (*LIKELY["choice"], *LIKELY["worse"]) or {*BETTER_WORDS, *NEGATIVE} & set(plain.split("_"))
    sides = [meaning for value in values[:50] if (meaning := spoken(value)) is not None]
    says = len(sides) == len(values[:50]) and any(meaning.kind != "tie" for meaning in sides)
    return bool(is_named) or (says and not all(value.isdigit() for value in values))


def _whole(table: RawTable, row: int, cell: str) -> int:
    if not cell:
        return 0
    if re.fullmatch(r"\d+(\.0+)?", cell):
        return int(float(cell))
    raise InputError(f"{table.place(row)}: a count is {cell!r}; a whole number is expected.")
