"""Files that are whole or absent: JSON Lines with a header, written to a temporary name, fsynced and renamed.

A bad line raises `InputError` naming file, line, field, what was found and what is legal; nothing is half read.
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import glob
import hashlib
import json
import os
import platform
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any, TypeVar

from seedvote.dialogue.errors import InputError, value_in_short
from seedvote.dialogue.validity import FORMATS, complaint, field_names, from_json, make_check, singular, typed_fields

R = TypeVar("R")
FORMAT_VERSION = 1


@contextlib.contextmanager
def atomic(path: str | Path, mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file next to `path`; on success fsync it and rename it over `path`, else remove it.

    A link stays a link: what it leads to is replaced. Into a device or a pipe (/dev/null, /dev/stdout) is written, for
    there is nothing to replace. An error of the system names `path`, which people know, not the temporary file.
    """
    path = Path(path)
    # One line ending on every system: digests of these files are keys.
    options: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": "\n"}
    temporary = path if is_stream(path) else temporary_name(replaceable(path))
    try:
        if temporary == path:
            with path.open(mode, **options) as handle:
                yield handle
            return
        temporary.parent.mkdir(parents=True, exist_ok=True)
        with temporary.open(mode, **options) as handle:
            yield handle
            # Without fsync a crash of the machine can leave the new name on an empty file.
            handle.flush()
            os.fsync(handle.fileno())
        temporary.replace(replaceable(path))
    except OSError as error:
        if error.filename is None or str(error.filename) == str(temporary):
            raise OSError(error.errno, error.strerror or str(error), str(path)) from error
        raise
    finally:
        if temporary != path:
            temporary.unlink(missing_ok=True)


def is_stream(path: Path) -> bool:
    """Whether the name leads to a device of characters or a pipe, which are written to and never replaced."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def replaceable(path: Path) -> Path:
    """Where a file of this name belongs, links followed; an error if what is there is anything but a file."""
    target = Path(os.path.realpath(path))
    try:
        mode = target.lstat().st_mode
    except OSError:
        return target  # nothing there yet, or nothing that may be seen: opening will say
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "It is not a regular file and is not replaced", str(path))
    return target


def temporary_name(path: Path) -> Path:
    """A name next to `path` that no other process uses, on this machine or another that shares the folder."""
    # Beside `path`, not in a folder for temporary files: a rename is atomic within one file system only.
    return path.with_name(f".{path.name}.{platform.node()}.{os.getpid()}.tmp")


def clear_halves(path: Path) -> None:
    """Remove what attempts to write `path` left that were killed; only where nobody else is writing it."""
    for half in path.parent.glob(f".{glob.escape(path.name)}.*.tmp"):
        half.unlink(missing_ok=True)


def write_json(path: str | Path, value: object) -> None:
    """Write one JSON document, indented, keys in the order given."""
    with atomic(path) as handle:
        json.dump(value, handle, ensure_ascii=False, indent=1, allow_nan=False)
        handle.write("\n")


def read_json(path: str | Path) -> Any:
    """Read one JSON document or say in a sentence why it cannot be read."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path} is not whole JSON ({error}). Write it again or restore it.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def digest(path: str | Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with Path(path).open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def write_records(path: str | Path, records: Iterable[Any], *, signature: str, kind: type) -> None:
    """Write a header line and one line a record; `extra` fields go back to the top level."""
    with atomic(path) as handle:
        header = {"format": FORMATS[kind], "version": FORMAT_VERSION, "signature": signature}
        handle.write(json.dumps(header, ensure_ascii=False) + "\n")
        for number, record in enumerate(records, 1):
            if wrong := complaint(record):
                raise InputError(f"{path}: {FORMATS[kind]}, record {number}: {wrong}")
            line = json.dumps(as_json(record), ensure_ascii=False, allow_nan=False)
            if not line.isascii() and (half := _HALF.search(line)):
                raise InputError(_half_character(f"{path}: {FORMATS[kind]}, record {number}", half[0]))
            handle.write(line + "\n")


def as_json(record: Any) -> dict[str, Any]:
    """The record as plain JSON values, with the fields of `extra` among the known ones, without empty sparse ones."""
    values: dict[str, Any] = _record_values(record)
    return {**values.pop("extra", {}), **values}


_PLAIN = frozenset({str, int, float, bool, type(None)})


def _record_values(value: Any) -> Any:
    """What dataclasses.asdict gives of a record, without copies of texts or empty sparse fields."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if dataclasses.is_dataclass(kind):
        values = {name: _record_values(getattr(value, name)) for name in field_names(kind)}
        for name, empty in _sparse_fields(kind):
            if values[name] == empty:
                del values[name]
        return values
    if isinstance(value, (list, tuple)):
        return [_record_values(part) for part in value]
    return {name: _record_values(part) for name, part in value.items()} if isinstance(value, Mapping) else value


@cache
def _sparse_fields(kind: Any) -> tuple[tuple[str, Any], ...]:
    """Fields that came later and their value where nothing is said: files without them stay as they were."""
    fields = [f for f in dataclasses.fields(kind) if f.metadata.get("sparse")]
    return tuple((f.name, {} if f.default is dataclasses.MISSING else f.default) for f in fields)


def read_header(path: str | Path) -> dict[str, Any]:
    """The header line of a record file, or an empty mapping where the file has none."""
    for _, value in _numbered_lines(Path(path)):
        return value if "format" in value and "version" in value else {}
    return {}


def read_records(path: str | Path, kind: type[R]) -> list[R]:
    """Read a whole file of records of one kind, checking every field; a missing header is allowed."""
    return [record for _, record in placed_records(path, kind)]


def placed_records(path: str | Path, kind: type[R]) -> Iterator[tuple[str, R]]:
    """The same, each record with its place (`votes.jsonl:17`), for checks that compare one with another."""
    for number, value in _numbered_lines(Path(path)):
        where = f"{path}:{number}"
        if number == 1 and "format" in value and "version" in value:
            _check_header(value, kind, where)
        else:
            yield where, from_json(kind, value, where)


def read_field(path: str | Path, kind: type, name: str) -> Iterator[Any]:
    """One field of every record that has it, which is all that is checked: for a glance at a large file."""
    return (value for (value,) in read_fields(path, kind, (name,), required=False))


def read_fields(path: str | Path, kind: type, names: Sequence[str], *, required: bool = True) -> Iterator[list[Any]]:
    """Some fields of every record, which are all that is checked; records that lack one are refused or left out."""
    checks = [(name, make_check(typed_fields(kind)[name][0])) for name in names]
    for number, value in _numbered_lines(Path(path)):
        where = f"{path}:{number}"
        if number == 1 and "format" in value and "version" in value:
            _check_header(value, kind, where)
        elif not (absent := [name for name in names if name not in value]):
            yield [check(value[name], f"{where}: {name}") for name, check in checks]
        elif required:
            raise InputError(f"{where}: {', '.join(absent)} missing; a {singular(kind)} needs it. See docs/format.md.")


def _numbered_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        # utf-8-sig: spreadsheets put a byte-order mark at the beginning.
        with path.open(encoding="utf-8-sig") as handle:
            for number, line in enumerate(handle, 1):
                if line.strip():
                    yield number, _check_object(line, f"{path}:{number}")
    except UnicodeDecodeError as error:
        where = f"{path}:{_find_undecoded_line(path)}"
        raise InputError(f"{where}: not UTF-8 text ({error.reason}). Save it as UTF-8.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def _find_undecoded_line(path: Path) -> int:
    """The first line that is no UTF-8; reading is ahead of the lines it gives."""
    with path.open("rb") as handle:
        for number, line in enumerate(handle, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 1


def _check_object(line: str, where: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        hint = "The file may be cut off." if line.lstrip().startswith("{") else "Every line must be one, from { to }."
        raise InputError(f"{where}: not a JSON object ({error.msg}). {hint}") from error
    except RecursionError as error:
        raise InputError(f"{where}: not a JSON object that can be read: it is nested too deeply.") from error
    if not isinstance(value, dict):
        raise InputError(f"{where}: found {value_in_short(value)}; every line must be a JSON object.")
    if _ESCAPED_HALF.search(line):
        _refuse_halves(value, where)
    return value


# Half of a character that UTF-16 writes in two. JSON can spell it as an escape, UTF-8 cannot hold it.
_ESCAPED_HALF = re.compile(r"\\ud[89a-f]", re.IGNORECASE)
_HALF = re.compile("[\ud800-\udfff]")


def _refuse_halves(value: Any, where: str) -> None:
    """Name the first text that holds half a character."""
    if isinstance(value, dict):
        for name, part in value.items():
            _refuse_halves(name, where)
            _refuse_halves(part, f"{where}: {name}" if where.rsplit(":", 1)[-1].isdigit() else f"{where}.{name}")
    elif isinstance(value, list):
        for number, part in enumerate(value):
            _refuse_halves(part, f"{where}[{number}]")
    elif isinstance(value, str) and (half := _HALF.search(value)):
        raise InputError(_half_character(where, half[0]))


def _half_character(where: str, half: str) -> str:
    return (
        f"{where} holds half a character (\\u{ord(half):04x}), which no file can store as text. "
        "Repair the text where it was made, or write \\ufffd in its place."
    )


def _check_header(header: Mapping[str, Any], kind: type, where: str) -> None:
    if header["format"] != FORMATS[kind]:
        raise InputError(f"{where}: a file of {header['format']} was given where {FORMATS[kind]} are expected.")
    if header["version"] != FORMAT_VERSION:
        raise InputError(
            f"{where}: format version {header['version']} is not supported; this version reads {FORMAT_VERSION}."
        )
