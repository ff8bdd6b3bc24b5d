"""The store: transactions, schema version, one clock, the event log. SQLite in the study folder, or PostgreSQL by URL.

One writer at a time: every change is one transaction that begins by taking the write lock (SQLite: BEGIN IMMEDIATE;
PostgreSQL: an advisory lock held to the commit), so that "read what is there, decide, write" cannot interleave with
another rater's, whatever thread, process or host they came in by. On PostgreSQL raters' own changes share that lock
and lock their rows (`write_rows`). What a rater is told was saved has been committed.

Where many raters wait for the lock, changes go through `later` and questions through `fetch`. On SQLite they go to the
driver itself, as statements that were compiled once: the way through SQLAlchemy takes several times as long as SQLite's
own work, most of it while the write lock is held. For PostgreSQL see crowd/store/postgresql.py.

The clock of a study is the database's, whatever time its servers believe it is. A server adds up its own seconds from
the last time at which it asked the database, and asks again every few seconds. So leases and lateness need no message
of their own, and a server whose clock is wrong treats raters as the others do.
"""

from __future__ import annotations

import json
import os
import socket
import sqlite3
import stat
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, cast

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite as dialects
from sqlalchemy.exc import DBAPIError
from sqlalchemy.schema import CreateIndex, CreateTable, ExecutableDDLElement

from seedvote.crowd.store.identity import fresh_key, simulated_key
from seedvote.crowd.store.migrations import MIGRATIONS
from seedvote.crowd.store.replies import row_type
from seedvote.crowd.store.tables import METADATA, events, leases, pairs, raters, study_settings
from seedvote.dialogue.errors import InputError

# The way to SQLite's own driver

SQLITE_DIALECT: sa.Dialect = dialects.dialect(paramstyle="qmark")

Statement = sa.Select[Any] | sa.Insert | sa.Update | sa.Delete
Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A statement as the driver takes it: its text, its constants, and the order of its values."""

    text: str
    constants: Values
    order: tuple[str, ...]

    def ordered(self, inputs: Values) -> list[Any]:
        """All values, in the order in which the text takes them."""
        values = {**self.constants, **inputs}
        return [values[name] for name in self.order]


class DirectPipe:
    """What a transaction changes and asks, with the face of the pipe of PostgreSQL; nothing waits in it."""

    def __init__(self, connection: sa.Connection) -> None:
        self._driver = cast(sqlite3.Connection, connection.connection.driver_connection)

    def later(self, changes: Sequence[tuple[Statement, Values]]) -> None:
        """Make changes."""
        for statement, values in changes:
            words = compile_for_sqlite(statement, tuple(values) if statement.is_insert else None)
            self.run(words.text, words.ordered(values))

    def fetch(self, queries: Sequence[tuple[Statement, Values]]) -> list[list[Any]]:
        """The rows of each query."""
        results = []
        for query, values in queries:
            words = compile_for_sqlite(query, None)
            cursor = self.run(words.text, words.ordered(values))
            row = row_type(tuple(column[0] for column in cursor.description))
            results.append([row._make(values) for values in cursor.fetchall()])
        return results

    def run(self, text: str, values: Sequence[Any] = ()) -> sqlite3.Cursor:
        """Let the driver execute a statement."""
        try:
            return self._driver.execute(text, values)
        except sqlite3.Error as error:
            raise sa.exc.DBAPIError.instance(text, None, error, sqlite3.Error) from error


@lru_cache(256)
def compile_for_sqlite(statement: Statement, columns: tuple[str, ...] | None) -> Compiled:
    """The statement, compiled once."""
    compilation = statement.compile(dialect=SQLITE_DIALECT, column_keys=columns)
    constants = {bind: parameter.value for bind, parameter in compilation.binds.items() if not parameter.required}
    return Compiled(compilation.string, constants, tuple(compilation.positiontup or ()))


# The clock

ASK_AGAIN = 5.0  # seconds
TOLERANCE = 2.0  # seconds by which a server's own clock may differ before it says so
NOTED = "clock "  # how the settings begin in which servers note that their clocks differ
FORGET_NOTE = 86_400.0  # seconds after which a note is of no use
TIME_QUESTIONS = {
    "postgresql": "SELECT extract(epoch FROM clock_timestamp())::float8",
    "sqlite": "SELECT (julianday('now') - 2440587.5) * 86400.0",
}


class StoreClock:
    """The database's seconds since 1970; `ask` asks the database."""

    def __init__(self, ask: Callable[[], float], ticks: Callable[[], float] = time.monotonic) -> None:
        self._ask, self._ticks = ask, ticks
        self._lock = threading.Lock()
        self._offset: float | None = None
        self._asked = float("-inf")

    def now(self) -> float:
        """The time by the database's clock, exact to the time of a message."""
        if self._offset is None or self._ticks() - self._asked >= ASK_AGAIN:
            self._ask_again()
        assert self._offset is not None
        return self._ticks() + self._offset

    def difference(self) -> float:
        """Seconds by which this server's own clock is ahead of the database's."""
        return time.time() - self.now()

    def _ask_again(self) -> None:
        first = self._offset is None
        if not self._lock.acquire(blocking=first):
            return  # another thread is asking
        try:
            if not first or self._offset is None:
                before = self._ticks()
                database_time = self._ask()
                after = self._ticks()
                self._offset, self._asked = database_time - (before + after) / 2, after
        finally:
            self._lock.release()


def own_note() -> str:
    """The setting in which this server notes that its clock differs."""
    return f"{NOTED}{socket.gethostname()}:{os.getpid()}"


def note_text(difference: float, now: float) -> str:
    """What it notes."""
    return json.dumps({"seconds": round(difference, 1), "at": now})


def clocks_that_differ(settings: Mapping[str, str], now: float) -> list[tuple[str, float]]:
    """The servers that noted it during the last day, and the seconds by which each was ahead of the database."""
    notes: dict[str, Any] = {
        key.removeprefix(NOTED): json.loads(value) for key, value in settings.items() if key.startswith(NOTED)
    }
    return sorted((name, note["seconds"]) for name, note in notes.items() if now - note["at"] < FORGET_NOTE)


def clock_sentence(difference: float) -> str:
    """What a person is told of it."""
    where = "ahead of" if difference > 0 else "behind"
    return (
        f"The clock of this server is {abs(difference):.0f} seconds {where} the database's. Leases and lateness follow "
        "the database's clock; set this one right, or its log tells wrong times."
    )


# Transactions, and the store itself

SCHEMA_VERSION = 17
# Of a rater's own change that shares the write lock: the rater, then the pair of the lease that is answered.
_LOCK_RATER = sa.select(raters.c.rater).where(raters.c.rater == sa.bindparam("rater")).with_for_update()
_ANSWERED_PAIR = sa.select(leases.c.pair).where(
    leases.c.token == sa.bindparam("token"), leases.c.rater == sa.bindparam("rater")
)
_LOCK_PAIR = (
    sa.select(pairs.c.pair)
    .where(pairs.c.pair == _ANSWERED_PAIR.scalar_subquery(), pairs.c.kind != "check")
    .with_for_update()
)
Purpose = Literal["write", "shared", "read", "glance"]
Query = tuple[sa.Select[Any], Mapping[str, Any]]
Change = tuple[sa.Insert | sa.Update | sa.Delete | sa.Select[Any], Mapping[str, Any]]


class Store:
    """An open store: `write()` and `read()` give a connection inside a transaction."""

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        self.has_row_locks = engine.dialect.name == "postgresql"
        self.clock = StoreClock(self._ask_time)
        self.on_wait: Callable[[float], object] = lambda _: None  # is told how long each change waited for its turn
        self.on_change: Callable[[], object] = lambda: None  # is told that a change of the whole study was made
        self._lock = threading.Lock()  # fair enough among threads, where SQLite's own waiting would be a lottery
        self._idle: list[sa.Connection] = []  # the last one is taken first: few, which have all statements prepared

    @contextmanager
    def _begin(self, purpose: Purpose) -> Iterator[sa.Connection]:
        """A transaction on a connection that stays open: taking one of the engine's takes as long as the transaction.

        Where anything fails the connection goes back to the engine; where it was cut, the idle ones go too.
        """
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self.engine.connect()
        connection.info["purpose"] = purpose
        try:
            with connection.begin():
                yield connection
        except BaseException:
            if connection.invalidated:
                self._close_idle()
            else:
                del connection.info["purpose"]
            connection.close()
            raise
        self._idle.append(connection)

    def _close_idle(self) -> None:
        while self._idle:
            with suppress(IndexError):  # another thread has taken it
                connection = self._idle.pop()
                connection.invalidate()  # else the engine would keep it
                connection.close()

    @contextmanager
    def write(self) -> Iterator[sa.Connection]:
        """One change: all of it, on disk, or nothing."""
        start = time.perf_counter()
        with self._lock, self._begin("write") as connection:
            self.on_wait(time.perf_counter() - start)
            yield connection
        self.on_change()

    @contextmanager
    def write_rows(self, rater: str, token: str = "") -> Iterator[sa.Connection]:
        """One change of a rater's own rows, and of the pair of the lease with this token, while others do the same.

        Only where there are row locks. Whatever else it changes must be locked before it is read.
        """
        with self._begin("shared") as connection:
            later(connection, (_LOCK_RATER, {"rater": rater}), (_LOCK_PAIR, {"rater": rater, "token": token}))
            yield connection

    def now(self) -> float:
        """The time by the database's clock, which all servers of a study share."""
        return self.clock.now()

    def _ask_time(self) -> float:
        with self._begin("glance") as connection:
            return float(connection.exec_driver_sql(TIME_QUESTIONS[connection.dialect.name]).scalar_one())

    @contextmanager
    def read(self) -> Iterator[sa.Connection]:
        """A consistent look, however many questions it takes, that holds nobody up."""
        with self._begin("read") as connection:
            yield connection

    @contextmanager
    def glance(self) -> Iterator[sa.Connection]:
        """A single `fetch`, for which PostgreSQL needs no transaction."""
        with self._begin("glance") as connection:
            yield connection

    def close(self) -> None:
        """Give the files and connections back."""
        self._close_idle()
        self.engine.dispose()


def open_store(
    url: str,
    *,
    seed: int | None = None,
    simulated: bool = False,
    migrate: bool = True,
    allow_empty: bool = False,
    serving: bool = False,
) -> Store:
    """Open the store at a database URL; with a seed, create it where there is none.

    An older store becomes one of this version unless `migrate` is off. An empty database is refused unless allowed.
    `serving`: for a server of raters, which may never hold others up for long; else for a command.

    The key that hashes rater ids is random, or follows from the seed where all raters are simulated, so that a
    simulated study can be repeated to the letter. The key that signs cookies and leases is always random.
    """
    store = Store(_make_engine(url, serving=serving))
    try:
        version = stored_version(store)
        if version is None and allow_empty:
            return store
        if version is None:
            if seed is None:
                raise InputError(f"{_show_url(url)} holds no study yet. Serve one first: python -m crowd serve STUDY.")
            _create_study(store, seed, simulated)
            version = stored_version(store)
        if migrate and version != SCHEMA_VERSION:
            _migrate_store(store, version or 0)
    except DBAPIError as error:
        store.close()
        step = " It must be a file in a folder where you may write." if url.startswith("sqlite") else ""
        if not isinstance(error, sa.exc.OperationalError):
            step = " Restore it from a copy, or start a new study folder."
        raise InputError(f"{_show_url(url)} cannot be opened: {str(error.orig).strip()}.{step}") from error
    except BaseException:
        store.close()
        raise
    return store


def sqlite_url(study_folder: Path) -> str:
    """The default store of a study folder."""
    return f"sqlite:///{study_folder / 'crowd.sqlite'}"


def later(connection: sa.Connection, *changes: Change) -> None:
    """Make changes, in this order, whose outcome need not be waited for; whatever follows on this connection sees them.

    Where the store is another process, they travel with the next question or with the commit.
    """
    if pipe := connection.info.get("pipe"):
        pipe.later(changes)
    else:
        for statement, values in changes:
            connection.execute(statement, values)


def fetch(connection: sa.Connection, *queries: Query) -> list[Sequence[Any]]:
    """The rows of each query; where the store is another process, it is asked them all at once."""
    if pipe := connection.info.get("pipe"):
        return cast(list[Sequence[Any]], pipe.fetch(queries))
    return [connection.execute(query, values).all() for query, values in queries]


def fetch_many(connection: sa.Connection, query: sa.Select[Any], values: Values | None = None) -> Sequence[Any]:
    """The rows of a query that has many.

    On SQLite they come as one value: the driver lets go of the interpreter at each row, and wakes a thread each time.
    """
    if connection.dialect.name != "sqlite":
        return connection.execute(query, values).all()
    names, packed = _pack_rows(query)
    return list(map(row_type(names)._make, json.loads(connection.execute(packed, values).scalar_one())))


@lru_cache(64)
def _pack_rows(query: sa.Select[Any]) -> tuple[tuple[str, ...], sa.Select[Any]]:
    """The names of its columns, and the query for all its rows as one JSON array.

    SQLite keeps the order of a subquery whose rows go into such an array (rule 16 of its query flattener).
    """
    rows = query.subquery()
    return tuple(rows.c.keys()), sa.select(sa.func.json_group_array(sa.func.json_array(*rows.c)))


# The event log: one line for whatever happens to a rater or a pair, in the transaction that does it, so that it is on
# disk before anyone is told. It is append-only: nothing updates or deletes events but `crowd forget`.

EventKind = Literal[
    "arrived",
    "consented",
    "described",
    "language",
    "instructed",
    "reserved",
    "unreserved",
    "shown",
    "said",
    "returned",
    "answered",
    "noticed",
    "trapped",
    "repeated",
    "undone",
    "expired",
    "blocked",
    "standing",
    "admitted",
    "ruled",
    "rule",
    "mended",
    "settled",
    "hit",
    "finished",
    "batch",
    "study",
    "forgotten",
]
_EVENT = sa.insert(events)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened."""

    event: int
    at: float
    kind: str
    rater: str | None
    pair: str | None
    data: dict[str, Any]


def append_event(
    connection: sa.Connection,
    kind: EventKind,
    now: float,
    rater: str | None = None,
    pair: str | None = None,
    **data: object,
) -> None:
    """Write one event that stands alone."""
    later(connection, make_event(kind, now, rater, pair, **data))


def make_event(
    kind: EventKind, now: float, rater: str | None = None, pair: str | None = None, **data: object
) -> Change:
    """One event as a change of the store, to be made together with what it reports."""
    return _EVENT, {"at": now, "kind": kind, "rater": rater, "pair": pair, "data": json.dumps(data)}


def read_events(connection: sa.Connection, *kinds: EventKind) -> Iterator[Event]:
    """All events, or those of some kinds, oldest first."""
    query = sa.select(events).order_by(events.c.event)
    if kinds:
        query = query.where(events.c.kind.in_(kinds))
    for row in connection.execute(query):
        yield Event(row.event, row.at, row.kind, row.rater, row.pair, json.loads(row.data))


def iso(at: float) -> str:
    """A time as the files of a study write it.

    >>> iso(0)
    '1970-01-01T00:00:00.000Z'
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


# The study's settings

_SETTINGS, _SET = sa.select(study_settings), sa.insert(study_settings)
_UNSET = sa.delete(study_settings).where(study_settings.c.key == sa.bindparam("this"))


def settings(connection: sa.Connection) -> Mapping[str, str]:
    """The study's own table of settings: schema, seed, keys, state."""
    return {row.key: row.value for row in fetch(connection, (_SETTINGS, {}))[0]}


def put(connection: sa.Connection, key: str, value: str) -> None:
    """Set one of the study's settings."""
    # delete and insert, because SQLAlchemy has an upsert for each database but none for both
    later(connection, (_UNSET, {"this": key}), (_SET, {"key": key, "value": value}))


def unset(connection: sa.Connection, key: str) -> None:
    """Take one of the study's settings away."""
    later(connection, (_UNSET, {"this": key}))


LEFT = "places left"  # the setting of an adaptive study that says how many votes are still to be given out
_LEFT = sa.select(study_settings.c.value).where(study_settings.c.key == LEFT)


def places_left(connection: sa.Connection) -> int:
    """The votes that batches are still to give out (crowd/rating/batches.py); 0 in a fixed study."""
    (rows,) = fetch(connection, (_LEFT, {}))
    return int(rows[0].value) if rows else 0


# How a store is opened and made


def _show_url(url: str) -> str:
    return sa.make_url(url).render_as_string(hide_password=True)


def _make_engine(url: str, *, serving: bool) -> sa.Engine:
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise InputError(f"{url!r} is not a database URL, e.g. postgresql+psycopg://user@host/study.") from error
    if parsed.get_backend_name() == "postgresql":
        from seedvote.crowd.store.postgresql import engine_of

        return engine_of(parsed, serving=serving)
    if parsed.get_backend_name() != "sqlite":
        raise InputError(f"{_show_url(url)}: the store is SQLite or PostgreSQL.")
    if parsed.database:
        _keep_private(Path(parsed.database))
    engine = sa.create_engine(parsed, pool_size=16, max_overflow=16, connect_args={"timeout": 30})
    sa.event.listen(engine, "connect", _connect_sqlite)
    sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def _keep_private(path: Path) -> None:
    """The file holds secrets and the ids of people: a new one is its owner's alone, an older one no stranger's.

    A group that was let in on purpose stays. What SQLite writes beside the file gets the rights of the file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):  # it is there, or may not be written, which opening it will tell
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    for file in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")):
        with suppress(OSError):
            if (mode := stat.S_IMODE(file.stat().st_mode)) & 0o007:
                file.chmod(mode & ~0o007)


def _connect_sqlite(connection: Any, _record: object) -> None:
    connection.isolation_level = None  # the driver shall not begin transactions behind our back
    connection.execute("PRAGMA journal_mode=WAL")  # readers (dashboard, export) do not hold up the writer
    connection.execute("PRAGMA synchronous=FULL")  # NORMAL may lose the last commits when the power goes
    connection.execute("PRAGMA foreign_keys=ON")


def _begin_sqlite(connection: sa.Connection) -> None:
    # a plain BEGIN takes the lock at the first write, when what was read before may be stale already
    connection.info["pipe"] = pipe = DirectPipe(connection)
    pipe.run("BEGIN IMMEDIATE" if connection.info.get("purpose", "write") == "write" else "BEGIN")


def stored_version(store: Store) -> int | None:
    """The version of the schema that is there, or None where there is no study."""
    with store.read() as connection:
        return int(settings(connection)["schema"]) if sa.inspect(connection).has_table("study") else None


def _create_study(store: Store, seed: int, simulated: bool) -> None:
    with store.write() as connection:
        if sa.inspect(connection).has_table("study"):
            return  # another process was faster
        _make_tables(connection)
        key = simulated_key(seed) if simulated else fresh_key()
        values = {"schema": SCHEMA_VERSION, "seed": seed, "rater_key": key, "secret": fresh_key(), "state": "running"}
        values |= {"older_seats": 0}  # see keys.py: a new study has none
        connection.execute(sa.insert(study_settings), [{"key": k, "value": str(v)} for k, v in values.items()])


def create_tables(store: Store) -> None:
    """All tables, without a row."""
    with store.write() as connection:
        _make_tables(connection)


def _make_tables(connection: sa.Connection) -> None:
    for words in _schema_statements(connection.dialect.name):
        connection.exec_driver_sql(words)


@lru_cache
def _schema_statements(backend: str) -> tuple[str, ...]:
    """All tables and indexes as this kind of database is told of them; PostgreSQL takes them in one message."""
    if backend == "sqlite":
        dialect = SQLITE_DIALECT
    else:
        from seedvote.crowd.store.postgresql import DIALECT as dialect
    parts: list[ExecutableDDLElement] = []
    for table in METADATA.sorted_tables:
        parts += [CreateTable(table), *map(CreateIndex, sorted(table.indexes, key=lambda index: str(index.name)))]
    words = tuple(str(part.compile(dialect=dialect)) for part in parts)
    return words if backend == "sqlite" else (";".join(words),)


def _migrate_store(store: Store, version: int) -> None:
    if version > SCHEMA_VERSION:
        raise InputError(
            f"The store has schema version {version}; this program knows {SCHEMA_VERSION}. Use the newer program."
        )
    with store.write() as connection:  # all steps or none, however this process ends
        for step in range(int(settings(connection)["schema"]), SCHEMA_VERSION):
            MIGRATIONS[step](connection)
            put(connection, "schema", str(step + 1))
