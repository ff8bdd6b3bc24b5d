"""A server that is asked to end, that cannot store, and whose visitors send half a request, or read slowly."""

import contextlib
import http.client
import json
import os
import resource
import signal
import socket
import sqlite3
import threading
import urllib.parse

import httpx
import pytest
import sqlalchemy as sa
import waitress
from flask import Flask

from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.store import open_store, sqlite_url
from seedvote.crowd.store.tables import votes
from seedvote.crowd.web.serving import Connection, in_background
from tests.crowd.real_server import Browser, free_port, make_study, serving
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


def test_ending_server_answers_what_it_received(server, study):
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


@pytest.fixture
def connection():
    """A server's side of an open connection; nothing else runs."""
    sockets = {}
    server = waitress.create_server(Flask("any"), map=sockets, host="127.0.0.1", port=0)
    ours, theirs = socket.socketpair()
    yield Connection(server, ours, ("127.0.0.1", 0), server.adj, map=sockets)
    theirs.close()
    server.task_dispatcher.shutdown()
    for one in list(sockets.values()):
        one.close()


def test_the_loop_leaves_a_connection_alone_while_a_thread_sends_on_it(connection):
    sends, seen = threading.Event(), threading.Event()

    def send(_chunk, *, do_close):
        assert not do_close
        sends.set()
        assert seen.wait(PATIENCE)
        return 0  # the visitor takes nothing more

    connection.send = send
    thread = threading.Thread(target=connection.write_soon, args=(b"a page",))
    thread.start()
    assert sends.wait(PATIENCE)
    assert connection.total_outbufs_len and not connection.writable()
    seen.set()
    thread.join()
    assert connection.writable()
    assert os.read(connection.server.trigger.socket.fileno(), 9) == b"xx"  # the loop is told again, now that it may


@pytest.mark.parametrize("megabytes", [3, 20], ids=["more than a socket takes", "more than waitress keeps"])
def test_a_visitor_who_reads_slowly_gets_the_whole_reply(megabytes):
    app, piece = Flask("large"), b"x" * 1_000_000

    @app.get("/")
    def large():
        return (piece for _ in range(megabytes)), {"Content-Length": str(megabytes * len(piece))}

    port = free_port()
    with in_background(app, "127.0.0.1", port), socket.create_connection(("127.0.0.1", port), PATIENCE) as slow:
        slow.sendall(b"GET / HTTP/1.0\r\n\r\n")
        with slow.makefile("rb", buffering=512) as reader:
            text = reader.read()
    assert text.endswith(piece) and len(text) > megabytes * len(piece)
