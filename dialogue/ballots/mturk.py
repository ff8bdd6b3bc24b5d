"""Results of a batch on Mechanical Turk's own page: `Input.*` is what was shown, `Answer.*` what was answered."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from dialogue.ballots.answers import flat
from dialogue.ballots.judgement import ToolRow
from dialogue.errors import InputError
from dialogue.tables.reading import read_table


def read_mturk(path: Path, _columns: Mapping[str, str]) -> Iterable[ToolRow]:
    """The rows, with the answers of a crowd-form taken out of their cell."""
    return ((where, _with_task_answers(row, where)) for where, row in read_table(path).rows())


def _with_task_answers(row: dict[str, Any], where: str) -> dict[str, Any]:
    """MTurk's crowd-form puts all answers into one JSON cell: `[{"better": {"a": true, "b": false}}]`."""
    text = row.get("Answer.taskAnswers")
    if not text:
        return row
    try:
        (answers,) = json.loads(text)
        return row | flat({f"Answer.{name}": value for name, value in answers.items()})
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{where}: Answer.taskAnswers is not a list with one JSON object.") from error


def mturk_choice(name: str, _value: Any) -> str | None:
    """`Answer.better` of `Answer.better` or of the group `Answer.better.a`, `Answer.better.b`."""
    return ".".join(name.split(".")[:2]) if name.startswith("Answer.") and name != "Answer.taskAnswers" else None


def known_mturk(names: Iterable[str]) -> bool:
    """Whether these columns are those of a batch."""
    held = set(names)
    return {"HITId", "WorkerId"} <= held and any(name.startswith("Answer.") for name in held)
