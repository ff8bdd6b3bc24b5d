"""A table as it was found: columns by their own names, and where each row stands.

Nested cells become columns by dotted paths: `{"meta": {"model": "x"}}` has `meta.model`, a list of two has `texts.0`.
A list of one is what it holds. JSON that stands as text in a cell, as CSV has it, is read like JSON, so that every
format gives the same columns.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from seedvote.dialogue.errors import InputError

SEMICOLONS = "semicolons"  # the note of a table whose cells they part
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+\s*")
Row = tuple[str, dict[str, Any]]  # where it stands, values
NO_NUMBER = frozenset({"", "na", "n/a", "n.a.", "#n/a", "nan", "null", "none", "missing", "-"})  # in place of a number


@dataclass(frozen=True, eq=False)
class RawTable:
    """Columns of equal length. Text files give text; JSON gives what it holds, also lists and objects."""

    path: Path
    columns: Mapping[str, Sequence[Any]]
    lines: tuple[int, ...] = ()  # the line that each row ends on; none where the file has no lines
    notes: tuple[str, ...] = ()  # how the file had to be read, e.g. `Windows-1252`
    twins: tuple[str, ...] = ()  # names that several columns have; the second one is `name (2)` here
    titles: Mapping[str, str] | None = None  # what a survey asked in a column, where the file says so
    places: tuple[str, ...] = ()  # where each row stands, if a line or a number does not say it

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(self.columns)

    def check_columns(self, names: Iterable[str]) -> None:
        """Refuse a name that no column has, with those that there are."""
        if missing := [name for name in names if name not in self.columns]:
            raise InputError(f"{self.path} has no column {missing[0]!r} (found: {', '.join(self.names)}).")

    def place(self, row: int) -> str:
        """Where row `row` (from 0) stands: `votes.csv:18`, or `votes.xlsx: row 18` where there are no lines."""
        if self.places:
            return self.places[row]
        return f"{self.path}:{self.lines[row]}" if self.lines else f"{self.path}: row {row + 1}"

    def rows(self) -> Iterator[Row]:
        """Every row with its place, as a mapping."""
        names = self.names
        for number, values in enumerate(zip(*self.columns.values(), strict=True)):
            yield self.place(number), dict(zip(names, values, strict=True))

    def values(self, name: str) -> tuple[str, ...]:
        """The different values of a column as text, in their order; nothing for what is empty."""
        cells = self.columns[name]
        if _is_text(cells):  # the same in a thirtieth of the time
            return tuple(filter(None, dict.fromkeys(cells)))
        return tuple(dict.fromkeys(text for value in cells if (text := cell_text(value))))

    def text(self, name: str) -> list[str]:
        """A column as people would type it, without blanks at the ends."""
        cells = self.columns[name]
        return list(map(str.strip, cells)) if _is_text(cells) else [cell_text(value).strip() for value in cells]

    def take(self, rows: Sequence[int]) -> RawTable:
        """Some of the rows, with their places."""
        return replace(
            self,
            columns={name: [cells[row] for row in rows] for name, cells in self.columns.items()},
            lines=tuple(self.lines[row] for row in rows) if self.lines else (),
            places=tuple(map(self.place, rows)) if not self.lines else (),
        )

    def repeat(self, rows: Sequence[int], names: Sequence[str], **columns: Sequence[Any]) -> RawTable:
        """Each of these rows as often as it is named, with some of its columns and with further ones."""
        cells = {name: [self.columns[name][row] for row in rows] for name in names}
        return RawTable(self.path, {**cells, **columns}, (), self.notes, places=tuple(map(self.place, rows)))

    def with_columns(self, **columns: Sequence[Any]) -> RawTable:
        """The table with further columns, or others in their place."""
        return replace(self, columns={**self.columns, **columns})


def from_rows(
    path: Path,
    rows: Sequence[Mapping[str, Any]],
    notes: Sequence[str] = (),
    places: Sequence[str] = (),
    lines: Sequence[int] = (),
) -> RawTable:
    """A table of mappings; what a row lacks is empty."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return RawTable(path, columns, tuple(lines), tuple(notes), places=tuple(places))


def join_tables(tables: Sequence[RawTable]) -> RawTable:
    """Several files as one table, every row with its own place."""
    if len(tables) == 1:
        return tables[0]
    rows = [row for table in tables for row in table.rows()]
    notes = tuple(dict.fromkeys(note for table in tables for note in table.notes))
    return from_rows(tables[0].path, [row for _, row in rows], notes, [where for where, _ in rows])


def table_in_memory(name: str, data: Any) -> RawTable:
    """A DataFrame or a mapping of columns; complaints call it `name`."""
    columns: dict[str, Sequence[Any]] = {}
    twins: list[str] = []
    for place, key in enumerate(data):
        if (title := str(key)) in columns:
            twins.append(title)
            continue
        values = data.iloc[:, place] if hasattr(data, "iloc") else data[key]
        cells = values.tolist() if hasattr(values, "tolist") else list(values)
        if hasattr(values, "isna"):  # pandas' own NA is neither true nor false, not even equal to itself
            cells = [None if is_missing else cell for cell, is_missing in zip(cells, values.isna(), strict=True)]
        columns[title] = cells
    return RawTable(Path(name), columns, twins=tuple(twins))


def _is_text(cells: Sequence[Any]) -> bool:
    return set(map(type, cells)) == {str}


def cell_text(value: Any) -> str:
    """A cell as people would type it: 3.0 is 3, true is true, nothing is an empty text."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value)


def with_points(table: RawTable, text: str) -> str:
    """The number that a text stands for: where semicolons part the cells, a comma may stand before its decimals."""
    return text.replace(",", ".") if SEMICOLONS in table.notes and DECIMAL_COMMA.fullmatch(text) else text


def distinct_names(header: Sequence[str]) -> list[str]:
    """Names that differ: the second `Better?` is `Better? (2)`, as a survey repeats a question."""
    times: dict[str, int] = {}
    names = []
    for name in header:
        times[name] = times.get(name, 0) + 1
        names.append(name if times[name] == 1 else f"{name} ({times[name]})")
    return names


# Nested cells

LONGEST = 4  # a longer list is no set of sides; it stays as it is, or is exploded
DEEPEST = 6
MOST_KEYS = 60
NOTHING = {"", "n/a", "na", "nan", "null", "none", "#n/a"}  # in a column of objects


def flatten_table(table: RawTable) -> RawTable:
    """The table with every object and short list of objects spread over columns; others stay as they are."""
    columns: dict[str, Sequence[Any]] = {}
    for name, cells in table.columns.items():
        columns |= _spread_column(name, _parse_cells(cells), DEEPEST)
    same = all(columns.get(name) is cells for name, cells in table.columns.items())
    return table if same and len(columns) == len(table.columns) else replace(table, columns=columns)


def _is_empty(cell: Any) -> bool:
    """Whether a cell holds nothing, or says so: one of these in a column of objects costs its row alone."""
    return cell is None or cell != cell or (isinstance(cell, str) and cell.strip().casefold() in NOTHING)


def _is_json(cell: Any) -> bool:
    return isinstance(cell, str) and cell[:1] in ("[", "{") and cell[-1:] in ("]", "}")


def _parse_cells(cells: Sequence[Any]) -> Sequence[Any]:
    """Cells of JSON text as what they hold, where all that hold something are JSON objects or lists."""
    first = next((cell for cell in cells if not _is_empty(cell)), None)
    if not _is_json(first) or not all(_is_json(cell) or _is_empty(cell) for cell in cells):
        return cells
    try:
        return [None if _is_empty(cell) else json.loads(cell) for cell in cells]
    except ValueError:
        return cells


def _spread_column(name: str, cells: Sequence[Any], depth: int) -> dict[str, Sequence[Any]]:
    first = next((cell for cell in cells if not _is_empty(cell)), None)
    if not isinstance(first, list | Mapping) or depth == 0:
        return {name: cells}
    filled = [cell for cell in cells if not _is_empty(cell)]
    if all(isinstance(cell, list) and len(cell) <= 1 for cell in filled):
        return _spread_column(name, [cell[0] if isinstance(cell, list) and cell else None for cell in cells], depth)
    if all(isinstance(cell, Mapping) for cell in filled):
        keys = list(dict.fromkeys(str(key) for cell in filled for key in cell))
        if len(keys) > MOST_KEYS:
            return {name: cells}
        parts = {key: [cell.get(key) if isinstance(cell, Mapping) else None for cell in cells] for key in keys}
    elif all(isinstance(cell, list) and 2 <= len(cell) <= LONGEST for cell in filled) and any(
        isinstance(part, Mapping) for cell in filled for part in cell
    ):
        parts = {
            str(k): [cell[k] if isinstance(cell, list) and len(cell) > k else None for cell in cells]
            for k in range(max(map(len, filled)))
        }
    else:
        return {name: cells}
    columns: dict[str, Sequence[Any]] = {}
    for key, values in parts.items():
        columns |= _spread_column(f"{name}.{key}", values, depth - 1)
    return columns


def explode_lists(table: RawTable, name: str) -> RawTable:
    """One row for each element of the lists of a column (`--explode`), which a dotted path may name."""
    table = table if name in table.names else flatten_table(table)
    if name not in table.names:
        raise InputError(f"{table.path} has no column {name!r} to explode (found: {', '.join(table.names[:30])}).")
    cells = _parse_cells(table.columns[name])
    if not any(isinstance(cell, list) for cell in cells):
        raise InputError(f"{table.path}: no cell of {name!r} is a list, so there is nothing to explode.")
    rows = list(_list_elements(table, name, cells))
    return from_rows(table.path, [row for _, row in rows], table.notes, [where for where, _ in rows])


def _list_elements(table: RawTable, name: str, cells: Sequence[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, (where, row) in enumerate(table.rows()):
        for element in cells[number] if isinstance(cells[number], list) else []:
            shared = {key: value for key, value in row.items() if key != name}
            yield where, {**shared, **(element if isinstance(element, Mapping) else {name: element})}
