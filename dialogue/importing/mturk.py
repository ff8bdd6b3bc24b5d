"""Results of a batch on Mechanical Turk's own page: `Input.*` is what was shown, `Answer.*` what was answered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from dialogue.errors import InputError
from dialogue.importing.answers import flat
from dialogue.tables.table import RawTable, from_rows

TASK = "Answer.taskAnswers"


def with_task_answers(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """The rows, with the answers of a crowd-form taken out of their cell: `[{"better": {"a": true, "b": false}}]`."""
    if TASK not in table.names:
        return table
    rows = [row | _answers(row.get(TASK), where) for where, row in table.rows()]
    long = from_rows(table.path, rows, table.notes)
    return replace(table, columns=long.columns)


def _answers(text: Any, where: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        (answers,) = json.loads(text) if isinstance(text, str) else text
        return flat({f"Answer.{name}": value for name, value in answers.items()})
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{where}: Answer.taskAnswers is not a list with one JSON object.") from error


def mturk_choice(name: str, _value: Any) -> str | None:
    """`Answer.better` of `Answer.better` or of the group `Answer.better.a`, `Answer.better.b`."""
    return ".".join(name.split(".")[:2]) if name.startswith("Answer.") and name != TASK else None


def known_mturk(names: Iterable[str]) -> bool:
    """Whether these columns are those of a batch."""
    held = set(names)
    return {"HITId", "WorkerId"} <= held and any(name.startswith("Answer.") for name in held)
