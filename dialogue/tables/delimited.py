"""Text with columns: any delimiter, quotes as spreadsheets write them, and the three header rows of Qualtrics."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from dialogue.errors import InputError
from dialogue.tables.table import RawTable

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
LOOKED_AT = 50  # records that say which delimiter a file has
IMPORT_ID = re.compile(r'^\{"ImportId":')
STATED = re.compile(r"\Asep=(.)\r?\n")  # a first line that tells Excel the delimiter

csv.field_size_limit(1 << 30)  # a conversation in one cell is longer than the module's own limit


def read_delimited(path: Path, text: str, notes: Sequence[str]) -> RawTable:
    """The table; a record with more or fewer cells than the header is named with its line."""
    stated = STATED.match(text)
    delimiter = stated[1] if stated else _delimiter(text)
    reader = csv.reader(io.StringIO(text[stated.end() :] if stated else text, newline=""), delimiter=delimiter)
    before = 1 if stated else 0
    records, lines = [], []
    try:
        for record in reader:
            if any(cell.strip() for cell in record):
                records.append(record)
                lines.append(reader.line_num + before)
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num + before}: {error}. Is the file whole?") from error
    if not records:
        raise InputError(f"{path} is empty.")
    said = () if delimiter in ",\t" else (DELIMITERS.get(delimiter, repr(delimiter)),)
    return _with_header(path, records, lines, (*notes, *said))


def _delimiter(text: str) -> str:
    """The one that gives most columns, the same number in every record that is looked at; a comma if none does."""
    best, most = ",", 1
    for delimiter in DELIMITERS:
        reader = csv.reader(io.StringIO(text[: 1 << 20], newline=""), delimiter=delimiter)
        try:
            widths = [len(record) for record, _ in zip(reader, range(LOOKED_AT), strict=False) if record]
        except csv.Error:
            continue
        whole = widths[:-1] or widths  # the last one may be cut off
        if len(set(whole)) == 1 and whole[0] > most:
            best, most = delimiter, whole[0]
    head = text.split("\n", 1)[0]
    return best if most > 1 else max(DELIMITERS, key=head.count)


def _with_header(path: Path, records: list[list[str]], lines: list[int], notes: tuple[str, ...]) -> RawTable:
    header, titles, body = records[0], None, 1
    if len(records) > 2 and any(IMPORT_ID.match(cell) for cell in records[2]):
        titles, body = dict(zip((name.strip() for name in header), records[1], strict=False)), 3
        notes = (*notes, "three header rows")
    header = [name.strip() for name in header]
    names = distinct(header)
    rows = [(record, line) for record, line in zip(records[body:], lines[body:], strict=True)
            if [cell.strip() for cell in record] != header or len(header) == 1]  # fmt: skip
    if repeated := len(records) - body - len(rows):  # files that were put together, each with its header
        notes = (*notes, "the header a second time" if repeated == 1 else f"the header {repeated} times more")
    for record, line in rows:
        if len(record) != len(names):
            raise InputError(
                f"{path}:{line} cannot be read: it has {len(record)} cells, and the header has {len(names)}. "
                "Put quotes around a cell that holds the delimiter or a line end"
                + ("." if len(names) > 1 else ", and begin with the names of the columns: no title above them.")
            )
    cells = list(zip(*(record for record, _ in rows), strict=True)) or [()] * len(names)
    twins = tuple(dict.fromkeys(name for name in header if header.count(name) > 1))
    columns = {name: tuple(column) for name, column in zip(names, cells, strict=True)}
    return RawTable(path, columns, tuple(line for _, line in rows), notes, twins, titles)


def distinct(header: Sequence[str]) -> list[str]:
    """Names that differ: the second `Better?` is `Better? (2)`, as a survey repeats a question."""
    seen: dict[str, int] = {}
    names = []
    for name in header:
        seen[name] = seen.get(name, 0) + 1
        names.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return names
