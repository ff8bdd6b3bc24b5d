"""Text with columns: any delimiter, quotes as spreadsheets write them, and the three header rows of Qualtrics."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.tables.table import RawTable

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
LOOKED_AT = 50  # records that say which delimiter a file has
IMPORT_ID = re.compile(r'^\{"ImportId":')
STATED = re.compile(r"\Asep=(.)\r?\n")  # a first line that tells Excel the delimiter

Record = tuple[str, ...]

csv.field_size_limit(1 << 30)  # a conversation in one cell is longer than the module's own limit


def read_delimited(path: Path, text: str, notes: Sequence[str]) -> RawTable:
    """The table; a record with more or fewer cells than the header is named with its line."""
    stated = STATED.match(text)
    delimiter = stated[1] if stated else delimiter_of(text)
    reader = csv.reader(io.StringIO(text[stated.end() :] if stated else text, newline=""), delimiter=delimiter)
    before = 1 if stated else 0
    records, lines = list[Record](), list[int]()
    try:
        for record in reader:
            if any(map(str.strip, record)):
                records.append(tuple(record))  # which garbage collection passes over, unlike lists
                lines.append(reader.line_num + before)
    except csv.Error as error:
        raise InputError(f"{path}:{reader.line_num + before}: {error}. Is the file whole?") from error
    if not records:
        raise InputError(f"{path} is empty.")
    note = () if delimiter in ",\t" else (DELIMITERS.get(delimiter, repr(delimiter)),)
    return table_with_header(path, records, lines, (*notes, *note))


def delimiter_of(text: str) -> str:
    """The one that gives most columns, the same number in every record that is looked at; a comma if none does."""
    best, most = ",", 1
    for delimiter in DELIMITERS:
        reader = csv.reader(io.StringIO(text[: 1 << 20], newline=""), delimiter=delimiter)
        try:
            widths = [len(record) for record, _ in zip(reader, range(LOOKED_AT), strict=False) if record]
        except csv.Error:
            continue
        widths = widths[:-1] or widths  # the last record may be cut off
        if len(set(widths)) == 1 and widths[0] > most:
            best, most = delimiter, widths[0]
    head = text.split("\n", 1)[0]
    return best if most > 1 else max(DELIMITERS, key=head.count)


def table_with_header(path: Path, records: list[Record], lines: list[int], notes: tuple[str, ...]) -> RawTable:
    header, titles, body = [name.strip() for name in records[0]], None, 1
    if len(records) > 2 and any(IMPORT_ID.match(cell) for cell in records[2]):
        titles, body = dict(zip(header, records[1], strict=False)), 3
        notes = (*notes, "three header rows")
    names = distinct(header)
    repeats = {row for row in range(body, len(records)) if len(header) > 1 and _is_header(records[row], header)}
    if repeats:  # files that were put together, each with its header
        number = len(repeats)
        notes = (*notes, "the header a second time" if number == 1 else f"the header {number} times more")
        records = [record for row, record in enumerate(records) if row not in repeats]
        lines = [line for row, line in enumerate(lines) if row not in repeats]
    records, lines = records[body:], lines[body:]
    if {*map(len, records)} - {len(names)}:
        row, record = next((row, record) for row, record in enumerate(records) if len(record) != len(names))
        cells = "1 cell" if len(record) == 1 else f"{len(record)} cells"
        raise InputError(
            f"{path}:{lines[row]} cannot be read: it has {cells}, and the header has {len(names)}. "
            "Put quotes around a cell that holds the delimiter or a line end"
            + ("." if len(names) > 1 else ", and begin with the names of the columns: no title above them.")
        )
    columns = list(zip(*records, strict=True)) or [()] * len(names)
    twins = tuple(dict.fromkeys(name for name in header if header.count(name) > 1))
    return RawTable(path, dict(zip(names, columns, strict=True)), tuple(lines), notes, twins, titles)


def _is_header(record: Record, header: Sequence[str]) -> bool:
    return record[0].strip() == header[0] and [*map(str.strip, record)] == header


def distinct(header: Sequence[str]) -> list[str]:
    """Names that differ: the second `Better?` is `Better? (2)`, as a survey repeats a question."""
    times: dict[str, int] = {}
    names = []
    for name in header:
        times[name] = times.get(name, 0) + 1
        names.append(name if times[name] == 1 else f"{name} ({times[name]})")
    return names
