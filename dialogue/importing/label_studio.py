"""Label Studio's JSON export and its tables.

A project may ask with the Pairwise control and offer the tie in another one (Pairwise itself has none): the two are one
question, since whoever answers the second has left the first empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from dialogue.errors import InputError, Unclear
from dialogue.importing.answers import picked
from dialogue.importing.naming import typed_names
from dialogue.importing.words import is_tie
from dialogue.tables.table import RawTable, Row, from_rows

CONTROL = "control."
ABOUT = ("annotation_id", "annotator", "id", "lead_time", "created_at", "updated_at", "pair", "left")  # no answers


def one_row_an_annotation(table: RawTable, columns: Mapping[str, str]) -> RawTable:
    """The annotations of a JSON export, or the rows of a table, with a tie control joined to the Pairwise one."""
    if "annotations" in table.names:
        rows = joined_ties(list(_tasks(table)))
    elif table.path.suffix == ".json" and "annotator" not in table.names:
        raise InputError(
            f"{table.path} is not Label Studio's JSON export (a list of tasks with `annotations`); JSON-MIN is "
            "not read."
        )
    else:
        rows = _joined_words(joined_ties(list(table.rows())), columns)
    return from_rows(table.path, [row for _, row in rows], table.notes, [where for where, _ in rows])


def _tasks(table: RawTable) -> Iterator[Row]:
    """Each annotation of each task; `completed_by` is a number or a person with an address."""
    for _, task in table.rows():
        for one in task["annotations"] or []:
            who = one.get("completed_by")
            known = {name: one.get(name) for name in ("created_at", "lead_time", "was_cancelled")}
            row = {**task["data"], **known, "annotation_id": one.get("id"), "task": task.get("id")}
            row["annotator"] = who.get("email") or who.get("id") if isinstance(who, dict) else who
            for result in one.get("result", []):
                row[f"{CONTROL}{result['from_name']}"] = result["value"]
            yield f"{table.path}: task {task.get('id')}, annotation {one.get('id')}", row


def joined_ties(rows: list[Row]) -> list[Row]:
    """The answer of a control that can only say tie, put into the Pairwise control that it belongs to."""
    controls = dict.fromkeys(name for _, row in rows for name, value in row.items() if label_studio_choice(name, value))
    answers = {name: {word for _, row in rows if (word := picked(row, name))} for name in controls}
    sides = [name for name, words in answers.items() if words and words <= {"left", "right"}]
    ties = [name for name, words in answers.items() if words and all(map(is_tie, words))]
    if len(sides) != 1 or len(ties) != 1:
        return rows
    (side,), (tie,) = sides, ties
    return [(where, _joined(where, row, side, tie)) for where, row in rows]


def _joined_words(rows: list[Row], stated: Mapping[str, str]) -> list[Row]:
    """The same for CSV, where a control is a column of bare words: both are read as `control.ONE+OTHER`.

    Only where each row answers one of the two. Whoever names one alone would lose the answers of the other.
    """
    known = {*ABOUT, *(theirs for ours, theirs in stated.items() if ours != "choice")}
    plain = [name for name in dict.fromkeys(name for _, row in rows for name in row) if name not in known]
    answers = {name: {word.lower() for _, row in rows if (word := picked(row, name))} for name in plain}
    sides = [name for name, words in answers.items() if words and words <= {"left", "right"}]
    ties = [name for name, words in answers.items() if words and all(map(is_tie, words))]
    if len(sides) != 1 or len(ties) != 1 or any(picked(row, sides[0]) and picked(row, ties[0]) for _, row in rows):
        return rows
    (side,), (tie,) = sides, ties
    both = f"{CONTROL}{side}+{tie}"
    if stated.get("choice") in (side, tie):
        lost = sum(not picked(row, stated["choice"]) and bool(picked(row, side) or picked(row, tie)) for _, row in rows)
        raise Unclear(
            f"{rows[0][0]}: {side} and {tie} are two controls of one question, since no row answers both. By "
            f"{stated['choice']} alone {lost:,} of {len(rows):,} answers would be lost; this reads both:",
            {"--columns": typed_names([("choice", both)])},
        )
    return [(where, {**row, both: "tie" if picked(row, tie) else picked(row, side)}) for where, row in rows]


def _joined(where: str, row: Mapping[str, Any], side: str, tie: str) -> dict[str, Any]:
    if picked(row, side) and picked(row, tie):
        raise InputError(
            f"{where} says both {picked(row, side)!r} and {picked(row, tie)!r}. Correct it in Label Studio, or leave "
            f"one of them out: --columns choice={side}."
        )
    kept = {name: value for name, value in row.items() if name != tie}
    return kept | ({side: "tie"} if picked(row, tie) else {})


def label_studio_choice(name: str, value: Any) -> str | None:
    """A control's result. In tables it has the control's own name, so there its form gives it away."""
    text = str(value).replace('"', "'")
    return name if name.startswith(CONTROL) or "'selected'" in text or "'choices'" in text else None


def known_label_studio(names: Iterable[str]) -> bool:
    """Whether these columns are Label Studio's."""
    held = set(names)
    return {"annotations", "data"} <= held or {"annotation_id", "annotator", "lead_time"} <= held
