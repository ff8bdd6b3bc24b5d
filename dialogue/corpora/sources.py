"""Where a corpus lies: a folder, a .zip, or single files that may be compressed with gzip or xz.

Whatever the packing, a `Source` is a list of named files. Names lose their packing suffix, so that `val.json.xz`,
`val.json.zip` holding `val.json` and plain `val.json` all read as `val.json`. Nothing is ever unpacked to disk.
"""

from __future__ import annotations

import gzip
import json
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from dialogue.errors import InputError

UNPACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.decompress, ".xz": lzma.decompress}
BROKEN = (OSError, EOFError, lzma.LZMAError, zlib.error, zipfile.BadZipFile)


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
            raise InputError(
                f"{self.where} is not UTF-8 text (byte {error.start}: {error.reason}). Save it as UTF-8."
            ) from error
        except BROKEN as error:
            raise InputError(
                f"{self.where} cannot be unpacked ({error}). Fetch it again; it may be cut off."
            ) from error

    def json(self) -> Any:
        """The content as one JSON document."""
        try:
            return json.loads(self.text())
        except json.JSONDecodeError as error:
            raise InputError(
                f"{self.where} is not whole JSON ({error.msg}, line {error.lineno}). It may be cut off; fetch it again."
            ) from error

    def json_lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Each line's number and object."""
        for number, line in enumerate(self.text().splitlines(), 1):
            if not line.strip():
                continue
            try:
                value = json.loads(line)
            except json.JSONDecodeError as error:
                raise InputError(
                    f"{self.where}:{number}: not a JSON object ({error.msg}). The file may have been cut off."
                ) from error
            if not isinstance(value, dict):
                raise InputError(f"{self.where}:{number}: a JSON object is expected on every line.")
            yield number, value


@dataclass(frozen=True)
class Source:
    """All files of a corpus."""

    path: Path
    files: tuple[File, ...] = field(repr=False)

    def find(self, *names: str) -> File | None:
        """The first file that bears one of the names."""
        return next((file for name in names for file in self.files if file.base == name), None)


def open_source(path: str | Path) -> Source:
    """List the files under `path`, whatever its packing."""
    path = Path(path)
    if not path.exists():
        raise InputError(f"{path} is not there. Give a corpus folder, .json, .jsonl, .txt, .zip, .gz or .xz file.")
    if path.is_dir():
        inside = sorted(p for p in path.rglob("*") if p.is_file() and not p.name.startswith("."))
        files = [file for p in inside for file in _files_in(p, p.relative_to(path).as_posix())]
    else:
        files = list(_files_in(path, path.name))
    return Source(path, tuple(files))


def _files_in(path: Path, name: str) -> Iterator[File]:
    """The file itself, or what a .zip holds."""
    if path.suffix.lower() != ".zip":
        yield _packed(name, str(path), path.read_bytes)
        return
    try:
        with zipfile.ZipFile(path) as archive:
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
    except BROKEN as error:
        raise InputError(f"{path} is not a whole .zip file ({error}). Fetch it again; it may be cut off.") from error
    for inner in names:
        _refuse_outside(path, inner)
        if not inner.startswith("__MACOSX/"):
            yield _packed(inner, f"{path}:{inner}", lambda inner=inner: _read_member(path, inner))  # type: ignore[misc]


def _read_member(path: Path, inner: str) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read(inner)


def _refuse_outside(path: Path, inner: str) -> None:
    parts = PurePosixPath(inner.replace("\\", "/"))
    if parts.is_absolute() or ".." in parts.parts or ":" in parts.parts[0]:
        raise InputError(
            f"{path} holds {inner!r}, a path outside the archive. Such a file is not read; fetch it from its publisher."
        )


def _packed(name: str, where: str, read: Callable[[], bytes]) -> File:
    unpack = UNPACK.get(PurePosixPath(name).suffix.lower())
    if unpack is None:
        return File(name, where, read)
    return File(name[:-3], where, lambda: unpack(read()))
