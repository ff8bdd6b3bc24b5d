"""The Prolific on this machine over HTTP, with every way in which a call may fail."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qsl, urlsplit

from seedvote.crowd.marketplaces.prolific.double import Prolific
from seedvote.crowd.marketplaces.prolific.double_rules import RefusedCall

TOKEN = "example"  # the one token that it accepts
PREFIX = "/api/v1"
ID = re.compile(r"[0-9a-f]{24}")


class DoubleServer(ThreadingHTTPServer):
    """A server with a Prolific behind it."""

    daemon_threads = True

    def __init__(self, prolific: Prolific, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.prolific = prolific
        self.url = f"http://127.0.0.1:{self.server_port}{PREFIX}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is nobody's error."""


@contextmanager
def serving_double(prolific: Prolific, port: int = 0) -> Iterator[DoubleServer]:
    """Serve it until this ends."""
    server = DoubleServer(prolific, port)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *args: object) -> None:
        """Nothing."""

    def _send_reply(self, status: int, body: object, **headers: str) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(data)

    def _cut_connection(self) -> None:
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def _handle_call(self) -> None:
        state, url = cast(DoubleServer, self.server).prolific, urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = url.path.removeprefix(PREFIX)
        general = ID.sub("ID", path)
        with state.lock:
            state.calls[self.command, general] += 1
            if (self.command, general) in state.faults:
                state.faults.remove((self.command, general))
                return self._send_reply(503, {"error": {"title": "unavailable"}})
            failure = state.upset(self.command, general) if state.upset else None
            if failure == "busy":
                wait = {"Retry_After": state.retry_after} if state.retry_after else {}
                return self._send_reply(429, {"error": {"title": "Too many requests"}}, **wait)
            if failure == "stumbles":
                return self._send_reply(500, {"error": {"title": "Server error"}})
            if failure == "false success":
                return self._send_reply(200, {"error": {"title": "Server error"}})
            status, answer = self._answer_call(state, general, path, body, dict(parse_qsl(url.query)))
        if failure == "another answer":
            return self._send_reply(200, ["of a proxy"])
        if failure == "stumbles late":
            return self._send_reply(500, {"error": {"title": "Server error"}})
        return self._cut_connection() if failure == "cut" else self._send_reply(status, answer)

    do_GET = do_POST = do_PATCH = _handle_call

    def _answer_call(
        self, state: Prolific, general: str, path: str, body: bytes, query: dict[str, str]
    ) -> tuple[int, object]:
        try:
            if self.headers["Authorization"] != f"Token {TOKEN}":
                raise RefusedCall(401, "Authentication credentials were not provided")
            name = ID.search(path)
            status, answer = state.answer(self.command, general, name[0] if name else "", _read_json(body), query)
        except RefusedCall as refused:
            return refused.status, refused.body
        return status, self._with_whole_links(answer)

    def _with_whole_links(self, answer: Any) -> Any:
        """Links to next pages lead to this server."""
        if isinstance(answer, dict) and (href := ((answer.get("_links") or {}).get("next") or {}).get("href")):
            return {**answer, "_links": {"next": {"href": f"http://{self.headers['Host']}{PREFIX}{href}"}}}
        return answer


def _read_json(body: bytes) -> Any:
    try:
        return json.loads(body or b"{}")
    except ValueError:
        raise RefusedCall(400, "Error", "not JSON") from None
