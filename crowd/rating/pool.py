"""The pairs of a study inside the store: brought up to the pairs file, and counted as votes come and leases go.

Of every pair the store keeps `votes` (places taken, by votes that count or wait), `live` (votes + leases held) and
`open` (offered and short of votes).
Which one a rater sees next is chosen from these in crowd/rating/next_pair.py.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from crowd.hit import Hit
from crowd.rating.next_pair import due_by
from crowd.store import event_log
from crowd.store.store import Change, Store, fetch, later, put, settings
from crowd.store.tables import leases, pairs
from dialogue.errors import InputError
from dialogue.files import as_json, digest, from_json, read_records
from dialogue.records import Pair
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
        raise InputError(f"{path}: pair {twice[0]} occurs twice; give every pair a unique id.")
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
    rows = connection.execute(sa.select(pairs)).all()
    stale = {row.pair: row for row in rows if bodies.get(row.pair) not in (row.body, _mended(row))}
    shown = set(connection.scalars(sa.select(leases.c.pair).distinct())) if stale else set()
    if gone := sorted(shown & set(stale)):
        raise InputError(_changed(path, stale[gone[0]], bodies.get(gone[0])))
    for pair in stale:
        connection.execute(sa.delete(pairs).where(pairs.c.pair == pair))


def _mended(row: Any) -> str:
    """The body of a check with the answer that `crowd check fix` gave it."""
    return _body(replace(pair_from(row.body), answer=row.mended)) if row.mended not in (None, "void") else str(row.body)


def _changed(path: Path, row: Any, body: str | None) -> str:
    """Why a file that changed is refused, and the way out."""
    now = pair_from(body) if body else None
    if (
        now
        and row.kind == "check"
        and now.answer
        and _body(now) == _body(replace(pair_from(row.body), answer=now.answer))
    ):
        return (
            f"{path}: check {row.pair} has another answer than when raters answered it. To judge them by the new one: "
            f"python -m crowd check fix STUDY {row.pair} --answer {now.answer}. Otherwise restore the file."
        )
    return (
        f"{path} changed after launch: pair {row.pair} was shown to raters and is now different or missing. "
        "Restore the file, or start a new study folder."
    )


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


@lru_cache(4096)  # k raters see each pair, and reading it costs more than storing a vote
def pair_from(body: str) -> Pair:
    """The Pair record of a row."""
    return from_json(Pair, json.loads(body), "store")


# Statements are built once, because with SQLAlchemy building one costs more than running it.
_VOTES = pairs.c.votes + param("more")
_SHORT = sa.case((sa.and_(pairs.c.offered == 1, param("k") > _VOTES), 1), else_=0)
_RECOUNT = (
    sa.update(pairs)
    .where(pairs.c.pair == param("this"), pairs.c.kind != "check")
    .values(votes=_VOTES, live=pairs.c.live + param("more") + param("held"), open=_SHORT)
)
_EXPIRE = sa.update(leases).where(leases.c.lease == param("this")).values(state="expired")


def recount(pair: str, k: int, *, votes: int = 0, held: int = 0) -> Change:
    """Add to a pair's places taken and held leases, and see whether it is still short of its k votes."""
    return _RECOUNT, {"this": pair, "k": k, "more": votes, "held": held}


def release_expired(connection: sa.Connection, k: int, now: float) -> None:
    """Return to the pool what was shown and not answered in time."""
    (due,) = fetch(connection, due_by(now))
    release(connection, due, k, now)


def release(connection: sa.Connection, due: Sequence[Any], k: int, now: float) -> None:
    """Return these leases, rows of `due_by`, to the pool."""
    for row in due:
        later(
            connection,
            (_EXPIRE, {"this": row.lease}),
            recount(row.pair, k, held=-1),
            event_log.entry("expired", now, row.rater, row.pair),
        )
