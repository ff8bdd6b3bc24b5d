"""A chat-completions server that is stricter and unkinder than real ones: errors, cut lines, nonsense, on demand."""

import json
import socket
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def is_strict_schema(response_format):
    """Whether a reply's form is one that strict endpoints take: every field of every object required, and no other."""

    def strict(part):
        if part.get("type") != "object":
            return part.get("type") in ("string", "integer")
        names = set(part["properties"])
        closed = part.get("additionalProperties") is False and set(part["required"]) == names
        return closed and all(map(strict, part["properties"].values()))

    schema = response_format.get("json_schema", {})
    named = response_format.get("type") == "json_schema" and schema.get("strict") is True and schema.get("name")
    return bool(named and strict(schema["schema"]))


def in_events(answer, whole):
    """An answer letter by letter as server-sent events; without its end where it is not `whole`."""
    (choice,) = answer["choices"]
    events = [{"model": answer["model"], "choices": [{"delta": {"content": letter}}]}
              for letter in choice["message"]["content"]]  # fmt: skip
    if whole:
        events.append({"choices": [{"delta": {}, "finish_reason": choice["finish_reason"]}], "usage": answer["usage"]})
    lines = [f"data: {json.dumps(event)}\n\n" for event in events] + ["data: [DONE]\n\n"] * whole
    return "".join(lines).encode()


class QuietServer:
    """An endpoint of this machine that says nothing on the terminal, for calls at once."""

    def __init__(self, handler):
        self.http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.daemon_threads = True
        self.http.handle_error = lambda *args: None  # a client that was killed hangs up without a word
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"
        self.thread = threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01})

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *args):
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


class QuietHandler(BaseHTTPRequestHandler):
    """Reads the JSON that is posted."""

    protocol_version = "HTTP/1.1"

    def posted(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def log_message(self, *args):
        pass


class ChatServer(QuietServer):
    """Answers what `script` says, one entry a request, and then the last message in capitals.

    An entry may have `status`, `headers`, `raw` (the body as it is), `cut` (hang up instead), or `content`, `finish`,
    `model`, `usage`, further `message` fields of an answer; with `stream` it comes in events, though nobody asked for
    that. `hold` is an event to wait for, `drip` the seconds between two bytes of the answer. A request that is no call
    of the protocol, or has no key where one is needed, fails; `refuse` names an option that is answered by 400 wherever
    it is sent.
    """

    refuse = ""

    def __init__(self, *, key=None, answered=None):
        self.asked, self.script, self.lock = [], [], threading.Lock()
        self.names = []
        self.key, self.answered = key, answered or (lambda number: None)
        outer = self

        class Handler(QuietHandler):
            def do_POST(self):
                body = self.posted()
                with outer.lock:
                    outer.asked.append((self.headers.get("Authorization"), body))
                    outer.names.append(self.headers.get("Idempotency-Key"))
                    number = len(outer.asked)
                    how = outer.script.pop(0) if outer.script else {}
                outer.reply(self, body, how)
                outer.answered(number)

        super().__init__(Handler)

    def reply(self, handler, body, how):
        """Send what the script says, or hang up."""
        if how.get("hold"):
            how["hold"].wait()
        if how.get("cut"):
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return
        if self.refuse in body:
            how = {"status": 400, "raw": f"Unsupported value: '{self.refuse}' is not supported.".encode()}
        status = how.get("status", 200 if self.legal(handler, body) else 400)
        data = how["raw"] if "raw" in how else json.dumps(self.answer(body, how)).encode()
        if "stream" in how:
            data, how = (
                in_events(self.answer(body, how), how["stream"]),
                {"headers": {"Content-Type": "text/event-stream"}},
            )
        handler.send_response(status)
        for name, value in how.get("headers", {}).items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        if "drip" in how:
            for byte in data:
                handler.wfile.write(bytes([byte]))
                time.sleep(how["drip"])
            return
        handler.wfile.write(data)

    def legal(self, handler, body):
        """Whether this is a call of the protocol, by somebody who may ask."""
        known = {"model", "messages", "temperature", "seed", "max_tokens", "logprobs", "top_logprobs"}
        known |= {"max_completion_tokens", "response_format"}
        whole = body["messages"] and all(set(m) == {"role", "content"} for m in body["messages"])
        allowed = self.key is None or handler.headers.get("Authorization") == f"Bearer {self.key}"
        whole = whole and ("response_format" not in body or is_strict_schema(body["response_format"]))
        return whole and set(body) <= known and handler.path == "/v1/chat/completions" and allowed

    @staticmethod
    def answer(body, how):
        content = how.get("content", f" {body['messages'][-1]['content'].upper()} ")
        usage = how.get("usage", {"prompt_tokens": 10, "completion_tokens": 2})
        message = {"role": "assistant", "content": content, **how.get("message", {})}
        return {"model": how.get("model", body["model"]), "usage": usage,
                "choices": [{"message": message, "finish_reason": how.get("finish", "stop")}]}  # fmt: skip

    @property
    def times(self):
        """How often every call was made, by what it asked."""
        return Counter(json.dumps(body, sort_keys=True) for _, body in self.asked)
