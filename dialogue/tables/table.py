"""A table as it was found: columns by their own names, and where each row stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

Row = tuple[str, dict[str, Any]]  # where it stands, values


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

    def with_columns(self, **columns: Sequence[Any]) -> RawTable:
        """The table with further columns, or others in their place."""
        return replace(self, columns={**self.columns, **columns})


def from_rows(
    path: Path, rows: Sequence[Mapping[str, Any]], notes: Sequence[str] = (), places: Sequence[str] = ()
) -> RawTable:
    """A table of mappings; what a row lacks is empty."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    return RawTable(path, columns, notes=tuple(notes), places=tuple(places))


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
    for key in data:
        if (title := str(key)) in columns:
            twins.append(title)
            continue
        values = data[key]
        columns[title] = values.tolist() if hasattr(values, "tolist") else list(values)
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
