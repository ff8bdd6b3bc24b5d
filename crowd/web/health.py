"""Whether a server is well: /health for load balancers, /metrics for Prometheus, and a log of what it waits for."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import sqlalchemy as sa
from flask import Blueprint, Response, abort, request
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.moment import kept_hit
from seedvote.crowd.store.store import TOLERANCE, Store, clock_sentence, note_text, own_note, put, settings, unset
from seedvote.crowd.store.tables import pairs, votes
from seedvote.crowd.watching.progress import progress
from seedvote.dialogue.errors import InputError

SHARED = "PROMETHEUS_MULTIPROC_DIR"
REPLIES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # seconds
WAITS = (0.001, 0.005, 0.02, 0.1, 0.5, 2.0, 10.0)


class Metrics:
    """The numbers of one server."""

    def __init__(self, store: Store, hit: Hit) -> None:
        if SHARED in os.environ:
            _make_shared_folder(Path(os.environ[SHARED]))
        self._own, self._study = CollectorRegistry(), StudyCollector(store, hit)
        self.seconds = Histogram(
            "seedvote_request_seconds", "Time of replies", ["route"], registry=self._own, buckets=REPLIES
        )
        self.replies = Counter("seedvote_replies", "Replies by class of status", ["status"], registry=self._own)
        self.waits = Histogram(
            "seedvote_lock_wait_seconds", "Time until a change may begin", registry=self._own, buckets=WAITS
        )
        store.on_wait = self.waits.observe

    def text(self) -> bytes:
        """All of it, as Prometheus reads it."""
        registry = self._own
        if SHARED in os.environ:
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        study = CollectorRegistry()
        study.register(self._study)
        return generate_latest(registry) + generate_latest(study)


def _make_shared_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{SHARED} is {folder}, which cannot be made: {error.strerror or error}. Name a folder where the server "
            "may write, or leave it out with one worker."
        ) from error


class StudyCollector(Collector):
    """What the store says at this moment."""

    def __init__(self, store: Store, hit: Hit) -> None:
        self.store, self.hit = store, hit

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """One look at the store."""
        with self.store.read() as connection:
            hit = kept_hit(connection) or self.hit
            now = progress(connection, hit.votes_per_pair)
            open_pairs = _count_rows(connection, pairs, pairs.c.open == 1)
            late = _count_rows(connection, votes, votes.c.late == 1)
            waiters = _lock_waiters(connection)
        answers = {"counted": now.counted, "waiting": now.waiting, "uncounted": now.uncounted}
        yield _make_gauge("seedvote_judgements", "Answers stored on pairs that are no checks", answers, "state")
        yield _make_gauge("seedvote_raters", "Raters by status", dict(now.raters), "status")
        yield GaugeMetricFamily("seedvote_pairs_open", "Pairs short of votes", open_pairs)
        yield GaugeMetricFamily("seedvote_late_answers", "Answers that came after their time", late)
        yield GaugeMetricFamily("seedvote_running", "1 while the study runs", int(now.state == "running"))
        yield GaugeMetricFamily(
            "seedvote_clock_difference_seconds",
            "The clock of this server less that of the database",
            self.store.clock.difference(),
        )
        yield GaugeMetricFamily("seedvote_lock_waiters", "Changes that wait for a lock of PostgreSQL now", waiters)


def _count_rows(connection: sa.Connection, table: sa.Table, where: sa.ColumnElement[bool]) -> int:
    return connection.scalar(sa.select(sa.func.count()).select_from(table).where(where)) or 0


def _lock_waiters(connection: sa.Connection) -> int:
    """How many changes wait for a lock; SQLite does not tell."""
    if connection.dialect.name != "postgresql":
        return 0
    waiting = sa.text(
        "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database "
        "WHERE NOT granted AND datname = current_database()"
    )
    return connection.scalar(waiting) or 0


def _make_gauge(name: str, says: str, values: dict[str, int], label: str) -> GaugeMetricFamily:
    family = GaugeMetricFamily(name, says, labels=[label])
    for value, number in sorted(values.items()):
        family.add_metric([value], number)
    return family


def metrics_page(metrics: Metrics, is_admitted: Callable[[str], bool]) -> Blueprint:
    """The route /metrics, for who sends the token of the researcher's page; for others it does not exist."""
    pages = Blueprint("metrics", __name__)

    @pages.get("/metrics")
    def show() -> Response:
        kind, _, token = request.headers.get("Authorization", "").partition(" ")
        if kind != "Bearer" or not is_admitted(token):
            abort(404)
        return Response(metrics.text(), content_type=CONTENT_TYPE_LATEST)

    return pages


LOG = logging.getLogger("crowd")
FRESH = 5.0  # seconds for which one answer holds: anybody may ask, and each write waits for the disk


class Pulse:
    """Writes a line of the study's settings now and then; an error of the database is whoever asks's to see."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.store, self.clock = store, clock
        self._lock, self._well_until = threading.Lock(), float("-inf")

    def feel(self) -> None:
        """Raise what the database raises where nothing can be stored; a failure is never remembered, only success."""
        with self._lock:
            if self.clock() < self._well_until:
                return
            difference, now = self.clock_difference(), self.store.now()
            with self.store.write() as connection:
                put(connection, "pulse", f"{now:.0f}")
                if difference:
                    put(connection, own_note(), note_text(difference, now))
            self._well_until = self.clock() + FRESH

    def clock_difference(self) -> float:
        """Seconds by which this server's clock is ahead of the database's; 0 where it is near enough."""
        difference = self.store.clock.difference()
        return difference if abs(difference) > TOLERANCE else 0.0

    def tell_clock(self) -> None:
        """At a start: log that this server's clock differs, and note it for the dashboard; or take an old note away."""
        difference = self.clock_difference()
        with self.store.read() as connection:
            is_noted = own_note() in settings(connection)
        if not difference and not is_noted:
            return
        with self.store.write() as connection:
            if difference:
                put(connection, own_note(), note_text(difference, self.store.now()))
            else:
                unset(connection, own_note())
        if difference:
            LOG.warning("clock", extra={"facts": {"seconds": round(difference, 1), "told": clock_sentence(difference)}})
