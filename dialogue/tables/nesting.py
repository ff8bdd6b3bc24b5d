"""Nested cells as columns by dotted paths: `{"meta": {"model": "x"}}` has `meta.model`, a list of two has `texts.0`.

A list of one is what it holds. JSON that stands as text in a cell, as CSV has it, is read like JSON, so that every
format gives the same columns.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.tables.table import RawTable, from_rows

LONGEST = 4  # a longer list is no set of sides; it stays as it is, or is exploded
DEEPEST = 6
MOST_KEYS = 60
NOTHING = {"", "n/a", "na", "nan", "null", "none", "#n/a"}  # in a column of objects


def flat_table(table: RawTable) -> RawTable:
    """The table with every object and short list of objects spread over columns; others stay as they are."""
    columns: dict[str, Sequence[Any]] = {}
    for name, cells in table.columns.items():
        columns |= _spread(name, _parsed(cells), DEEPEST)
    same = all(columns.get(name) is cells for name, cells in table.columns.items())
    return table if same and len(columns) == len(table.columns) else _replaced(table, columns)


def _replaced(table: RawTable, columns: Mapping[str, Sequence[Any]]) -> RawTable:
    return RawTable(table.path, columns, table.lines, table.notes, table.twins, table.titles, table.places)


def _is_empty(cell: Any) -> bool:
    """Whether a cell holds nothing, or says so: one of these in a column of objects costs its row alone."""
    return cell is None or cell != cell or (isinstance(cell, str) and cell.strip().casefold() in NOTHING)


def _is_json(cell: Any) -> bool:
    return isinstance(cell, str) and cell[:1] in ("[", "{") and cell[-1:] in ("]", "}")


def _parsed(cells: Sequence[Any]) -> Sequence[Any]:
    """Cells of JSON text as what they hold, where all that hold something are JSON objects or lists."""
    first = next((cell for cell in cells if not _is_empty(cell)), None)
    if not _is_json(first) or not all(_is_json(cell) or _is_empty(cell) for cell in cells):
        return cells
    try:
        return [None if _is_empty(cell) else json.loads(cell) for cell in cells]
    except ValueError:
        return cells


def _spread(name: str, cells: Sequence[Any], depth: int) -> dict[str, Sequence[Any]]:
    first = next((cell for cell in cells if not _is_empty(cell)), None)
    if not isinstance(first, list | Mapping) or depth == 0:
        return {name: cells}
    filled = [cell for cell in cells if not _is_empty(cell)]
    if all(isinstance(cell, list) and len(cell) <= 1 for cell in filled):
        return _spread(name, [cell[0] if isinstance(cell, list) and cell else None for cell in cells], depth)
    if all(isinstance(cell, Mapping) for cell in filled):
        keys = list(dict.fromkeys(str(key) for cell in filled for key in cell))
        if len(keys) > MOST_KEYS:
            return {name: cells}
        parts = {key: [cell.get(key) if isinstance(cell, Mapping) else None for cell in cells] for key in keys}
    elif all(isinstance(cell, list) and 2 <= len(cell) <= LONGEST for cell in filled) and any(
        isinstance(part, Mapping) for cell in filled for part in cell
    ):
        longest = max(map(len, filled))
        parts = {str(k): [cell[k] if isinstance(cell, list) and len(cell) > k else None for cell in cells]
                 for k in range(longest)}  # fmt: skip
    else:
        return {name: cells}
    columns: dict[str, Sequence[Any]] = {}
    for key, values in parts.items():
        columns |= _spread(f"{name}.{key}", values, depth - 1)
    return columns


def exploded(table: RawTable, name: str) -> RawTable:
    """One row for each element of the lists of a column (`--explode`), which a dotted path may name."""
    table = table if name in table.names else flat_table(table)
    if name not in table.names:
        raise InputError(f"{table.path} has no column {name!r} to explode (found: {', '.join(table.names[:30])}).")
    cells = _parsed(table.columns[name])
    if not any(isinstance(cell, list) for cell in cells):
        raise InputError(f"{table.path}: no cell of {name!r} is a list, so there is nothing to explode.")
    rows = list(_elements(table, name, cells))
    return from_rows(table.path, [row for _, row in rows], table.notes, [where for where, _ in rows])


def _elements(table: RawTable, name: str, cells: Sequence[Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for number, (where, row) in enumerate(table.rows()):
        for element in cells[number] if isinstance(cells[number], list) else []:
            shared = {key: value for key, value in row.items() if key != name}
            yield where, {**shared, **(element if isinstance(element, Mapping) else {name: element})}
