"""Bytes of a file as text: unpacked, and in the encoding that they show.

UTF-8 and what a byte-order mark names are certain. UTF-16 without a mark shows by its zeros. Everything else is taken
for Windows-1252, as older spreadsheets write it, and said so.
"""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path

from seedvote.dialogue.errors import InputError

MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
PACKED: tuple[tuple[bytes, Callable[[bytes], bytes]], ...] = (
    (b"\x1f\x8b", gzip.decompress),
    (b"BZh", bz2.decompress),
    (b"\xfd7zXZ\x00", lzma.decompress),
)
ZIP, ZSTANDARD = b"PK\x03\x04", b"\x28\xb5\x2f\xfd"


def unpacked(path: Path) -> bytes:
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
        for mark, unpack in PACKED:
            if raw.startswith(mark):
                return unpack(raw)
        return _unzipped(path, raw) if raw.startswith(ZIP) else raw
    except (OSError, EOFError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} cannot be unpacked: {str(error).rstrip('.')}. Is the file whole?") from error


def _unzipped(path: Path, raw: bytes) -> bytes:
    with zipfile.ZipFile(io.BytesIO(raw)) as archive:
        names = [name for name in archive.namelist() if not name.endswith("/") and not _of_macos(name)]
        if "[Content_Types].xml" in names:  # a workbook of Excel is a zip itself
            return raw
        if len(names) != 1:
            raise InputError(f"{path} holds {len(names)} files ({', '.join(names[:5])}). Unpack it and give the table.")
        return archive.read(names[0])


def _of_macos(name: str) -> bool:
    """What macOS puts beside every file that it packs."""
    return name.startswith("__MACOSX/") or name.endswith(".DS_Store")


def decoded(path: Path, raw: bytes) -> tuple[str, tuple[str, ...]]:
    """The text, and the encoding where it was not UTF-8."""
    for mark, name in MARKS:
        if raw.startswith(mark):
            return _strictly(path, raw, name), () if name == "utf-8-sig" else (name.upper(),)
    if (unmarked := unmarked_utf16(raw)) is not None:
        return _strictly(path, raw, unmarked), ("UTF-16",)
    try:
        return raw.decode("utf-8"), ()
    except UnicodeDecodeError:
        if _is_chinese(raw):
            return _strictly(path, raw, "gb18030"), ("GB18030, as it is no UTF-8",)
        return _strictly(path, raw, "cp1252"), ("Windows-1252, as it is no UTF-8",)


def _is_chinese(raw: bytes) -> bool:
    """Whether all signs outside ASCII come in twos, as in GB 2312: in Western languages most of them stand alone."""
    runs = re.findall(rb"[\x80-\xff]+", raw)
    if not all(re.fullmatch(rb"(?:[\xa1-\xf7][\xa1-\xfe])+", run) for run in runs):
        return False
    firsts = b"".join(run[::2] for run in runs)
    common = sum(0xB0 <= first <= 0xD7 for first in firsts)  # they would be capitals in a Western text
    return common > 0.6 * len(firsts)


def unmarked_utf16(raw: bytes) -> str | None:
    """UTF-16 without a mark has zeros at every other place of what is written in Latin letters."""
    head = raw[:2000]
    even, odd = head[::2].count(0), head[1::2].count(0)
    if odd > len(head) / 4 and not even:
        return "utf-16-le"
    return "utf-16-be" if even > len(head) / 4 and not odd else None


def _strictly(path: Path, raw: bytes, encoding: str) -> str:
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
