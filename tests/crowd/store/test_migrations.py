"""A store that the program of 0.2.0 wrote opens, and the gate judges its raters by their whole life."""

import dataclasses
from pathlib import Path

import pytest
import sqlalchemy as sa

from seedvote.crowd.exchange import exporting
from seedvote.crowd.hit.tables import AdaptiveRule
from seedvote.crowd.rating.answering import PAGE_VIEW
from seedvote.crowd.rating.change_control import OLDER, refuse_changes, take_up
from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.store.migrations import MIGRATIONS
from seedvote.crowd.store.store import SCHEMA_VERSION, open_store, put, settings, stored_version
from seedvote.crowd.store.tables import holds, launches, leases, messages, pairs, payouts, raters, replies, votes
from seedvote.dialogue.errors import InputError
from tests.crowd.rating.test_batches import rated
from tests.crowd.rating.test_batches import work as rate_adaptively
from tests.crowd.study import SHORT, Clock, database, desk_of, make_pairs, seated, vote

ADAPTIVE = {
    "pairs": ("target", "batch", "propensity"),
    "leases": ("batch", "propensity", "differences"),
    "votes": ("marks", "differences"),
}
CHOSEN = dataclasses.replace(SHORT, assignment="adaptive", adaptive=AdaptiveRule(votes=40, batch=20))
OLD = Path(__file__).with_name("store_0_2_0.sql")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


def restored(url):
    """The store that the program of 0.2.0 wrote (tests/crowd/store/store_0_2_0.sql), in this database."""
    engine = sa.create_engine(url)
    keys = {"leases": "lease", "votes": "vote", "events": "event"}
    with engine.begin() as connection:
        for statement in OLD.read_text().split(";\n"):
            if statement.startswith(("CREATE", "INSERT")):
                if engine.dialect.name == "postgresql":
                    statement = _as_serial(statement, keys)
                connection.exec_driver_sql(statement.replace("%", "%%"))
        if engine.dialect.name == "postgresql":
            for table, key in keys.items():
                highest = f"(SELECT max({key}) FROM {table})"
                connection.exec_driver_sql(f"SELECT setval(pg_get_serial_sequence('{table}', '{key}'), {highest})")
    engine.dispose()
    return open_store(url)


def _as_serial(statement, keys):
    for table, key in keys.items():
        if statement.startswith(f"CREATE TABLE {table} "):
            return statement.replace(f"{key} INTEGER NOT NULL", f"{key} SERIAL NOT NULL")
    return statement


OLD_HIT = dataclasses.replace(SHORT, first_checks=3, later_checks=2, max_failures=3)


def test_store_of_0_2_0_opens_with_checks_owed(url):
    store = restored(url)
    try:
        with store.read() as connection:
            assert settings(connection)["schema"] != "1"
            before = exporting.export(connection, votes_per_pair=3)
            assert connection.scalar(sa.select(sa.func.sum(votes.c.aside))) == 4
        assert sum(vote.counted for vote in before.votes) == 12  # 8 of them the walker's, who answered no check
        because, followed = take_up(store, OLD_HIT, 2e6)
        assert because == OLDER and "0 count that did not, 8 no longer do" in followed
        assert take_up(store, OLD_HIT, 2e6) == []
        desk = Desk(store, OLD_HIT, Clock())
        desk.clock.now = 2e6
        seat, kinds = seated(desk, "walker", "again"), []
        while (place := desk.next_step(seat)).stage == "task" and len(kinds) < 5:
            kinds.append(place.shown.pair.kind)
            vote(desk, seat, "a")
        assert kinds == ["check"] * 3  # what lets his votes count; no pair is left that could follow the others
        with store.read() as connection:
            after = exporting.export(connection, votes_per_pair=3)
        assert sum(vote.counted for vote in after.votes) == 12
        assert {row.rater: row.status for row in after.raters}[seat.rater] == "passed"
    finally:
        store.close()


def test_a_new_store_has_the_tables_of_a_migrated_one(url):
    restored(url).close()
    engine = sa.create_engine(url)
    try:
        for table in (pairs, raters, leases, votes, payouts, launches, holds, messages, replies):
            found = {column["name"] for column in sa.inspect(engine).get_columns(table.name)}
            assert found == {column.name for column in table.columns}
    finally:
        engine.dispose()


def test_a_migration_that_is_cut_off_leaves_the_store_as_it_was(tmp_path, monkeypatch):
    def cut(connection):
        raise KeyboardInterrupt

    url = f"sqlite:///{tmp_path / 'old.sqlite'}"
    with monkeypatch.context() as patch:
        patch.setitem(MIGRATIONS, max(MIGRATIONS), cut)
        with pytest.raises(KeyboardInterrupt):
            restored(url)
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        assert settings(connection)["schema"] == "1"
        assert "ruling" not in {column["name"] for column in sa.inspect(engine).get_columns("raters")}
    engine.dispose()
    open_store(url).close()


def test_older_store_without_twin_raters_goes_on(tmp_path, url):
    """The store as version 10 wrote it, with a worker of a marketplace in the midst of a visit."""
    with desk_of(url, tmp_path, SHORT, make_pairs(8)) as desk:
        seat = desk.arrive("w", "s1", "prolific")
        desk.consent(seat)
        vote(desk, seat)
        place = desk.next_step(seat)
        with desk.store.write() as connection:
            connection.exec_driver_sql("DROP INDEX raters_person")
            came_later = {"raters": ("person", "proves"), **ADAPTIVE, "votes": (*PAGE_VIEW, "marks", "differences")}
            for table, columns in came_later.items():
                for column in columns:
                    connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
            put(connection, "schema", "10")
    store = open_store(url)
    try:
        desk = Desk(store, SHORT, Clock())
        assert stored_version(store) == SCHEMA_VERSION
        assert desk.next_step(seat).shown.token == place.shown.token
        forged = desk.arrive("w", "forged", "prolific", proves=True)
        assert forged.rater != seat.rater
        desk.consent(forged)
        while desk.next_step(forged).stage == "task":
            vote(desk, forged)
        while desk.next_step(seat).stage == "task":
            vote(desk, seat)
        assert (desk.next_step(seat).stage, desk.next_step(seat).done) == ("done", SHORT.pairs_per_sitting)
        assert desk.arrive("w", "s2", "prolific", {seat.rater}).rater == seat.rater
    finally:
        store.close()


def write_as_version_12(store):
    with store.write() as connection:
        for table, columns in ADAPTIVE.items():
            for column in columns:
                connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {column}")
        put(connection, "schema", "12")


def test_a_store_from_before_adaptive_studies_goes_on(tmp_path, url):
    """The store as version 12 wrote it, with a pair in a rater's hands."""
    with desk_of(url, tmp_path, SHORT, make_pairs(8)) as desk:
        seat = seated(desk, "w")
        vote(desk, seat)
        place = desk.next_step(seat)
        write_as_version_12(desk.store)
    store = open_store(url)
    try:
        desk = Desk(store, SHORT, Clock())
        assert stored_version(store) == SCHEMA_VERSION
        assert desk.next_step(seat).shown.token == place.shown.token
        vote(desk, seat)
        with store.read() as connection:
            assert {row.target for row in connection.execute(sa.text("SELECT target FROM pairs"))} == {None}
    finally:
        store.close()


@pytest.mark.parametrize("has_vote", [False, True])
def test_a_store_from_before_adaptive_studies_becomes_adaptive_before_its_first_vote(tmp_path, url, has_vote):
    with desk_of(url, tmp_path, SHORT, rated(4)) as desk:
        seat = seated(desk, "w")
        place = desk.next_step(seat)
        if has_vote:
            vote(desk, seat)
        write_as_version_12(desk.store)
    store = open_store(url)
    try:
        if has_vote:
            with pytest.raises(InputError, match="given out by the old rule"):
                take_up(store, CHOSEN, now=0.0)
            return
        take_up(store, CHOSEN, now=0.0)
        desk = Desk(store, CHOSEN, Clock())
        assert desk.next_step(seat).shown.token == place.shown.token
        assert rate_adaptively(desk, 6) == pytest.approx(40, abs=2)
    finally:
        store.close()


def test_a_store_of_0_2_0_with_votes_does_not_become_adaptive(url):
    store = restored(url)
    try:
        for refuses in (lambda: refuse_changes(store, CHOSEN), lambda: take_up(store, CHOSEN, 2e6)):
            with pytest.raises(InputError, match="were given out evenly, by an older version"):
                refuses()
        with store.read() as connection:
            assert set(connection.scalars(sa.select(pairs.c.target))) == {None}
    finally:
        store.close()


def test_a_store_from_before_differences_goes_on(tmp_path, url):
    """The store as version 15 wrote it; the votes that were there know nothing of what was underlined."""
    with desk_of(url, tmp_path, SHORT, make_pairs(8)) as desk:
        seat = seated(desk, "w")
        vote(desk, seat)
        with desk.store.write() as connection:
            for table in ("votes", "leases"):
                connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN differences")
            put(connection, "schema", "15")
    store = open_store(url)
    try:
        assert stored_version(store) == SCHEMA_VERSION
        vote(Desk(store, SHORT, Clock()), seat)
        with store.read() as connection:
            assert connection.execute(sa.select(votes.c.differences)).scalars().all() == [None, None]
    finally:
        store.close()


def test_a_store_from_before_live_conversations_goes_on(tmp_path, url):
    """The store as version 13 wrote it."""
    with desk_of(url, tmp_path, SHORT, make_pairs(8)) as desk:
        seat = seated(desk, "w")
        place = desk.next_step(seat)
        with desk.store.write() as connection:
            for table in (messages, replies):
                table.drop(connection)
            for column in ("votes.marks", "votes.differences", "leases.differences"):
                connection.exec_driver_sql("ALTER TABLE {} DROP COLUMN {}".format(*column.split(".")))
            put(connection, "schema", "13")
    store = open_store(url)
    try:
        desk = Desk(store, SHORT, Clock())
        assert stored_version(store) == SCHEMA_VERSION
        assert desk.next_step(seat).shown.token == place.shown.token
        with store.read() as connection:
            assert connection.execute(sa.select(messages)).all() == connection.execute(sa.select(replies)).all() == []
    finally:
        store.close()
