"""Where a store lies, so that a copy is noticed: whoever has one has its secrets, and its links open both.

A SQLite file is known by its inode, a PostgreSQL database by its object id. Where that differs and the name does too,
the store was copied or moved. `crowd rotate STUDY all` gives a copy secrets of its own; `crowd rotate STUDY moved` says
that there is no other one.
"""

from __future__ import annotations

import os
import socket
from pathlib import Path

import sqlalchemy as sa

from seedvote.crowd.store.store import put, settings

PLACE = "place"


def place_of(connection: sa.Connection) -> tuple[str, str]:
    """What is the store's own and what it is called."""
    if connection.dialect.name == "postgresql":
        row = connection.execute(sa.text("SELECT oid, datname FROM pg_database WHERE datname = current_database()"))
        number, name = row.one()
        return str(number), str(name)
    path = Path(str(connection.engine.url.database)).resolve()
    return str(os.stat(path).st_ino), f"{socket.gethostname()}:{path}"


def note_place(connection: sa.Connection) -> None:
    """The study lives here from now on."""
    put(connection, PLACE, " ".join(place_of(connection)))


def where_it_was(connection: sa.Connection) -> str | None:
    """The other place where the study lived, and may still do; None where this is its only one as far as is known."""
    before = settings(connection).get(PLACE)
    if before is None:
        return None
    own, _, name = before.partition(" ")
    current, called = place_of(connection)
    return None if current == own or called == name else name


def caution(study: Path, before: str) -> str:
    """What to do about it."""
    return (
        f"This study was copied or moved from {before}. Its links and the address of the researcher's page open both. "
        f"If it is a copy: python -m crowd rotate {study} all --yes. If the other one is gone: python -m crowd rotate "
        f"{study} moved --yes"
    )
