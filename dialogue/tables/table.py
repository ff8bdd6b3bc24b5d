"""A table as it was found: columns by their own names, and where each row stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names, in order."""
        return tuple(self.columns)

    def place(self, row: int) -> str:
        """Where row `row` (from 0) stands: `votes.csv:18`, or `votes.xlsx: row 18` where there are no lines."""
        return f"{self.path}:{self.lines[row]}" if self.lines else f"{self.path}: row {row + 1}"

    def rows(self) -> Iterator[Row]:
        """Every row with its place, as a mapping."""
        names = self.names
        for number, values in enumerate(zip(*self.columns.values(), strict=True)):
            yield self.place(number), dict(zip(names, values, strict=True))

    def values(self, name: str) -> tuple[str, ...]:
        """The different values of a column as text, in their order; nothing for what is empty."""
        return tuple(dict.fromkeys(text for value in self.columns[name] if (text := cell_text(value))))


def from_rows(path: Path, rows: Sequence[Mapping[str, Any]], notes: Sequence[str] = ()) -> RawTable:
    """A table of mappings; what a row lacks is empty."""
    names = dict.fromkeys(name for row in rows for name in row)
    return RawTable(path, {name: [row.get(name) for row in rows] for name in names}, notes=tuple(notes))


def cell_text(value: Any) -> str:
    """A cell as people would type it: 3.0 is 3, true is true, nothing is an empty text."""
    if value is None or value != value:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return value if isinstance(value, str) else str(value)
