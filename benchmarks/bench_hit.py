"""The rating server under 16 and 64 concurrent raters, beside Flask + waitress + SQLite written in the plainest way.

Server and load generator share the machine. One judgement is a fetch of the task and a submission; both servers commit
each vote to disk. Ours also keeps leases, sides, checks, the event log and exactly three votes a pair. What counts are
the ratios to the plain server, measured in alternation in the same run, for a machine is never equally busy twice.

    python benchmarks/bench_hit.py [--judgements 1600] [--raters 16 64] [--rounds 3] [--postgresql] [--workers 2 4]
        [--large]
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import re
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
HIT = "pairs_per_sitting = 1000\nfirst_checks = 0\nlater_checks = 0\n"
HIDDEN = re.compile(r'name="(\w+)" value="([^"]*)"')
FORM = {"Content-Type": "application/x-www-form-urlencoded", "X-Requested-With": "fetch"}
WORDS = [
    "hotel", "train", "room", "cheap", "north", "centre", "table", "food", "please",
    "thanks", "number", "leave", "arrive", "friday", "parking", "star",
]  # fmt: skip


def write_pairs(path: Path, number: int) -> None:
    """Invented pairs of ordinary length."""
    draw = random.Random(0)

    def text(words: int) -> str:
        return " ".join(draw.choice(WORDS) for _ in range(words))

    with path.open("w", encoding="utf-8") as file:
        for n in range(number):
            context = [{"speaker": ("user", "system")[i % 2], "text": text(12)} for i in range(5)]
            sides = {side: {"text": text(12), "model": "m", "seed": i} for i, side in enumerate("ab")}
            file.write(json.dumps({"pair": f"p{n}", "item": f"d{n}:5", "context": context, **sides}) + "\n")


def plain_server(database: str, port: int) -> None:
    """The comparison: no lease, no side, no log, no form token; a vote is a row."""
    import waitress
    from flask import Flask, redirect, render_template_string, request, session
    from werkzeug import Response

    app = Flask("plain")
    app.secret_key = "plain"
    page = """<!doctype html><title>Which is more relevant?</title><ol>{% for line in pair.context %}
    <li>{{ line.speaker }}: {{ line.text }}</li>{% endfor %}</ol><p>{{ pair.a.text }}</p><p>{{ pair.b.text }}</p>
    <form method="post" action="/answer"><input type="hidden" name="lease" value="{{ pair.pair }}">
    <button name="choice" value="left">A</button><button name="choice" value="right">B</button>
    <button name="choice" value="tie">Tie</button></form>"""

    @app.get("/")
    def start() -> Response:
        session["rater"] = request.args["rater"]
        return redirect("/task")

    @app.get("/task")
    def task() -> str:
        with contextlib.closing(sqlite3.connect(database, timeout=60)) as connection:
            row = connection.execute(
                "SELECT body FROM pairs WHERE (SELECT count(*) FROM votes WHERE votes.pair = pairs.pair) < 3 AND NOT "
                "EXISTS (SELECT 1 FROM votes WHERE votes.pair = pairs.pair AND rater = ?) LIMIT 1",
                (session["rater"],),
            ).fetchone()
        return render_template_string(page, pair=json.loads(row[0]))

    @app.post("/answer")
    def answer() -> str:
        with contextlib.closing(sqlite3.connect(database, timeout=60)) as connection, connection:
            vote = (request.form["lease"], session["rater"], request.form["choice"], time.time())
            connection.execute("INSERT INTO votes VALUES (?, ?, ?, ?)", vote)
        return "saved"

    waitress.serve(app, port=port, threads=8)


def make_plain(database: Path, pairs: Path) -> None:
    """Its tables."""
    with contextlib.closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("CREATE TABLE pairs (pair TEXT PRIMARY KEY, body TEXT)")
        connection.execute("CREATE TABLE votes (pair TEXT, rater TEXT, choice TEXT, at REAL)")
        connection.execute("CREATE INDEX votes_pair ON votes (pair)")
        rows = [(json.loads(line)["pair"], line) for line in pairs.read_text().splitlines()]
        connection.executemany("INSERT INTO pairs VALUES (?, ?)", rows)


class Rater:
    """A browser with a cookie and a kept-open connection, as light as can be."""

    def __init__(self, port: int, name: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.cookie, self.times = "", list[float]()
        text = self.ask("GET", f"/?rater={name}")
        if "/consent" in text:
            self.ask("POST", "/consent", dict(HIDDEN.findall(text)))
            for number in range(1, 5):
                fields = dict(HIDDEN.findall(self.ask("GET", f"/instructions/{number}")))
                self.ask("POST", f"/instructions/{number}", fields | {"choice": "left"})

    def ask(self, method: str, path: str, fields: dict[str, str] | None = None) -> str:
        """One request; the cookie is kept."""
        body = urllib.parse.urlencode(fields) if fields is not None else None
        self.connection.request(method, path, body, FORM | {"Cookie": self.cookie})
        reply = self.connection.getresponse()
        text = reply.read().decode()
        if reply.status >= 400:
            raise SystemExit(f"{method} {path}: {reply.status}")
        if cookie := reply.headers["Set-Cookie"]:
            self.cookie = cookie.split(";")[0]
        return json.loads(text)["html"] if text.startswith("{") else text

    def judge(self, number: int) -> None:
        """So many times: fetch the task, submit an answer."""
        for n in range(number):
            begun = time.perf_counter()
            fields = dict(HIDDEN.findall(self.ask("GET", "/task")))
            self.ask("POST", "/answer", fields | {"choice": ("left", "right", "tie")[n % 3], "seconds": "1"})
            self.times.append(time.perf_counter() - begun)


@dataclass(frozen=True)
class Load:
    """What one server did under one load."""

    rate: float  # judgements a second
    median: float  # of fetch + submit, ms
    p95: float
    cpu: float  # of the server's own processes, ms a judgement


def load(port: int, judgements: int, number: int, pid: int) -> Load:
    """So many raters judge at once; the server's processor time is its own and that of the processes it started."""
    name = uuid.uuid4().hex
    raters = [Rater(port, f"{name}-{n}") for n in range(number)]
    threads = [threading.Thread(target=rater.judge, args=(judgements // number,)) for rater in raters]
    before = processor_time(pid)
    begun = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    spent = time.perf_counter() - begun
    times = sorted(1000 * t for rater in raters for t in rater.times)
    cpu = 1000 * (processor_time(pid) - before) / len(times)
    return Load(len(times) / spent, statistics.median(times), times[int(0.95 * len(times))], cpu)


def processor_time(pid: int) -> float:
    """Seconds that a process and those that it started have used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    own = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return own + sum(processor_time(int(child)) for child in children)


@contextlib.contextmanager
def started(command: list[str], port: int, environment: dict[str, str] | None = None) -> Iterator[tuple[int, float]]:
    """A server process and the seconds from its start to its first page."""
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", port)) == 0:
            raise SystemExit(f"port {port} is in use: another server would be measured in place of this one")
    begun = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=ROOT,
        env=os.environ | (environment or {}),
        start_new_session=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        while True:
            with (
                contextlib.suppress(OSError),
                contextlib.closing(http.client.HTTPConnection("127.0.0.1", port)) as first,
            ):
                first.request("GET", "/?rater=first")
                first.getresponse().read()
                break
            time.sleep(0.01)
        yield process.pid, time.perf_counter() - begun
    finally:
        os.killpg(process.pid, 9)
        process.wait()


def memory(pid: int) -> float:
    """Resident megabytes of a process and of those that it started."""
    status = Path(f"/proc/{pid}/status").read_text()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(kilobytes) / 1024 + sum(memory(int(child)) for child in children)


def measure(
    name: str, command: list[str], port: int, judgements: int, raters: int, environment: dict[str, str] | None = None
) -> Load:
    """Start, warm up, load, print one line."""
    with started(command, port, environment) as (pid, start):
        load(port, raters * 3, raters, pid)
        found = load(port, judgements, raters, pid)
        print(
            f"{name:<40}{raters:>7}{found.rate:>8.0f}/s{found.median:>9.0f} ms{found.p95:>9.0f} ms"
            f"{found.cpu:>9.2f} ms{start:>8.2f} s{memory(pid):>7.0f} MB",
            flush=True,
        )
    return found


def study(folder: Path, number: int) -> list[str]:
    """A study of so many pairs, prepared; returns the arguments of serve."""
    folder.mkdir()
    write_pairs(folder / "pairs.jsonl", number)
    (folder / "hit.toml").write_text(HIT)
    from seedvote.crowd.study_folder import hit_of, prepare_study

    prepare_study(folder, None, hit_of(folder, None), None, seed=0, simulated=False)
    return ["-m", "crowd", "serve", str(folder), "--rate", "0", "--quiet", "--walk-in"]


def sqlite(folder: Path, number: int, judgements: int, raters: int) -> Load:
    """What `crowd serve` starts by itself."""
    return measure("ours, SQLite", [*study(folder, number), "--port", "8901"], 8901, judgements, raters)


def plain(folder: Path, number: int, judgements: int, raters: int) -> Load:
    """The comparison."""
    folder.mkdir()
    write_pairs(folder / "pairs.jsonl", number)
    make_plain(folder / "plain.sqlite", folder / "pairs.jsonl")
    command = [__file__, "--plain", str(folder / "plain.sqlite"), "8902"]
    return measure("plain Flask + waitress + SQLite", command, 8902, judgements, raters)


def postgresql(folder: Path, number: int, judgements: int, raters: int, workers: int = 2) -> Load:
    """Gunicorn workers on a database of their own."""
    import sqlalchemy as sa

    from seedvote.crowd.study_folder import hit_of, prepare_study

    server = sa.create_engine("postgresql+psycopg://root@127.0.0.1/postgres", isolation_level="AUTOCOMMIT")
    name = f"bench_{uuid.uuid4().hex[:8]}"
    with server.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    try:
        url = f"postgresql+psycopg://root@127.0.0.1/{name}"
        study(folder, number)
        prepare_study(folder, None, hit_of(folder, None), url, seed=0, simulated=False)
        environment = {"SEEDVOTE_STUDY": str(folder), "SEEDVOTE_DATABASE": url, "SEEDVOTE_WALK_IN": "1"}
        environment |= {"SEEDVOTE_RATE": "0", "SEEDVOTE_QUIET": "1"}
        command = ["-m", "gunicorn", "--workers", str(workers), "--threads", "8", "--bind", "127.0.0.1:8904"]
        command += ["--keep-alive", "60", "seedvote.crowd.wsgi:from_environment()"]
        return measure(f"ours, PostgreSQL, {workers} gunicorn workers", command, 8904, judgements, raters, environment)
    finally:
        with server.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
        server.dispose()


Server = Callable[[Path, int, int, int], Load]


def with_workers(workers: int) -> Server:
    """PostgreSQL with so many workers."""

    def server(folder: Path, number: int, judgements: int, raters: int) -> Load:
        return postgresql(folder, number, judgements, raters, workers)

    server.__name__ = f"postgresql-{workers}"
    return server


def in_turns(servers: list[Server], base: Path, args: argparse.Namespace, raters: int) -> None:
    """Each server in each round, the order turned every time; then the ratios to the plain one, round by round."""
    rounds: list[dict[str, Load]] = []
    for n in range(args.rounds):
        found = {}
        for one in servers if n % 2 == 0 else servers[::-1]:
            found[one.__name__] = one(base / f"{one.__name__}-{raters}-{n}", args.pairs, args.judgements, raters)
        rounds.append(found)
    for name in [one.__name__ for one in servers if one is not plain]:
        told = [
            f"{word} " + "  ".join(f"{getattr(now[name], of) / getattr(now['plain'], of):.2f}" for now in rounds)
            for word, of in (("rate", "rate"), ("p50", "median"), ("p95", "p95"), ("CPU", "cpu"))
        ]
        print(f"{name} / plain, {raters} raters: {'; '.join(told)}", flush=True)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgements", type=int, default=1600)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--raters", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="also with 100,000 pairs in the store")
    parser.add_argument("--postgresql", action="store_true", help="also on PostgreSQL")
    parser.add_argument("--workers", type=int, nargs="+", default=[2], help="gunicorn workers with PostgreSQL")
    parser.add_argument("--plain", nargs=2, metavar=("DATABASE", "PORT"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.plain:
        plain_server(args.plain[0], int(args.plain[1]))
    servers: list[Server] = [sqlite, plain, *(map(with_workers, args.workers) if args.postgresql else [])]
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        busy = os.getloadavg()[0]
        print(f"{args.judgements} judgements, {args.pairs} pairs, {os.cpu_count()} cores, load before {busy:.1f}")
        print(f"{'':<40}{'raters':>7}{'rate':>10}{'median':>12}{'p95':>12}{'CPU':>12}{'start':>10}{'RSS':>10}")
        for raters in args.raters:
            in_turns(servers, base, args, raters)
        if args.large:
            few = sqlite(base / "few", args.pairs, args.judgements, args.raters[0])
            many = sqlite(base / "many", 100_000, args.judgements, args.raters[0])
            print(f"100,000 pairs / {args.pairs}: rate {many.rate / few.rate:.2f}")


if __name__ == "__main__":
    main()
