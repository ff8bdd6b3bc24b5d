"""Wide tables: one row a person, one column a question. A key says what each column asked.

Qualtrics marks previews and unfinished surveys; they are left out and counted. Google Forms marks nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.columns import plain_name
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import RawTable, cell_text, from_rows

KEY = ("column", "pair")  # what a key must have; the rest goes to every vote of the column
RATERS = ("prolific_pid", "prolific_id", "participant_id", "worker_id", "workerid", "rater", "response_id",
          "responseid", "email_address", "email", "username")  # fmt: skip
TIMES = ("recorded_date", "recordeddate", "end_date", "enddate", "timestamp", "submitted_at")


@dataclass(frozen=True, eq=False)
class Melted:
    """A wide table made long, and what was left out of it."""

    table: RawTable
    dropped: Mapping[str, int]
    rater: str  # the column that names the person; empty where none does


def melted(table: RawTable, key: Path, stated: Mapping[str, str], needs: Sequence[str] = KEY) -> Melted:
    """One row for each answer of each person, with what the key says about its column."""
    questions = _key(table, key, needs)
    dropped: Counter[str] = Counter()
    rater = stated.get("rater") or _first(table, RATERS)
    time = stated.get("submitted") or _first(table, TIMES)
    rows: list[dict[str, Any]] = []
    lines = []
    for number, (_, person) in enumerate(table.rows()):
        if reason := _unusable(person):
            dropped[reason] += len(questions)
            continue
        for column, about in questions.items():
            choice = cell_text(person[column])
            if not choice.strip():
                dropped["nothing was chosen"] += 1
                continue
            who = cell_text(person[rater]) if rater else f"row {number + 1}"
            rows.append({**about, "choice": choice, "rater": who, "submitted": cell_text(person.get(time, ""))})
            lines.append(table.lines[number] if table.lines else number + 1)
    if not rows:
        raise InputError(f"{table.path} holds no answers in the columns of {key}.")
    long = from_rows(table.path, rows, table.notes)
    return Melted(RawTable(long.path, long.columns, tuple(lines), long.notes), dict(dropped), rater)


def _key(table: RawTable, path: Path, needs: Sequence[str]) -> dict[str, dict[str, str]]:
    """Column of the survey -> what the key says of it."""
    key = read_table(path)
    if missing := [name for name in needs if name not in key.names]:
        raise InputError(f"{path} has no column {missing[0]!r} (found: {', '.join(key.names)}); a key needs it.")
    questions: dict[str, dict[str, str]] = {}
    for where, row in key.rows():
        about = {name: cell_text(value).strip() for name, value in row.items() if name != "column"}
        column = _column(table, cell_text(row["column"]).strip(), where)
        if column in questions:
            raise InputError(f"{where}: {path} names the column {column!r} twice.")
        questions[column] = {name: value for name, value in about.items() if value}
        if len({"system_a", "system_b"} & questions[column].keys()) == 1:
            raise InputError(f"{where}: the key names one of system_a and system_b; name both, or neither.")
        if empty := [name for name in needs[1:] if name not in questions[column]]:
            raise InputError(f"{where}: {empty[0]} is empty; every question needs one.")
    return questions


def _column(table: RawTable, name: str, where: str) -> str:
    """The column of that name, or whose question has these words."""
    titled = [short for short, title in (table.titles or {}).items() if title.strip() == name]
    fits = [name] if name in table.names else titled
    if len(fits) != 1:
        raise InputError(f"{where}: the table has {len(fits)} columns {name!r} (found: {', '.join(table.names[:30])}).")
    return fits[0]


def _first(table: RawTable, words: tuple[str, ...]) -> str:
    plain = {plain_name(name): name for name in table.names}
    return next((plain[word] for word in words if word in plain), "")


def _unusable(person: Mapping[str, Any]) -> str:
    """Why a response of Qualtrics does not count; nothing for the rest."""
    if cell_text(person.get("Status")).strip().lower() in ("survey preview", "1", "spam", "8") and "Finished" in person:
        return "a preview or spam"
    if cell_text(person.get("Finished")).strip().lower() in ("false", "0"):
        return "the survey was not finished"
    return ""
