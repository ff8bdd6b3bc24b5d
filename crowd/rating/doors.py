"""Which doors a study has: those through which it was launched, as its store keeps them, and no others.

A server is often started before the launch, so it asks the store whenever somebody arrives. A door may name the tasks
(studies at the marketplace) whose people it lets in.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import sqlalchemy as sa

from seedvote.crowd.store.store import put
from seedvote.crowd.store.tables import study_settings
from seedvote.dialogue.records import Source

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
