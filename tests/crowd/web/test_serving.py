"""A server that is asked to end, that cannot store, and whose visitors send half a request and wait."""

import contextlib
import http.client
import json
import os
import resource
import signal
import socket
import sqlite3
import urllib.parse

import httpx
import pytest
import sqlalchemy as sa

from crowd.simulation.browser import PageForm
from crowd.store.store import open_store, sqlite_url
from crowd.store.tables import votes
from tests.crowd.real_server import Browser, make_study, serving
from tests.house.waiting import PATIENCE, wait_for

RULES = "pairs_per_sitting = 3\nfirst_checks = 0\nlater_checks = 0\n"
SCRIPT = {"X-Requested-With": "fetch", "Content-Type": "application/x-www-form-urlencoded"}
CROWD = 20  # more than the server has threads


@pytest.fixture
def study(tmp_path):
    return make_study(tmp_path / "study", RULES, real=30)


@pytest.fixture
def server(study):
    """The address and the process id."""
    with serving(study, "--walk-in", told=(told := {})) as url:
        yield url, told["pid"]


def number_of_votes(study):
    store = open_store(sqlite_url(study))
    try:
        with store.read() as connection:
            return connection.scalar(sa.select(sa.func.count()).select_from(votes))
    finally:
        store.close()


def about_to_answer(url, name):
    """A connection that is open already, and the request of an answer to be sent on it."""
    with Browser() as rater:
        fields = PageForm(rater.arrive(f"{url}/?rater={name}").text).fields | {"choice": "tie"}
        cookie = "; ".join(f"{one.name}={one.value}" for one in rater.cookies.jar)
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=PATIENCE)
    connection.request("GET", "/static/icon.svg")
    connection.getresponse().read()
    return connection, ("POST", "/answer", urllib.parse.urlencode(fields), SCRIPT | {"Cookie": cookie})


def test_a_server_that_is_asked_to_end_answers_what_it_has_received_and_refuses_the_rest(server, study):
    url, pid = server
    raters = [about_to_answer(url, f"r{number}") for number in range(CROWD)]
    with contextlib.closing(sqlite3.connect(study / "crowd.sqlite", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")  # so that all threads of the server wait, and the rest is queued
        for connection, request in raters:
            connection.request(*request)
        os.kill(pid, signal.SIGTERM)
        other.execute("ROLLBACK")
    replies = [connection.getresponse() for connection, _ in raters]
    assert [reply.status for reply in replies] == [200] * CROWD
    assert all(json.load(reply)["saved"] is True for reply in replies)
    assert number_of_votes(study) == CROWD
    with pytest.raises(httpx.ConnectError):
        wait_for(lambda: httpx.get(f"{url}/health", trust_env=False, timeout=PATIENCE) and None)
    for connection, _ in raters:
        connection.close()


def test_health_is_503_as_long_as_nothing_can_be_stored(server):
    url, pid = server
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)

    def health():
        return httpx.get(f"{url}/health", trust_env=False, timeout=PATIENCE).status_code

    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, before[1]))  # like a disk on which no byte has room
    assert [health(), health()] == [503, 503]
    resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
    assert health() == 200


def test_visitors_who_send_half_a_request_and_wait_do_not_stop_the_others(server):
    url, _ = server
    with contextlib.ExitStack() as open_sockets:
        for half in (
            b"GET /task HTTP/1.1\r\nHost: x\r\n",
            b"POST /answer HTTP/1.1\r\nContent-Length: 99\r\n\r\nchoice",
        ):
            for _ in range(32):
                slow = open_sockets.enter_context(socket.create_connection(("127.0.0.1", int(url.rsplit(":", 1)[1]))))
                slow.sendall(half)
        with Browser() as ann:
            assert "Pair 2" in ann.answer(ann.arrive(f"{url}/?rater=ann")).text
