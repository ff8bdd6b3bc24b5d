"""A chat-completions server that also takes batches: strict about what it is sent, slow, careless with its output."""

import json
import re
import socket

from tests.dialogue.engines.chat_server import ChatServer, is_strict_schema


class BatchServer(ChatServer):
    """`fates` are the statuses that a batch goes through; `fails` the numbers of calls that fail in it.

    Single calls are answered as by ChatServer, batches by `answers` (or "A"): in the reverse order, one of them twice.
    They are listed one on a page. `before_answer` is called with the number of each request once it is carried out.
    """

    def before_answer(self, number):
        """Nothing, unless somebody wants to break in."""

    def __init__(self, *, key=None, fates=("validating", "in_progress", "completed"), fails=(), answers=()):
        super().__init__(key=key)
        self.fates, self.fails, self.answers = list(fates), set(fails), list(answers)
        self.files, self.batches, self.lost, self.requests = {}, [], False, 0
        outer, chat = self, self.http.RequestHandlerClass

        class Handler(chat):
            def do_POST(self):
                if self.path == "/v1/chat/completions":
                    return chat.do_POST(self)
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                if not outer.allowed(self):
                    return outer.send(self, 401, {"error": "no key"})
                return outer.take_file(self, raw) if self.path == "/v1/files" else outer.take_batch(self, raw)

            def do_GET(self):
                if not outer.allowed(self):
                    return outer.send(self, 401, {"error": "no key"})
                if match := re.fullmatch(r"/v1/files/(\w+)/content", self.path):
                    return outer.send(self, 200, outer.files[match[1]])
                if match := re.fullmatch(r"/v1/batches/(\w+)", self.path):
                    return outer.send(self, 200, outer.look_at(int(match[1][1:])))
                after = re.search(r"after=b(\d+)", self.path)  # the newest first, one on a page
                place = int(after[1]) - 1 if after else len(outer.batches) - 1
                found = [outer.look_at(place)] if place >= 0 else []
                return outer.send(self, 200, {"data": found, "has_more": place > 0})

        self.http.RequestHandlerClass = Handler

    def allowed(self, handler):
        return self.key is None or handler.headers.get("Authorization") == f"Bearer {self.key}"

    def reply(self, handler, body, how):
        self.count_request()
        super().reply(handler, body, how)

    def count_request(self):
        self.requests += 1
        self.before_answer(self.requests)

    def send(self, handler, status, body):
        self.count_request()
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        handler.send_response(status)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        handler.wfile.write(data)

    def take_file(self, handler, raw):
        assert b'name="purpose"' in raw and b"batch" in raw
        lines = [line for line in raw.decode().splitlines() if line.startswith("{")]
        for line in map(json.loads, lines):
            assert set(line) == {"custom_id", "method", "url", "body"} and line["url"] == "/v1/chat/completions"
            assert "response_format" not in line["body"] or is_strict_schema(line["body"]["response_format"])
            assert self.refuse not in line["body"]
        name = f"f{len(self.files)}"
        self.files[name] = "\n".join(lines).encode()
        self.send(handler, 200, {"id": name})

    def take_batch(self, handler, raw):
        wanted = json.loads(raw)
        assert wanted["endpoint"] == "/v1/chat/completions" and wanted["completion_window"] == "24h"
        total = self.files[wanted["input_file_id"]].count(b"\n") + 1
        batch = {"id": f"b{len(self.batches)}", "status": self.fates[0], "input_file_id": wanted["input_file_id"],
                 "request_counts": {"total": total, "completed": 0}}  # fmt: skip
        self.batches.append(batch)
        if self.lost:  # it arrived, and nobody learns of it
            handler.close_connection = True
            return handler.connection.shutdown(socket.SHUT_RDWR)
        return self.send(handler, 200, batch)

    def look_at(self, number):
        batch = self.batches[number]
        batch["status"] = self.fates.pop(0) if len(self.fates) > 1 else self.fates[0]
        if batch["status"] in ("completed", "expired") and "output_file_id" not in batch:
            lines = [json.loads(line) for line in self.files[batch["input_file_id"]].splitlines()]
            done, failed = [], []
            for n, line in enumerate(lines):
                text = self.answers[n] if n < len(self.answers) else "A"
                body = self.answer(line["body"], {"content": text})
                response = {"status_code": 400, "body": "no"} if n in self.fails else {"status_code": 200, "body": body}
                (failed if n in self.fails else done).append({"custom_id": line["custom_id"], "response": response})
            done = [*done[::-1], *done[-1:], {"custom_id": "nobody's", "response": {"status_code": 200, "body": body}}]
            for name, rows in (("output_file_id", done), ("error_file_id", failed)):
                if rows:
                    batch[name] = f"{name[0]}{number}"
                    self.files[batch[name]] = "\n".join(map(json.dumps, rows)).encode()
        return batch
