"""One command at a time moves the money of a study: two at once would read the same record of the launch.

The lock is where the store is, so that it holds for every folder and host that works on this store: a file next to
SQLite's, or a lock of the PostgreSQL database. The system lets go of it when the command ends, also when it is killed.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import sqlalchemy as sa

from seedvote.crowd.store.store import sqlite_url
from seedvote.dialogue.errors import InputError

LOCK_FILE = ".money.lock"
LOCK_NUMBER = 0x5EED_0F  # in a PostgreSQL database; that of its writers is another


@contextmanager
def money_lock(study: Path, database: str | None, *, needed: object) -> Iterator[None]:
    """Until this ends, no other command moves money of this study."""
    url = sa.make_url(database or sqlite_url(study))
    if not needed or (database is None and not study.is_dir()):
        yield
    elif url.get_backend_name() == "postgresql":
        with _lock_database(url, study):
            yield
    else:
        with _lock_file(Path(url.database or "").parent / LOCK_FILE, study):
            yield


def _lock_error(study: Path) -> InputError:
    return InputError(f"Another command is moving the money of {study}. Wait until it ends, then run this again.")


@contextmanager
def _lock_file(path: Path, study: Path) -> Iterator[None]:
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise _lock_error(study) from None
        yield


@contextmanager
def _lock_database(url: sa.URL, study: Path) -> Iterator[None]:
    engine = sa.create_engine(
        url.set(drivername="postgresql+psycopg"), poolclass=sa.NullPool, isolation_level="AUTOCOMMIT"
    )
    with engine.connect() as connection:
        if not connection.scalar(sa.text(f"SELECT pg_try_advisory_lock({LOCK_NUMBER})")):
            raise _lock_error(study)
        yield  # the lock goes with the connection
