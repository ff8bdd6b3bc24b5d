"""A store as one SQLite file and back, whatever database holds it, while servers go on writing.

SQLite's own backup reads one snapshot, the write-ahead log among it: a plain copy of the file would lose the votes in
that log. PostgreSQL is read in one transaction. A file holds everything: votes, the event log, payments and secrets.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.store.store import SCHEMA_VERSION, Store, create_tables, open_store, stored_version
from seedvote.crowd.store.tables import METADATA
from seedvote.dialogue.errors import InputError

ROWS = 2000  # copied at once


def save_sqlite(path: Path, copy: Path) -> None:
    """Copy the file of a store, of any version, as it is at this moment."""
    with closing(_open_file(path, "ro")) as source, closing(sqlite3.connect(copy)) as target:
        try:
            source.backup(target)
            target.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
        except sqlite3.Error as error:
            raise InputError(f"{path} cannot be copied: {error}. Is it the store of a study?") from error


def save_store(url: str, copy: Path) -> None:
    """Copy a store of the present version out of any database, in one transaction."""
    with closing(open_store(url, migrate=False)) as source, closing(_open_empty_store(f"sqlite:///{copy}")) as target:
        version = stored_version(source)
        if version != SCHEMA_VERSION:
            raise InputError(
                f"This database has schema version {version}, and this program knows {SCHEMA_VERSION}. Save it with "
                "pg_dump, then upgrade it: python -m crowd upgrade STUDY --no-backup"
            )
        with source.read() as reading, target.engine.begin() as writing:
            _copy_rows(reading, writing)
    with closing(sqlite3.connect(copy)) as connection:
        connection.execute("PRAGMA journal_mode=DELETE")


def load_store(copy: Path, url: str) -> None:
    """Put a file of the present version into an empty database."""
    with (
        closing(open_store(f"sqlite:///{copy}")) as source,
        closing(_open_empty_store(url)) as target,
        source.read() as reading,
        target.engine.begin() as writing,
    ):
        _copy_rows(reading, writing)
        _count_on(writing)


def check_copy(copy: Path) -> dict[str, int]:
    """Rows of each table of a file that is whole; a sentence for any other file."""
    with closing(_open_file(copy, "ro")) as connection:
        try:
            (state,) = connection.execute("PRAGMA integrity_check").fetchone()
            names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            known = [table.name for table in METADATA.sorted_tables if table.name in names]
            if state != "ok" or "study" not in known:
                raise InputError(f"{copy.name} is no whole store of a study ({state}).")
            count = "SELECT COUNT(*) FROM {}"
            return {name: connection.execute(count.format(name)).fetchone()[0] for name in known}
        except sqlite3.Error as error:
            raise InputError(f"{copy.name} is no store of a study: {error}.") from error


def _open_file(path: Path, mode: str) -> sqlite3.Connection:
    try:
        return sqlite3.connect(f"{path.resolve().as_uri()}?mode={mode}", uri=True, timeout=30)
    except sqlite3.Error as error:
        raise InputError(f"{path} cannot be opened: {error}.") from error


def _open_empty_store(url: str) -> Store:
    """A store with all tables and no row; refused where a study is already."""
    store = open_store(url, migrate=False, allow_empty=True)
    try:
        if stored_version(store) is not None:
            raise InputError("The database holds a study already, which a backup does not replace. Name an empty one.")
        create_tables(store)
    except BaseException:
        store.close()
        raise
    return store


def _copy_rows(reading: sa.Connection, writing: sa.Connection) -> None:
    for table in METADATA.sorted_tables:
        for rows in _read_parts(reading, table):
            writing.execute(sa.insert(table), rows)


def _read_parts(reading: sa.Connection, table: sa.Table) -> Iterator[list[dict[str, Any]]]:
    rows = reading.execution_options(yield_per=ROWS).execute(sa.select(table)).mappings()
    for part in rows.partitions():
        yield [dict(row) for row in part]


def _count_on(writing: sa.Connection) -> None:
    """PostgreSQL numbers new rows from where the copied ones end; SQLite does so by itself."""
    if writing.dialect.name != "postgresql":
        return
    for table in METADATA.sorted_tables:
        for column in table.primary_key:
            if column.autoincrement is True:
                last = sa.select(sa.func.coalesce(sa.func.max(column), 0) + 1).scalar_subquery()
                sequence = sa.func.pg_get_serial_sequence(table.name, column.name)
                writing.execute(sa.select(sa.func.setval(sequence, last, False)))
