"""Where a study was launched: the record of each marketplace, and the doors through which people come.

Both are in the store, so that commands and servers on every host read the same. A server is often started before the
launch, so it asks for the doors whenever somebody arrives. A door may name the tasks (studies at the marketplace) whose
people it lets in; people come by no other door.

Programs before schema 9 kept the record in a file of the study folder (`STUDY/prolific.json`). The store takes such a
file up once and puts it aside as `prolific.json.old`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from seedvote.crowd.store.store import Store, put
from seedvote.crowd.store.tables import launches, study_settings
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_json
from seedvote.dialogue.records import Source

ONCE_FILES = ("mturk", "prolific", "panel")  # the marketplaces whose launches were files


def launched_sources(connection: sa.Connection) -> Sequence[str]:
    """The marketplaces on which this study was launched."""
    return list(connection.scalars(sa.select(launches.c.source)))


def read_record(connection: sa.Connection, source: str) -> Mapping[str, Any] | None:
    """The record of the launch there, or None."""
    text = connection.scalar(sa.select(launches.c.record).where(launches.c.source == source))
    return None if text is None else json.loads(text)


def write_record(connection: sa.Connection, source: str, record: Mapping[str, Any]) -> None:
    """Keep it; what was there is replaced."""
    connection.execute(sa.delete(launches).where(launches.c.source == source))
    connection.execute(sa.insert(launches).values(source=source, record=json.dumps(record, sort_keys=True)))


def take_up_files(store: Store, folder: Path) -> None:
    """Move the launches that are files into the store; two hosts that kept different ones must say which is right."""
    for path in (folder / f"{source}.json" for source in ONCE_FILES):
        if not path.exists():
            continue
        record = read_json(path)
        with store.write() as connection:
            before = read_record(connection, path.stem)
            if not isinstance(record, dict) or before not in (None, record):
                raise InputError(
                    f"{path} is not the launch that the store has: another host kept an older or newer one. Look at "
                    "the marketplace which HITs or places there are. If the store is right, remove the file."
                )
            if before is None:
                write_record(connection, path.stem, record)
        with suppress(OSError):  # of a folder that may only be read: the store has it by now
            path.rename(path.with_name(f"{path.name}.old"))


DOORS = "doors"


def doors(connection: sa.Connection) -> Mapping[Source, Sequence[str]]:
    """The doors that were launched, each with the tasks that it lets in; none named: people of any."""
    text = connection.scalar(sa.select(study_settings.c.value).where(study_settings.c.key == DOORS))
    tasks_by_source: Mapping[Source, Sequence[str]] = json.loads(text) if text else {}
    return tasks_by_source


def open_door(connection: sa.Connection, source: Source, tasks: Sequence[str]) -> None:
    """The study is launched there from now on."""
    put(connection, DOORS, json.dumps({**doors(connection), source: list(tasks)}, sort_keys=True))


def admits(known: Mapping[Source, Sequence[str]], source: Source, task: str) -> bool:
    """Whether somebody who was sent from there comes by a door of this study.

    >>> admits({"prolific": ["s1"]}, "prolific", "s2"), admits({"mturk": []}, "mturk", "h1"), admits({}, "mturk", "h1")
    (False, True, False)
    """
    return source in known and (not known[source] or task in known[source])
