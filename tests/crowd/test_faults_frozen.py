"""A server that is frozen in the middle of a change, or whose host has vanished, does not stop the others."""

import os
import signal
import threading
import time

import httpx
import psycopg
import pytest

from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.rating.moment import rules_in_force
from seedvote.crowd.store.postgresql import COMMAND, SERVER
from seedvote.crowd.store.store import open_store
from tests.crowd.real_server import Browser, make_study, serving
from tests.crowd.study import check_books, database
from tests.house.waiting import PATIENCE, wait_for

RULES = "pairs_per_sitting = 500\nfirst_checks = 0\nlater_checks = 0\n"


@pytest.fixture
def url(tmp_path):
    with database("postgresql", tmp_path) as found:
        yield found


def shown(url, name, **options):
    store = open_store(url, seed=0, **options)
    try:
        with store.write() as connection:
            return connection.exec_driver_sql(f"SHOW {name}").scalar()
    finally:
        store.close()


def test_locks_return_in_seconds_from_a_frozen_server(url):
    assert shown(url, "idle_in_transaction_session_timeout", serving=True) == "1500ms"
    assert shown(url, "lock_timeout", serving=True) == "10s"
    assert shown(url, "tcp_keepalives_idle", serving=True) == "5"
    assert shown(url, "tcp_user_timeout", serving=True) == "5000"
    assert shown(url, "idle_in_transaction_session_timeout") == "1min"
    assert SERVER.keys() >= COMMAND.keys()


def judge(address, name, over):
    """Answer pair after pair until it is over, whatever becomes of the server meanwhile."""
    with Browser() as browser:
        page = browser.arrive(f"{address}/?rater={name}")
        while not over.is_set():
            page = browser.answer(page) if 'name="lease"' in page.text else browser.get(f"{address}/task")


def frozen_in_mid_change(pid, admin):
    """Stop the process; whether a change of it is half done, which nobody else is doing."""
    os.kill(pid, signal.SIGSTOP)
    query = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'"
    if admin.execute(query).fetchone()[0]:
        return True
    os.kill(pid, signal.SIGCONT)
    time.sleep(0.003)
    return False


def test_other_server_saves_while_one_is_frozen(url, tmp_path):
    study, told, over = make_study(tmp_path / "study", RULES, real=400), {}, threading.Event()
    door = ("--walk-in", "--database", url)
    with (
        psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as admin,
        serving(study, *door, told=told) as one,
        serving(study, *door) as other,
        Browser() as bob,
    ):
        working = threading.Thread(target=judge, args=(one, "ann", over))
        working.start()
        wait_for(lambda: frozen_in_mid_change(told["pid"], admin))
        page = bob.arrive(f"{other}/?rater=bob")  # needs the whole study's lock
        assert "Pair 2" in bob.answer(page).text
        assert httpx.get(f"{other}/health", trust_env=False, timeout=PATIENCE).status_code == 200
        os.kill(told["pid"], signal.SIGCONT)
        over.set()
        working.join()
        with Browser() as again:  # the frozen one goes on as well
            assert "Pair 2" in again.answer(again.arrive(f"{one}/?rater=cat")).text
    store = open_store(url)
    try:
        with store.read() as connection:
            hit = rules_in_force(connection).hit
        check_books(Desk(store, hit))
    finally:
        store.close()
