"""How near 1,000 verdicts at 16 at once come to the ideal: an endpoint that takes 50 ms cannot be asked faster.

The endpoint runs in a process of its own, as one does. Beside the time by the clock, which on a busy machine is also
that of its other work, stands the client's own processor time. Run: python benchmarks/bench_judge.py [CALLS]. Fails
above 1.4 times the ideal.
"""

import json
import multiprocessing
import sys
import tempfile
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
from seedvote.dialogue.engines.chat import Endpoint  # noqa: E402
from seedvote.dialogue.records import Candidate, Pair, Utterance  # noqa: E402
from seedvote.evaluators.judging.asking import Manner, prompt_of, questions_on, verdicts_of  # noqa: E402

PAUSE, AT_ONCE, BAR = 0.05, 16, 1.4
REPLY = json.dumps({"model": "m", "choices": [{"message": {"content": "A"}}]}).encode()


class Slow(BaseHTTPRequestHandler):
    """Answers A after 50 ms."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        time.sleep(PAUSE)
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(REPLY)}\r\n\r\n".encode()
        self.wfile.write(head + REPLY)

    def log_message(self, *args):
        pass


def serve(told):
    """The endpoint; its port goes through the pipe."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Slow)
    server.daemon_threads = True
    told.send(server.server_port)
    server.serve_forever()


def main(calls):
    """Ask both orders of half as many pairs, three times, and print the best ratio."""
    here, there = multiprocessing.Pipe()
    server = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    server.start()
    endpoint, ideal = Endpoint(f"http://127.0.0.1:{here.recv()}/v1", "m", concurrency=AT_ONCE), PAUSE * calls / AT_ONCE
    took, busy = min(once(endpoint, calls) for _ in range(3))
    server.terminate()
    print(f"{calls:,} verdicts in {took:.2f} s, ideal {ideal:.2f} s: {took / ideal:.2f} times (at most {BAR})")
    print(f"of which the client computed {busy:.2f} s, {1000 * busy / calls:.2f} ms a verdict")
    return took / ideal <= BAR


def once(endpoint, calls):
    """Seconds for so many verdicts with a journal of their own, by the clock and of this process."""
    sides = Candidate("yes", "x"), Candidate("no", "y")
    pairs = [Pair(f"p{n}", "i", [Utterance("user", "hello")], *sides) for n in range(calls // 2)]
    with tempfile.TemporaryDirectory() as folder:
        prompt = prompt_of(Path(folder), None)
        questions, began, busy = questions_on(pairs, prompt), time.monotonic(), time.process_time()
        found = verdicts_of(questions, endpoint, "m", prompt, Manner(), Path(folder) / "journal.jsonl", lambda: None)
        took = time.monotonic() - began, time.process_time() - busy
    if len(found.verdicts) != calls:
        raise SystemExit(f"{len(found.verdicts):,} verdicts came of {calls:,} calls.")
    return took


if __name__ == "__main__":
    sys.exit(not main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
