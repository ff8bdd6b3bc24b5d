"""Small studies for the tests of crowd: pairs, stores of both kinds, a clock that the test turns, raters that vote."""

import atexit
import contextlib
import dataclasses
import functools
import os
import uuid

import psycopg
import pytest
import sqlalchemy as sa

from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating import pool
from seedvote.crowd.rating.change_control import take_up
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.store.store import open_store
from seedvote.crowd.store.tables import HOLDS_PLACE, leases, pairs, votes
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Candidate, Pair, Utterance
from tests.house.sweeping import name_of_run
from tests.house.waiting import PATIENCE

SERVER = "postgresql+psycopg://root@127.0.0.1:5432/postgres"
SHORT = Hit(
    votes_per_pair=3, pairs_per_sitting=4, first_checks=0, later_checks=0, max_failures=3, examples=(), lease_minutes=10
)
# What `analysis watch` writes for the researcher's page, with a name that means harm.
SO_FAR = {
    "written": "2026-11-23T03:36:31+00:00", "votes": 50, "rule": {"difference": 0.2, "margin": None, "stated_at": 40},
    "contrasts": [{"first": "<b>one", "second": "two", "votes": 50, "for_first": 30, "for_second": 10, "ties": 10,
                   "net": 0.4, "low": 0.1, "high": 0.7, "reason": None}],
    "agreement": {"Fleiss' kappa": {"value": 0.25, "low": 0.1, "high": None}, "Gwet's AC1": None},
    "running": [{"first": "<b>one", "second": "two", "decision": "stop", "reason": "<b>one is preferred", "votes": 50}],
    "refusals": [],
}  # fmt: skip


def make_pairs(real=4, checks=0, identical=0):
    """Pairs whose texts name them: `p0 text a`, ..., and checks whose right answer is a."""
    context = [Utterance("user", "Hello."), Utterance("system", "How may I help?")]

    def pair(name, **more):
        one, two = Candidate(f"{name} text a", "m", 0), Candidate(f"{name} text b", "m", 1)
        return Pair(name, f"d:{name}", context, one, two, dialogue="d", **more)

    made = [pair(f"p{n}") for n in range(real)] + [pair(f"c{n}", kind="check", answer="a") for n in range(checks)]
    for n in range(identical):
        same = Candidate("the same", "m", 0)
        made.append(dataclasses.replace(pair(f"i{n}"), a=same, b=same, identical=True))
    return made


class Clock:
    """Stands still until the test turns it."""

    def __init__(self):
        self.now = 1_000_000.0

    def __call__(self):
        return self.now


@contextlib.contextmanager
def database(kind, folder):
    """URL of an empty database of this kind, gone afterwards."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'crowd.sqlite'}"
        return
    free = databases(os.getpid())
    name = free.pop() if free else _new_database(f"seedvote_{name_of_run()}_{uuid.uuid4().hex[:12]}")
    url = SERVER.rsplit("/", 1)[0] + f"/{name}"
    try:
        yield url
    finally:
        _empty(url, name)
        free.append(name)


@functools.cache
def databases(_process):
    """Empty databases of this process, which are dropped at its end: to make and drop one for each test takes longer
    than most tests, and PostgreSQL empties one in a quarter of the time."""
    free = []
    atexit.register(lambda: [_at_server(f"DROP DATABASE {name} WITH (FORCE)") for name in free])
    return free


def _at_server(*statements, url=SERVER):
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True, connect_timeout=PATIENCE) as connection:
        for statement in statements:
            connection.execute(statement)


def _new_database(name):
    try:
        _at_server(f"CREATE DATABASE {name}")
    except psycopg.OperationalError:
        pytest.skip("no PostgreSQL server at 127.0.0.1:5432")
    return name


def _empty(url, name):
    """As it was made: nobody connected, no table, no setting."""
    others = "datname = current_database() AND pid <> pg_backend_pid()"
    _at_server(
        "SET default_transaction_read_only = off",
        f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE {others}",
        "DROP SCHEMA public CASCADE",
        "CREATE SCHEMA public",
        f"ALTER DATABASE {name} RESET ALL",
        url=url,
    )


@contextlib.contextmanager
def desk_of(url, folder, hit=SHORT, made=None, seed=0):
    """A desk over a fresh store with these pairs, or whatever else the form shows, in the form's own file."""
    made = make_pairs() if made is None else made
    path = folder / FORMS[hit.form].file
    write_records(path, made, signature="test", kind=type(made[0]) if made else Pair)
    store = open_store(url, seed=seed, simulated=True)
    try:
        pool.load(store, path, hit, now=0.0)
        take_up(store, hit, now=0.0)
        yield Desk(store, hit, Clock())
    finally:
        store.close()


def seated(desk, worker, sitting="1"):
    """A rater who has consented."""
    seat = desk.arrive(worker, sitting, "local")
    desk.consent(seat)
    return seat


def press(place, choice):
    """The side to press so that the response `a`, `b` or a tie is chosen."""
    if choice == "tie":
        return "tie"
    return "left" if place.shown.layout == choice else "right"


def vote(desk, seat, choice="a", seconds=1.0):
    """Answer what is due with the response `choice`; returns what happened and the next place."""
    place = desk.next_step(seat)
    return desk.answer(seat, place.shown.token, press(place, choice), seconds)


def work(desk, seat, choice="a"):
    """Answer until nothing is due; returns how it ended."""
    while desk.next_step(seat).stage == "task":
        vote(desk, seat, choice)
    return desk.next_step(seat).stage


def check_books(desk):
    """The counters of every pair equal what its votes and leases say, and no pair has more than its k votes."""
    with desk.store.read() as connection:
        counted = dict(
            connection.execute(sa.select(votes.c.pair, sa.func.sum(votes.c.counted)).group_by(votes.c.pair)).all()
        )
        held = connection.execute(sa.select(leases.c.pair, sa.func.count()).where(HOLDS_PLACE).group_by(leases.c.pair))
        held = dict(held.all())
        for row in connection.execute(sa.select(pairs).where(pairs.c.kind != "check")):
            assert row.votes == counted.get(row.pair, 0) <= desk.rules.assignment.votes_per_pair
            assert row.live == row.votes + held.get(row.pair, 0)
            assert row.open == int(row.offered and row.votes < desk.rules.assignment.votes_per_pair)
    return counted
