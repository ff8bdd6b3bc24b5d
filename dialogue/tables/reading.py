"""A file as a table: what it is shows by its first bytes, not by its name; every complaint names its line.

Text is UTF-8 or what a byte-order mark names. UTF-16 without a mark shows by its zeros. Everything else is taken for
Windows-1252, as older spreadsheets write it, and said so. `table_batches` reads CSV in any dialect, JSON Lines and
Parquet in parts of some thousand rows, with the same cells and places, so that a file of a million rows is never in
memory as a whole. Every other form (Excel, one JSON document, Stata, SPSS) is read whole.
"""

from __future__ import annotations

import builtins
import bz2
import codecs
import csv
import gzip
import io
import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import FORMAT_VERSION
from seedvote.dialogue.tables.table import SEMICOLONS, RawTable, distinct_names, from_rows

# Bytes as text

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
PACKED: tuple[tuple[bytes, Any], ...] = ((b"\x1f\x8b", gzip), (b"BZh", bz2), (b"\xfd7zXZ\x00", lzma))
ZIP, ZSTANDARD = b"PK\x03\x04", b"\x28\xb5\x2f\xfd"


def unpack_file(path: Path) -> bytes:
    """The file's bytes, without compression; a zip that holds one file stands for that file."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; a file of votes or scores is expected.")
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    if not raw:
        raise InputError(f"{path} is empty.")
    if raw.startswith(ZSTANDARD):
        raise InputError(f"{path} is packed by Zstandard, which is not read here. Unpack it: unzstd {path}.")
    try:
        for mark, packer in PACKED:
            if raw.startswith(mark):
                return bytes(packer.decompress(raw))
        return _unzip(path, raw) if raw.startswith(ZIP) else raw
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} cannot be unpacked: {str(error).rstrip('.')}. Is the file whole?") from error


def _unzip(path: Path, raw: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        names = [
            name
            for name in archive.namelist()  # without what macOS adds to every file that it packs
            if not (name.startswith("__MACOSX/") or name.endswith(("/", ".DS_Store")))
        ]
        if "[Content_Types].xml" in names:  # a workbook of Excel is a zip itself
            return raw
        if len(names) != 1:
            raise InputError(f"{path} holds {len(names)} files ({', '.join(names[:5])}). Unpack it and give the table.")
        return archive.read(names[0])


def decode_text(path: Path, raw: bytes) -> tuple[str, tuple[str, ...]]:
    """The text, and the encoding where it was not UTF-8."""
    for mark, name in MARKS:
        if raw.startswith(mark):
            return _decode_strictly(path, raw, name), () if name == "utf-8-sig" else (name.upper(),)
    if (unmarked := _unmarked_utf16(raw)) is not None:
        return _decode_strictly(path, raw, unmarked), ("UTF-16",)
    try:
        return raw.decode("utf-8"), ()
    except UnicodeDecodeError:
        signs = _ChineseSigns()
        signs.add(raw)
        if signs.are_all():
            return _decode_strictly(path, raw, "gb18030"), ("GB18030, as it is no UTF-8",)
        return _decode_strictly(path, raw, "cp1252"), ("Windows-1252, as it is no UTF-8",)


class _ChineseSigns:
    """Whether all signs outside ASCII come in twos, as in GB 2312: in Western languages most of them stand alone."""

    def __init__(self) -> None:
        self.is_paired, self.signs, self.common, self.remainder = True, 0, 0, b""

    def add(self, raw: bytes) -> None:
        """Look at further bytes; what may go on in the next ones waits for them."""
        raw = self.remainder + raw
        runs = re.findall(rb"[\x80-\xff]+", raw)
        self.remainder = runs.pop() if runs and raw[-1] > 0x7F else b""
        self.is_paired = self.is_paired and all(re.fullmatch(rb"(?:[\xa1-\xf7][\xa1-\xfe])+", run) for run in runs)
        firsts = b"".join(run[::2] for run in runs)
        self.signs += len(firsts)
        self.common += sum(0xB0 <= first <= 0xD7 for first in firsts)  # they would be capitals in a Western text

    def are_all(self) -> bool:
        """The answer, after the last bytes."""
        self.add(b"\n")
        return self.is_paired and self.common > 0.6 * self.signs


def _unmarked_utf16(raw: bytes) -> str | None:
    """UTF-16 without a mark has zeros at every other place of what is written in Latin letters."""
    head = raw[:2000]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd > len(head) / 4 and not even:
        return "utf-16-le"
    return "utf-16-be" if even > len(head) / 4 and not odd else None


def _decode_strictly(path: Path, raw: bytes, encoding: str) -> str:
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        text = "\0"
        reason = error.reason
    else:
        reason = "it holds bytes of zero"
    if "\0" in text:
        raise InputError(f"{path} is not text in UTF-8, UTF-16, GB18030 or Windows-1252 ({reason}). Save it as UTF-8.")
    return text


# Text with columns: any delimiter, quotes as spreadsheets write them, and the three header rows of Qualtrics

DELIMITERS = {",": "commas", ";": SEMICOLONS, "\t": "tabs", "|": "bars"}
LOOKED_AT = 50  # records that say which delimiter a file has
IMPORT_ID = re.compile(r'^\{"ImportId":')
STATED = re.compile(r"\Asep=(.)\r?\n")  # a first line that tells Excel the delimiter

Record = tuple[str, ...]

csv.field_size_limit(1 << 30)  # a conversation in one cell is longer than the module's own limit


def read_delimited(path: Path, text: str, notes: Sequence[str]) -> RawTable:
    """The table; a record with more or fewer cells than the header is named with its line."""
    stated, before = STATED.match(text), _lines_of_comments(text)
    if before:
        text, notes = text.split("\n", before)[-1], (*notes, "comments above the header left out")
    delimiter = stated[1] if stated else find_delimiter(text)
    reader = csv.reader(io.StringIO(text[stated.end() :] if stated else text, newline=""), delimiter=delimiter)
    before += 1 if stated else 0
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
    return _table_with_header(path, records, lines, (*notes, *note))


def _lines_of_comments(text: str) -> int:
    """How many lines above the header begin with #; one with as many cells as the next line is the header itself."""
    lines = text[:HEAD].split("\n")
    number = next((n for n, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    if not any(line.startswith("#") for line in lines[:number]):
        return 0
    delimiter = find_delimiter("\n".join(lines[number:]))
    width, above = (line.count(delimiter) for line in (lines[number], lines[number - 1]))
    return number - 1 if width == above > 0 else number


def find_delimiter(text: str) -> str:
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


def _table_with_header(path: Path, records: list[Record], lines: list[int], notes: tuple[str, ...]) -> RawTable:
    header, titles, body = [name.strip() for name in records[0]], None, 1
    if len(records) > 2 and any(IMPORT_ID.match(cell) for cell in records[2]):
        titles, body = dict(zip(header, records[1], strict=False)), 3
        notes = (*notes, "three header rows")
    names = distinct_names(header)
    if comments := {n for n, record in enumerate(records) if n and _is_comment(record, len(header))}:
        records = [record for n, record in enumerate(records) if n not in comments]
        lines = [line for n, line in enumerate(lines) if n not in comments]
        notes = (*notes, f"{len(comments)} comments left out" if len(comments) > 1 else "a comment left out")
    repeats = {
        row
        for row in range(body, len(records))
        if len(header) > 1 and (records[row][0].strip() == header[0] and [*map(str.strip, records[row])] == header)
    }
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


def _is_comment(record: Record, width: int) -> bool:
    """A line that begins with # and has fewer cells than the header."""
    return record[0].startswith("#") and len(record) < width


# JSON: an array of objects, lines of objects, columns, or one of these under a single name


def read_json_rows(path: Path, text: str, notes: Sequence[str]) -> RawTable:
    """The table; what is no object is named with its place."""
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        if text.lstrip().startswith("["):
            raise InputError(f"{path}:{error.lineno}: not whole JSON ({error.msg}). It may be cut off.") from None
        return _read_lines(path, text, notes)
    except RecursionError as error:
        raise InputError(f"{path}: nested too deep ({error}); a list of objects is expected.") from None
    rows = _find_rows(document)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, dict):
            raise InputError(f"{path}: record {number}: found {str(row)[:40]!r}; a JSON object is expected.")
    return from_rows(path, rows, notes)


def _find_rows(document: Any) -> list[Any]:
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


def _read_lines(path: Path, text: str, notes: Sequence[str]) -> RawTable:
    rows, lines = [], []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        row = _parse_line(path, number, line)
        if number == 1 and "format" in row and "version" in row:
            _check_version(path, row)
            continue
        rows.append(row)
        lines.append(number)
    return from_rows(path, rows, notes, lines=lines)


def _parse_line(path: Path, number: int, line: str) -> dict[str, Any]:
    """The object of one line of JSON Lines."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        why = getattr(error, "msg", error)
        raise InputError(f"{path}:{number}: not a JSON object ({why}). It may be cut off or not JSON Lines.") from None
    if not isinstance(row, dict):
        raise InputError(f"{path}:{number}: found {str(row)[:40]!r}; a JSON object is expected.")
    return row


def _check_version(path: Path, header: Mapping[str, Any]) -> None:
    if header["version"] != FORMAT_VERSION:
        raise InputError(
            f"{path}:1: format version {header['version']} is not supported; this version reads {FORMAT_VERSION}."
        )


# Any file

MAGIC = ((b"PAR1", "parquet"), (ZIP, "excel"), (b"$FL2", "spss"), (b"$FL3", "spss"), (b"<stata_dta>", "stata"))
ENDINGS = {".parquet": "parquet", ".xlsx": "excel", ".xlsm": "excel", ".dta": "stata", ".sav": "spss"}
OLD_EXCEL = b"\xd0\xcf\x11\xe0"


def read_table(path: Path) -> RawTable:
    """The table of a file; every complaint is one sentence with its place."""
    if not path.exists():
        raise InputError(f"{path} cannot be read: there is no such file.")
    raw = unpack_file(path)
    if raw.startswith(OLD_EXCEL):
        raise InputError(f"{path} is a workbook of Excel before 2007, or is locked. Save it as .xlsx or as CSV.")
    if (kind := _find_kind(path, raw)) is not None:
        from seedvote.dialogue.tables.frames import READERS

        return READERS[kind](path, raw)
    text, notes = decode_text(path, raw)
    if _is_json_text(path, text):
        return read_json_rows(path, text, notes)
    return read_delimited(path, text, notes)


def _find_kind(path: Path, head: bytes) -> str | None:
    """Which form that is no text a file has, by its first bytes, else by its name; None for text."""
    return next((name for mark, name in MAGIC if head.startswith(mark)), ENDINGS.get(path.suffix.lower()))


def _is_json_text(path: Path, text: str) -> bool:
    """An object or an array to begin with; what is called JSON is read as such, so that a complaint names the line."""
    first = text.lstrip()[:1]
    return first in ("{", "[") or bool({".json", ".jsonl", ".ndjson"} & set(path.suffixes))


# In parts

ROWS = 1 << 14  # of one part
HEAD = 1 << 20  # signs that show the dialect of a file
NOT_CP1252 = b"\x81\x8d\x8f\x90\x9d"


def table_batches(path: Path, wanted: Sequence[str] | None = None) -> Iterator[RawTable]:
    """The rows of a file in parts, at least one; of a Parquet file only the `wanted` columns, if they are named."""
    if not path.is_file() or not path.stat().st_size:
        yield read_table(path)  # says what is wrong
        return
    try:
        yield from _read_batches(path, wanted)
    except (UnicodeDecodeError, EOFError, OSError, zlib.error, lzma.LZMAError) as error:
        read_table(path)  # says what is wrong
        raise InputError(f"{path} cannot be read: {str(error).rstrip('.')}. Is the file whole?") from error


def _read_batches(path: Path, wanted: Sequence[str] | None) -> Iterator[RawTable]:
    with path.open("rb") as handle:
        kind = _find_kind(path, handle.read(8))
    if kind == "parquet":
        from seedvote.dialogue.tables.frames import parquet_batches

        yield from parquet_batches(path, ROWS, wanted)
    elif kind or (encoding := _find_encoding(path)) is None:
        yield from _split_table(read_table(path))
    else:
        with _open_text(path, encoding) as text:
            start = text.read(HEAD)
        if not _is_json_text(path, start):
            yield from _delimited_batches(path, encoding, start)
        elif _has_lines(start):
            yield from _line_batches(path, encoding)
        else:
            yield from _split_table(read_table(path))


def _split_table(table: RawTable) -> Iterator[RawTable]:
    for start in range(0, max(len(table), 1), ROWS):
        yield table.take(range(start, min(start + ROWS, len(table))))


def _open_bytes(path: Path) -> IO[bytes]:
    with path.open("rb") as handle:
        head = handle.read(8)
    packer = next((packer for mark, packer in PACKED if head.startswith(mark)), builtins)
    opened: IO[bytes] = packer.open(path, "rb")
    return opened


def _open_text(path: Path, encoding: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(_open_bytes(path), encoding=encoding, newline="")


def _find_encoding(path: Path) -> str | None:
    """The encoding by the rule of `decode_text`, from the whole file; None where it has none of those known."""
    utf8, is_utf8, is_cp1252, chinese = codecs.getincrementaldecoder("utf-8")(), True, True, _ChineseSigns()
    with _open_bytes(path) as handle:
        chunk = handle.read(HEAD)
        if marked := next((name for mark, name in MARKS if chunk.startswith(mark)), _unmarked_utf16(chunk)):
            return marked
        while chunk:
            if b"\0" in chunk:
                return None
            is_cp1252 = is_cp1252 and not any(byte in chunk for byte in NOT_CP1252)
            is_utf8 = is_utf8 and _can_decode(utf8, chunk)
            if chinese.is_paired:
                chinese.add(chunk)
            chunk = handle.read(HEAD)
    if is_utf8 and _can_decode(utf8, b"", final=True):
        return "utf-8"
    if chinese.are_all():
        return "gb18030"
    return "cp1252" if is_cp1252 else None


def _can_decode(decoder: codecs.IncrementalDecoder, chunk: bytes, *, final: bool = False) -> bool:
    try:
        decoder.decode(chunk, final)
    except UnicodeDecodeError:
        return False
    return True


def _delimited_batches(path: Path, encoding: str, start: str) -> Iterator[RawTable]:
    stated, comments = STATED.match(start), _lines_of_comments(start)
    delimiter = stated[1] if stated else find_delimiter(start.split("\n", comments)[-1])
    header: tuple[str, ...] = ()
    with _open_text(path, encoding) as text:
        before = comments + bool(stated)
        for _ in range(before):
            text.readline()
        reader = csv.reader(text, delimiter=delimiter)
        try:
            while part := [(tuple(record), reader.line_num + before) for record in islice(reader, ROWS)]:
                filled: list[tuple[Any, int]] = [row for row in part if any(map(str.strip, row[0]))]
                if not filled:
                    continue
                if header:
                    filled.insert(0, (header, 0))
                header = filled[0][0]
                yield _table_with_header(path, [record for record, _ in filled], [line for _, line in filled], ())
        except csv.Error as error:
            raise InputError(f"{path}:{reader.line_num + before}: {error}. Is the file whole?") from error
    if not header:
        raise InputError(f"{path} is empty.")


def _has_lines(start: str) -> bool:
    """Whether the first line is a JSON object by itself and another line follows."""
    first, _, more = start.lstrip().partition("\n")
    try:
        return isinstance(json.loads(first), dict) and bool(more.strip())
    except (ValueError, RecursionError):
        return False


def _line_batches(path: Path, encoding: str) -> Iterator[RawTable]:
    with _open_text(path, encoding) as text:
        numbered = ((number, line) for number, line in enumerate(text, 1) if line.strip())
        is_first = True
        while part := list(islice(numbered, ROWS)):
            rows = [(number, _parse_line(path, number, line)) for number, line in part]
            if is_first and rows[0][0] == 1 and {"format", "version"} <= rows[0][1].keys():
                _check_version(path, rows.pop(0)[1])
            is_first = False
            yield from_rows(path, [row for _, row in rows], lines=[number for number, _ in rows])
