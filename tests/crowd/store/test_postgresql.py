"""Transactions of few messages on PostgreSQL: same order, same safety, and how few they are."""

import contextlib
import dataclasses
import sys
import threading

import psycopg
import pytest
import sqlalchemy as sa

from seedvote.crowd.rating import pool
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.rating.moment import Refused
from seedvote.crowd.store import postgresql
from seedvote.crowd.store.store import append_event, fetch, later, open_store
from seedvote.crowd.store.tables import events, pairs, study_settings, votes
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from tests.crowd.conftest import STRICT
from tests.crowd.study import SHORT, check_books, database, desk_of, make_pairs, press, seated, vote, work

KINDS = sa.select(events.c.kind, events.c.data).order_by(events.c.event)
ODD = [
    "it's",
    "\\",
    "\\'; DROP TABLE votes; --",
    "%s %(a)s %%",
    "$1 $2",
    '"',
    "é💥\u200f",
    "a\nb\tc",
    "E'\\x00'",
    "{0}",
]
TIMES = [0.1 + 0.2, -1.5, 0.0, 1e-300, 1.7e308, 1e22, 1_763_712_000.123456, 5e-324, -123456789.87654321, 2.0**-40]


@pytest.fixture
def url(tmp_path):
    with database("postgresql", tmp_path) as found:
        yield found


@pytest.fixture
def store(url):
    opened = open_store(url, seed=0)
    yield opened
    opened.close()


def kinds(store):
    with store.read() as connection:
        return [row.kind for row in fetch(connection, (KINDS, {}))[0]]


def test_queued_notes_precede_every_later_question(store):
    with store.write() as connection:
        append_event(connection, "shown", 1.0)
        assert connection.execute(KINDS).all() == [("shown", "{}")]
        append_event(connection, "answered", 2.0)
        append_event(connection, "undone", 3.0)
        (found,) = fetch(connection, (KINDS, {}))
        assert [row.kind for row in found] == ["shown", "answered", "undone"]
        append_event(connection, "finished", 4.0)
    assert kinds(store) == ["shown", "answered", "undone", "finished"]


@pytest.mark.parametrize("sent", [True, False])
def test_a_transaction_that_fails_leaves_nothing_of_what_was_noted(store, sent):
    with pytest.raises(Refused), store.write() as connection:
        append_event(connection, "shown", 1.0)
        if sent:
            fetch(connection, (KINDS, {}))
        raise Refused("changed its mind")
    assert kinds(store) == []


def test_refused_change_is_a_store_error_and_undone(store):
    for _ in range(2):
        with pytest.raises(sa.exc.IntegrityError), store.write() as connection:
            append_event(connection, "shown", 1.0)
            later(connection, (sa.insert(study_settings), {"key": "seed", "value": "twice"}))
    assert kinds(store) == []
    with store.write() as connection:
        append_event(connection, "shown", 1.0)
    assert kinds(store) == ["shown"]


def test_an_error_that_comes_with_the_commit_is_told_and_undoes_all(store):
    with store.write() as connection:
        connection.exec_driver_sql("ALTER TABLE events ADD UNIQUE (at) DEFERRABLE INITIALLY DEFERRED")
    with pytest.raises(sa.exc.IntegrityError), store.write() as connection:
        append_event(connection, "shown", 1.0)
        append_event(connection, "answered", 1.0)
    assert kinds(store) == []


def test_a_server_with_lax_defaults_is_asked_for_strict_ones(url, monkeypatch):
    monkeypatch.setattr(postgresql, "ALWAYS", STRICT)
    name = url.rsplit("/", 1)[1]
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} SET synchronous_commit = off")
        admin.execute(f"ALTER DATABASE {name} SET default_transaction_isolation = 'serializable'")
        admin.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
        admin.execute(f"ALTER DATABASE {name} SET client_encoding = 'latin1'")
    store = open_store(url, seed=0)
    with store.write() as connection:
        assert connection.exec_driver_sql("SHOW client_encoding").scalar() == "UTF8"
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"
    store.close()


def test_values_travel_unchanged_whatever_characters_they_hold(store):
    with store.write() as connection:
        for text, at in zip(ODD, TIMES, strict=True):
            later(connection, (sa.insert(events), {"at": at, "kind": text, "rater": None, "pair": text, "data": text}))
    with store.read() as connection:
        (found,) = fetch(connection, (sa.select(events).order_by(events.c.event), {}))
        for text in ODD:
            (again,) = fetch(connection, (sa.select(events).where(events.c.pair == sa.bindparam("x")), {"x": text}))
            assert [row.data for row in again] == [text]
    kept = [(row.at, row.kind, row.rater, row.pair, row.data) for row in found]
    assert kept == [(at, text, None, text, text) for text, at in zip(ODD, TIMES, strict=True)]


def test_cut_connections_are_replaced(url, tmp_path):
    with desk_of(url, tmp_path) as desk:
        seat = seated(desk, "r")
        place = desk.next_step(seat)
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as other:
            other.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        assert desk.answer(seat, place.shown.token, "left", 1.0)[0] == "saved"
        assert desk.answer(seat, place.shown.token, "left", 1.0)[0] == "again"
        check_books(desk)


def test_one_cut_connection_replaces_all_that_are_idle(url, tmp_path):
    """Each of them would cost a request one of its three turns."""
    with desk_of(url, tmp_path) as desk, contextlib.ExitStack() as looks:
        seat = seated(desk, "r")
        place = desk.next_step(seat)
        for _ in range(5):
            looks.enter_context(desk.store.read())
        looks.close()
        with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as other:
            others = "datname = current_database() AND pid <> pg_backend_pid()"
            ended = other.execute(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE {others}")
            assert len(ended.fetchall()) >= 5
        assert desk.answer(seat, place.shown.token, "left", 1.0)[0] == "saved"
        check_books(desk)


@pytest.mark.parametrize("message", [1, 2])
def test_lost_turn_is_taken_again_once(url, tmp_path, monkeypatch, message):
    """As after a freeze, when the database has ended the idle transaction."""
    with desk_of(url, tmp_path) as desk, psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as admin:
        seat = seated(desk, "r")
        place, sent, ask_server = desk.next_step(seat), [], postgresql.ask_server

        def cut(driver, query):
            sent.append(query)
            if len(sent) == message:
                others = "datname = current_database() AND pid <> pg_backend_pid()"
                admin.execute(f"SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE {others}")
            return ask_server(driver, query)

        monkeypatch.setattr(postgresql, "ask_server", cut)
        assert desk.answer(seat, place.shown.token, "left", 1.0)[0] == "saved"
        with desk.store.read() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(votes)) == 1
        check_books(desk)


def test_a_look_stays_the_same_while_others_write(store):
    with store.read() as connection:
        before = connection.execute(KINDS).all()
        with store.write() as other:
            append_event(other, "shown", 1.0)
        assert connection.execute(KINDS).all() == before == []
    assert kinds(store) == ["shown"]


def test_a_look_cannot_write(store):
    with pytest.raises(sa.exc.DBAPIError, match="read-only"), store.read() as connection:
        append_event(connection, "shown", 1.0)


def test_one_writer_at_a_time_across_processes(url):
    """Each reads a number and writes it back one higher; with two stores open, as two processes have."""
    seed = study_settings.c.key == "seed"
    stores, number = [open_store(url, seed=0) for _ in range(2)], sa.select(study_settings.c.value).where(seed)
    change = sa.update(study_settings).where(seed).values(value=sa.bindparam("new"))

    def count(store):
        for _ in range(25):
            with store.write() as connection:
                ((row,),) = fetch(connection, (number, {}))
                later(connection, (change, {"new": str(int(row.value) + 1)}))

    threads = [threading.Thread(target=count, args=(store,)) for store in stores * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with stores[0].read() as connection:
        assert connection.scalar(number) == "100"
    for store in stores:
        store.close()


@pytest.fixture
def messages(monkeypatch):
    """Every message that is sent to the server, but for those that prepare statements."""
    sent, ask_server = [], postgresql.ask_server

    def spy(driver, query):
        sent.append(query.decode())
        return ask_server(driver, query)

    monkeypatch.setattr(postgresql, "ask_server", spy)
    return sent


def test_a_fetch_is_one_message_and_a_submission_three(url, tmp_path, messages):
    with desk_of(url, tmp_path, dataclasses.replace(SHORT, pairs_per_sitting=9), make_pairs(9)) as desk:
        seat = seated(desk, "r")
        for _ in range(3):
            vote(desk, seat)
        place = desk.next_step(seat)
        messages.clear()
        desk.next_step(seat)
        assert len(messages) == 1
        messages.clear()
        desk.answer(seat, place.shown.token, press(place, "a"), 1.0)
        assert len(messages) == 3
        assert "pg_advisory_xact_lock" in messages[0] and messages[2].endswith("COMMIT")


def test_no_change_goes_by_the_plan_of_a_report(url, messages):
    """A plan is kept with its statement, and in a report it may read whole tables."""
    store = open_store(url, seed=0, serving=True)
    messages.clear()
    for look in (store.read, store.glance, store.write):
        with look() as connection:
            fetch(connection, (KINDS, {}))
    store.close()
    read, glanced, written = (
        message.partition("EXECUTE ")[2].split(";")[0] for message in messages if "EXECUTE" in message
    )
    assert glanced == written != read


def test_a_message_costs_few_steps_beside_the_database(store):
    """A judgement has four messages; with a cursor of the driver each took 75 calls."""
    calls, query = [], (sa.select(events.c.kind).where(events.c.pair == sa.bindparam("x")), {"x": "p"})
    with store.glance() as connection:
        fetch(connection, query)  # prepared from now on
        sys.setprofile(lambda frame, event, _: calls.append(frame.f_code.co_name) if event == "call" else None)
        try:
            fetch(connection, query)
        finally:
            sys.setprofile(None)
    assert len(calls) < 45, calls


def test_workers_that_start_at_once_on_an_empty_database_make_one_study(tmp_path):
    start_at_once(tmp_path, times=8)


@pytest.mark.slow
def test_workers_on_thirty_databases_make_a_study_each(tmp_path):
    start_at_once(tmp_path, times=30)


def start_at_once(tmp_path, times):
    path = tmp_path / "pairs.jsonl"
    write_records(path, make_pairs(6), signature="test", kind=Pair)
    for number in range(times):
        folder = tmp_path / str(number)
        folder.mkdir()
        with database("postgresql", folder) as url:
            failures, desks, together = [], [], threading.Barrier(6)

            def start(url=url, failures=failures, desks=desks, together=together):
                together.wait()
                try:
                    store = open_store(url, seed=0)
                    pool.load(store, path, SHORT, now=0.0)
                    desks.append(Desk(store, SHORT))
                    desks[-1].arrive(f"r{threading.get_ident()}", "1", "local")
                except Exception as error:  # noqa: BLE001 (told to the main thread)
                    failures.append(error)

            threads = [threading.Thread(target=start) for _ in range(6)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert failures == []
            assert len({desk.secret for desk in desks}) == 1
            for n in range(3):
                work(desks[n], seated(desks[n], f"rater {n}"))
            with desks[0].store.read() as connection:
                assert connection.scalar(sa.select(sa.func.count()).select_from(pairs)) == 6
                assert connection.scalar(sa.select(sa.func.count()).select_from(votes)) == 12
            for desk in desks:
                desk.store.close()
