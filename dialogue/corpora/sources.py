"""Where a corpus lies: a folder, a .zip, or single files that may be compressed with gzip or xz; and its splits.

Whatever the packing, a source is a list of named files. Names lose their packing suffix, so that `val.json.xz`,
`val.json.zip` holding `val.json` and plain `val.json` all read as `val.json`. Nothing is ever unpacked to disk.
Splits are `train`, `valid` or `test`; a spelling that is not known is refused, never guessed.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import lzma
import re
import shlex
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from seedvote.dialogue.errors import InputError

UNPACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".xz": lzma.decompress}
BROKEN = (OSError, EOFError, RuntimeError, lzma.LZMAError, zlib.error, zipfile.BadZipFile)
AGAIN = "It may be cut off; fetch it again."


@dataclass(frozen=True)
class File:
    """One file of a source: its name without packing, where it came from, and how its bytes are read."""

    name: str
    where: str
    read: Callable[[], bytes]

    @property
    def base(self) -> str:
        """The last part of the name."""
        return PurePosixPath(self.name).name

    def text(self) -> str:
        """The content as text, or a sentence saying why not."""
        try:
            return self.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            what = f"byte {error.start} is {error.object[error.start]:#04x}"
            raise InputError(f"{self.where} is not UTF-8 text ({what}). Save it as UTF-8.") from error
        except BROKEN as error:
            _tell_if_closed(error)
            raise InputError(f"{self.where} cannot be unpacked ({error}). {AGAIN}") from error

    def json(self) -> Any:
        """The content as one JSON document."""
        try:
            return json.loads(self.text())
        except (json.JSONDecodeError, RecursionError) as error:
            raise InputError(f"{self.where} is not whole JSON ({error}). {AGAIN}") from error

    def json_lines(self, *, lists: bool = False) -> Iterator[tuple[str, Any]]:
        """The place and the object of each line, or also a list."""
        for number, line in enumerate(self.text().split("\n"), 1):
            if line.strip():
                yield f"{self.where}:{number}", self._read_value(line, number, lists)

    def rows(self) -> Iterator[tuple[str, Any]]:
        """The place and the object of each row of an Arrow or Parquet file; what a row has not is left out."""
        from seedvote.dialogue.tables.frames import read_frame_rows

        try:
            for number, row in enumerate(read_frame_rows(self.read(), parquet=self.base.endswith(".parquet")), 1):
                yield f"{self.where}, row {number}", row
        except (*BROKEN, ValueError) as error:
            _tell_if_closed(error)
            raise InputError(f"{self.where} cannot be read as a table ({error}). {AGAIN}") from error

    def _read_value(self, line: str, number: int, lists: bool) -> Any:
        try:
            value = json.loads(line)
        except json.JSONDecodeError as error:
            raise InputError(f"{self.where}:{number}: not a JSON object ({error.msg}). {AGAIN}") from error
        if not isinstance(value, (dict, list) if lists else dict):
            raise InputError(f"{self.where}:{number}: found {line.strip()[:40]!r}; every line must be a JSON object.")
        return value


def _tell_if_closed(error: Exception) -> None:
    """What the system does not let us read is not broken."""
    if isinstance(error, OSError) and error.filename:
        raise error


@contextlib.contextmanager
def expect_form(form: str, where: str) -> Iterator[None]:
    """Turn whatever goes wrong in taking a document apart into a sentence that names the place and the form."""
    try:
        yield
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError, IndexError) as error:
        raise InputError(f"{where} does not have the form of {form} ({error!r}). Restore the file.") from error


def text_of(value: object) -> str:
    """The value, which must be a text."""
    if not isinstance(value, str):
        raise TypeError(f"a text is expected, found {str(value)[:40]!r}")
    return value


def open_source(path: str | Path) -> list[File]:
    """The files under `path` in the order of their names, whatever the packing."""
    path = Path(path)
    if not path.exists():
        or_make = "" if path.suffix else f", or make one: python -m dialogue toy {shlex.quote(str(path))}"
        raise InputError(
            f"{path} is not there. Give a corpus: a folder, or a .json, .jsonl, .txt, .zip, .gz, .xz file{or_make}."
        )
    if not path.is_dir():
        return list(_files_in(path, path.name))
    # Sorted: the order in which a disk lists files differs between machines, and ids follow from it.
    inside = sorted(p.relative_to(path) for p in path.rglob("*") if p.is_file())
    visible = (p for p in inside if not any(part.startswith((".", "__MACOSX")) for part in p.parts))
    return [file for p in visible for file in _files_in(path / p, p.as_posix())]


def _files_in(path: Path, name: str) -> Iterator[File]:
    """The file itself, or what a .zip holds."""
    if path.suffix.lower() != ".zip":
        yield _unpack_file(name, str(path), path.read_bytes)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
    except BROKEN as error:
        _tell_if_closed(error)
        raise InputError(f"{path} is not a whole .zip file ({error}). {AGAIN}") from error
    for inner in names:
        _refuse_outside(path, inner)
        if not inner.startswith("__MACOSX/"):
            yield _unpack_file(inner, f"{path}:{inner}", partial(_read_member, path, inner))


def _read_member(path: Path, inner: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(inner)


def _refuse_outside(path: Path, inner: str) -> None:
    # Nothing is unpacked to disk, but such a name marks an archive that was made to overwrite files ("zip slip").
    parts = PurePosixPath(inner.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or ":" in parts.parts[0]:
        raise InputError(
            f"{path} holds {inner!r}, a path outside the archive, so it was not read. Download it from its publisher."
        )


def _unpack_file(name: str, where: str, read: Callable[[], bytes]) -> File:
    unpack = UNPACK.get(PurePosixPath(name).suffix.lower())
    return File(name[:-3], where, lambda: unpack(read())) if unpack else File(name, where, read)


SPLITS = ("train", "valid", "test")
_SPELLINGS = {"train": "train", "valid": "valid", "val": "valid", "dev": "valid", "validation": "valid", "test": "test"}


def split_of(file: File) -> str:
    """The split that a file's name, or the folder it lies in, tells; a file that tells none is one to train on.

    >>> [split_of(File(name, "", bytes)) for name in ("val.json", "dev/dialogues_001.json", "data.json")]
    ['valid', 'valid', 'train']
    """
    parts = reversed(file.name.split("/"))
    words = (word for part in parts for word in re.split(r"[^a-z]+", part.lower()))
    return next((_SPELLINGS[word] for word in words if word in _SPELLINGS), "train")


def names_a_split(file: File) -> bool:
    """Whether the file's own name is that of a split."""
    return any(word in _SPELLINGS for word in re.split(r"[^a-z]+", file.base.lower()))


def split_named(name: object, where: str) -> str:
    """The split that an annotation names."""
    if str(name) not in _SPELLINGS:
        raise InputError(f"{where}: split is {name!r}, which is not one of {', '.join(_SPELLINGS)}.")
    return _SPELLINGS[str(name)]


def plain_id(name: str) -> str:
    """A dialogue's id without the `.json` that some releases put behind it."""
    return name.removesuffix(".json")
