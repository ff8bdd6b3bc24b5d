"""An endpoint that does what real ones do on bad days, drawn by chance, and remembers what each call truly cost."""

import json
import random
import re
import socket
import threading
import time
from dataclasses import dataclass

from tests.dialogue.engines.chat_server import QuietHandler, QuietServer

NAMED = "I am secretours, at your service"  # what systems should not say, and do

# How often, in draws.
WHIMS = {
    "answer": 40,
    "stream": 3,
    "late": 3,
    "length": 2,
    "names itself": 2,
    "no usage": 2,
    "usage of nothing": 2,
    "usage of nonsense": 2,
    "odd signs": 2,
    "bytes that are no text": 2,
    "long": 1,
    "busy": 4,
    "busy for a second": 1,
    "in trouble": 4,
    "elsewhere": 1,
    "hangs up before": 2,
    "cut": 3,
    "drips": 1,
    "broken stream": 2,
    "error with 200": 2,
    "no JSON": 2,
    "nested without end": 1,
    "empty": 2,
    "null": 2,
    "filtered": 2,
    "NUL": 1,
    "closes after": 2,
}
FREE = {"busy", "busy for a second", "in trouble", "elsewhere"}  # nothing is charged for these
TRUE_USAGE = {"answer", "late", "length", "names itself", "odd signs", "bytes that are no text", "closes after"}


@dataclass
class Asked:
    """One call as the endpoint saw it."""

    name: str
    body: dict
    messages: list
    most_out: int
    whim: str
    tokens: tuple = (0, 0)  # that it charges for
    text: str = ""


class UnkindServer(QuietServer):
    """Any number of calls at once; `asked` is its own book."""

    def __init__(self, seed, whims=WHIMS):
        self.draw, self.asked, self.lock, self.whims = random.Random(seed), [], threading.Lock(), whims
        outer = self

        class Handler(QuietHandler):
            def do_POST(self):
                outer.serve(self, self.posted())

        super().__init__(Handler)

    def serve(self, handler, body):
        """Charge for the call, write it into the book, and answer in one way or another."""
        assert set(body) == {"model", "messages", "max_tokens"} and handler.path == "/v1/chat/completions"
        assert all(set(message) == {"role", "content"} for message in body["messages"])
        with self.lock:
            whim = self.draw.choices([*self.whims], [*self.whims.values()])[0]
            text = self._text(whim, body)
            sent = sum(len(message["content"].encode()) for message in body["messages"])
            out = min(body["max_tokens"], 1 + len(text.encode()) // 4)
            tokens = (0, 0) if whim in FREE else (1 + sent // 4, body["max_tokens"] if whim == "length" else out)
            name = handler.headers["Idempotency-Key"]
            self.asked.append(Asked(name, body, body["messages"], body["max_tokens"], whim, tokens, text))
            pause = self.draw.choice((0, 0, 0, 0.01, 0.05, 0.15))
        time.sleep(0.4 if whim == "late" else pause)
        self._answer(handler, body, whim, text, tokens)

    def _text(self, whim, body):
        said = body["messages"][-1]["content"]
        return {
            "names itself": NAMED,
            "odd signs": "Ünïcode \u202e <b>bold</b> \U0001f600 &amp;",
            "bytes that are no text": "bad",
            "long": "long " * 20_000,
            "empty": "",
            "null": "",
            "filtered": "",
            "NUL": "",
        }.get(whim, f"re:{said}"[:60])

    def _answer(self, handler, body, whim, text, tokens):
        usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
        usage = {"no usage": None, "usage of nothing": {"prompt_tokens": 1, "completion_tokens": 0},
                 "usage of nonsense": {"prompt_tokens": "many", "completion_tokens": -3},
                 "long": {"prompt_tokens": tokens[0], "completion_tokens": 2}}.get(whim, usage)  # fmt: skip
        content = {"null": None, "NUL": "\0"}.get(whim, text)
        finish = {"length": "length", "filtered": "content_filter"}.get(whim, "stop")
        whole = {"model": body["model"], "usage": usage}
        whole["choices"] = [{"message": {"role": "assistant", "content": content}, "finish_reason": finish}]
        data, status, headers = json.dumps(whole).encode(), 200, {"X-Served-By": body["model"]}
        if whim == "busy":
            data, status = b"", 429
        elif whim == "busy for a second":
            data, status, headers = b"", 429, {"Retry-After": "1"}
        elif whim == "in trouble":
            data, status = b"<html>secretours is down</html>", self.draw.choice((500, 502, 503, 408))
        elif whim == "elsewhere":
            data, status, headers = b"", 307, {"Location": "http://127.0.0.1:9/v1/chat/completions"}
        elif whim == "bytes that are no text":
            data = data.replace(b'"bad"', b'"bad \xff\xfe"')
        elif whim == "error with 200":
            data = b'{"error": {"message": "overloaded", "code": 529}}'
        elif whim == "no JSON":
            data = b"<html>busy</html>"
        elif whim == "nested without end":
            data = b"[" * 50_000
        elif whim in ("stream", "broken stream"):
            events = [{"choices": [{"delta": {"content": letter}}]} for letter in text]
            end = [{"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage}] * (whim == "stream")
            data = "".join(f"data: {json.dumps(event)}\n\n" for event in [*events, *end]).encode()
            headers = {"Content-Type": "text/event-stream"}
        if whim == "hangs up before":
            return self._hang_up(handler)
        if whim == "cut":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(data) + data[: len(data) // 2])
            return self._hang_up(handler)
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        if whim == "closes after":
            handler.send_header("Connection", "close")
            handler.close_connection = True
        handler.end_headers()
        if whim == "drips":
            for byte in data[:60]:
                handler.wfile.write(bytes([byte]))
                time.sleep(0.02)
            return self._hang_up(handler)
        handler.wfile.write(data)
        return None

    @staticmethod
    def _hang_up(handler):
        handler.close_connection = True
        handler.connection.shutdown(socket.SHUT_RDWR)


def columns(html):
    """The replies on a page, left and right: how many of each."""
    return [len(re.findall('<li class="judged">', part)) for part in html.split('role="log"')[1:]]
