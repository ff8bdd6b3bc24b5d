"""Waitress serves the application, for as long as the command lives or in the background of another one.

Whatever way the process ends, requests that are being answered are finished first, and no vote is half saved.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

import waitress
from flask import Flask

from dialogue.errors import InputError

SERVER_THREADS = 8
LARGEST_REQUEST = 65_536  # bytes that are read at all; the application's own limit is lower


def serve(app: Flask, host: str, port: int, ready: Callable[[int], None], *, stop_with_stdin: bool = False) -> None:
    """Serve until Ctrl-C or SIGTERM; `ready` hears the port. Requests that are being answered are finished first."""
    if not 0 <= port < 65536:
        raise InputError(f"--port is {port}; it may be 1 to 65535, or 0 for a free one.")
    try:
        server = waitress.create_server(
            app,
            host=host,
            port=port,
            threads=SERVER_THREADS,
            ident="",
            clear_untrusted_proxy_headers=False,  # the application reads them if, and only if, it is told of a proxy
            max_request_body_size=LARGEST_REQUEST,
            connection_limit=1000,  # browsers keep connections open between pairs; the default of 100 is a small crowd
            asyncore_use_poll=True,  # select() knows no descriptor above 1023
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


@contextmanager
def in_background(app: Flask, host: str, port: int) -> Iterator[None]:
    """The application, served by a thread of this process while something else runs in front.

    Signals stay with what runs in front: only the main thread of a process may handle them.
    """
    server = waitress.create_server(app, host=host, port=port, threads=SERVER_THREADS, ident="")
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.close()


def _stop_at_end_of_input() -> None:
    """End when the process that started this one is gone, however it went."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)
