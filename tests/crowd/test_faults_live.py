"""Live conversations while the server dies: no word is lost, and no call is made twice unless somebody asks for it."""

import os
import signal
import subprocess
import sys
import threading

import httpx
import pytest
import sqlalchemy as sa

from seedvote.crowd.simulation.browser import PageForm
from seedvote.crowd.store.store import open_store
from seedvote.crowd.store.tables import messages, replies
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from tests.crowd.arena import make_topics
from tests.crowd.real_server import ROOT, Browser, free_port, serving
from tests.dialogue.engines.chat_server import ChatServer
from tests.house.waiting import PATIENCE, wait_for

FETCH = {"X-Requested-With": "fetch"}
HIT = """
form = "live"
votes_per_pair = 1
first_checks = 0
later_checks = 0
max_failures = 1

[live]
turns = [1, 2]
budget = 100.0
timeout = 600

[[live.systems]]
name = "secretours"
url = "{0}"
model = "m1"
price_in = 1000.0
price_out = 2000.0

[[live.systems]]
name = "secrettheirs"
url = "{1}"
model = "m2"
price_in = 1000.0
price_out = 2000.0
"""


@pytest.fixture
def study(tmp_path):
    """A study folder, its two endpoints, and an event for which the first one waits."""
    gate = threading.Event()
    with ChatServer() as ours, ChatServer() as theirs:
        ours.script = [{"hold": gate, "cut": True}]
        folder = tmp_path / "study"
        folder.mkdir()
        write_records(folder / "pairs.jsonl", make_topics(2), signature="test", kind=Pair)
        (folder / "hit.toml").write_text(HIT.format(ours.url, theirs.url))
        yield folder, ours, theirs
        gate.set()


def rows(folder, table):
    store = open_store(f"sqlite:///{folder / 'crowd.sqlite'}")
    try:
        with store.read() as connection:
            return connection.execute(sa.select(table)).all()
    finally:
        store.close()


class Person(Browser):
    """Who talks, by the page's own forms."""

    def look(self, url):
        return self.get(f"{url}/task", headers=FETCH).json()

    def post_form(self, url, path, **more):
        fields = PageForm(self.look(url)["html"]).fields
        return self.post(f"{url}{path}", data=fields | more, headers=FETCH)

    def stage(self, url):
        return PageForm(self.look(url)["html"]).fields["stage"]


def test_kill_in_the_middle_of_a_call_loses_no_word_and_charges_no_call_twice(study):
    folder, ours, theirs = study
    told = {}
    with Person() as ann:
        with serving(folder, "--walk-in", told=told) as url:
            ann.arrive(f"{url}/?rater=ann", examples=3)
            ann.post_form(url, "/say", text="do not lose this")
            wait_for(lambda: ours.asked and any(row.state == "answered" for row in rows(folder, replies)))
            os.kill(told["pid"], signal.SIGKILL)
        assert [row.text for row in rows(folder, messages)] == ["do not lose this"]
        with serving(folder, "--walk-in") as url:
            ann.get(f"{url}/?rater=ann")
            assert ann.stage(url) == "failed"  # at once: the process that asked is seen to be gone
            assert "do not lose this" in ann.look(url)["html"]
            assert "DO NOT LOSE THIS" not in ann.look(url)["html"]  # the other one's answer is there, and waits
            assert (len(ours.asked), len(theirs.asked)) == (1, 1)
            (lost,) = [row for row in rows(folder, replies) if row.lost]
            assert lost.spent > 0
            ann.post_form(url, "/ask-again")
            wait_for(lambda: ann.stage(url) == "choose")
            assert ann.look(url)["html"].count("DO NOT LOSE THIS") == 2
            assert (len(ours.asked), len(theirs.asked)) == (2, 1)
            assert len(set(ours.names)) == 1
            assert ann.post_form(url, "/answer", choice="left").json()["note"] == "saved"
        spent = sorted(row.spent for row in rows(folder, replies))
        assert spent == pytest.approx(sorted([0.014, lost.spent + 0.014]))


def test_asked_to_stop_the_server_lets_answers_come_in(study):
    folder, ours, theirs = study
    ours.script = [{"hold": (gate := threading.Event())}]
    told = {}
    with Person() as ann:
        with serving(folder, "--walk-in", told=told) as url:
            ann.arrive(f"{url}/?rater=ann", examples=3)
            ann.post_form(url, "/say", text="almost there")
            wait_for(lambda: ours.asked and theirs.asked)
            os.kill(told["pid"], signal.SIGTERM)
            gate.set()
        assert [row.state for row in rows(folder, replies)] == ["answered"] * 2
        with serving(folder, "--walk-in") as url:
            ann.get(f"{url}/?rater=ann")
            assert ann.stage(url) == "choose"
        assert (len(ours.asked), len(theirs.asked)) == (1, 1)


@pytest.mark.slow
def test_asked_to_stop_gunicorn_lets_answers_come_in(study):
    folder, ours, theirs = study
    ours.script = [{"hold": (gate := threading.Event())}]
    port = free_port()
    environment = os.environ | {"SEEDVOTE_STUDY": str(folder), "SEEDVOTE_WALK_IN": "1", "SEEDVOTE_RATE": "0"}
    command = [sys.executable, "-m", "gunicorn", "--threads", "4", "--graceful-timeout", "20", "--log-level", "error"]
    command += ["--bind", f"127.0.0.1:{port}", "seedvote.crowd.wsgi:from_environment()"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=ROOT, env=environment, **quiet) as server, Person() as ann:
        try:
            url = f"http://127.0.0.1:{port}"
            wait_for(lambda: is_up(url))
            ann.arrive(f"{url}/?rater=ann", examples=3)
            ann.post_form(url, "/say", text="almost there")
            wait_for(lambda: ours.asked and theirs.asked)
            server.terminate()
            wait_for(lambda: not is_up(url))
            gate.set()
            server.wait(PATIENCE)
        finally:
            server.kill()
    assert [row.state for row in rows(folder, replies)] == ["answered"] * 2
    assert (len(ours.asked), len(theirs.asked)) == (1, 1)


def is_up(url):
    try:
        return httpx.get(f"{url}/health", trust_env=False, timeout=PATIENCE).status_code == 200
    except httpx.TransportError:
        return False
