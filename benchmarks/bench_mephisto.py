"""A study through Mephisto beside the same study without a marketplace: how soon there is work, and is any lost?

300 pairs, three raters each. First task: from the start of the process until a worker has consented, done the examples
and sees a pair. Next unit: from opening the next unit's address to its first pair, for the same worker, ten times. Then
eight workers at once from four sources (a Mephisto run, a local and Prolific server, an MTurk server; one store): votes
beyond three a pair are surplus, answers that were confirmed as saved and are not in the store are lost.

    python benchmarks/bench_mephisto.py
"""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
from bench_hit import ROOT, write_pairs

from seedvote.crowd.marketplaces.mephisto.market import free_port, task_module, task_name
from seedvote.crowd.marketplaces.mturk.entrance import MTURK_SITES
from seedvote.crowd.simulation.browser import FETCH, PageForm
from seedvote.crowd.store.tables import votes
from seedvote.crowd.study_folder import hit_of, opened, prepare_study
from seedvote.dialogue.files import read_records
from seedvote.dialogue.records import Pair

PAIRS, RATERS, UNITS = 300, 3, 10
HIT = "pairs_per_sitting = 20\nfirst_checks = 0\nlater_checks = 0\ncompletion_code = 'C1'\nscreened_out_code = 'C2'\n"
SOURCES = {
    "local": {"rater": "WORKER", "sitting": "UNIT"},
    "prolific": {"PROLIFIC_PID": "WORKER", "SESSION_ID": "UNIT", "STUDY_ID": "S1"},
    "mturk": {
        "workerId": "WORKER",
        "assignmentId": "UNIT",
        "hitId": "H1",
        "turkSubmitTo": MTURK_SITES["sandbox"][0],
    },
    "mephisto": {"worker_id": "WORKER", "assignment_id": "UNIT"},
}


class Worker:
    """Somebody who takes unit after unit and answers each pair within the twentieth part of a second."""

    def __init__(self, url: str, source: str, name: str) -> None:
        self.client, self.source, self.name, self.cookies = httpx.Client(base_url=url, timeout=60), source, name, ""
        self.unit, self.waits, self.saved = 0, list[float](), Counter[frozenset[str]]()

    def ask(self, method: str, path: str, **what: Any) -> httpx.Response:
        """One request; sends the cookie over plain HTTP too, and comes again where it was too fast."""
        while True:
            reply = self.client.request(method, path, headers=FETCH | {"Cookie": self.cookies}, **what)
            if cookie := reply.headers.get("Set-Cookie"):
                self.cookies = cookie.split(";")[0]
            if reply.status_code != 429:
                assert reply.status_code < 400, f"{method} {path}: {reply.status_code}"
                return reply
            time.sleep(0.1)

    def open_next(self) -> dict[str, Any]:
        """Open the next unit's address; gives its first pair, or why there is none."""
        self.unit, self.cookies = self.unit + 1, ""
        words = {"WORKER": self.name, "UNIT": f"{self.name}-{self.unit}"}
        begun = time.perf_counter()
        reply = self.ask(
            "GET", "/", params={key: words.get(value, value) for key, value in SOURCES[self.source].items()}
        )
        if reply.status_code == 200 and "/consent" not in reply.text:
            return {"status": "turned away"}
        if reply.status_code == 200:
            self.ask("POST", "/consent", data=PageForm(reply.text).fields | {"agree": "yes"})
        place = self.look()
        while place["status"] == "instructions":
            path = f"/instructions/{place['number']}"
            self.ask("POST", path, data=PageForm(self.ask("GET", path).text).fields | {"choice": "tie"})
            place = self.look()
        if place["status"] == "task" and self.unit > 1:
            self.waits.append(time.perf_counter() - begun)
        return place

    def look(self) -> dict[str, Any]:
        """What there is to do."""
        return dict(self.ask("GET", "/task").json())

    def finish(self, place: dict[str, Any]) -> str:
        """Work through the unit; gives how it ended."""
        while place["status"] in ("task", "wait"):
            time.sleep(0.05)
            if place["status"] == "wait":
                place = self.look()
                continue
            form = PageForm(place["html"])
            place = self.ask("POST", "/answer", data=form.fields | {"choice": "left", "seconds": "1"}).json()
            self.saved[frozenset(form.shown_texts()[1:])] += place["saved"]
        self.look()  # the page of thanks, on which a unit is handed in
        return str(place["status"])

    def units(self, most: int) -> None:
        """Take and finish units, until there is nothing for them."""
        while self.unit < most and (place := self.open_next())["status"] == "task":
            self.finish(place)


def study(folder: Path) -> Path:
    """A study folder with its store."""
    folder.mkdir()
    write_pairs(folder / "pairs.jsonl", PAIRS)
    (folder / "hit.toml").write_text(HIT)
    prepare_study(folder, None, hit_of(folder, None), None, seed=0, simulated=False)
    return folder


@contextlib.contextmanager
def started(command: str, folder: Path, *words: str) -> Iterator[str]:
    """`python -m crowd COMMAND` on a free port, awaited; gives its address."""
    port = free_port("127.0.0.1")
    line = [sys.executable, "-m", "crowd", command, str(folder), "--port", str(port), *words]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(line, cwd=ROOT, stdin=quiet, stdout=quiet, stderr=quiet)
    try:
        while True:
            with contextlib.suppress(httpx.TransportError):
                httpx.get(f"http://127.0.0.1:{port}/health")
                break
            assert process.poll() is None, f"{command} ended with {process.returncode}"
            time.sleep(0.02)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


LAUNCH = ("launch", "--mephisto", "--yes")
LOCAL = ("serve", "--quiet", "--walk-in")


def alone(folder: Path, source: str, command: str, *words: str) -> tuple[float, list[float]]:
    """Seconds to the first task, and to the first pair of each further unit."""
    begun = time.perf_counter()
    with started(command, study(folder), *words) as url:
        worker = Worker(url, source, "w")
        place = worker.open_next()
        first = time.perf_counter() - begun
        worker.finish(place)
        worker.units(UNITS + 1)
    print(f"{source:<10}{first:>10.2f} s{1000 * statistics.median(worker.waits):>12.0f} ms", end="")
    print(f"{1000 * max(worker.waits):>12.0f} ms{len(worker.waits):>8}", flush=True)
    return first, worker.waits


def together(folder: Path) -> None:
    """Eight workers from four sources until every pair has its votes."""
    study(folder)
    begun = time.perf_counter()
    with (
        started(LAUNCH[0], folder, *LAUNCH[1:]) as mephisto,
        started(LOCAL[0], folder, *LOCAL[1:]) as local,
        started(LOCAL[0], folder, *LOCAL[1:], "--mturk", "sandbox") as mturk,
    ):
        urls = {"local": local, "prolific": local, "mturk": mturk, "mephisto": mephisto}
        workers = [Worker(url, source, f"{source}-{n}") for source, url in urls.items() for n in range(2)]
        with ThreadPoolExecutor(len(workers)) as pool:
            list(pool.map(lambda worker: worker.units(1000), workers))
    with opened(folder, None) as store, store.read() as connection:
        kept = connection.execute(votes.select()).all()
    counted = Counter(row.pair for row in kept if row.counted)
    surplus = sum(max(0, number - RATERS) for number in counted.values()) + sum(not row.counted for row in kept)
    names = {frozenset((one.a.text, one.b.text)): one.pair for one in read_records(folder / "pairs.jsonl", Pair)}
    confirmed = Counter(names[texts] for worker in workers for texts in worker.saved.elements())
    lost = (confirmed - Counter(row.pair for row in kept)).total()
    waits = [wait for worker in workers if worker.source == "mephisto" for wait in worker.waits]
    sources = Counter(worker.source for worker in workers for _ in worker.saved.elements())
    print(f"8 workers, 4 sources: {counted.total()} votes of {PAIRS * RATERS} in {time.perf_counter() - begun:.0f} s")
    print(f"  {dict(sources)}; surplus {surplus}, lost {lost}")
    copied = sum(len(unit["votes"]) for unit in task_module(folder).handed_in(task_name(folder)))
    print(f"  in Mephisto's own store: {copied} of {sources['mephisto']}")
    print(f"  next unit from Mephisto meanwhile: median {1000 * statistics.median(waits):.0f} ms,", end=" ")
    print(f"worst {1000 * max(waits):.0f} ms, of {len(waits)}")


def main() -> None:
    """Each alone, then all together."""
    with tempfile.TemporaryDirectory() as base:
        print(f"{PAIRS} pairs x {RATERS} raters; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
        print(f"{'':<10}{'first task':>12}{'next unit':>15}{'worst':>15}{'units':>8}")
        local, waits = alone(Path(base) / "local", "local", *LOCAL)
        first, units = alone(Path(base) / "mephisto", "mephisto", *LAUNCH)
        ratio = statistics.median(units) / statistics.median(waits)
        print(f"Mephisto / local: first task {first / local:.1f}, next unit {ratio:.1f}")
        together(Path(base) / "all")


if __name__ == "__main__":
    main()
