"""Creating, opening, migrating and loading a store."""

import contextlib
import dataclasses

import pytest
import sqlalchemy as sa

from seedvote.crowd.rating import pool
from seedvote.crowd.store import store
from seedvote.crowd.store.store import open_store, put, settings
from seedvote.crowd.store.tables import METADATA, pairs
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_records
from seedvote.dialogue.records import Pair
from tests.crowd.study import SHORT, database, desk_of, make_pairs, seated, vote


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request, tmp_path):
    with database(request.param, tmp_path) as found:
        yield found


def test_a_store_is_created_once_and_keeps_its_keys(url):
    first = open_store(url, seed=7)
    with first.read() as connection:
        before = dict(settings(connection))
    first.close()
    again = open_store(url, seed=8)
    with again.read() as connection:
        assert dict(settings(connection)) == before and before["seed"] == "7"
    again.close()


def shape(engine):
    """Every table with its columns, indexes and what must be unique, as the database tells it."""
    seen = sa.inspect(engine)
    told = (seen.get_columns, seen.get_pk_constraint, seen.get_unique_constraints, seen.get_indexes)
    return {name: [repr(ask(name)) for ask in told] for name in seen.get_table_names()}


def test_a_new_store_has_every_table_and_index_that_sqlalchemy_would_make(url):
    with contextlib.closing(open_store(url, seed=0)) as made:
        found = shape(made.engine)
        METADATA.drop_all(made.engine)
        METADATA.create_all(made.engine)
        assert found == shape(made.engine) and "leases_due" in str(found)


def test_keys_are_random_but_for_the_rater_key_of_a_simulated_study(tmp_path):
    found = []
    for name, simulated in (("a", True), ("b", True), ("c", False), ("d", False)):
        opened = open_store(f"sqlite:///{tmp_path / name}", seed=0, simulated=simulated)
        with opened.read() as connection:
            found.append(settings(connection))
        opened.close()
    assert found[0]["rater_key"] == found[1]["rater_key"] != found[2]["rater_key"] != found[3]["rater_key"]
    assert len({values["secret"] for values in found}) == 4


def test_older_store_is_migrated_and_newer_refused(url, monkeypatch):
    open_store(url, seed=0).close()
    old = store.SCHEMA_VERSION
    added = sa.text("ALTER TABLE raters ADD COLUMN colour TEXT")
    filled = sa.text("UPDATE study SET value = 'migrated' WHERE key = 'state'")
    steps = {old: lambda c: c.execute(added), old + 1: lambda c: c.execute(filled)}
    monkeypatch.setattr(store, "MIGRATIONS", steps)
    monkeypatch.setattr(store, "SCHEMA_VERSION", old + 2)
    opened = open_store(url)
    with opened.read() as connection:
        assert settings(connection)["schema"] == str(old + 2) and settings(connection)["state"] == "migrated"
        assert "colour" in {column["name"] for column in sa.inspect(connection).get_columns("raters")}
    opened.close()
    monkeypatch.setattr(store, "SCHEMA_VERSION", old + 1)
    with pytest.raises(InputError, match=f"schema version {old + 2}"):
        open_store(url)


def test_a_migration_that_fails_leaves_the_store_as_it_was(tmp_path, monkeypatch):
    url = f"sqlite:///{tmp_path / 'crowd.sqlite'}"
    open_store(url, seed=0).close()
    old = store.SCHEMA_VERSION

    def half(connection):
        put(connection, "state", "half")
        raise RuntimeError("power cut")

    monkeypatch.setattr(store, "MIGRATIONS", {old: half})
    monkeypatch.setattr(store, "SCHEMA_VERSION", old + 1)
    with pytest.raises(RuntimeError):
        open_store(url)
    monkeypatch.setattr(store, "SCHEMA_VERSION", old)
    opened = open_store(url)
    with opened.read() as connection:
        assert settings(connection)["state"] == "running" and settings(connection)["schema"] == str(old)
    opened.close()


@pytest.mark.parametrize(
    "bad, told",
    [
        ("nonsense", "not a database URL"),
        ("mysql://u@h/d", "SQLite or PostgreSQL"),
        ("postgresql://nobody:secret@127.0.0.1:1/none", "cannot be opened"),
    ],
)
def test_an_unusable_database_is_one_sentence_without_the_password(bad, told):
    with pytest.raises(InputError, match=told) as error:
        open_store(bad, seed=0)
    assert "secret" not in str(error.value)


def test_a_file_that_sqlite_cannot_open_says_where_it_may_be(tmp_path):
    (tmp_path / "crowd.sqlite").mkdir()
    with pytest.raises(InputError, match=r"cannot be opened: unable to open.* in a folder where you may write"):
        open_store(f"sqlite:///{tmp_path / 'crowd.sqlite'}", seed=0)


def test_a_file_that_is_no_database_is_to_be_restored(tmp_path):
    (tmp_path / "crowd.sqlite").write_text("hello" * 400)
    with pytest.raises(InputError, match=r"file is not a database\. Restore it from a copy, or start a new study"):
        open_store(f"sqlite:///{tmp_path / 'crowd.sqlite'}")


def test_a_database_without_a_study_says_how_to_begin_one(tmp_path):
    with pytest.raises(InputError, match="crowd serve"):
        open_store(f"sqlite:///{tmp_path / 'empty.sqlite'}")


def test_transactions_share_a_connection_and_a_failed_one_leaves_nothing(url):
    def driver_of(connection):
        return connection.connection.driver_connection

    opened = open_store(url, seed=0)
    with opened.read() as first, opened.glance() as second:
        assert driver_of(first) is not driver_of(second)
    with pytest.raises(ZeroDivisionError), opened.write() as third:
        put(third, "never", "stored")
        raise ZeroDivisionError
    used = set()
    for look in (opened.read, opened.glance, opened.write):
        with look() as connection:
            used.add(id(driver_of(connection)))
            assert "never" not in settings(connection)
    assert len(used) == 1
    opened.close()


def test_commits_are_durable_on_sqlite(tmp_path):
    opened = open_store(f"sqlite:///{tmp_path / 'crowd.sqlite'}", seed=0)
    with opened.read() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
    opened.close()


def load(desk, folder, made):
    write_records(folder / "pairs.jsonl", made, signature="test", kind=Pair)
    pool.load(desk.store, folder / "pairs.jsonl", desk.rules.hit, now=1.0)


def test_seen_pairs_cannot_change_and_new_ones_may(url, tmp_path):
    with desk_of(url, tmp_path) as desk:
        seat = seated(desk, "r")
        seen = desk.next_step(seat).shown.pair.pair
        vote(desk, seat)
        made = make_pairs(6)
        changed = [dataclasses.replace(p, contrast="new") if p.pair != seen else p for p in made[:4]]
        held = desk.next_step(seat).shown.pair.pair
        changed = [next(o for o in made if o.pair == p.pair) if p.pair in (seen, held) else p for p in changed]
        load(desk, tmp_path, [*changed, *made[4:]])
        with desk.store.read() as connection:
            assert connection.scalar(sa.select(sa.func.count()).select_from(pairs)) == 6
        with pytest.raises(InputError, match="changed after launch"):
            load(desk, tmp_path, [p for p in made if p.pair != seen])


@pytest.mark.parametrize(
    "spoil, told",
    [
        (lambda made: [*made, made[0]], "pair p0 occurs twice"),
        (lambda made: [dataclasses.replace(p, answer=None) for p in made], "has no answer"),
        (lambda made: [p for p in made if p.kind == "check"], "no pair to be rated"),
        (lambda made: made[:4], "first_checks is 1"),
    ],
)
def test_pairs_that_cannot_make_a_study_are_refused(tmp_path, spoil, told):
    hit = dataclasses.replace(SHORT, first_checks=1)
    study = desk_of(f"sqlite:///{tmp_path / 'crowd.sqlite'}", tmp_path, hit, spoil(make_pairs(4, checks=2)))
    with pytest.raises(InputError, match=told), study:
        pass
