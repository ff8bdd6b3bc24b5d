"""Judgements as other tools write them: Potato, Label Studio, MTurk's batch results and ChatEval's table.

Every reader gives rows, one mapping of column names to values a judgement; `judgements` picks the columns that matter.
Nothing is decided here: which side a letter stands for, what counts and who the rater is follows in `importing`.

To add a tool: a row of `TOOLS` at the end of this file, and a reader where its files are not plain tables. The command
and the words for its choices follow from the row.
"""

from __future__ import annotations

import ast
import contextlib
import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialogue.errors import InputError
from dialogue.files import read_json

ToolRow = tuple[str, dict[str, Any]]  # place in the file, values
ToolReader = Callable[[Path, Mapping[str, str]], Iterable[ToolRow] | None]  # None: the file has no form of this tool's

JUDGEMENT_FIELDS = ("pair", "rater", "choice", "left", "left_text", "submitted", "seconds", "submission", "status")


@dataclass(frozen=True, slots=True)
class Judgement:
    """One judgement as the tool wrote it; an empty text where the tool says nothing."""

    where: str
    pair: str
    rater: str
    choice: str
    left: str = ""
    left_text: str = ""
    submitted: str = ""
    seconds: str = ""
    submission: str = ""
    status: str = ""
    models: tuple[str, str] | None = None  # ChatEval: whom the first and the second value stand for


def judgements(paths: Sequence[Path], tool: str, columns: Mapping[str, str]) -> list[Judgement]:
    """All judgements of the files, in their order."""
    if unknown := [name for name in columns if name not in JUDGEMENT_FIELDS]:
        raise InputError(f"--columns names {unknown[0]!r}, which is not one of {', '.join(JUDGEMENT_FIELDS)}.")
    rows = [row for path in paths for row in _whole(path, tool, columns)]
    if not rows:
        raise InputError(f"{', '.join(map(str, paths))} holds no judgements.")
    usual = {name: name for name in ("pair", "left", "submitted", "seconds")} | dict(TOOLS[tool].columns)
    # A column that the user maps to one field no longer stands for the field it usually holds.
    names = {field: name for field, name in usual.items() if name not in columns.values()} | dict(columns)
    names["choice"] = names.get("choice") or _choice_column(rows, TOOLS[tool])
    _complain_of_missing(rows, names, columns)
    return [_judgement(where, row, one, TOOLS[tool]) for where, row in rows for one in _each(row, names)]


def _whole(path: Path, tool: str, columns: Mapping[str, str]) -> list[ToolRow]:
    """All rows of a file; a form that is not the tool's is one sentence too."""
    try:
        found = TOOLS[tool].read(path, columns)
        if found is None:
            raise InputError(f"{path}: a {tool} export is expected as {TOOLS[tool].forms}.")
        return list(found)
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{path} does not have the form of a {tool} export ({error!r}).") from error


def _plain_file(path: Path, _columns: Mapping[str, str]) -> Iterable[ToolRow] | None:
    """What any tool may have written: a table, or JSON Lines."""
    if path.suffix == ".jsonl":
        return _flat_lines(path)
    return _table(path) if path.suffix in (".csv", ".tsv") else None


def _potato(path: Path, columns: Mapping[str, str]) -> Iterable[ToolRow] | None:
    return _potato_states(path, columns) if path.is_dir() else _plain_file(path, columns)


def _label_studio(path: Path, columns: Mapping[str, str]) -> Iterable[ToolRow] | None:
    return _label_studio_tasks(path) if path.suffix == ".json" else _plain_file(path, columns)


def _table(path: Path) -> Iterator[ToolRow]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as handle:
            reader = csv.DictReader(handle, delimiter="\t" if path.suffix == ".tsv" else ",", strict=True)
            names = reader.fieldnames or []
            if twice := [name for name in names if names.count(name) > 1]:
                raise InputError(f"{path} has two columns called {twice[0]!r}; rename one.")
            for row in reader:
                if None in row or None in row.values():
                    raise InputError(f"{path}:{reader.line_num}: not as many cells as the header has ({len(names)}).")
                yield f"{path}:{reader.line_num}", _with_task_answers(row, f"{path}:{reader.line_num}")
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a whole CSV file in UTF-8 ({error}).") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def _with_task_answers(row: dict[str, Any], where: str) -> dict[str, Any]:
    """MTurk's crowd-form puts all answers into one JSON cell: `[{"better": {"a": true, "b": false}}]`."""
    text = row.get("Answer.taskAnswers")
    if not text:
        return row
    try:
        (answers,) = json.loads(text)
        return row | _flat({f"Answer.{name}": value for name, value in answers.items()})
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{where}: Answer.taskAnswers is not a list with one JSON object.") from error


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """`{"x": {"a": true}}` as `{"x.a": true}`, the way Potato's and MTurk's tables name it."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= {f"{name}.{key}": v for key, v in value.items()} if isinstance(value, dict) else {name: value}
    return flat


def _flat_lines(path: Path) -> Iterator[ToolRow]:
    """Potato's annotations.jsonl: one object a person and item, with the answers under `labels`."""
    try:
        for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
            if line.strip():
                value = json.loads(line)
                yield f"{path}:{number}", {**value, **_flat(value.get("labels", {}))}
    except (ValueError, AttributeError, TypeError) as error:
        raise InputError(f"{path}: every line must be one whole JSON object ({error}).") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error


def _potato_states(folder: Path, columns: Mapping[str, str]) -> Iterator[ToolRow]:
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
        return _flat({schema: one.get("labels", one) for schema, one in labels.items()})
    return {f"{label['schema']}.{label['name']}": value for label, value in labels}


def _potato_times(behaviour: Mapping[str, Any]) -> dict[str, Any]:
    known: dict[str, Any] = {}
    if behaviour.get("session_end") is not None:
        known["submitted"] = behaviour["session_end"]
    if behaviour.get("total_time_ms") is not None:
        known["seconds"] = behaviour["total_time_ms"] / 1000
    return known


def _label_studio_tasks(path: Path) -> Iterator[ToolRow]:
    """A list of tasks, each with its annotations; `completed_by` is a number or a person with an address."""
    tasks = read_json(path)
    if not isinstance(tasks, list) or not all(isinstance(task, dict) and "annotations" in task for task in tasks):
        raise InputError(
            f"{path} is not Label Studio's JSON export (a list of tasks with `annotations`); JSON-MIN is not read."
        )
    for task in tasks:
        for one in task["annotations"]:
            who = one.get("completed_by")
            known = {name: one.get(name) for name in ("created_at", "lead_time", "was_cancelled")}
            row = {**task["data"], **known, "annotation_id": one.get("id")}
            row["annotator"] = who.get("email") or who.get("id") if isinstance(who, dict) else who
            for result in one.get("result", []):
                row[f"control.{result['from_name']}"] = result["value"]
            yield f"{path}: task {task.get('id')}, annotation {one.get('id')}", row


def _choice_column(rows: Sequence[ToolRow], tool: Tool) -> str:
    """The one column that can hold the choice; with several or none the user must say."""
    found: dict[str, None] = {}
    for _, row in rows:
        for name, value in row.items():
            if (column := tool.choice(name, value)) is not None:
                found[column] = None
    if len(found) != 1:
        shown = ", ".join(found) or "none"
        raise InputError(
            f"{rows[0][0]}: which column holds the choice? Candidates: {shown}. Name it: --columns choice=..."
        )
    return next(iter(found))


def _label_studio_choice(name: str, value: Any) -> str | None:
    """A control's result. In tables it has the control's own name, so there its form gives it away."""
    return name if name.startswith("control.") or "'selected'" in str(value).replace('"', "'") else None


def _mturk_choice(name: str, _value: Any) -> str | None:
    """`Answer.better` of `Answer.better` or of the group `Answer.better.a`, `Answer.better.b`."""
    return ".".join(name.split(".")[:2]) if name.startswith("Answer.") and name != "Answer.taskAnswers" else None


def _dotted_choice(name: str, _value: Any) -> str | None:
    """Potato's `schema.label`, without its own bookkeeping (`schema._...`)."""
    return name.partition(".")[0] if "." in name and "._" not in name else None


def _complain_of_missing(rows: Sequence[ToolRow], names: Mapping[str, str], stated: Mapping[str, str]) -> None:
    found = dict.fromkeys(name for _, row in rows for name in row)
    for field in dict.fromkeys(["pair", "rater", *stated]):
        name = names.get(field, field).replace("{n}", "1")
        if field != "choice" and name not in found:
            raise InputError(
                f"{rows[0][0]}: no column {name!r} for {field} (found: {', '.join(found)}). "
                f"Map it: --columns {field}=..."
            )


def _each(row: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The fields of every judgement of a row: one, or with `{n}` in the names as many as there are columns."""
    if "{n}" not in names["pair"]:
        yield {field: _picked(row, name) for field, name in names.items()}
        return
    number = 1
    while names["pair"].format(n=number) in row:
        one = {field: _picked(row, name.replace("{n}", str(number))) for field, name in names.items()}
        if one["pair"]:
            submission = one.get("submission", "")
            yield one | {"seconds": "", "submission": f"{submission}:{number}" if submission else ""}
        number += 1


def _picked(row: Mapping[str, Any], name: str) -> str:
    """The value of a column, of its `.selection` or `.label`, or the one name of `name.*` that is marked true."""
    for key in (name, f"{name}.selection", f"{name}.label"):
        if key in row:
            return _plain(row[key])
    group = {key[len(name) + 1 :]: value for key, value in row.items() if key.startswith(f"{name}.")}
    marked = [key for key, value in group.items() if str(value).strip().lower() in ("true", "1", "on")]
    if len(marked) > 1:
        raise InputError(f"{name} has several answers at once: {', '.join(marked)}. Make the question single-choice.")
    return marked[0] if marked else ""


def _plain(value: Any) -> str:
    """A cell as text; Label Studio's `[{"selected": "left"}]` and `{"choices": ["Tie"]}` as the word inside."""
    if isinstance(value, str) and value[:1] in "[{" and ("selected" in value or "choices" in value):
        with contextlib.suppress(ValueError, SyntaxError):
            value = ast.literal_eval(value)  # JSON, or Python's own spelling, which older versions wrote
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        value = value.get("selected", value.get("choices", value))
        value = value[0] if isinstance(value, list) and len(value) == 1 else value
    return "" if value is None else str(value).strip()


def _judgement(where: str, row: Mapping[str, Any], fields: Mapping[str, str], tool: Tool) -> Judgement:
    known: dict[str, Any] = {field: fields[field] for field in JUDGEMENT_FIELDS if field in fields}
    for field in ("pair", "rater"):
        if not known[field]:
            raise InputError(f"{where}: {field} is empty; every judgement needs one.")
    if not tool.names_models:
        return Judgement(where=where, **known)
    if not row.get("model_1") or not row.get("model_2"):
        raise InputError(f"{where}: ChatEval's table needs model_1 and model_2, which its values 0 and 1 stand for.")
    return Judgement(where=where, **known, models=(str(row["model_1"]), str(row["model_2"])))


@dataclass(frozen=True, slots=True)
class Tool:
    """How one tool writes judgements."""

    columns: Mapping[str, str]  # our field -> its column
    values: Mapping[str, str]  # its word in small letters -> a (shown first), b (shown second) or tie
    read: ToolReader = _plain_file
    forms: str = ".csv, .tsv"  # as a sentence lists them
    choice: Callable[[str, Any], str | None] = _dotted_choice  # the choice that a column belongs to, if it can be one
    names_models: bool = False  # its values stand for models and not for places on the screen


TOOLS = {
    "potato": Tool(
        columns={"pair": "instance_id", "rater": "user_id"},
        values={"a": "a", "b": "b", "tie": "tie"},
        read=_potato,
        forms=".csv, .tsv, .jsonl or the annotation_output folder",
    ),
    "label-studio": Tool(
        columns={
            "rater": "annotator",
            "submitted": "created_at",
            "seconds": "lead_time",
            "submission": "annotation_id",
            "status": "was_cancelled",
        },
        values={"left": "a", "right": "b", "tie": "tie"},
        read=_label_studio,
        forms=".csv, .tsv or .json",
        choice=_label_studio_choice,
    ),
    "mturk": Tool(
        columns={
            "pair": "Input.pair",
            "rater": "WorkerId",
            "left": "Input.left",
            "submitted": "SubmitTime",
            "seconds": "WorkTimeInSeconds",
            "submission": "AssignmentId",
            "status": "AssignmentStatus",
        },
        values={"a": "a", "b": "b", "left": "a", "right": "b", "tie": "tie"},
        choice=_mturk_choice,
    ),
    "chateval": Tool(
        columns={"pair": "prompt_id", "rater": "worker_id", "choice": "value", "submitted": "submit_datetime"},
        values={"0": "a", "1": "b", "-1": "tie"},
        names_models=True,
    ),
}
