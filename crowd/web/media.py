"""The files of a study over HTTP: by names that tell nothing, in parts where a player asks for parts.

Every server has the files itself, in the folder of its pairs. It serves what the pairs in the store name by its hash,
and nothing else that lies there. A file is looked at whenever it is asked for: one that is not what raters were to see
is not served, and one that was missing is served as soon as it is there.
"""

from __future__ import annotations

import io
import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from flask import Response, request
from werkzeug.datastructures import Range
from werkzeug.wsgi import wrap_file

from seedvote.crowd.store.identity import media_name
from seedvote.crowd.store.store import Store, settings
from seedvote.crowd.store.tables import pairs
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.media import MediaFile, media_in_body, media_of, read_media

LOG = logging.getLogger("crowd")
A_DAY = 86_400
POLICY = "default-src 'none'; sandbox"  # of a file that somebody opens by itself


@dataclass(frozen=True, slots=True)
class NamedFile:
    """A file as a pair names it."""

    name: str
    use: str
    sha256: str


class MediaShelf:
    """What a server has on its disk of the files that its study's pairs name."""

    def __init__(self, store: Store, folder: Path | None) -> None:
        self.store, self.folder = store, folder or Path()
        self._lock = threading.Lock()
        self._files: Mapping[str, Sequence[NamedFile]] = {}
        self._known: tuple[str, str] | None = None

    def find(self, secret: str, name: str) -> MediaFile | None:
        """The file of this name, if it is what raters are to see."""
        files = self._files.get(name)
        if files is None or self._known is None or self._known[0] != secret:
            files = self._look_again(secret).get(name, ())
        return next((found for file in files if (found := self._read(file))), None)

    def lacks(self, record: Any) -> bool:
        """Whether a page of this record would show less than it should."""
        return any(self._read(NamedFile(*file)) is None for file in media_of(record))

    def _read(self, file: NamedFile) -> MediaFile | None:
        try:
            found = read_media(self.folder, file.name, file.use)
        except InputError as error:
            LOG.error("media", extra={"facts": {"told": str(error)}})
            return None
        if found.sha256 != file.sha256:
            LOG.error("media", extra={"facts": {"told": f"{file.name} is another file than raters are to see."}})
            return None
        return found

    def _look_again(self, secret: str) -> Mapping[str, Sequence[NamedFile]]:
        """What the pairs name by now: another server may have been started with more of them."""
        with self._lock:
            with self.store.read() as connection:
                known = secret, settings(connection).get("pairs", "")
                if known == self._known:
                    return self._files
                files: dict[str, list[NamedFile]] = {}
                for name, use, sha256 in stored_media(connection):
                    files.setdefault(media_name(secret, sha256), []).append(NamedFile(name, use, sha256))
            self._files, self._known = files, known
            return files


def stored_media(connection: sa.Connection) -> Iterator[tuple[str, str, str]]:
    """Every file that the pairs of a store name, once: its name, its use and its hash."""
    rows = connection.scalars(sa.select(pairs.c.body).where(pairs.c.body.contains('"sha256"')))
    yield from dict.fromkeys(media for body in rows for media in media_in_body(body))


class FilePart(io.FileIO):
    """A file from one byte to another. The server sends it by itself, so no thread waits for a slow player."""

    def __init__(self, path: Path, start: int, stop: int) -> None:
        super().__init__(path)
        self.seek(start)
        self.stop = stop

    def read(self, size: int | None = -1) -> bytes:
        """The next bytes of the part."""
        left = max(0, self.stop - self.tell())
        return super().read(left if size is None or size < 0 else min(size, left)) or b""


def send_media(file: MediaFile) -> Response:
    """The file, or the part of it that a player asks for; whoever has this very file already gets no copy.

    A part is as long as it was asked for: players of Apple refuse a shorter one.
    """
    reply = Response(mimetype=file.kind)
    reply.set_etag(file.sha256)
    reply.make_conditional(request.environ)
    if reply.status_code == 200:
        _fill_reply(reply, file)
    reply.headers.update({"Accept-Ranges": "bytes", "Content-Disposition": "inline"})  # its name may tell whose it is
    reply.headers["Cache-Control"] = f"private, max-age={A_DAY}, immutable"
    return reply


def _fill_reply(reply: Response, file: MediaFile) -> None:
    asked = _asked_range(file)
    start, stop = _span_of(asked, file.size) if asked else (0, file.size)
    if start >= stop:
        reply.status_code = 416
        reply.headers["Content-Range"] = f"bytes */{file.size}"
        return
    if asked:
        reply.status_code = 206
        reply.headers["Content-Range"] = f"bytes {start}-{stop - 1}/{file.size}"
    reply.content_length = stop - start
    if request.method == "GET":
        reply.response = wrap_file(request.environ, FilePart(file.path, start, stop))
        reply.direct_passthrough = True


def _asked_range(file: MediaFile) -> Range | None:
    """One part of this very file. Several at once are not sent: the whole file is, as HTTP allows."""
    asked, condition = request.range, request.if_range
    if request.method != "GET" or asked is None or asked.units != "bytes" or len(asked.ranges) != 1:
        return None
    is_other = condition.date is not None or condition.etag not in (None, file.sha256)
    return None if is_other else asked


def _span_of(asked: Range, size: int) -> tuple[int, int]:
    """The first byte and the one after the last; of "the last n" all, where there are fewer."""
    ((start, stop),) = asked.ranges
    return (start if start >= 0 else max(0, size + start)), (size if stop is None else min(stop, size))
