"""The files of a study over HTTP: by names that tell nothing, in parts where a player asks for parts.

Every server has the files itself, in the folder of its pairs. It serves what the pairs in the store name by its hash,
and nothing else that lies there; a file that is no longer what was read when the study started is not served.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import sqlalchemy as sa
from flask import Response, make_response, request, send_file

from seedvote.crowd.store.identity import media_name
from seedvote.crowd.store.store import Store, settings
from seedvote.crowd.store.tables import pairs
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.media import MediaFile, media_in_body, read_media

LOG = logging.getLogger("crowd")
A_DAY = 86_400
AT_ONCE = 1_000_000  # bytes of one reply to a player, which asks for the next itself: no thread waits for a slow one
POLICY = "default-src 'none'; sandbox"  # of a file that somebody opens by itself


class MediaShelf:
    """What a server has on its disk of the files that its study's pairs name."""

    def __init__(self, store: Store, folder: Path | None) -> None:
        self.store, self.folder = store, folder
        self._lock = threading.Lock()
        self._files: Mapping[str, MediaFile] = {}
        self._known: tuple[str, str] | None = None

    def find(self, secret: str, name: str) -> MediaFile | None:
        """The file of this name, if it is still what was read."""
        file = self._files.get(name)
        if file is None or self._known is None or self._known[0] != secret:
            file = self._look_again(secret).get(name)
        if file is None:
            return None
        if not file.is_unchanged:
            LOG.error("media", extra={"facts": {"told": f"{file.path.name} changed while it was served."}})
            return None
        return file

    def _look_again(self, secret: str) -> Mapping[str, MediaFile]:
        """What the pairs name by now: another server may have been started with more of them."""
        with self._lock:
            with self.store.read() as connection:
                known = secret, settings(connection).get("pairs", "")
                if known == self._known:
                    return self._files
                files = dict(self._list_files(connection, secret))
            self._files, self._known = files, known
            return files

    def _list_files(self, connection: sa.Connection, secret: str) -> Iterator[tuple[str, MediaFile]]:
        for name, use, sha256 in stored_media(connection):
            try:
                file = read_media(self.folder or Path(), name, use)
            except InputError as error:
                LOG.error("media", extra={"facts": {"told": str(error)}})
                continue
            if file.sha256 == sha256:
                yield media_name(secret, sha256), file


def stored_media(connection: sa.Connection) -> Iterator[tuple[str, str, str]]:
    """Every file that the pairs of a store name, once: its name, its use and its hash."""
    rows = connection.scalars(sa.select(pairs.c.body).where(pairs.c.body.contains('"sha256"')))
    yield from dict.fromkeys(media for body in rows for media in media_in_body(body))


def send_media(file: MediaFile) -> Response:
    """The file, or the part of it that a player asks for; whoever has this very file already gets no copy."""
    asked = request.range
    ranges = asked.ranges if asked is not None and asked.units == "bytes" else []
    is_same = request.if_range.etag in (None, file.sha256)
    if len(ranges) != 1 or not is_same or request.method != "GET":
        reply = make_response(send_file(file.path, mimetype=file.kind, etag=file.sha256, conditional=False))
        reply.make_conditional(request.environ)
    elif span := asked.range_for_length(file.size) if asked else None:
        start, stop = span[0], min(span[1], span[0] + AT_ONCE)
        with file.path.open("rb") as handle:
            handle.seek(start)
            reply = Response(handle.read(stop - start), 206, mimetype=file.kind)
        reply.headers["Content-Range"] = f"bytes {start}-{stop - 1}/{file.size}"
        reply.set_etag(file.sha256)
    else:
        reply = Response(status=416)
        reply.headers["Content-Range"] = f"bytes */{file.size}"
    reply.headers.pop("Last-Modified", None)  # when a file was written may tell whose it is
    reply.headers.update({"Accept-Ranges": "bytes", "Content-Disposition": "inline"})  # nor may its name
    reply.headers["Cache-Control"] = f"private, max-age={A_DAY}, immutable"
    return reply
