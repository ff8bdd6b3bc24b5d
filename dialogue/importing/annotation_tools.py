"""Exports of annotation tools as one row a judgement: Label Studio, Argilla, Potato, and batches of Mechanical Turk.

Label Studio asks with the Pairwise control and may offer the tie in another one (Pairwise itself has none): the two are
one question, since whoever answers the second has left the first empty. Every question of an Argilla record has a list
of responses, one a person; suggestions of a model are no votes. Potato has tables and lines, or the annotation_output
folder with what everybody saw. In a batch, `Input.*` is what was shown, `Answer.*` what was answered.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.files import read_json
from seedvote.dialogue.importing.answers import flat, picked
from seedvote.dialogue.importing.naming import typed_names
from seedvote.dialogue.importing.words import is_tie
from seedvote.dialogue.tables.table import RawTable, Row, from_rows

# Label Studio

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
        for annotation in task["annotations"] or []:
            who = annotation.get("completed_by")
            known = {name: annotation.get(name) for name in ("created_at", "lead_time", "was_cancelled")}
            row = {**task["data"], **known, "annotation_id": annotation.get("id"), "task": task.get("id")}
            row["annotator"] = who.get("email") or who.get("id") if isinstance(who, dict) else who
            for result in annotation.get("result", []):
                row[f"{CONTROL}{result['from_name']}"] = result["value"]
            yield f"{table.path}: task {task.get('id')}, annotation {annotation.get('id')}", row


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
    joined = f"{CONTROL}{side}+{tie}"
    if stated.get("choice") in (side, tie):
        lost = sum(not picked(row, stated["choice"]) and bool(picked(row, side) or picked(row, tie)) for _, row in rows)
        raise Unclear(
            f"{rows[0][0]}: {side} and {tie} are two controls of one question, since no row answers both. By "
            f"{stated['choice']} alone {lost:,} of {len(rows):,} answers would be lost; this reads both:",
            {"--columns": typed_names([("choice", joined)])},
        )
    return [(where, {**row, joined: "tie" if picked(row, tie) else picked(row, side)}) for where, row in rows]


def _joined(where: str, row: Mapping[str, Any], side: str, tie: str) -> dict[str, Any]:
    if picked(row, side) and picked(row, tie):
        raise InputError(
            f"{where} says both {picked(row, side)!r} and {picked(row, tie)!r}. Correct it in Label Studio, or leave "
            f"one of them out: --columns choice={side}."
        )
    answers = {name: value for name, value in row.items() if name != tie}
    return answers | ({side: "tie"} if picked(row, tie) else {})


def label_studio_choice(name: str, value: Any) -> str | None:
    """A control's result. In tables it has the control's own name, so there its form gives it away."""
    text = str(value).replace('"', "'")
    return name if name.startswith(CONTROL) or "'selected'" in text or "'choices'" in text else None


def known_label_studio(names: Iterable[str]) -> bool:
    """Whether these columns are Label Studio's."""
    columns = set(names)
    return {"annotations", "data"} <= columns or {"annotation_id", "annotator", "lead_time"} <= columns


# Argilla

ANSWER = "answer."
RESPONSES = ".responses"


def one_row_a_person(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """One row a record and person."""
    rows = [person for where, row in table.rows() for person in _people(where, row)]
    return from_rows(table.path, [row for _, row in rows], table.notes, [where for where, _ in rows])


def _people(where: str, record: Mapping[str, Any]) -> Iterator[Row]:
    shared = {k: v for k, v in record.items() if k not in ("fields", "metadata", "responses", "suggestions", "vectors")}
    shared |= {**(record.get("metadata") or {}), **(record.get("fields") or {})}
    people: dict[str, dict[str, Any]] = {}
    for question, responses in _questions(record).items():
        for number, response in enumerate(responses):
            who = str(response.get("user_id") or f"response {number + 1}")
            person = people.setdefault(who, {"user_id": response.get("user_id")})
            person["response_status"] = response.get("status") or "submitted"
            person[f"{ANSWER}{question}"] = _first_of_two(response.get("value"))
    for who, answers in people.items():
        yield f"{where}, {who}", {**shared, **answers}


def _first_of_two(value: Any) -> Any:
    """Of a ranking of two responses the one with the better rank, or a tie; everything else as it is."""
    if not (isinstance(value, list) and len(value) == 2 and all(isinstance(part, dict) for part in value)):
        return value
    ranks = [part.get("rank") for part in value]
    if None in ranks:
        return value
    return "tie" if ranks[0] == ranks[1] else value[ranks.index(min(ranks))].get("value")


def _questions(record: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Question -> its responses, from any of the three spellings."""
    if isinstance(nested := record.get("responses"), dict):
        return {name: list(responses or []) for name, responses in nested.items()}
    questions = {}
    for name, value in record.items():
        if name.endswith(RESPONSES):
            people, states = (record.get(f"{name}.{part}") or [] for part in ("users", "status"))
            questions[name.removesuffix(RESPONSES)] = _side_by_side(value or [], people, states)
        elif (
            isinstance(value, list)
            and value
            and all(isinstance(response, dict) and "user_id" in response for response in value)
        ):
            questions[name] = value
        elif isinstance(value, dict) and {"user_id", "value"} <= value.keys():
            questions[name] = _side_by_side(value["value"], value["user_id"], value.get("status") or [])
    return questions


def _side_by_side(values: list[Any], people: list[Any], states: list[Any]) -> list[Mapping[str, Any]]:
    return [
        {"value": value, "user_id": people[k] if k < len(people) else None,
         "status": states[k] if k < len(states) else None}
        for k, value in enumerate(values)
    ]  # fmt: skip


def argilla_choice(name: str, _value: Any) -> str | None:
    """Every question that people answered."""
    return name if name.startswith(ANSWER) else None


def known_argilla(names: Iterable[str]) -> bool:
    """Whether these columns are Argilla's."""
    columns = set(names)
    return {"fields", "responses", "metadata"} <= columns or any(f"{name}.users" in columns for name in columns)


# Potato

FIRST_VERSION = ":::"  # between schema and label


def with_labels(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """A table, whose marks version 1 has under `schema:::label`; of lines the answers under `labels` as columns."""
    if "labels" not in table.names:
        marks = {
            name: [bool(cell) and cell.lower() not in ("false", "0") for cell in table.text(name)]
            for name in table.names
            if FIRST_VERSION in name
        }
        columns = {name.replace(FIRST_VERSION, "."): marks.get(name, cells) for name, cells in table.columns.items()}
        return replace(table, columns=columns)
    rows = [{**row, **flat(row.get("labels") or {})} for _, row in table.rows()]
    return replace(table, columns=from_rows(table.path, rows).columns)


def read_folder(folder: Path, columns: Mapping[str, str]) -> RawTable:
    """The annotation_output folder with everybody's state, the only place of Potato's times and orders."""
    rows = list(_potato_states(folder, columns))
    return from_rows(folder, [row for _, row in rows], (), [where for where, _ in rows])


def _potato_states(folder: Path, columns: Mapping[str, str]) -> Iterator[Row]:
    """annotation_output/*/user_state.json: the only place where Potato keeps time and the order of the two sides."""
    files = sorted(folder.glob("*/user_state.json"))
    if not files:
        raise InputError(f"{folder} has no */user_state.json, which Potato's annotation_output folder has.")
    for path in files:
        state = read_json(path)
        orders = state.get("instance_id_to_presentation_order", {})
        for item, labels in state.get("instance_id_to_label_to_value", {}).items():
            answers = _potato_labels(labels)
            schema = columns.get("choice", "").partition(".")[0] or next(iter(answers), "").partition(".")[0]
            row: dict[str, Any] = {"instance_id": item, "user_id": state.get("user_id", path.parent.name), **answers}
            row |= _potato_times(state.get("instance_id_to_behavioral_data", {}).get(item, {}))
            order = orders.get(item, {}).get(schema)
            yield f"{path}: {item}", row | ({"left": json.dumps(order)} if order is not None else {})


def _potato_labels(labels: Any) -> dict[str, Any]:
    """Stored either as `{schema: {label: value}}` or as a list of `[{"schema", "name"}, value]`."""
    if isinstance(labels, dict):
        return flat({schema: answer.get("labels", answer) for schema, answer in labels.items()})
    return {f"{label['schema']}.{label['name']}": value for label, value in labels}


def _potato_times(behaviour: Mapping[str, Any]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    if behaviour.get("session_end") is not None:
        known["submitted"] = behaviour["session_end"]
    if behaviour.get("total_time_ms") is not None:
        known["seconds"] = behaviour["total_time_ms"] / 1000
    return known


def dotted_choice(name: str, _value: Any) -> str | None:
    """Potato's `schema.label`, without its own bookkeeping (`schema._...`)."""
    return name.partition(".")[0] if "." in name and "._" not in name else None


def known_potato(names: Iterable[str]) -> bool:
    """Whether these columns are Potato's."""
    columns = set(names)
    return {"instance_id", "user_id"} <= columns or (
        {"instance_id", "user"} <= columns and any(FIRST_VERSION in name for name in columns)
    )


# Mechanical Turk

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
    columns = set(names)
    return {"HITId", "WorkerId"} <= columns and any(name.startswith("Answer.") for name in columns)
