"""PostgreSQL: transactions of few messages, because each message and its answer cost more than the work they ask for.

What is noted (`later`) is sent in front of the next question (`fetch`) or of the commit, all in one message and in the
order in which it was written: nothing is decided on older data, the write lock is only held for fewer waits. Whatever
else runs on the connection sends first what was noted before it.

A message is a row of EXECUTEs of statements that the connection has prepared once, so that the server need not plan
them again; the driver writes the values into it as literals. Constants stand in the prepared text: they would be two in
three of the values of a vote, and the driver parses a message anew that has more than 50.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg import abc, generators
from psycopg.adapt import Transformer
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult
from sqlalchemy.dialects.postgresql import psycopg as dialects

from seedvote.crowd.store.replies import LostTurn, row_type

WRITE_LOCK = 0x5EED_0E  # the advisory lock's number in a database: one study a database
# What the planner may not choose for a server's own statements: each finds few rows by an index, and a plan that reads
# whole tables looks cheaper only where statistics are missing, stale or of an empty table. Reports may choose.
SCANS = ("enable_seqscan", "enable_bitmapscan", "enable_hashjoin", "enable_mergejoin", "enable_sort", "enable_material")
ALWAYS = {
    "synchronous_commit": "on",  # whatever the server's default: what was committed is on disk
    "jit": "off",
    "tcp_keepalives_idle": "5",
    "tcp_keepalives_interval": "1",
    "tcp_keepalives_count": "3",
    "tcp_user_timeout": "5s",
}
# A process that is frozen, or whose host has vanished, in the middle of a change loses the lock to the others.
SERVER = {
    "idle_in_transaction_session_timeout": "1500ms",
    "lock_timeout": "10s",
    "plan_cache_mode": "force_generic_plan",
    **dict.fromkeys(SCANS, "off"),
}
COMMAND = {"idle_in_transaction_session_timeout": "60s", "lock_timeout": "120s"}  # which may count for a while
KEEPALIVES = {"connect_timeout": 10, "keepalives_idle": 5, "keepalives_interval": 1, "keepalives_count": 3}
# Each statement sees what was committed before it, so what is read after a row was locked is the latest.
BEGIN_WRITE = "BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE"
OPENINGS = {
    "write": (BEGIN_WRITE, f"SELECT pg_advisory_xact_lock({WRITE_LOCK})"),
    "shared": (BEGIN_WRITE, f"SELECT pg_advisory_xact_lock_shared({WRITE_LOCK})"),
    "read": ("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", *(f"SET LOCAL {name} = on" for name in SCANS)),
    "glance": (),
}


class _ConstantsWritten(dialects.PGCompiler_psycopg):
    """Writes a statement's constants into its text, so that only what differs from call to call is sent."""

    def visit_bindparam(self, bindparam: Any, *rest: Any, **options: Any) -> Any:
        options["literal_binds"] = not bindparam.required
        return super().visit_bindparam(bindparam, *rest, **options)  # type: ignore[no-untyped-call]


DIALECT: sa.Dialect = dialects.dialect(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]
DIALECT.statement_compiler = _ConstantsWritten

Statement = sa.Select[Any] | sa.Insert | sa.Update | sa.Delete
Values = Mapping[str, Any]


def engine_of(url: sa.URL, *, serving: bool) -> sa.Engine:
    """An engine whose transactions begin and commit in the messages that they send anyway."""
    session = ALWAYS | (SERVER if serving else COMMAND)
    engine = sa.create_engine(
        url.set(drivername="postgresql+psycopg"),
        pool_size=8,
        max_overflow=8,
        pool_use_lifo=True,  # few connections, which have all statements prepared
        isolation_level="AUTOCOMMIT",  # the driver sends no BEGIN of its own
        # nor does it prepare, and forget, statements of its own
        connect_args={
            "prepare_threshold": None,
            "tcp_user_timeout": 5000,
            "client_encoding": "utf8",  # as messages are written, whatever the database's own
            **KEEPALIVES,
        },
    )
    sa.event.listen(engine, "connect", lambda driver, _record: _set_session(driver, session))
    sa.event.listen(engine, "begin", _open_pipe)
    sa.event.listen(engine, "before_cursor_execute", _flush_pipe)
    sa.event.listen(engine, "commit", _commit_pipe)
    return engine


@dataclass(frozen=True, slots=True)
class Words:
    """A statement as a connection knows it: its name, its text, how it is called, and the order of its values."""

    name: str
    text: str
    call: bytes
    order: tuple[str, ...]

    def ordered(self, inputs: Values) -> list[Any]:
        """All values, in the order in which the call takes them."""
        return [inputs[name] for name in self.order]


class Pipe:
    """What a transaction has noted and not sent yet."""

    def __init__(self, connection: sa.Connection, purpose: str) -> None:
        self._connection, self._opening, self._begun = connection, OPENINGS[purpose], False
        self._mark = "r" if purpose == "read" else "s"  # a plan is kept, and that of a report may read whole tables
        self._noted: list[tuple[Words, Values]] = []

    def later(self, changes: Sequence[tuple[Statement, Values]]) -> None:
        """Note changes."""
        self._noted += [
            (_compile_words(statement, tuple(values) if statement.is_insert else None, self._mark), values)
            for statement, values in changes
        ]

    def fetch(self, queries: Sequence[tuple[Statement, Values]]) -> list[list[Any]]:
        """Send what was noted, then the queries; the rows of each."""
        self._noted += [(_compile_words(query, None, self._mark), values) for query, values in queries]
        return self._send_noted(answers=len(queries))

    def flush(self) -> None:
        """Send what was noted, and before all the opening."""
        if self._noted or not self._begun:
            self._send_noted()

    def commit(self) -> None:
        """Send what was noted and commit, if there is anything to commit."""
        if self._opening and (self._begun or self._noted):
            self._send_noted("COMMIT")

    def _send_noted(self, *end: str, answers: int = 0) -> list[list[Any]]:
        driver: Any = self._connection.connection.driver_connection
        opening, noted = () if self._begun else self._opening, self._noted
        self._begun, self._noted = True, []
        adapter = Transformer(driver)
        try:
            calls = [words.call % tuple(map(adapter.as_literal, words.ordered(inputs))) for words, inputs in noted]
            self._prepare_texts(driver, {words.name: words.text for words, _ in noted})
            message = b"; ".join((*map(str.encode, opening), *calls, *map(str.encode, end)))
            results = ask_server(driver, message) if message else []
            return [_read_rows(adapter, result) for result in results[len(results) - answers :]]
        except psycopg.Error as error:
            self._connection.invalidate(error)  # nobody knows what it has prepared
            if driver.closed:
                self._connection.engine.dispose()  # so are the others, most likely
                if not end:
                    raise LostTurn(None, None, error) from error
            raise sa.exc.DBAPIError.instance(None, None, error, psycopg.Error) from error

    def _prepare_texts(self, driver: Any, texts: Mapping[str, str]) -> None:
        known: set[str] = self._connection.info.setdefault("prepared", set())
        if fresh := texts.keys() - known:
            ask_server(driver, "; ".join(f"PREPARE {name} AS {texts[name]}" for name in fresh).encode())
            known |= fresh


def ask_server(driver: psycopg.Connection[Any], message: bytes) -> list[PGresult]:
    """The result of each statement of a message; what a cursor does besides takes longer than the sending."""
    driver.pgconn.send_query(message)
    results: list[PGresult] = driver.wait(generators.execute(driver.pgconn))
    for result in results:
        if result.status == ExecStatus.FATAL_ERROR:  # the first says why; a second, that the connection is gone
            raise psycopg.errors.error_from_result(result)
    return results


def _read_rows(adapter: abc.Transformer, result: PGresult) -> list[Any]:
    adapter.set_pgresult(result)
    row = row_type(tuple((result.fname(n) or b"").decode() for n in range(result.nfields)))
    return adapter.load_rows(0, result.ntuples, row._make)


@lru_cache(256)
def _compile_words(statement: Statement, columns: tuple[str, ...] | None, mark: str = "s") -> Words:
    compiled = statement.compile(dialect=DIALECT, column_keys=columns)
    name = f"{mark}{hashlib.sha256(compiled.string.encode()).hexdigest()[:16]}"
    order = tuple(compiled.positiontup or ())
    call = f"EXECUTE {name}({', '.join(['%b'] * len(order))})" if order else f"EXECUTE {name}"
    return Words(name, compiled.string, call.encode(), order)


def _set_session(driver: Any, session: Mapping[str, str]) -> None:
    driver.execute("; ".join(f"SET {name} = '{value}'" for name, value in session.items()))
    driver.commit()


def _open_pipe(connection: sa.Connection) -> None:
    connection.info["pipe"] = Pipe(connection, connection.info.get("purpose", "write"))


def _flush_pipe(connection: sa.Connection, *_: object) -> None:
    if pipe := connection.info.get("pipe"):
        pipe.flush()


def _commit_pipe(connection: sa.Connection) -> None:
    connection.info["pipe"].commit()
