"""A large table in parts of some thousand rows, so that a file of a million rows is never in memory as a whole.

CSV in any dialect, JSON Lines and Parquet are read in parts, with the same cells and places as by `read_table`. Every
other form (Excel, one JSON document, Stata, SPSS) is read whole.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.tables.decoding import MARKS, unmarked_utf16
from seedvote.dialogue.tables.delimited import STATED, delimiter_of, table_with_header
from seedvote.dialogue.tables.json_rows import check_version, object_of_line
from seedvote.dialogue.tables.reading import is_json, kind_of, read_table
from seedvote.dialogue.tables.table import RawTable

ROWS = 1 << 14  # of one part
HEAD = 1 << 20  # signs that show the dialect of a file
NOT_CP1252 = b"\x81\x8d\x8f\x90\x9d"
OPENERS: tuple[tuple[bytes, Callable[..., Any]], ...] = (
    (b"\x1f\x8b", gzip.open),
    (b"BZh", bz2.open),
    (b"\xfd7zXZ\x00", lzma.open),
)


def table_batches(path: Path, wanted: Sequence[str] | None = None) -> Iterator[RawTable]:
    """The rows of a file in parts, at least one; of a Parquet file only the `wanted` columns, if they are named."""
    if not path.is_file() or not path.stat().st_size:
        yield read_table(path)  # says what is wrong
        return
    try:
        yield from _batches(path, wanted)
    except (UnicodeDecodeError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        read_table(path)  # says what is wrong
        raise InputError(f"{path} cannot be read: {str(error).rstrip('.')}. Is the file whole?") from error


def _batches(path: Path, wanted: Sequence[str] | None) -> Iterator[RawTable]:
    with path.open("rb") as handle:
        kind = kind_of(path, handle.read(8))
    if kind == "parquet":
        from seedvote.dialogue.tables.frames import parquet_batches

        yield from parquet_batches(path, ROWS, wanted)
    elif kind or (encoding := _encoding(path)) is None:
        yield from _slices(read_table(path))
    else:
        with _text(path, encoding) as text:
            start = text.read(HEAD)
        if not is_json(path, start):
            yield from _delimited_batches(path, encoding, start)
        elif _has_lines(start):
            yield from _line_batches(path, encoding)
        else:
            yield from _slices(read_table(path))


def _slices(table: RawTable) -> Iterator[RawTable]:
    for start in range(0, max(len(table), 1), ROWS):
        yield table.take(range(start, min(start + ROWS, len(table))))


def _bytes(path: Path) -> IO[bytes]:
    with path.open("rb") as handle:
        head = handle.read(8)
    opened: IO[bytes] = next((opener for mark, opener in OPENERS if head.startswith(mark)), open)(path, "rb")
    return opened


def _text(path: Path, encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(_bytes(path), encoding=encoding, newline="")


def _encoding(path: Path) -> str | None:
    """The encoding by the rule of `decoding.py`, from the whole file; None where it has none of those known."""
    utf8, is_utf8, is_cp1252 = codecs.getincrementaldecoder("utf-8")(), True, True
    with _bytes(path) as handle:
        chunk = handle.read(HEAD)
        if marked := next((name for mark, name in MARKS if chunk.startswith(mark)), unmarked_utf16(chunk)):
            return marked
        while chunk:
            if b"\0" in chunk:
                return None
            is_cp1252 = is_cp1252 and not any(byte in chunk for byte in NOT_CP1252)
            if is_utf8:
                is_utf8 = _decodes(utf8, chunk)
            chunk = handle.read(HEAD)
    if is_utf8 and _decodes(utf8, b"", final=True):
        return "utf-8"
    return "cp1252" if is_cp1252 else None


def _decodes(decoder: codecs.IncrementalDecoder, chunk: bytes, *, final: bool = False) -> bool:
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError:
        return False
    return True


def _delimited_batches(path: Path, encoding: str, start: str) -> Iterator[RawTable]:
    stated = STATED.match(start)
    delimiter = stated[1] if stated else delimiter_of(start)
    header: tuple[str, ...] = ()
    with _text(path, encoding) as text:
        if stated:
            text.readline()
        reader, before = csv.reader(text, delimiter=delimiter), int(bool(stated))
        try:
            while part := [(tuple(record), reader.line_num + before) for record in islice(reader, ROWS)]:
                filled: list[tuple[Any, int]] = [row for row in part if any(map(str.strip, row[0]))]
                if not filled:
                    continue
                if header:
                    filled.insert(0, (header, 0))
                header = filled[0][0]
                yield table_with_header(path, [record for record, _ in filled], [line for _, line in filled], ())
        except csv.Error as error:
            raise InputError(f"{path}:{reader.line_num + before}: {error}. Is the file whole?") from error
    if not header:
        raise InputError(f"{path} is empty.")


def _has_lines(start: str) -> bool:
    """Whether the first line is a JSON object by itself and another line follows."""
    first, _, more = start.lstrip().partition("\n")
    try:
        return isinstance(json.loads(first), dict) and bool(more.strip())
    except ValueError:
        return False


def _line_batches(path: Path, encoding: str) -> Iterator[RawTable]:
    with _text(path, encoding) as text:
        numbered = ((number, line) for number, line in enumerate(text, 1) if line.strip())
        is_first = True
        while part := list(islice(numbered, ROWS)):
            rows = [(number, object_of_line(path, number, line)) for number, line in part]
            if is_first and rows[0][0] == 1 and {"format", "version"} <= rows[0][1].keys():
                check_version(path, rows.pop(0)[1])
            is_first = False
            names = dict.fromkeys(name for _, row in rows for name in row)
            columns = {name: [row.get(name) for _, row in rows] for name in names}
            yield RawTable(path, columns, tuple(number for number, _ in rows))
