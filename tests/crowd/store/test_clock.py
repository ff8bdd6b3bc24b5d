"""One clock for all servers of a study: the database's, whatever time a server believes it is."""

import logging
import re
import time

import httpx
import pytest
import sqlalchemy as sa

from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.store.store import StoreClock, clock_sentence, clocks_that_differ, note_text, open_store, settings
from seedvote.crowd.store.tables import leases, votes
from seedvote.crowd.web.health import Pulse
from tests.crowd.real_server import Browser, make_study, serving
from tests.crowd.study import database
from tests.house.waiting import PATIENCE

RULES = "pairs_per_sitting = 9\nfirst_checks = 0\nlater_checks = 0\nlease_minutes = 2\n"
TEN_MINUTES = 600.0


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


def test_clock_follows_server_seconds_and_the_database():
    here, told = [100.0], [5000.0]
    clock = StoreClock(lambda: told[0], lambda: here[0])
    assert clock.now() == 5000.0
    here[0] += 3
    assert clock.now() == 5003.0
    told[0], here[0] = 9000.0, 106.0  # the database's clock was set meanwhile
    assert clock.now() == 9000.0


def test_a_long_answer_of_the_database_is_taken_for_the_middle_of_the_wait():
    here = iter([0.0, 4.0, 4.0]).__next__
    assert StoreClock(lambda: 50.0, here).now() == 52.0


def test_a_store_tells_the_time_of_its_database(url):
    store = open_store(url, seed=0)
    try:
        assert abs(store.clock.difference()) < 60  # this machine's clock is the database's
    finally:
        store.close()


def test_notes_of_clocks_are_shown_for_a_day():
    notes = {"seed": "0", "clock a:1": note_text(120.04, 1000.0), "clock b:2": note_text(-3.0, -90_000.0)}
    assert clocks_that_differ(notes, 1001.0) == [("a:1", 120.0)]
    assert "120 seconds ahead of" in clock_sentence(120.0) and "3 seconds behind" in clock_sentence(-3.0)


def rows(url, query):
    store = open_store(url)
    try:
        with store.read() as connection:
            return connection.execute(query).all()
    finally:
        store.close()


def health(address):
    return httpx.get(f"{address}/health", trust_env=False, timeout=PATIENCE).json()


@pytest.mark.parametrize(
    "wrong", [TEN_MINUTES, *(pytest.param(one, marks=pytest.mark.slow) for one in (-TEN_MINUTES, 120.0))]
)
def test_raters_between_two_servers_with_different_clocks_are_never_late(url, tmp_path, wrong):
    """Each page comes from one server and its answer goes to the other, as behind a load balancer."""
    study = make_study(tmp_path / "study", RULES, real=8)
    door = ("--walk-in", "--database", url)
    with (
        serving(study, *door) as right,
        serving(study, *door, clock=wrong) as other,
        Browser() as ann,
        Browser() as bob,
    ):
        for browser, name, servers in ((ann, "ann", (right, other)), (bob, "bob", (other, right))):
            page = browser.arrive(f"{servers[0]}/?rater={name}")
            for turn in range(8):
                assert f"Pair {turn + 1}" in page.text
                address = servers[turn % 2]
                page = browser.get(re.sub(r"^http://[^/]+", address, str(page.url)))
                page = browser.answer(page)
        health = [
            httpx.get(f"{address}/health", trust_env=False, timeout=PATIENCE).json() for address in (right, other)
        ]
        assert health[0] == {"status": "ok"}
        assert abs(health[1]["clock_seconds_ahead"] - wrong) < 60
    cast = rows(url, sa.select(votes))
    assert len(cast) == 16 and not any(row.late for row in cast) and all(row.counted for row in cast)
    issued = rows(url, sa.select(leases.c.issued, leases.c.expires))
    assert max(row.issued for row in issued) - min(row.issued for row in issued) < TEN_MINUTES / 2
    assert {round(row.expires - row.issued) for row in issued} == {120}


def test_wrong_clock_is_logged_at_the_start(url, monkeypatch, caplog):
    store = open_store(url, seed=0)
    try:
        pulse, right = Pulse(store), time.time
        # a logger that did not propagate when the test began has a handler of its own, and each line would come twice
        monkeypatch.setattr(logging.getLogger("crowd"), "handlers", [])
        monkeypatch.setattr(logging.getLogger("crowd"), "propagate", True)
        with caplog.at_level("WARNING", logger="crowd"), monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda: right() + TEN_MINUTES)
            pulse.tell_clock()
        (record,) = [record for record in caplog.records if record.message == "clock"]
        assert "seconds ahead of the database's" in record.facts["told"]
        with store.read() as connection:
            assert clocks_that_differ(settings(connection), store.now())
        if abs(store.clock.difference()) < 1:
            pulse.tell_clock()
            with store.read() as connection:
                assert not clocks_that_differ(settings(connection), store.now())
    finally:
        store.close()


def test_wrong_clock_shows_on_dashboard_and_health(tmp_path):
    study = make_study(tmp_path / "study", RULES, real=2)
    told = {}
    with serving(study, "--walk-in", clock=TEN_MINUTES, told=told) as address:
        store = open_store(f"sqlite:///{study / 'crowd.sqlite'}")
        with store.read() as connection:
            ((name, seconds),) = clocks_that_differ(settings(connection), store.now())
        token = Desk(store, Hit()).study_token()
        store.close()
        with Browser() as researcher:
            assert "Server clock" in researcher.get(f"{address}/study?token={token}").text
        assert name.endswith(f":{told['pid']}") and abs(seconds - TEN_MINUTES) < 60
        assert health(address)["clock_seconds_ahead"] > 500
