"""Waitress serves the application, for as long as the command lives or in the background of another one.

Asked to end, it answers every request that it has received and refuses what comes later, so that nobody who sent an
answer is left without word of it. However the process ends, no vote is half saved.
"""

from __future__ import annotations

import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import waitress
from flask import Flask
from waitress import wasyncore
from waitress.channel import HTTPChannel

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell import stopping

SERVER_THREADS = 8
LARGEST_REQUEST = 524_288  # bytes that are read at all; the application's own limit is lower
LAST_CALL = 20.0  # seconds for what was received before the end; a database that hangs longer is not waited for


class Connection(HTTPChannel):  # type: ignore[misc]
    """A visitor's connection, which the loop leaves alone while a thread writes its reply.

    The loop asks every connection whether it has something to send. A reply that a thread is just sending is such a
    thing, and the socket takes it at any time: so the loop would go round and round, a hundred times a judgement, and
    hold the interpreter that the thread needs to be done.
    """

    def writable(self) -> bool:
        """Whether the loop has anything to do here."""
        if not self.total_outbufs_len or self.total_outbufs_len > self.adj.outbuf_high_watermark:
            return bool(super().writable())  # above that mark the thread waits for the loop
        if free := self.outbuf_lock.acquire(blocking=False):
            self.outbuf_lock.release()
        return bool(free)

    def write_soon(self, data: Any) -> int:
        """Send; what a slow visitor does not take at once is the loop's, which is woken when it may have it."""
        taken: int = super().write_soon(data)
        if self.total_outbufs_len:
            self.server.pull_trigger()
        return taken


def serve(app: Flask, host: str, port: int, ready: Callable[[int], None], *, stop_with_stdin: bool = False) -> bool:
    """Serve until Ctrl-C or SIGTERM; `ready` hears the port. What was received by then is answered first.

    Tells whether it was Ctrl-C. With `stop_with_stdin` Ctrl-C is for whoever started this process, and ends it too.
    """
    if not 0 <= port < 65536:
        raise InputError(f"--port is {port}; it may be 1 to 65535, or 0 for a free one.")
    sockets: dict[int, wasyncore.dispatcher] = {}
    try:
        server = waitress.create_server(
            app,
            map=sockets,
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
        option = "--port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "--host"
        raise InputError(
            f"{host}:{port} cannot be used: {error.strerror or error}. Choose another {option}."
        ) from error
    _keep_quiet(sockets)
    ended = threading.Event()

    def end() -> None:  # no exception: it would lose what the loop has just read from a socket
        ended.set()
        for connection in list(sockets.values()):
            if connection.accepting:
                connection.pull_trigger()

    # Whoever asks twice does not want to wait.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0) if ended.is_set() else end())
    stopping.allow(LAST_CALL, end)  # an answer that a rater has sent is worth more than a prompt at once
    if stop_with_stdin:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        threading.Thread(target=_stop_at_end_of_input, daemon=True).start()
    with suppress(SystemExit):
        ready(port or _port_of(sockets))
        while not ended.is_set():
            wasyncore.loop(timeout=1, map=sockets, use_poll=True, count=1)
        _answer_the_rest(sockets)
    server.task_dispatcher.shutdown()
    wasyncore.close_all(sockets)
    return stopping.is_asked()


def _keep_quiet(sockets: dict[int, wasyncore.dispatcher]) -> None:
    for connection in sockets.values():
        if connection.accepting:
            connection.channel_class = Connection


def _port_of(sockets: dict[int, wasyncore.dispatcher]) -> int:
    return next(int(connection.effective_port) for connection in sockets.values() if connection.accepting)


def _answer_the_rest(sockets: dict[int, wasyncore.dispatcher]) -> None:
    """Answer what has come in, queued requests too, and let nobody else in."""
    until, quiet = time.monotonic() + LAST_CALL, 0
    while quiet < 2 and time.monotonic() < until:  # twice: what lay in a socket's buffer is known after one look
        wasyncore.loop(timeout=0.05, map=sockets, use_poll=True, count=1)
        for connection in list(sockets.values()):
            if connection.accepting:
                wasyncore.dispatcher.close(connection)  # not its own close(), which takes away what wakes this loop
        channels = [connection for connection in list(sockets.values()) if isinstance(connection, HTTPChannel)]
        quiet = 0 if any(connection.requests or connection.total_outbufs_len for connection in channels) else quiet + 1


@contextmanager
def in_background(app: Flask, host: str, port: int) -> Iterator[None]:
    """The application, served by a thread of this process while something else runs in front.

    Signals stay with what runs in front: only the main thread of a process may handle them.
    """
    sockets: dict[int, wasyncore.dispatcher] = {}
    server = waitress.create_server(app, map=sockets, host=host, port=port, threads=SERVER_THREADS, ident="")
    _keep_quiet(sockets)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.close()


def _stop_at_end_of_input() -> None:
    """End when the process that started this one is gone, however it went."""
    while os.read(0, 4096):  # past sys.stdin, whose lock a thread may not hold when the interpreter ends
        pass
    os.kill(os.getpid(), signal.SIGTERM)
