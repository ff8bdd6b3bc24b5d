"""The record of a launch, which makes a launch repeatable. It is in the store, so every host reads the same.

It is on disk before anything is created, so the same command typed again continues an interrupted launch and creates
nothing twice. It is never guessed at: a record with other fields, or pairs that have changed since, stop the command.
"""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from seedvote.crowd.store.launches import read_record, write_record
from seedvote.crowd.store.store import Store
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest

Launch = TypeVar("Launch")
LOOPBACK = {"localhost", "127.0.0.1", "::1"}


def stands_in(variable: str) -> bool:
    """Whether the environment names something on this machine that stands in for a marketplace."""
    return urlsplit(os.environ.get(variable, "")).hostname in LOOPBACK


def check_endpoint(variable: str, title: str, own: str) -> None:
    """A variable of the environment must not be enough to send keys, money and people's ids to a stranger."""
    endpoint = os.environ.get(variable, "")
    host = urlsplit(endpoint).hostname or ""
    if endpoint and not stands_in(variable) and host != own and not host.endswith(f".{own}"):
        raise InputError(f"{variable} is neither {title} nor this machine. Unset it.")


def read_launch(store: Store, source: str, kind: type[Any]) -> Any:
    """The record of an earlier launch, or None. Fields it does not know mean that another version wrote it."""
    with store.read() as connection:
        value = read_record(connection, source)
    if value is None:
        return None
    names = {field.name for field in dataclasses.fields(kind)}
    later = {field.name for field in dataclasses.fields(kind) if field.default is not dataclasses.MISSING}
    if not names - later <= set(value) <= names:
        raise InputError(
            f"The store's record of the launch on {source} was not written by this version. Restore the store from a "
            "copy: without the record, nobody can tell what belongs to this study."
        )
    return kind(**value)


def existing_launch(launch: Launch | None, title: str) -> Launch:
    """The launch, which must exist by now."""
    if launch is None:
        raise InputError(f"This study has no launch on {title} yet: launch it there first.")
    return launch


def write_launch(store: Store, source: str, launch: Any) -> None:
    """Write the record whole or not at all."""
    with store.write() as connection:
        write_record(connection, source, dataclasses.asdict(launch))


def update_launch(store: Store, source: str, launch: Any, **values: Any) -> Any:
    """The launch with these fields changed, in the store too; what another command has changed meanwhile stays."""
    with store.write() as connection:
        write_record(connection, source, {**(read_record(connection, source) or {}), **values})
    return dataclasses.replace(launch, **values)


def check_pairs(pairs: Path, launched: str) -> None:
    """A study keeps the pairs it was launched with."""
    if digest(pairs) != launched:
        raise InputError(
            f"{pairs} has changed since the launch, so votes before and after would not belong together. Restore the "
            "file, or launch the new pairs from a study folder of their own."
        )


def check_same(before: Any, now: Any, *names: str) -> None:
    """A launch that goes on is the one that was begun: what people were promised, and where they are sent."""
    for name in names:
        old, new = getattr(before, name), getattr(now, name)
        if old != new:
            raise InputError(
                f"this study was launched with {name} {old}, not {new}. Launch it as before, or copy pairs.jsonl and "
                "hit.toml to a study folder of their own and launch that."
            )


def check_public_url(url: str | None, *, rehearsal: bool) -> str:
    """The address workers will open: HTTPS, or plain HTTP on this machine for a rehearsal."""
    parts = urlsplit(url or "")
    local = rehearsal and parts.scheme == "http" and parts.hostname in LOOPBACK
    # A query or fragment would swallow the ids that the marketplace appends to the address.
    if not parts.hostname or (parts.scheme != "https" and not local) or parts.query or parts.fragment:
        raise InputError(
            f"--public-url is {url!r}, which is not an https:// address that workers can open. Give the address under "
            "which `crowd serve` answers, e.g. --public-url https://study.example.org/hit"
        )
    return (url or "").rstrip("/")
