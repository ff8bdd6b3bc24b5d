"""The pairs of a study inside the store, and the choice of the pair that a rater sees next.

The next pair is the open one, never shown to this rater, with the fewest live votes; ties are broken by a random order
that is fixed for the study (`NEXT_PAIR`). Of every pair the store keeps `votes` (counted), `live` (votes + leases
held) and `open` (offered and short of votes). The database chooses, not Python, because its index over (open, live,
position) finds the next pair among 100,000 as fast as among 100.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from crowd.hit import Hit
from crowd.store import event_log
from crowd.store.store import Change, Store, fetch, later, put, settings
from crowd.store.tables import leases, pairs
from dialogue.errors import InputError
from dialogue.files import as_json, digest, from_json, read_records
from dialogue.records import Pair, Side
from dialogue.seeds import child_seed


def load(store: Store, path: Path, hit: Hit, now: float) -> None:
    """Bring the store up to the pairs file: new pairs are added; a pair that was served may not change or go."""
    fingerprint = digest(path) + f"|{hit.identical}"
    with store.read() as connection:
        if settings(connection).get("pairs") == fingerprint:
            return
    records = read_records(path, Pair)
    _check(records, path, hit)
    with store.write() as connection:
        values = settings(connection)
        _keep_what_was_served(connection, {record.pair: _body(record) for record in records}, path)
        rows = [_row(record, hit, seed=int(values["seed"])) for record in records]
        known = set(connection.scalars(sa.select(pairs.c.pair)))
        if fresh := [row for row in rows if row["pair"] not in known]:
            connection.execute(sa.insert(pairs), fresh)
        put(connection, "pairs", fingerprint)
        event_log.append(connection, "study", now, pairs=len(records), digest=fingerprint)


def _check(records: Sequence[Pair], path: Path, hit: Hit) -> None:
    if twice := [name for name, number in Counter(record.pair for record in records).items() if number > 1]:
        raise InputError(f"{path}: pair {twice[0]} occurs twice; give every pair an id of its own.")
    if lost := [record.pair for record in records if record.kind == "check" and record.answer is None]:
        raise InputError(f"{path}: check {lost[0]} has no answer; a check needs answer: a, b or tie.")
    checks = sum(record.kind == "check" for record in records)
    if checks < hit.first_checks:
        raise InputError(
            f"{path} holds {checks} checks, but first_checks is {hit.first_checks}. "
            "Add pairs of kind check with their answer, or lower first_checks in hit.toml."
        )
    if checks == len(records):
        raise InputError(f"{path} holds no pair to be rated: add pairs of kind real or control.")


def _keep_what_was_served(connection: sa.Connection, bodies: dict[str, str], path: Path) -> None:
    """Drop pairs that nobody has seen and that changed; refuse where a pair that was shown changed."""
    stale = [row.pair for row in connection.execute(sa.select(pairs)) if bodies.get(row.pair) != row.body]
    shown = set(connection.scalars(sa.select(leases.c.pair).distinct())) if stale else set()
    if gone := sorted(shown & set(stale)):
        raise InputError(
            f"{path} changed after launch: pair {gone[0]} was shown to raters and is now different or missing. "
            "Restore the file, or begin a new study folder."
        )
    for pair in stale:
        connection.execute(sa.delete(pairs).where(pairs.c.pair == pair))


def _row(record: Pair, hit: Hit, *, seed: int) -> dict[str, object]:
    offered = record.kind != "check" and (hit.identical == "show" or not record.identical)
    return {
        "pair": record.pair,
        "position": child_seed(seed, "order", record.pair),
        "kind": record.kind,
        "open": int(offered),
        "offered": int(offered),
        "body": _body(record),
    }


def _body(record: Pair) -> str:
    return json.dumps(as_json(record), ensure_ascii=False, sort_keys=True)


@lru_cache(256)
def pair_from(body: str) -> Pair:
    """The Pair record of a row."""
    return from_json(Pair, json.loads(body), "store")


# Statements are built once, because with SQLAlchemy building one costs more than running it.
_LITERAL_ONE: sa.ColumnClause[int] = sa.literal_column("1")  # PostgreSQL plans for one row only if it sees LIMIT 1
_SEEN = sa.exists().where(leases.c.rater == param("rater"), leases.c.pair == pairs.c.pair)
_OPEN = sa.select(pairs).where(pairs.c.open == 1, ~_SEEN).order_by(pairs.c.live, pairs.c.position).limit(_LITERAL_ONE)
_VOTES = pairs.c.votes + param("more")
_SHORT = sa.case((sa.and_(pairs.c.offered == 1, param("k") > _VOTES), 1), else_=0)
_RECOUNT = (
    sa.update(pairs)
    .where(pairs.c.pair == param("this"), pairs.c.kind != "check")
    .values(votes=_VOTES, live=pairs.c.live + param("more") + param("held"), open=_SHORT)
)
_EXPIRE = sa.update(leases).where(leases.c.lease == param("this")).values(state="expired")
IS_SHOWN = sa.or_(leases.c.state == "held", leases.c.state == "answered")
SIDES: tuple[Side, ...] = get_args(Side)


def _with_sides(one: sa.Select[Any]) -> sa.Select[Any]:
    """The one pair, and how often each of its responses stood on the left."""
    pair = one.subquery()
    shown = sa.select(sa.func.count()).where(leases.c.pair == pair.c.pair, IS_SHOWN)
    return sa.select(pair, *(shown.where(leases.c.left == side).label(f"left_{side}") for side in SIDES))


# The next pair for `rater`, and the leases that have run out by `now`. leasing.py asks both in one message with its own
# question, because on PostgreSQL every message prolongs the write lock.
NEXT_PAIR = _with_sides(_OPEN)
_ENDED = (leases.c.state == "held", leases.c.expires <= param("now"))
DUE = sa.select(leases.c.lease, leases.c.rater, leases.c.pair).where(*_ENDED)
_NAMED = _with_sides(sa.select(pairs).where(pairs.c.pair == param("pair")))


@dataclass(frozen=True, slots=True)
class Offer:
    """What the pool has for a rater, as rows of the store."""

    pair: Any
    """The row of NEXT_PAIR, or None: the rater has seen every pair that is short of votes."""
    due: Sequence[Any]
    """The rows of DUE. While there are any, the pool may have something better."""


def named(connection: sa.Connection, pair: str) -> Any:
    """The row of one pair, with the columns of NEXT_PAIR."""
    return fetch(connection, (_NAMED, {"pair": pair}))[0][0]


def recount(pair: str, k: int, *, votes: int = 0, held: int = 0) -> Change:
    """Add to a pair's counted votes and held leases, and see whether it is still short of its k votes."""
    return _RECOUNT, {"this": pair, "k": k, "more": votes, "held": held}


def release_expired(connection: sa.Connection, k: int, now: float) -> None:
    """Return to the pool what was shown and not answered in time."""
    (due,) = fetch(connection, (DUE, {"now": now}))
    release(connection, due, k, now)


def release(connection: sa.Connection, due: Sequence[Any], k: int, now: float) -> None:
    """Return these leases, rows of DUE, to the pool."""
    for row in due:
        later(
            connection,
            (_EXPIRE, {"this": row.lease}),
            recount(row.pair, k, held=-1),
            event_log.entry("expired", now, row.rater, row.pair),
        )
