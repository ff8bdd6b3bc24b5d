"""Many simulated raters at work: sitting after sitting until nobody finds anything to do."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import httpx
from tqdm import tqdm

from seedvote.crowd.forms.known import FORMS, FormName
from seedvote.crowd.simulation.browser import PageReader, SimulatedVisit, VisitEnd
from seedvote.crowd.simulation.raters import Habits, Reader, TalkReader
from seedvote.crowd.simulation.readers import QuestionReader, SetReader
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_records
from seedvote.dialogue.media import parts_of

TIMEOUT = 30.0  # seconds for one reply
MOST_IDLE = 20  # rounds in a row in which nobody answers and somebody walks away: some always do


@dataclass(frozen=True, slots=True)
class CrowdResult:
    """What the simulated raters did."""

    answered: int
    seconds: float
    endings: Mapping[VisitEnd, int]


READERS: Mapping[FormName, Callable[..., PageReader]] = {
    "pairs": Reader,
    "conversations": Reader,
    "live": TalkReader,
    "choice": QuestionReader,
    "responses": SetReader,
}


def reader_of(path: Path, form: FormName, *, seed: int) -> PageReader:
    """How simulated raters read the pages of this file."""
    records: list[Any] = read_records(path, FORMS[form].record)
    if any(True for record in records for _ in parts_of(record)):
        raise InputError(
            f"{path} shows images, recordings, videos or calls of tools, and simulated raters read words alone. "
            "Rehearse with a few pairs of text, or try the page yourself: python -m crowd serve --open."
        )
    return READERS[form](records, seed=seed)


class SimulatedCrowd:
    """Simulated raters before one server, `concurrency` of them at a time."""

    def __init__(self, url: str, reader: PageReader, raters: Sequence[Habits], concurrency: int) -> None:
        self.reader, self.raters, self.concurrency = reader, raters, concurrency
        self._url, self._clients = url, SimpleQueue[httpx.Client]()
        self._bar = tqdm(desc="judgements", unit="", disable=None)

    def run_rounds(self) -> CrowdResult:
        """Round after round, one sitting a rater; over when a round finds nothing left or gets nowhere.

        Who walked away with a pair in hand comes again: others may wait for just that pair.
        """
        begun, sitting, answered, idle = time.monotonic(), 0, 0, 0
        trusted = httpx.create_ssl_context(trust_env=False)  # one for all: to read every certificate takes a while
        with self._bar, ExitStack() as clients, ThreadPoolExecutor(self.concurrency) as pool:
            for _ in range(self.concurrency):
                client = httpx.Client(base_url=self._url, timeout=TIMEOUT, trust_env=False, verify=trusted)
                self._clients.put(clients.enter_context(client))
            try:
                while True:
                    sitting += 1
                    visits = list(pool.map(partial(self._visit_study, sitting=sitting), self.raters))
                    endings, more = Counter(ending for ending, _ in visits), sum(number for _, number in visits)
                    answered += more
                    idle = 0 if more or endings["done"] else idle + 1
                    stuck = idle == MOST_IDLE if endings["left"] else idle
                    if stuck or not endings.keys() & {"done", "wait", "left"}:
                        return CrowdResult(answered, time.monotonic() - begun, endings)
            finally:
                pool.shutdown(cancel_futures=True)

    def _visit_study(self, rater: Habits, sitting: int) -> tuple[VisitEnd, int]:
        client = self._clients.get()
        try:
            visit = SimulatedVisit(client, self.reader, rater, sitting, on_answer=self._bar.update)
            return visit.make_visit(), visit.answered
        finally:
            self._clients.put(client)


def check_server(url: str) -> str:
    """The address of a running server; an error at once if none answers there."""
    try:
        httpx.get(url, timeout=TIMEOUT, trust_env=False)
    except (httpx.TransportError, httpx.InvalidURL) as error:
        raise InputError(
            f"No server answers at {url} ({error}). Give the address that `crowd serve` printed."
        ) from error
    return url


@contextmanager
def run_server(*arguments: str) -> Iterator[str]:
    """A server in a process of its own, `python -m crowd serve ...`, that ends with this one however this one ends."""
    # --stop-with-stdin: the pipe closes even if this process is killed, so that no server is left behind
    own = ["--port", "0", "--rate", "0", "--quiet", "--simulated", "--stop-with-stdin"]
    command = [sys.executable, "-m", "seedvote", "crowd", "serve", *arguments, *own]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin and process.stdout
    try:
        line = process.stdout.readline()
        if "http://" not in line:
            raise InputError("The server did not start. Its error is printed above.")
        yield line.split()[-1].rstrip("/")
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()
