"""The pairs of a study inside the store: brought up to the file, and counted as votes come and leases go.

A "pair" is whatever the study's form shows at once (crowd/forms/): two responses, or a question with its options.

Of every pair the store keeps `votes` (places taken, by votes that count or wait), `live` (votes + leases held) and
`open` (offered and short of votes).
Which one a rater sees next is chosen from these in crowd/rating/moment.py.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.forms.form import FormRow, HitForm
from seedvote.crowd.forms.known import FORMS
from seedvote.crowd.hit.hit import Hit
from seedvote.crowd.rating.answer_sheet import wrong_key
from seedvote.crowd.rating.moment import RICH
from seedvote.crowd.rating.talks import check_systems
from seedvote.crowd.store.store import Store, append_event, put, settings
from seedvote.crowd.store.tables import leases, pairs
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest
from seedvote.dialogue.media import media_in_body
from seedvote.dialogue.seeds import child_seed

TEXTS = "texts"  # the study's setting that holds the form's fingerprint of what is shown


def load(store: Store, path: Path, hit: Hit, now: float) -> None:
    """Bring the store up to the pairs file: new pairs are added; a pair that was served may not change or go."""
    fingerprint = digest(path) + f"|{hit.identical}"
    with store.read() as connection:
        values_before = settings(connection)
        if values_before.get("pairs") == fingerprint and not values_before.get(RICH):
            return
    form = FORMS[hit.form]
    records = form.read_rows(path)
    fingerprint += _hash_media(records)
    if values_before.get("pairs") == fingerprint:
        return
    _check_records(records, path, hit)
    with store.write() as connection:
        values = settings(connection)
        withdrawn = _keep_what_was_served(connection, form, {record.name: record.body for record in records}, path)
        rows = [_make_row(record, hit, seed=int(values["seed"])) for record in records]
        known = set(connection.scalars(sa.select(pairs.c.pair)))
        if fresh := [row for row in rows if row["pair"] not in known]:
            connection.execute(sa.insert(pairs), fresh)
        put(connection, "pairs", fingerprint)
        put(connection, RICH, "yes" if any('"parts": [' in row.body for row in records) else "")
        put(connection, TEXTS, form.make_fingerprint(records))
        append_event(connection, "study", now, pairs=len(records), digest=fingerprint, withdrawn=withdrawn)


def _hash_media(records: Sequence[FormRow]) -> str:
    """What follows from the files that the records name: they may change while the file of records stays."""
    hashes = [sha256 for record in records if '"sha256"' in record.body for *_, sha256 in media_in_body(record.body)]
    return f"|{hashlib.sha256(''.join(hashes).encode()).hexdigest()}" if hashes else ""


def _check_records(records: Sequence[FormRow], path: Path, hit: Hit) -> None:
    if twice := [name for name, number in Counter(record.name for record in records).items() if number > 1]:
        raise InputError(f"{path}: pair {twice[0]} occurs twice; give every pair a unique id.")
    all_checks = [record for record in records if record.kind == "check"]
    versions = {record.version for record in records if record.kind != "check" and record.version} or {0}
    checks = min(sum(check.version in (0, version) for check in all_checks) for version in versions)
    form = FORMS[hit.form]
    for row in records if form.is_set else all_checks if form.is_sided else ():
        if wrong := wrong_key(form.record_of(row.body), hit.questions):
            raise InputError(f"{path}: {'check' if row.kind == 'check' else 'set'} {row.name} {wrong}.")
    if form.is_live:
        check_systems([form.record_of(row.body) for row in records], hit.live, str(path))
    if checks < hit.first_checks:
        raise InputError(
            f"{path} holds {checks} checks{' of a version' if len(versions) > 1 else ''}, "
            f"but first_checks is {hit.first_checks}. "
            "Add pairs of kind check with their answer, or lower first_checks in hit.toml."
        )
    if len(all_checks) == len(records):
        raise InputError(f"{path} holds no pair to be rated: add pairs of kind real or control.")


def _keep_what_was_served(connection: sa.Connection, form: HitForm, bodies: dict[str, str], path: Path) -> list[str]:
    """Drop pairs that nobody has seen and that changed; refuse where a pair that was shown changed.

    Returns those dropped that a batch of an adaptive study had drawn.
    """
    rows = connection.execute(sa.select(pairs)).all()
    stale = {row.pair: row for row in rows if bodies.get(row.pair) not in (row.body, _mended_body(form, row))}
    shown_pairs = set(connection.scalars(sa.select(leases.c.pair).distinct())) if stale else set()
    if gone := sorted(shown_pairs & set(stale)):
        raise InputError(_explain_change(path, form, stale[gone[0]], bodies.get(gone[0])))
    for pair in stale:
        connection.execute(sa.delete(pairs).where(pairs.c.pair == pair))
    return [pair for pair, row in stale.items() if row.target]


def _mended_body(form: HitForm, row: Any) -> str:
    """The body of a check with the answer that `crowd check fix` gave it."""
    return form.with_key(row.body, row.mended) if row.mended not in (None, "void") else str(row.body)


def _explain_change(path: Path, form: HitForm, row: Any, body: str | None) -> str:
    """Why a file that changed is refused, and the way out."""
    if body and row.kind == "check" and body == form.with_key(row.body, key := key_in(body)):
        return (
            f"{path}: check {row.pair} has another answer than when raters answered it. To judge them by the new one: "
            f"python -m crowd check fix STUDY {row.pair} --answer {key}. Otherwise restore the file."
        )
    return (
        f"{path} changed after launch: pair {row.pair} was shown to raters and is now different or missing. "
        "Restore the file, or start a new study folder."
    )


def _make_row(record: FormRow, hit: Hit, *, seed: int) -> dict[str, object]:
    offered = record.kind != "check" and (hit.identical == "show" or not record.identical)
    return {
        "pair": record.name,
        "position": child_seed(seed, "order", record.name),
        "kind": record.kind,
        "open": int(offered and not hit.is_adaptive),
        "offered": int(offered),
        "target": 0 if hit.is_adaptive and record.kind != "check" else None,  # see batches.py
        "body": record.body,
        "version": record.version,
    }


def key_in(body: str) -> str:
    """The right answer of a check, as its record has it."""
    return str(json.loads(body)["answer"])
