"""Columns of a file, each of its type; every complaint names its line.

JSON Lines, as our own files are, go through pyarrow, which is fast; every other table through `dialogue/tables/`. A
study of response sets has ratings.jsonl, one of questions with several options choices.jsonl, and no votes on pairs:
`read_elsewhere` names the commands that read these, instead of asking for votes that there will never be.
"""

from __future__ import annotations

import io
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json
import pyarrow.parquet

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import FORMAT_VERSION, read_header, read_records
from seedvote.dialogue.records import ResponseRating
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import NO_NUMBER, RawTable, cell_text, with_points

ABSENT = ["", "NA", "NaN", "null"]
TYPE_WORDS = {pa.string(): "text", pa.int64(): "a whole number", pa.float64(): "a number", pa.bool_(): "true or false"}


@dataclass(frozen=True)
class Columns:
    """The columns that were asked for and found, each of its type, and the file that they stand in."""

    path: Path
    arrays: Mapping[str, Any]
    found: tuple[str, ...]
    table: RawTable | None = None  # where the file was read as one, it knows the places

    def place(self, row: int) -> str:
        """Where row `row` (from 0) stands: `votes.csv:18`, or `votes.parquet: row 18` where there are no lines."""
        if self.table is not None:
            return self.table.place(row)
        line = _line_of(self.path, row)
        return f"{self.path}: row {row + 1}" if line is None else f"{self.path}:{line}"


def read_columns(path: Path, wanted: Mapping[str, pa.DataType], *, record: str) -> Columns:
    """Read the wanted columns (those that are there); `record` is the house format that a header line may name."""
    if not path.exists():
        if path.name == "votes.jsonl" and (instead := read_elsewhere(path)):
            raise InputError(instead)
        step = f" Write it: python -m crowd export {path.parent}." if path.name == "votes.jsonl" else ""
        raise InputError(f"{path} cannot be read: there is no such file.{step}")
    if path.is_file() and not path.stat().st_size:
        raise InputError(f"{path} is empty.")
    reader = _fast_reader(path)
    if reader is None:
        return columns_of_table(read_table(path), wanted)
    try:
        return columns_of(path, reader(path, wanted, record), wanted)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else error
        raise InputError(f"{path} cannot be read: {why}.") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text. Save it as UTF-8.") from error
    except pa.ArrowInvalid as error:
        if "UTF8" in str(error):
            raise InputError(f"{path} is not UTF-8 text. Save it as UTF-8.") from error
        raise InputError(f"{path} cannot be read: {str(error).rstrip('.')}. Is the file whole?") from error


def _fast_reader(path: Path) -> Callable[[Path, Mapping[str, pa.DataType], str], pa.Table] | None:
    """JSON Lines and Parquet are read by pyarrow, so that a study of 300,000 votes opens at once."""
    suffixes = [part.lower() for part in path.suffixes if part not in (".gz", ".bz2", ".zst")]
    if not suffixes or suffixes[-1] == ".jsonl" or path.is_dir():
        return _read_lines
    return _read_parquet if suffixes[-1] == ".parquet" else None


def _read_parquet(path: Path, wanted: Mapping[str, pa.DataType], _record: str) -> pa.Table:
    names = pa.parquet.read_schema(path).names
    table = pa.parquet.read_table(path, columns=[name for name in names if name in wanted])
    return table.select([name for name in names if name in wanted])


def parquet_names(path: Path) -> tuple[str, ...]:
    """The columns that a Parquet file has."""
    if not path.exists():
        raise InputError(f"{path} cannot be read: there is no such file.")
    try:
        return tuple(pyarrow.parquet.read_schema(path).names)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path} cannot be read as Parquet ({error}).") from error


def columns_of_table(table: RawTable, wanted: Mapping[str, pa.DataType]) -> Columns:
    """The wanted columns of a table, typed; an empty cell of a text file is nothing."""
    empty = Columns(table.path, {}, table.names, table)
    if twice := [name for name in table.twins if name in wanted]:
        raise InputError(f"{table.path} has two columns called {twice[0]!r}; keep one.")
    arrays = {}
    for name in (column for column in table.names if column in wanted):
        cells = [
            None if isinstance(cell, str) and _is_absent(cell, wanted[name]) else cell for cell in table.columns[name]
        ]
        if wanted[name] == pa.float64():
            cells = [with_points(table, cell) if isinstance(cell, str) else cell for cell in cells]
        arrays[name] = _give_type(empty, _make_array(cells, wanted[name]), name, wanted[name])
    return Columns(table.path, arrays, table.names, table)


def _is_absent(cell: str, kind: pa.DataType) -> bool:
    """Whether a cell of text holds nothing; more words say so where numbers are expected."""
    return cell in ABSENT or (kind in (pa.float64(), pa.int64()) and cell.strip().casefold() in NO_NUMBER)


def columns_of(path: Path, table: pa.Table, wanted: Mapping[str, pa.DataType]) -> Columns:
    """Give each wanted column its type; a value that does not fit is named with its place."""
    empty = Columns(path, {}, tuple(table.column_names))
    _refuse_twins(path, [name for name in empty.found if name in wanted])
    arrays = {n: _give_type(empty, table.column(n), n, wanted[n]) for n in table.column_names if n in wanted}
    return Columns(path, arrays, empty.found)


def columns_in_memory(name: str, table: Any, wanted: Mapping[str, pa.DataType]) -> Columns:
    """The same from a DataFrame or a mapping of columns; complaints call it `name`."""
    known = [column for column in table if str(column) in wanted]
    _refuse_twins(Path(name), [str(column) for column in known])
    return columns_of(Path(name), pa.table({str(column): _make_array(table[column]) for column in known}), wanted)


def _refuse_twins(path: Path, names: Sequence[str]) -> None:
    if twice := [name for name in names if names.count(name) > 1]:
        raise InputError(f"{path} has two columns called {twice[0]!r}; keep one.")


def _make_array(values: Any, kind: pa.DataType | None = None) -> Any:
    """A column as pyarrow has it; where text and numbers are mixed, all as text."""
    try:
        array = pa.array(values, from_pandas=True)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        array = pa.array([None if value is None or value != value else cell_text(value) for value in values])
    if kind == pa.string() and pa.types.is_floating(array.type):
        array = pa.array([None if value is None else cell_text(value) for value in array.to_pylist()])
    if not len(array):
        array = array.cast(kind or pa.string())
    return pa.chunked_array([array]) if isinstance(array, pa.Array) else array


def _give_type(columns: Columns, array: Any, name: str, kind: pa.DataType) -> Any:
    if pa.types.is_dictionary(array.type):
        array = array.cast(array.type.value_type)
    try:
        return _cast_array(array, kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        for row, value in enumerate(array.to_pylist()):
            try:
                _cast_array(pa.array([value], type=array.type), kind)
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
                raise InputError(
                    f"{columns.place(row)}: {name} is {value!r}, which is not {TYPE_WORDS[kind]}."
                ) from None
        raise


def _cast_array(array: Any, kind: pa.DataType) -> Any:
    """Whole numbers may be written as 1.0, as tools do where a column has gaps."""
    if kind == pa.int64() and array.type == pa.string():
        array = array.cast(pa.float64())
    return array.cast(kind)


def _read_lines(path: Path, wanted: Mapping[str, pa.DataType], record: str) -> pa.Table:
    raw = _read_buffer(path)
    start = 3 if raw.slice(0, min(3, raw.size)).to_pybytes() == b"\xef\xbb\xbf" else 0
    first = io.BytesIO(raw.slice(start, min(1 << 16, raw.size - start)).to_pybytes()).readline()
    header = _has_header(first, path, record)
    body = raw.slice(start + (len(first) if header else 0))
    fields = pa.schema([(name, kind) for name, kind in wanted.items()])
    options = pa.json.ParseOptions(explicit_schema=fields, unexpected_field_behavior="ignore")
    if body.size < 100 and not body.to_pybytes().strip():
        raise InputError(f"{path} holds no {record or 'rows'} yet.")
    try:
        blocks = pa.json.ReadOptions(block_size=1 << 24)
        table = pa.json.read_json(pa.BufferReader(body), read_options=blocks, parse_options=options)
    except pa.ArrowInvalid:
        return _slow_table(_read_objects(path, body.to_pybytes(), 2 if header else 1), wanted)
    table.validate(full=True)  # pyarrow takes text in any encoding, but hands out UTF-8 only
    return table.select([name for name in table.column_names if table.column(name).null_count < len(table)])


def _has_header(first: bytes, path: Path, record: str) -> bool:
    if not (b'"format"' in first and b'"version"' in first):
        return False
    try:
        header = json.loads(first)
    except ValueError:
        return False
    if not isinstance(header, dict) or "format" not in header or "version" not in header:
        return False
    if record and header["format"] != record:
        wrong = f"{path}:1: a file of {header['format']} was given where {record} are expected."
        raise InputError((read_elsewhere(path) if record == "votes" else "") or wrong)
    if header["version"] != FORMAT_VERSION:
        raise InputError(
            f"{path}:1: format version {header['version']} is not supported; this version reads {FORMAT_VERSION}."
        )
    return True


def _read_objects(path: Path, body: bytes, first_line: int) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(io.BytesIO(body), first_line):
        if line.strip():
            try:
                yield f"{path}:{number}", json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(
                    f"{path}:{number}: not a JSON object ({error.msg}). It may be cut off or not JSON Lines."
                ) from None


def _slow_table(rows: Iterable[tuple[str, Any]], wanted: Mapping[str, pa.DataType]) -> pa.Table:
    columns: dict[str, list[Any]] = {name: [] for name in wanted}
    for where, row in rows:
        if not isinstance(row, dict):
            raise InputError(f"{where}: found {str(row)[:40]!r}; a JSON object is expected.")
        for name, kind in wanted.items():
            columns[name].append(_check_value(row.get(name), kind, f"{where}: {name}"))
    present = {name: values for name, values in columns.items() if any(value is not None for value in values)}
    return pa.table({name: pa.array(values, wanted[name]) for name, values in present.items()})


def _check_value(value: Any, kind: pa.DataType, where: str) -> Any:
    if value is None:
        return None
    if kind == pa.string() and type(value) in (int, float):
        return str(value)
    legal = {pa.string(): (str,), pa.int64(): (int,), pa.float64(): (int, float), pa.bool_(): (bool,)}[kind]
    if type(value) not in legal:
        raise InputError(f"{where} is {value!r}, which is not {TYPE_WORDS[kind]}.")
    return value


def _read_buffer(path: Path) -> pa.Buffer:
    if path.is_dir():
        raise InputError(f"{path} is a folder; a file of votes or scores is expected.")
    with pa.input_stream(str(path), compression="detect") as stream:
        return stream.read_buffer()


def _line_of(path: Path, row: int) -> int | None:
    """Line of a row in JSON Lines (header and blank lines counted); None for data in memory."""
    if not path.is_file():
        return None
    text = _read_buffer(path).to_pybytes().decode("utf-8-sig")
    lines = [number for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    return lines[row + int(_has_header(text.split("\n", 1)[0].encode(), path, ""))]


def codes_of(array: Any) -> tuple[Any, tuple[str, ...]]:
    """Integer codes (null: -1) and names of a text column, in order of first appearance."""
    encoded = pc.dictionary_encode(array.combine_chunks() if hasattr(array, "combine_chunks") else array)
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.combine_chunks()
    return encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False), tuple(encoded.dictionary.to_pylist())


# Answers that are no votes on pairs


INSTEAD = {"ratings": "ratings or ranks of several responses at once", "choices": "picks of options"}


def read_elsewhere(path: Path) -> str:
    """One sentence for a study or a file of it, empty where it holds votes or nothing that is known.

    `path` may also be the file that is missing.
    """
    answers = _find_answers(path)
    if answers is None:
        return ""
    kind, place = answers.stem, path if path.exists() else path.parent
    commands = [f"choose {answers.parent}"] if kind == "choices" else _by_question(answers, place)
    commands_typed = ", or ".join(f"python -m analysis {command}" for command in commands)
    return f"{place} holds {INSTEAD[kind]} and no votes on pairs; type: {commands_typed}"


def _find_answers(path: Path) -> Path | None:
    """The file of answers that stands for the votes."""
    if path.is_file():
        return path if path.suffix == ".jsonl" and _records_of(path) in INSTEAD else None
    folder = path if path.is_dir() else path.parent
    if (folder / "votes.jsonl").exists():
        return None
    return next((file for name in INSTEAD if (file := folder / f"{name}.jsonl").exists()), None)


def _records_of(path: Path) -> str:
    """The records that a file says it holds; empty for a file that is not ours, whatever its encoding."""
    try:
        return str(read_header(path).get("format", ""))
    except InputError:
        return ""


def _by_question(ratings: Path, place: Path) -> list[str]:
    """The command that reads each question."""
    reads: dict[str, str] = {}
    for row in read_records(ratings, ResponseRating):
        reads.setdefault(row.question, "ratings" if row.rank is None else "ranks")
    options = {name: f" --question {name}" if reads.keys() - {name} else "" for name in reads}
    return [f"{command} {place}{options[name]}" for name, command in reads.items()]
