"""The folder of a study, opened: its HIT, its pairs and its store, or one sentence on what is missing.

A study keeps the HIT and the pairs that its first raters saw; what would change them under way is refused here.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from crowd.hit import Hit, read_hit
from crowd.rating import pool
from crowd.store.store import Store, open_store, sqlite_url
from dialogue.errors import InputError
from dialogue.files import atomic


def hit_of(study: Path, given: Path | None) -> Hit:
    """The study's own hit.toml, else the paper's HIT; one that is given becomes the study's own, and stays it."""
    own = study / "hit.toml"
    if given is not None:
        hit = read_hit(given)
        if own.exists() and read_hit(own) != hit:
            raise InputError(f"{own} differs from {given}. A study keeps one HIT: change the file in its folder.")
        if not own.exists():
            with atomic(own) as file:
                file.write(given.read_text(encoding="utf-8-sig"))
    return read_hit(own if own.exists() else None)


def pairs_file(study: Path, given: Path | None) -> Path:
    """The file of pairs, which must be there."""
    path = given or study / "pairs.jsonl"
    if not path.exists():
        raise InputError(
            f"{path} does not exist. Make pairs (python -m generation pair {study}) or name them: --pairs."
        )
    return path


def prepare_study(
    study: Path, pairs: Path | None, hit: Hit, database: str | None, *, seed: int, simulated: bool
) -> str:
    """Create the store where there is none, bring it up to the pairs file and return its URL."""
    path = pairs_file(study, pairs)
    study.mkdir(parents=True, exist_ok=True)
    url = database or sqlite_url(study)
    store = open_store(url, seed=seed, simulated=simulated)
    try:
        pool.load(store, path, hit, time.time())
    finally:
        store.close()
    return url


@contextmanager
def opened(study: Path, database: str | None) -> Iterator[Store]:
    """The store of a study that exists, closed at the end."""
    if database is None and not (study / "crowd.sqlite").exists():
        raise InputError(f"{study} has no crowd.sqlite yet. Serve it (python -m crowd serve {study}) or simulate.")
    store = open_store(database or sqlite_url(study))
    try:
        yield store
    finally:
        store.close()
