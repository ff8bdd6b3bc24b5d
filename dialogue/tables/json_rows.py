"""JSON as a table: an array of objects, lines of objects, columns, or one of these under a single name."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import FORMAT_VERSION
from seedvote.dialogue.tables.table import RawTable


def read_json_rows(path: Path, text: str, notes: Sequence[str]) -> RawTable:
    """The table; what is no object is named with its place."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        if text.lstrip().startswith("["):
            raise InputError(f"{path}:{error.lineno}: not whole JSON ({error.msg}). It may be cut off.") from None
        return _lines(path, text, notes)
    rows = _rows_of(document)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise InputError(f"{path}: record {number}: found {str(row)[:40]!r}; a JSON object is expected.")
    return _table(path, rows, (), notes)


def _rows_of(document: Any) -> list[Any]:
    """An array as it is; of an object its one array of objects, or its columns, or the object as the only row."""
    if isinstance(document, list):
        return document
    if not isinstance(document, dict):
        return [document]
    arrays = [part for part in document.values() if isinstance(part, list) and part and isinstance(part[0], dict)]
    if len(arrays) == 1:
        return arrays[0]
    parts = list(document.values())
    if parts and all(isinstance(part, dict) and part.keys() == parts[0].keys() for part in parts):
        return [{name: part[key] for name, part in document.items()} for key in parts[0]]  # as pandas writes columns
    if parts and all(isinstance(part, list) and len(part) == len(parts[0]) for part in parts):
        return [dict(zip(document, values, strict=True)) for values in zip(*parts, strict=True)]
    return [document]


def _lines(path: Path, text: str, notes: Sequence[str]) -> RawTable:
    rows, lines = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        row = object_of_line(path, number, line)
        if number == 1 and "format" in row and "version" in row:
            check_version(path, row)
            continue
        rows.append(row)
        lines.append(number)
    return _table(path, rows, lines, notes)


def object_of_line(path: Path, number: int, line: str) -> dict[str, Any]:
    """The object of one line of JSON Lines."""
    try:
        row = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(
            f"{path}:{number}: not a JSON object ({error.msg}). It may be cut off or not JSON Lines."
        ) from None
    if not isinstance(row, dict):
        raise InputError(f"{path}:{number}: found {str(row)[:40]!r}; a JSON object is expected.")
    return row


def check_version(path: Path, header: Mapping[str, Any]) -> None:
    if header["version"] != FORMAT_VERSION:
        raise InputError(
            f"{path}:1: format version {header['version']} is not supported; this version reads {FORMAT_VERSION}."
        )


def _table(path: Path, rows: Sequence[dict[str, Any]], lines: Sequence[int], notes: Sequence[str]) -> RawTable:
    names = dict.fromkeys(name for row in rows for name in row)
    return RawTable(path, {name: [row.get(name) for row in rows] for name in names}, tuple(lines), tuple(notes))
