"""The rating server under 16 and 64 concurrent raters, beside Flask + waitress + SQLite written in the plainest way.

Server and load generator share the machine. One judgement is a fetch of the task and a submission; both servers commit
each vote to disk. Ours also keeps leases, sides, checks, the event log and exactly three votes a pair. What counts are
the ratios to the plain server, measured in alternation in the same run, for a machine is never equally busy twice.

    python benchmarks/bench_hit.py [--judgements 1600] [--raters 16 64] [--rounds 3] [--postgresql] [--workers 2 4]
        [--large] [--adaptive] [--beside] [--potato PYTHON]

`--adaptive` adds an adaptive study of the same pairs, on each database, and its ratios to the even one. `--beside` lets
an even and an adaptive study run at once and loads them by turns, in short bursts: a machine whose speed drifts over
minutes is then the same for both. It takes SQLite, or with `--postgresql` that. `--lock` says what planning a batch for
60 systems and 20,000 pairs costs, and how long the write lock is held for it, and for a vote.

`--potato` adds Potato (Pei et al., 2022) in its documented production setting: gunicorn, one worker, eight threads.
PYTHON is that of its own environment (`pip install potato-annotation gunicorn`). Its task has the same pairs and three
raters a pair, in its crowdsourcing setup. A judgement is the three requests that its page cannot do without; a browser
sends more. Requests that Potato answers with an error are sent again and counted. The bench ends where a vote is
missing from Potato's output.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import itertools
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
import time
import urllib.parse
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))
HIT = "pairs_per_sitting = 1000\nfirst_checks = 0\nlater_checks = 0\n"
ADAPTIVE = 'assignment = "adaptive"\n'
SYSTEMS = 8
HIDDEN = re.compile(r'name="(\w+)" value="([^"]*)"')
INSTANCE = re.compile(r'id="instance_id"[^>]* value="([^"]+)"')
WORDS = [
    "hotel", "train", "room", "cheap", "north", "centre", "table", "food", "please",
    "thanks", "number", "leave", "arrive", "friday", "parking", "star",
]  # fmt: skip


def write_pairs(path: Path, number: int, systems: int = SYSTEMS) -> None:
    """Invented pairs of ordinary length, on every two systems by turns."""
    draw, contrasts = random.Random(0), list(itertools.combinations(range(systems), 2))

    def text(words: int) -> str:
        return " ".join(draw.choice(WORDS) for _ in range(words))

    with path.open("w", encoding="utf-8") as file:
        for n in range(number):
            context = [{"speaker": ("user", "system")[i % 2], "text": text(12)} for i in range(5)]
            both = dict(zip("ab", contrasts[n % len(contrasts)], strict=True))
            sides = {side: {"text": text(12), "model": f"m{system}", "seed": 0} for side, system in both.items()}
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


class Refused(SystemExit):
    """The server answered with an error."""


class Rater:
    """A browser with a cookie and a kept-open connection, as light as can be."""

    headers: Mapping[str, str] = {"X-Requested-With": "fetch"}
    content_type = "application/x-www-form-urlencoded"
    encode: Callable[[Any], str] = staticmethod(urllib.parse.urlencode)

    def __init__(self, port: int, name: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self.cookie, self.times, self.errors = "", list[float](), 0
        text = self.ask("GET", f"/?rater={name}")
        if "/consent" in text:
            self.ask("POST", "/consent", dict(HIDDEN.findall(text)))
            for number in range(1, 5):
                fields = dict(HIDDEN.findall(self.ask("GET", f"/instructions/{number}")))
                self.ask("POST", f"/instructions/{number}", fields | {"choice": "left"})

    def ask(self, method: str, path: str, fields: dict[str, Any] | None = None) -> str:
        """One request; the cookie is kept."""
        headers, body = {**self.headers, "Cookie": self.cookie}, None
        if fields is not None:
            headers["Content-Type"], body = self.content_type, self.encode(fields)
        try:
            self.connection.request(method, path, body, headers)
            reply = self.connection.getresponse()
            text = reply.read().decode()
        except (OSError, http.client.HTTPException) as error:
            raise SystemExit(f"{method} {path}: the server did not answer ({error!r})") from error
        if reply.status >= 400:
            raise Refused(f"{method} {path}: {reply.status}")
        if cookie := reply.headers["Set-Cookie"]:
            self.cookie = cookie.split(";")[0]
        return str(json.loads(text).get("html", text)) if text.startswith("{") else text

    def judge(self, number: int) -> None:
        """So many times: fetch the task, submit an answer."""
        for n in range(number):
            begun = time.perf_counter()
            self.vote(n)
            self.times.append(time.perf_counter() - begun)

    def vote(self, n: int) -> None:
        """Fetch the task, submit an answer."""
        fields = dict(HIDDEN.findall(self.ask("GET", "/task")))
        self.ask("POST", "/answer", fields | {"choice": ("left", "right", "tie")[n % 3], "seconds": "1"})


class PotatoRater(Rater):
    """A browser on Potato's page, without its second save of an unchanged answer and without its scripts."""

    headers: Mapping[str, str] = {"X-Potato-Navigation": "1"}  # its page asks for no second page with it
    content_type = "application/json"
    encode = staticmethod(json.dumps)

    def vote(self, n: int) -> None:
        """Fetch the page, save the choice, move to the next pair."""
        instance = INSTANCE.search(self.ask_again("GET", "/annotate"))
        if instance is None:
            raise SystemExit("Potato's page shows no pair")
        annotations = {"preference:selection": ("A", "B", "tie")[n % 3]}
        reply = self.ask("POST", "/updateinstance", {"instance_id": instance[1], "annotations": annotations})
        if json.loads(reply)["status"] != "success":
            raise SystemExit(f"Potato refused a vote: {reply}")
        self.ask_again("POST", "/annotate", {"action": "next_instance", "instance_id": instance[1]})

    def ask_again(self, method: str, path: str, fields: dict[str, Any] | None = None) -> str:
        """Potato fails at times while another rater completes a pair; people try again, here twice at most."""
        for _ in range(2):
            try:
                return self.ask(method, path, fields)
            except Refused:
                self.errors += 1
        return self.ask(method, path, fields)


@dataclass(frozen=True)
class Load:
    """What one server did under one load."""

    rate: float  # judgements a second
    median: float  # of fetch + submit, ms
    p95: float
    cpu: float  # of the server's own processes, ms a judgement
    errors: int  # requests that failed and were sent again


def load(port: int, judgements: int, number: int, pid: int, rater_class: type[Rater] = Rater) -> Load:
    """So many raters judge at once; the server's processor time is its own and that of the processes it started."""
    name = uuid.uuid4().hex
    raters = [rater_class(port, f"{name}-{n}") for n in range(number)]
    before = processor_time(pid)
    begun = time.perf_counter()
    with ThreadPoolExecutor(number) as pool:
        jobs = [pool.submit(rater.judge, judgements // number) for rater in raters]
    for job in jobs:
        job.result()  # a rater's failure ends the bench
    spent = time.perf_counter() - begun
    times = sorted(1000 * t for rater in raters for t in rater.times)
    errors = sum(rater.errors for rater in raters)
    cpu = 1000 * (processor_time(pid) - before) / len(times)
    return Load(len(times) / spent, statistics.median(times), times[int(0.95 * len(times))], cpu, errors)


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
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env=os.environ | (environment or {}),
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        try:
            while True:
                if process.poll() is not None:
                    log.seek(0)
                    lines = log.read().decode(errors="replace").splitlines() or ["it wrote nothing"]
                    cause = next((line for line in reversed(lines) if "Error:" in line), lines[-1])
                    raise SystemExit(f"the server on port {port} ended before its first page: {cause}")
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
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()


def memory(pid: int) -> float:
    """Resident megabytes of a process and of those that it started."""
    status = Path(f"/proc/{pid}/status").read_text()
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(kilobytes) / 1024 + sum(memory(int(child)) for child in children)


def measure(
    name: str,
    command: list[str],
    port: int,
    judgements: int,
    raters: int,
    environment: dict[str, str] | None = None,
    rater_class: type[Rater] = Rater,
) -> Load:
    """Start, warm up, load, print one line."""
    with started(command, port, environment) as (pid, start):
        load(port, raters * 3, raters, pid, rater_class)
        found = load(port, judgements, raters, pid, rater_class)
        print(
            f"{name:<40}{raters:>7}{found.rate:>8.0f}/s{found.median:>9.0f} ms{found.p95:>9.0f} ms"
            f"{found.cpu:>9.2f} ms{start:>8.2f} s{memory(pid):>7.0f} MB",
            flush=True,
        )
    return found


def study(folder: Path, number: int, rules: str = "", systems: int = SYSTEMS) -> list[str]:
    """A study of so many pairs, prepared; returns the arguments of serve."""
    folder.mkdir()
    write_pairs(folder / "pairs.jsonl", number, systems)
    (folder / "hit.toml").write_text(HIT + rules)
    from seedvote.crowd.study_folder import hit_of, prepare_study

    prepare_study(folder, None, hit_of(folder, None), None, seed=0, simulated=False)
    return [sys.executable, "-m", "crowd", "serve", str(folder), "--rate", "0", "--quiet", "--walk-in"]


def sqlite(folder: Path, number: int, judgements: int, raters: int) -> Load:
    """What `crowd serve` starts by itself."""
    return measure("ours, SQLite", [*study(folder, number), "--port", "8901"], 8901, judgements, raters)


def adaptive(folder: Path, number: int, judgements: int, raters: int) -> Load:
    """The same with votes where they decide which system is best."""
    command = [*study(folder, number, ADAPTIVE), "--port", "8903"]
    return measure("ours, SQLite, adaptive", command, 8903, judgements, raters)


def plain(folder: Path, number: int, judgements: int, raters: int) -> Load:
    """The comparison."""
    folder.mkdir()
    write_pairs(folder / "pairs.jsonl", number)
    make_plain(folder / "plain.sqlite", folder / "pairs.jsonl")
    command = [sys.executable, __file__, "--plain", str(folder / "plain.sqlite"), "8902"]
    return measure("plain Flask + waitress + SQLite", command, 8902, judgements, raters)


def gunicorn(python: str, workers: int, port: int) -> list[str]:
    """The same threads and kept-open connections for every server that it runs."""
    command = [python, "-m", "gunicorn", "--workers", str(workers), "--threads", "8"]
    return [*command, "--bind", f"127.0.0.1:{port}", "--keep-alive", "60"]


@contextlib.contextmanager
def fresh_database() -> Iterator[str]:
    """The URL of a database of PostgreSQL that is dropped afterwards."""
    import sqlalchemy as sa

    server = sa.create_engine("postgresql+psycopg://root@127.0.0.1/postgres", isolation_level="AUTOCOMMIT")
    name = f"bench_{uuid.uuid4().hex[:8]}"
    with server.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name}")
    try:
        yield f"postgresql+psycopg://root@127.0.0.1/{name}"
    finally:
        with server.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
        server.dispose()


@contextlib.contextmanager
def on_postgresql(
    folder: Path, number: int, rules: str, workers: int, port: int
) -> Iterator[tuple[list[str], dict[str, str]]]:
    """The command and the environment of gunicorn workers on a database of their own."""
    from seedvote.crowd.study_folder import hit_of, prepare_study

    with fresh_database() as url:
        study(folder, number, rules)
        prepare_study(folder, None, hit_of(folder, None), url, seed=0, simulated=False)
        environment = {"SEEDVOTE_STUDY": str(folder), "SEEDVOTE_DATABASE": url, "SEEDVOTE_WALK_IN": "1"}
        environment |= {"SEEDVOTE_RATE": "0", "SEEDVOTE_QUIET": "1"}
        yield [*gunicorn(sys.executable, workers, port), "seedvote.crowd.wsgi:from_environment()"], environment


def postgresql(
    folder: Path, number: int, judgements: int, raters: int, workers: int = 2, *, rules: str = "", name: str = ""
) -> Load:
    """Gunicorn workers on a database of their own."""
    with on_postgresql(folder, number, rules, workers, 8904) as (command, environment):
        title = f"ours, PostgreSQL, {workers} workers{name}"
        return measure(title, command, 8904, judgements, raters, environment)


def potato(python: str, version: str, folder: Path, number: int, judgements: int, raters: int) -> Load:
    """Potato with as many pairs; every vote must be in its output."""
    folder.mkdir()
    write_pairs(folder / "pairs.jsonl", number)
    with (folder / "instances.jsonl").open("w", encoding="utf-8") as file:
        for pair in map(json.loads, (folder / "pairs.jsonl").read_text().splitlines()):
            context = "<br>".join(f"{turn['speaker']}: {turn['text']}" for turn in pair["context"])
            responses = [pair["a"]["text"], pair["b"]["text"]]
            file.write(json.dumps({"id": pair["pair"], "context": context, "responses": responses}) + "\n")
    scheme: dict[str, Any] = {
        "annotation_type": "pairwise",
        "name": "preference",
        "description": "Which is more relevant?",
    }
    scheme |= {"items_key": "responses", "allow_tie": True, "tie_label": "Tie"}
    config = {
        "annotation_task_name": "bench", "task_dir": str(folder), "output_annotation_dir": str(folder / "output"),
        "data_files": ["instances.jsonl"], "item_properties": {"id_key": "id", "text_key": "context"},
        "login": {"type": "url_direct", "url_argument": "rater"}, "require_password": False, "debug": False,
        "assignment_strategy": "random", "num_annotators_per_item": 3, "annotation_schemes": [scheme],
    }  # fmt: skip
    (folder / "potato.yaml").write_text(json.dumps(config))  # JSON is YAML
    command = [*gunicorn(python, 1, 8905), "--chdir", str(folder), "potato.flask_server:create_app('potato.yaml')"]
    name = f"Potato {version}, 1 gunicorn worker"
    result = measure(name, command, 8905, judgements, raters, rater_class=PotatoRater)
    states = map(json.loads, (file.read_text() for file in folder.glob("output/*/user_state.json")))
    votes = sum(len(state["instance_id_to_label_to_value"]) for state in states)
    if votes != (expected := raters * 3 + judgements // raters * raters):
        raise SystemExit(f"Potato saved {votes} of {expected} votes")
    print(f"Potato saved all {votes} votes; {result.errors} failed requests were sent again.", flush=True)
    return result


Server = Callable[[Path, int, int, int], Load]


def with_workers(workers: int, *, is_adaptive: bool = False) -> Server:
    """PostgreSQL with so many workers."""
    rules, name = (ADAPTIVE, ", adaptive") if is_adaptive else ("", "")

    def server(folder: Path, number: int, judgements: int, raters: int) -> Load:
        return postgresql(folder, number, judgements, raters, workers, rules=rules, name=name)

    server.__name__ = f"postgresql-{workers}" + "-adaptive" * is_adaptive
    return server


def with_potato(python: str) -> Server:
    """Potato as its environment has it."""
    code = "import gunicorn, importlib.metadata; print(importlib.metadata.version('potato-annotation'))"
    try:
        run = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"{python} has no potato-annotation with gunicorn: {error}") from error

    def server(folder: Path, number: int, judgements: int, raters: int) -> Load:
        return potato(python, run.stdout.strip(), folder, number, judgements, raters)

    server.__name__ = "potato"
    return server


def in_turns(servers: list[Server], base: Path, args: argparse.Namespace, raters: int) -> None:
    """Each server in each round, the order turned every time; then the ratios to the plain one, round by round."""
    rounds: list[dict[str, Load]] = []
    for n in range(args.rounds):
        found = {}
        for one in servers if n % 2 == 0 else servers[::-1]:
            found[one.__name__] = one(base / f"{one.__name__}-{raters}-{n}", args.pairs, args.judgements, raters)
        rounds.append(found)
    names = [one.__name__ for one in servers]
    for name in names:
        for other in ("plain", name.replace("-adaptive", "") if "-" in name else "sqlite"):
            if other in names and other != name and (other == "plain" or "adaptive" in name):
                told = [
                    f"{word} " + "  ".join(f"{getattr(now[name], of) / getattr(now[other], of):.2f}" for now in rounds)
                    for word, of in (("rate", "rate"), ("p50", "median"), ("p95", "p95"), ("CPU", "cpu"))
                ]
                print(f"{name} / {other}, {raters} raters: {'; '.join(told)}", flush=True)


BURSTS = (8, 512)  # of each study in a round, and judgements of each


def beside(base: Path, args: argparse.Namespace, raters: int) -> None:
    """The adaptive study's ratios to the even one, round by round, from bursts by turns on two servers."""
    for n in range(args.rounds):
        processes: dict[int, int] = {}
        loads: dict[int, list[Load]] = {}
        with contextlib.ExitStack() as stack:
            for port, rules in ((8904, ""), (8905, ADAPTIVE)):
                folder, environment = base / f"beside-{raters}-{n}-{port}", {}
                if args.postgresql:
                    ready = on_postgresql(folder, args.pairs, rules, args.workers[0], port)
                    command, environment = stack.enter_context(ready)
                else:
                    command = [*study(folder, args.pairs, rules), "--port", str(port)]
                processes[port], _ = stack.enter_context(started(command, port, environment))
                loads[port] = []
            for burst in range(BURSTS[0] + 1):  # the first is not counted
                for port in loads if burst % 2 == 0 else reversed(loads):
                    loads[port].append(load(port, BURSTS[1], raters, processes[port]))
        even, adaptive_loads = (bursts[1:] for bursts in loads.values())
        ratios = [
            f"{word} {sum(getattr(b, of) for b in adaptive_loads) / sum(getattr(a, of) for a in even):.2f}"
            for word, of in (("p50", "median"), ("p95", "p95"), ("CPU", "cpu"))
        ]
        print(f"adaptive / even, {raters} raters, {BURSTS[0]} bursts each by turns: {', '.join(ratios)}", flush=True)


LOCKED = (60, 20_000, 8)  # systems, pairs and batches of the study whose lock is watched
BATCHES: Mapping[str, str] = {"a batch of 3,000": "batch = 3000\n", "a batch": ""}


def measure_locks(base: Path, *, on_postgresql: bool) -> None:
    """Milliseconds for which the write lock is held, for large batches, those of today, and a vote; by turns.

    And those of the processor for a plan; the first one reads the whole study.
    """
    with contextlib.ExitStack() as stack:
        held: dict[str, list[float]] = {}
        planned: dict[str, list[float]] = {}
        stores = {
            name: _open_locked(base / f"{on_postgresql}-{n}", rules, stack, on_postgresql=on_postgresql)
            for n, (name, rules) in enumerate(BATCHES.items())
        }
        for _ in range(LOCKED[2]):
            for name, (store, hit, tally) in stores.items():
                planning, writing = _write_next(store, hit, tally)
                planned.setdefault(name, []).append(planning)
                held.setdefault(name, []).append(writing)
                held.setdefault("a vote", []).append(_write_vote(store))
    backend = "PostgreSQL" if on_postgresql else "SQLite"
    for name, (first, *times) in planned.items():
        later = (
            f"{1000 * statistics.median(times):.0f} ms (least {1000 * min(times):.0f}, most {1000 * max(times):.0f})"
        )
        print(f"{backend}, {name}: planned in {1000 * first:.0f} ms of processor time, later ones in {later}")
    for name, times in held.items():
        times = sorted(1000 * t for t in times)
        print(f"{backend}, {name}: held {statistics.median(times):.0f} ms (least {times[0]:.0f}, most {times[-1]:.0f})")


def _open_locked(folder: Path, rules: str, stack: contextlib.ExitStack, *, on_postgresql: bool) -> tuple[Any, Any, Any]:
    from seedvote.crowd.rating.study_tally import StudyTally
    from seedvote.crowd.store.store import open_store
    from seedvote.crowd.study_folder import hit_of, prepare_study

    url = stack.enter_context(fresh_database()) if on_postgresql else None
    study(folder, LOCKED[1], f"{ADAPTIVE}[adaptive]\n{rules}", LOCKED[0])
    hit = hit_of(folder, None)
    store = open_store(prepare_study(folder, None, hit, url, seed=0, simulated=False), serving=True)
    stack.callback(store.close)
    return store, hit, StudyTally()


def _write_next(store: Any, hit: Any, tally: Any) -> tuple[float, float]:
    """Give all places of the last batch their votes, plan the next one and write it.

    The seconds of the processor for planning, and those for which the lock is held.
    """
    import sqlalchemy as sa

    from seedvote.crowd.rating.batches import plan_batch, read_plan_inputs, write_batch
    from seedvote.crowd.store.tables import events, leases, pairs, votes

    with store.write() as connection:
        rows = connection.execute(sa.select(pairs).where(pairs.c.open == 1)).all()
        first = connection.scalar(sa.select(sa.func.coalesce(sa.func.max(votes.c.lease), 0))) + 1
        places = [row for row in rows for _ in range(row.target - row.votes)]
        shared = {"sitting": 1, "left": "a"}
        given = [{"lease": n, "rater": f"r{n}", "pair": row.pair, **shared} for n, row in enumerate(places, first)]
        lease = {"slot": 0, "kind": "real", "state": "answered", "issued": 0.0, "expires": 0.0, "attempt": 0}
        vote = {"source": "local", "seconds": 1.0, "submitted": 0.0, "late": 0, "counted": 1}
        connection.execute(sa.insert(leases), [{**one, **lease, "token": one["rater"]} for one in given])
        connection.execute(
            sa.insert(votes),
            [
                {**{k: v for k, v in one.items() if k != "sitting"}, **vote, "choice": ("a", "b", "tie")[n % 3]}
                for n, one in enumerate(given)
            ],
        )
        answered = {"at": 0.0, "kind": "answered", "data": "{}"}
        connection.execute(
            sa.insert(events), [{**answered, "rater": row["rater"], "pair": row["pair"]} for row in given]
        )
        full = {"votes": pairs.c.target, "live": pairs.c.target, "open": 0}
        connection.execute(sa.update(pairs).where(pairs.c.open == 1).values(full))
    begun = time.process_time()
    with store.read() as connection:
        inputs = read_plan_inputs(connection, hit, tally)
    batch = plan_batch(inputs, 0, tally) if inputs else None
    planning = time.process_time() - begun
    with store.write() as connection:
        begun = time.perf_counter()
        if batch is None or not write_batch(connection, hit, batch, 0.0):
            raise SystemExit("no batch was written")
    return planning, time.perf_counter() - begun


def _write_vote(store: Any) -> float:
    """The seconds for which the lock is held at least for whatever changes: one row, on disk."""
    from seedvote.crowd.store.store import append_event

    with store.write() as connection:
        begun = time.perf_counter()
        append_event(connection, "finished", 0.0)
    return time.perf_counter() - begun


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judgements", type=int, default=1600)
    parser.add_argument("--pairs", type=int, default=2000)
    parser.add_argument("--raters", type=int, nargs="+", default=[16, 64])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--large", action="store_true", help="also with 100,000 pairs in the store")
    parser.add_argument("--postgresql", action="store_true", help="also on PostgreSQL")
    parser.add_argument("--adaptive", action="store_true", help="also an adaptive study")
    parser.add_argument("--beside", action="store_true", help="an even and an adaptive study at once, by turns")
    parser.add_argument("--lock", action="store_true", help="what a batch costs, in place of loads")
    parser.add_argument("--workers", type=int, nargs="+", default=[2], help="gunicorn workers with PostgreSQL")
    parser.add_argument("--potato", metavar="PYTHON", help="also Potato, in the environment of this Python")
    parser.add_argument("--plain", nargs=2, metavar=("DATABASE", "PORT"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.plain:
        plain_server(args.plain[0], int(args.plain[1]))
    servers: list[Server] = [sqlite, plain, *(map(with_workers, args.workers) if args.postgresql else [])]
    if args.adaptive:
        servers.append(adaptive)
        servers += [with_workers(n, is_adaptive=True) for n in args.workers if args.postgresql]
    if args.potato:
        servers.append(with_potato(args.potato))
    with tempfile.TemporaryDirectory() as folder:
        base = Path(folder)
        busy = os.getloadavg()[0]
        if args.lock:
            for on_postgresql in (False, True) if args.postgresql else (False,):
                measure_locks(base, on_postgresql=on_postgresql)
            return
        if args.beside:
            for raters in args.raters:
                beside(base, args, raters)
            return
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
