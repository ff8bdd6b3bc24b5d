"""Images, recordings and videos of a study: files beside the records that name them, known by what they hold.

A file is read once, when its records are: its kind is told by its first bytes, never by its name, and the hash of its
content becomes a part of the record. So a file that changes is a pair that changed, which a study refuses once it was
shown. What raters may load is what the sniffer knows; SVG is none of it, because it can hold a script.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, digest
from seedvote.dialogue.parts import FILES, OWN_KEYS
from seedvote.dialogue.records import Part
from seedvote.dialogue.validity import field_names

R = TypeVar("R")
MEGABYTE = 1_000_000
LARGEST = {"image": 10 * MEGABYTE, "audio": 30 * MEGABYTE, "video": 100 * MEGABYTE, "captions": MEGABYTE}
BROUGHT = "media"  # the folder of a study into which files of others are copied
HEAD = 4096  # bytes by which a file is known
SIGNS: tuple[tuple[re.Pattern[bytes], str, tuple[str, ...]], ...] = tuple(
    (re.compile(sign, re.DOTALL), kind, uses)
    for sign, kind, uses in (
        (rb"\x89PNG\r\n\x1a\n", "image/png", ("image",)),
        (rb"\xff\xd8\xff", "image/jpeg", ("image",)),
        (rb"GIF8[79]a", "image/gif", ("image",)),
        (rb"RIFF....WEBP", "image/webp", ("image",)),
        (rb"....ftypavi[fs]", "image/avif", ("image",)),
        (rb"RIFF....WAVE", "audio/wav", ("audio",)),
        (rb"ID3|\xff[\xfb\xf3\xf2\xfa]", "audio/mpeg", ("audio",)),
        (rb"\xff[\xf1\xf9]", "audio/aac", ("audio",)),
        (rb"fLaC", "audio/flac", ("audio",)),
        (rb"OggS", "audio/ogg", ("audio", "video")),
        (rb"....ftyp(M4A|M4B)", "audio/mp4", ("audio",)),
        (rb"....ftyp(?!avi[fs]|hei[cfmsx]|hev[cmsx]|mif1|msf1)", "video/mp4", ("video", "audio")),
        (rb"\x1aE\xdf\xa3.{0,60}?\x42\x82.{1,8}?webm", "video/webm", ("video", "audio")),
        (rb"(\xef\xbb\xbf)?WEBVTT(?=[ \t\r\n]|\Z)", "text/vtt", ("captions",)),
    )
)
READABLE = {
    "image": "PNG, JPEG, GIF, WebP or AVIF",
    "audio": "WAV, MP3, AAC, FLAC, Ogg, MP4 or WebM",
    "video": "MP4, WebM or Ogg",
    "captions": "WebVTT, which begins with WEBVTT",
}


@dataclass(frozen=True, slots=True)
class MediaFile:
    """One file as it was when it was read."""

    path: Path
    kind: str
    """What browsers are told that it is."""
    sha256: str
    size: int


def read_media(folder: Path, name: str, use: str) -> MediaFile:
    """A file inside the folder, for an image, audio, video or captions; else a complaint without its place."""
    path = find_inside(folder, name)
    try:
        state = path.stat()
        if not path.is_file():
            raise InputError(f"{name} is no file.")
        # a copy may keep size and time of the file before it, but not the time at which its place on the disk changed
        return _read_whole(path, name, use, state.st_size, (state.st_ino, state.st_mtime_ns, state.st_ctime_ns))
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror or error}.") from error


def find_inside(folder: Path, name: str) -> Path:
    """Where a file of this name lies, links followed; refused where that is outside of the folder."""
    if re.match(r"[a-zA-Z][\w+.-]*://|data:", name):
        raise InputError(f"{name[:60]} is an address; raters load nothing from elsewhere. Save it beside the pairs.")
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name.replace("\\", "/")).parts or "\0" in name:
        raise InputError(f"{name} leads out of the folder of the pairs; put the file into that folder.")
    try:
        path, root = (folder / name).resolve(), folder.resolve()
    except UnicodeEncodeError as error:
        raise InputError(f"{name!a} is half a character, which no file's name can hold.") from error
    except (OSError, RuntimeError) as error:
        raise InputError(f"{name} cannot be read: {error}.") from error
    if root not in path.parents:
        raise InputError(f"{name} leads out of the folder of the pairs ({path}); put the file itself there.")
    return path


@lru_cache(16384)  # a start reads the records several times, and a file may stand in many of them
def _read_whole(path: Path, name: str, use: str, size: int, _state: tuple[int, ...]) -> MediaFile:
    if size > LARGEST[use]:
        most = LARGEST[use] // MEGABYTE
        raise InputError(f"{name} has {size / MEGABYTE:,.1f} MB; {use} may have {most}. Make it smaller.")
    with path.open("rb") as handle:
        head = handle.read(HEAD)
    if re.match(rb"\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?(<!DOCTYPE[^>]*>\s*)?<svg", head, re.DOTALL | re.IGNORECASE):
        raise InputError(f"{name} is SVG, which can hold a script; save it as PNG.")
    if not (kind := kind_of(head, use)):
        raise InputError(f"{name} is not {READABLE[use]}, which {use} may be.")
    if use == "captions":
        _check_captions(path, name)
    return MediaFile(path, kind, digest(path), size)


def _check_captions(path: Path, name: str) -> None:
    """Browsers read WebVTT as UTF-8, whatever it was written in, and raters would read broken words."""
    try:
        path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is no UTF-8 ({error.reason}); save the captions as UTF-8.") from error


def kind_of(head: bytes, use: str) -> str:
    """What browsers are told of a file that begins so; empty where it is nothing that they may be given for this use.

    >>> kind_of(b"OggS...", "audio"), kind_of(b"%PDF-1.7", "image")
    ('audio/ogg', '')
    """
    kind = next((kind for sign, kind, uses in SIGNS if sign.match(head) and use in uses), "")
    medium, _, form = kind.partition("/")
    return f"{use}/{form}" if medium in ("audio", "video") else kind


def with_hashes(record: R, folder: Path, where: str) -> R:
    """The record with the hash of every file that it names; each must be there, and be what it is said to be."""
    hashed: R = _rewrite(record, lambda part: _hash_part(part, folder, where))
    return hashed


def _hash_part(part: Part, folder: Path, where: str) -> Part:
    if part.type not in FILES:
        return part
    try:
        hashed = replace(part, sha256=read_media(folder, part.file, part.type).sha256)
        if part.captions:
            hashed = replace(hashed, captions_sha256=read_media(folder, part.captions, "captions").sha256)
    except InputError as error:
        raise InputError(f"{where}: {error}") from error
    return hashed


def _rewrite(value: Any, change: Any) -> Any:
    """The same with every part changed; what holds none stays the very same object."""
    if isinstance(value, Part):
        return change(value)
    if isinstance(value, (tuple, list)):
        changed = tuple(_rewrite(item, change) for item in value)
        return value if all(new is old for new, old in zip(changed, value, strict=True)) else changed
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [name for name in field_names(type(value)) if name != "extra"]
        fields = {name: _rewrite(getattr(value, name), change) for name in names}
        different = {name: new for name, new in fields.items() if new is not getattr(value, name)}
        return replace(value, **different) if different else value
    return value


def bring_files(record: R, folder: Path) -> R:
    """The record with its files copied into the folder, under names that follow from what they hold.

    Such a file is a `data:` address, or lies at the whole path that `locate_parts` has found.
    """
    brought: R = _rewrite(record, lambda part: _bring_part(part, folder))
    return brought


def _bring_part(part: Part, folder: Path) -> Part:
    if part.type not in FILES:
        return part
    file, captions = (
        _bring_file(name, folder, use) for name, use in ((part.file, part.type), (part.captions, "captions"))
    )
    return replace(part, file=file, captions=captions)


def _bring_file(name: str, folder: Path, use: str) -> str:
    if not name:
        return ""
    content = _decode_address(name) if name.startswith("data:") else Path(name).read_bytes()
    kind = kind_of(content[:HEAD], use)
    if not kind:
        raise InputError(f"{name[:60]} is not {READABLE[use]}, which {use} may be.")
    ending = kind.rpartition("/")[2].replace("jpeg", "jpg").replace("mpeg", "mp3")
    target = folder / BROUGHT / f"{hashlib.sha256(content).hexdigest()[:20]}.{ending}"
    if not target.exists():
        with atomic(target, "wb") as handle:
            handle.write(content)
    return f"{BROUGHT}/{target.name}"


def _decode_address(address: str) -> bytes:
    header, _, body = address.partition(",")
    try:
        return base64.b64decode(body, validate=True) if "base64" in header else b""
    except binascii.Error as error:
        raise InputError(f"{address[:40]} is no base64 ({error}).") from error


def locate_parts(values: Sequence[Mapping[str, Any]], folder: Path) -> list[dict[str, Any]]:
    """Parts of a file in this folder, with the whole paths of what they name, which must lie there."""
    located = []
    for value in values:
        names = {key: str(value[key]) for key in ("file", "captions") if value.get(key)}
        places = {
            key: name if name.startswith("data:") else str(find_inside(folder, name)) for key, name in names.items()
        }
        if missing := [name for name in places.values() if not (name.startswith("data:") or Path(name).is_file())]:
            raise InputError(f"{missing[0]} does not exist.")
        located.append({**value, **places})
    return located


def parts_of(record: Any) -> Iterator[Part]:
    """Every part of a record, of its context and of what is judged."""
    if isinstance(record, Part):
        yield record
    elif isinstance(record, (tuple, list)):
        for item in record:
            yield from parts_of(item)
    elif dataclasses.is_dataclass(record):
        for field in dataclasses.fields(record):
            if field.name != "extra":
                yield from parts_of(getattr(record, field.name))


def media_of(record: Any) -> Iterator[tuple[str, str, str]]:
    """Every file of a record: its name, what it is used for, and the hash that was read."""
    for part in parts_of(record):
        yield from _files_of(part)


def media_in_body(body: str) -> Iterator[tuple[str, str, str]]:
    """The same of a record as a store keeps it, whatever its form and version."""

    def walk(value: Any) -> Iterator[tuple[str, str, str]]:
        if isinstance(value, list):
            for item in value:
                yield from walk(item)
        elif isinstance(value, dict) and "sha256" in value and value.get("type") in FILES and set(value) <= OWN_KEYS:
            yield from _files_of(Part(**value))
        elif isinstance(value, dict):
            for item in value.values():
                yield from walk(item)

    return walk(json.loads(body))


def _files_of(part: Part) -> Iterator[tuple[str, str, str]]:
    if part.type in FILES:
        yield part.file, part.type, part.sha256
        if part.captions:
            yield part.captions, "captions", part.captions_sha256
