"""One process that serves one study with waitress: it prepares the store, says where it listens and stops cleanly."""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import waitress
from flask import Flask

from crowd.hit import Hit, read_hit
from crowd.rating import pool
from crowd.store.store import Store, open_store, sqlite_url
from dialogue.errors import InputError
from dialogue.files import atomic

THREADS = 8
LARGEST_REQUEST = 65_536  # bytes that are read at all; the application's own limit is lower


def hit_of(study: Path, given: Path | None) -> Hit:
    """The study's own hit.toml, else the paper's HIT; one that is given becomes the study's own, and stays it."""
    own = study / "hit.toml"
    if given is not None:
        hit = read_hit(given)
        if own.exists() and read_hit(own) != hit:
            raise InputError(f"{own} differs from {given}. A study keeps one HIT: change the file in its folder.")
        if not own.exists():
            with atomic(own) as file:
                file.write(given.read_text(encoding="utf-8-sig"))
    return read_hit(own if own.exists() else None)


def pairs_of(study: Path, given: Path | None) -> Path:
    """The file of pairs, which must be there."""
    path = given or study / "pairs.jsonl"
    if not path.exists():
        raise InputError(
            f"{path} does not exist. Make pairs (python -m generation pair {study}) or name them: --pairs."
        )
    return path


def prepare(study: Path, pairs: Path | None, hit: Hit, database: str | None, *, seed: int, simulated: bool) -> str:
    """Create the store where there is none, bring it up to the pairs file and return its URL."""
    path = pairs_of(study, pairs)
    study.mkdir(parents=True, exist_ok=True)
    url = database or sqlite_url(study)
    store = open_store(url, seed=seed, simulated=simulated)
    try:
        pool.load(store, path, hit, time.time())
    finally:
        store.close()
    return url


@contextmanager
def opened(study: Path, database: str | None) -> Iterator[Store]:
    """The store of a study that exists, closed at the end."""
    if database is None and not (study / "crowd.sqlite").exists():
        raise InputError(f"{study} has no crowd.sqlite yet. Serve it (python -m crowd serve {study}) or simulate.")
    store = open_store(database or sqlite_url(study))
    try:
        yield store
    finally:
        store.close()


def serve(app: Flask, host: str, port: int, ready: Callable[[int], None], *, stop_with_stdin: bool = False) -> None:
    """Serve until Ctrl-C or SIGTERM; `ready` hears the port. Requests that are being answered are finished first."""
    if not 0 <= port < 65536:
        raise InputError(f"--port is {port}; it may be 1 to 65535, or 0 for a free one.")
    try:
        server = waitress.create_server(
            app,
            host=host,
            port=port,
            threads=THREADS,
            ident="",
            clear_untrusted_proxy_headers=False,  # the application reads them if, and only if, it is told of a proxy
            max_request_body_size=LARGEST_REQUEST,
            connection_limit=1000,
            asyncore_use_poll=True,
        )
    except OSError as error:
        other = "--port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "--host"
        raise InputError(f"{host}:{port} cannot be used: {error.strerror or error}. Choose another {other}.") from error
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if stop_with_stdin:
        threading.Thread(target=_stop_at_end_of_input, daemon=True).start()
    with suppress(KeyboardInterrupt, SystemExit):  # stopped before it ran: the same end as later
        ready(int(server.effective_port))
        server.run()


def _stop_at_end_of_input() -> None:
    """End when the process that started this one is gone, however it went."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
