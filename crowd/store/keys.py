"""The keys of a study, what was taken back from its links, and where it lies: changed by `crowd rotate`.

`secret` signs seats, cookies, invitations and leases; `dashboard` and `reading` open the researcher's page. `people`
names who was invited: it never changes, so that a person whose link is signed anew is still the same rater.

Whoever copies a store has its secrets, and its links open both. So the store notes where it lies: a SQLite file is
known by its inode, a PostgreSQL database by its object id. Where that differs and the name does too, the store was
copied or moved. `crowd rotate STUDY all` gives a copy secrets of its own; `crowd rotate STUDY moved` says that there
is no other one.
"""

from __future__ import annotations

import json
import math
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import sqlalchemy as sa

from seedvote.crowd.store.identity import fresh_key, invited_id, keyed
from seedvote.crowd.store.store import Store, put, settings

Rotated = Literal["links", "dashboard", "reading"]
REVOKED = "revoked"
OLDER_SEATS = "older_seats"
MONTH = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class Keys:
    """As the store has them at one moment."""

    secret: str
    people: str
    dashboard: str
    reading: str
    revoked: frozenset[str]
    """Digests of invitations that let nobody in any more."""
    older_seats: float
    """Until when seats without a version are believed, as time since 1970."""

    def is_revoked(self, worker: str) -> bool:
        """Whether the invitation of this person was taken back."""
        return bool(self.revoked) and _digest_worker(self.people, worker) in self.revoked


def keys_in(values: Mapping[str, str]) -> Keys:
    """The keys among the settings of a store; one that was never rotated follows from the secret."""
    secret = values["secret"]
    return Keys(
        secret=secret,
        people=values.get("people_key", secret),
        dashboard=values.get("dashboard_key", secret),
        reading=values.get("reading_key", secret),
        revoked=frozenset(json.loads(values.get(REVOKED, "[]"))),
        older_seats=float(values.get(OLDER_SEATS, math.inf)),
    )


def rotate(connection: sa.Connection, what: Rotated) -> None:
    """Replace a key: whatever it has opened or signed is nobody's from then on."""
    values = settings(connection)
    if what != "links":
        put(connection, f"{what}_key", fresh_key())
        return
    known = keys_in(values)
    for name, key in (("people_key", known.people), ("dashboard_key", known.dashboard), ("reading_key", known.reading)):
        put(connection, name, key)
    put(connection, "secret", fresh_key())
    put(connection, OLDER_SEATS, "0")


def end_older_seats(store: Store, now: float) -> None:
    """A study that ran before seats had a version keeps those that are out for a month after its first start."""
    with store.read() as connection:
        if OLDER_SEATS in settings(connection):
            return
    with store.write() as connection:
        put(connection, OLDER_SEATS, f"{now + MONTH:.0f}")


def revoke(connection: sa.Connection, worker: str) -> None:
    """The invitation of this person lets nobody in any more."""
    known = keys_in(settings(connection))
    _put_revoked(connection, known.revoked | {_digest_worker(known.people, worker)})


def restore_invitation(connection: sa.Connection, worker: str) -> bool:
    """Take that back. Whether it had been revoked."""
    known = keys_in(settings(connection))
    if known.is_revoked(worker):
        _put_revoked(connection, known.revoked - {_digest_worker(known.people, worker)})
        return True
    return False


def is_invited(people: str, worker: str) -> bool:
    """Whether this id was made for an invitation: it ends with the proof that only this study can make.

    >>> is_invited("k", invited_id("k", "ann.smith")), is_invited("k", "ann")
    (True, False)
    """
    return worker == invited_id(people, worker.rpartition(".")[0])


def _put_revoked(connection: sa.Connection, digests: frozenset[str]) -> None:
    put(connection, REVOKED, json.dumps(sorted(digests)))


def _digest_worker(people: str, worker: str) -> str:
    return keyed(people, "revoked", worker)[:32]


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
