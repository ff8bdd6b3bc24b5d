"""Exports as one row a judgement: of annotation tools, of data sets as they are published, of logs of experiments.

Label Studio asks with the Pairwise control and may offer the tie in another one (Pairwise itself has none): the two are
one question, since whoever answers the second has left the first empty. Every question of an Argilla record has a list
of responses, one a person; suggestions of a model are no votes. Potato has tables and lines, or the annotation_output
folder with what everybody saw. In a batch of Mechanical Turk, `Input.*` is what was shown, `Answer.*` what was
answered.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.files import read_json
from seedvote.dialogue.importing.columns import flatten_answers, pick_answer
from seedvote.dialogue.importing.reading import type_names
from seedvote.dialogue.importing.words import NUMBER, is_missing, is_tie
from seedvote.dialogue.tables.table import RawTable, Row, cell_text, flatten_table, from_rows

# Label Studio

CONTROL = "control."
ABOUT = ("annotation_id", "annotator", "id", "lead_time", "created_at", "updated_at", "pair", "left")  # no answers


def read_label_studio(table: RawTable, columns: Mapping[str, str]) -> RawTable:
    """The annotations of a JSON export, or the rows of a table, with a tie control joined to the Pairwise one."""
    if "annotations" in table.names:
        rows = _join_ties(list(_read_tasks(table)))
    elif table.path.suffix == ".json" and "annotator" not in table.names:
        raise InputError(
            f"{table.path} is not Label Studio's JSON export (a list of tasks with `annotations`); JSON-MIN is "
            "not read."
        )
    else:
        rows = _join_words(_join_ties(list(table.rows())), columns)
    return from_rows(table.path, [row for _, row in rows], table.notes, [where for where, _ in rows])


def _read_tasks(table: RawTable) -> Iterator[Row]:
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


def _join_ties(rows: list[Row]) -> list[Row]:
    """The answer of a control that can only say tie, put into the Pairwise control that it belongs to."""
    controls = dict.fromkeys(name for _, row in rows for name, value in row.items() if label_studio_choice(name, value))
    answers = {name: {word for _, row in rows if (word := pick_answer(row, name))} for name in controls}
    sides = [name for name, words in answers.items() if words and words <= {"left", "right"}]
    ties = [name for name, words in answers.items() if words and all(map(is_tie, words))]
    if len(sides) != 1 or len(ties) != 1:
        return rows
    (side,), (tie,) = sides, ties
    return [(where, _join_answer(where, row, side, tie)) for where, row in rows]


def _join_words(rows: list[Row], stated: Mapping[str, str]) -> list[Row]:
    """The same for CSV, where a control is a column of bare words: both are read as `control.ONE+OTHER`.

    Only where each row answers one of the two. Whoever names one alone would lose the answers of the other.
    """
    known = {*ABOUT, *(theirs for ours, theirs in stated.items() if ours != "choice")}
    plain = [name for name in dict.fromkeys(name for _, row in rows for name in row) if name not in known]
    answers = {name: {word.lower() for _, row in rows if (word := pick_answer(row, name))} for name in plain}
    sides = [name for name, words in answers.items() if words and words <= {"left", "right"}]
    ties = [name for name, words in answers.items() if words and all(map(is_tie, words))]
    if (
        len(sides) != 1
        or len(ties) != 1
        or any(pick_answer(row, sides[0]) and pick_answer(row, ties[0]) for _, row in rows)
    ):
        return rows
    (side,), (tie,) = sides, ties
    joined = f"{CONTROL}{side}+{tie}"
    if stated.get("choice") in (side, tie):
        lost = sum(
            not pick_answer(row, stated["choice"]) and bool(pick_answer(row, side) or pick_answer(row, tie))
            for _, row in rows
        )
        raise Unclear(
            f"{rows[0][0]}: {side} and {tie} are two controls of one question, since no row answers both. By "
            f"{stated['choice']} alone {lost:,} of {len(rows):,} answers would be lost; this reads both:",
            {"--columns": type_names([("choice", joined)])},
        )
    return [(where, {**row, joined: "tie" if pick_answer(row, tie) else pick_answer(row, side)}) for where, row in rows]


def _join_answer(where: str, row: Mapping[str, Any], side: str, tie: str) -> dict[str, Any]:
    if pick_answer(row, side) and pick_answer(row, tie):
        raise InputError(
            f"{where} says both {pick_answer(row, side)!r} and {pick_answer(row, tie)!r}. Correct it in Label Studio, "
            f"or leave one of them out: --columns choice={side}."
        )
    answers = {name: value for name, value in row.items() if name != tie}
    return answers | ({side: "tie"} if pick_answer(row, tie) else {})


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


def read_argilla(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """One row a record and person."""
    rows = [person for where, row in table.rows() for person in _read_people(where, row)]
    return from_rows(table.path, [row for _, row in rows], table.notes, [where for where, _ in rows])


def _read_people(where: str, record: Mapping[str, Any]) -> Iterator[Row]:
    shared = {k: v for k, v in record.items() if k not in ("fields", "metadata", "responses", "suggestions", "vectors")}
    shared |= {**(record.get("metadata") or {}), **(record.get("fields") or {})}
    people: dict[str, dict[str, Any]] = {}
    for question, responses in _read_questions(record).items():
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


def _read_questions(record: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Question -> its responses, from any of its four spellings."""
    if isinstance(nested := record.get("responses"), dict):
        return {name: list(responses or []) for name, responses in nested.items()}
    questions: dict[str, list[Mapping[str, Any]]] = {}
    if isinstance(nested, list) and any(isinstance(response, dict) and "values" in response for response in nested):
        for response in nested:  # the first version: all answers of a person together
            for name, answer in (response.get("values") or {}).items():
                questions.setdefault(name, []).append({**response, **answer})
        return questions
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
        {
            "value": value,
            "user_id": people[k] if k < len(people) else None,
            "status": states[k] if k < len(states) else None,
        }
        for k, value in enumerate(values)
    ]


def argilla_choice(name: str, _value: Any) -> str | None:
    """Every question that people answered."""
    return name if name.startswith(ANSWER) else None


def known_argilla(names: Iterable[str]) -> bool:
    """Whether these columns are Argilla's."""
    columns = set(names)
    return {"fields", "responses", "metadata"} <= columns or any(f"{name}.users" in columns for name in columns)


# Potato

FIRST_VERSION = ":::"  # between schema and label


def read_potato(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """A table, whose marks version 1 has under `schema:::label`; of lines the answers under `labels` as columns."""
    if "labels" not in table.names:
        marks = {
            name: [bool(cell) and cell.lower() not in ("false", "0") for cell in table.text(name)]
            for name in table.names
            if FIRST_VERSION in name
        }
        columns = {name.replace(FIRST_VERSION, "."): marks.get(name, cells) for name, cells in table.columns.items()}
        return replace(table, columns=columns)
    rows = [{**row, **flatten_answers(row.get("labels") or {})} for _, row in table.rows()]
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
        return flatten_answers({schema: answer.get("labels", answer) for schema, answer in labels.items()})
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


def read_mturk(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """The rows, with the answers of a crowd-form taken out of their cell: `[{"better": {"a": true, "b": false}}]`."""
    if TASK not in table.names:
        return table
    rows = [row | _read_answers(row.get(TASK), where) for where, row in table.rows()]
    long = from_rows(table.path, rows, table.notes)
    return replace(table, columns=long.columns)


def _read_answers(text: Any, where: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        (answers,) = json.loads(text) if isinstance(text, str) else text
        return flatten_answers({f"Answer.{name}": value for name, value in answers.items()})
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(f"{where}: Answer.taskAnswers is not a list with one JSON object.") from error


def mturk_choice(name: str, _value: Any) -> str | None:
    """`Answer.better` of `Answer.better` or of the group `Answer.better.a`, `Answer.better.b`."""
    return ".".join(name.split(".")[:2]) if name.startswith("Answer.") and name != TASK else None


def known_mturk(names: Iterable[str]) -> bool:
    """Whether these columns are those of a batch."""
    columns = set(names)
    return {"HITId", "WorkerId"} <= columns and any(name.startswith("Answer.") for name in columns)


# Battles, as Chatbot Arena and its followers publish them: `model_a`, `model_b` and who won, in a column or in three

ARENA_WINNERS = ("winner_model_a", "winner_model_b", "winner_tie")  # one of the three is 1
ARENA_WORDS = ("model_a", "model_b", "tie")
ARENA_IDS = (
    *("question_id", "id", "conversation_id", "battle_id", "pair", "pair_id", "item", "item_id", "prompt_id"),
    *("example_id", "instance_id", "sample_id", "context_id", "comparison_id", "task_id"),
)
ARENA_ROW, ARENA_TURN = (
    "number of the row",
    "judged turn",
)  # columns that are added where nothing names the pair, or two turns it


def read_arena(table: RawTable, columns: Mapping[str, str]) -> RawTable:
    """The rows, each with the pair that it judges and, where people judged a dialogue twice, the turn as a question."""
    rows = [dict(row) for _, row in table.rows()]
    columns_present, more = set(table.names), dict[str, list[Any]]()
    if set(ARENA_WINNERS) <= columns_present and "choice" not in columns:
        more["winner"] = [_find_winner(table.place(number), row) for number, row in enumerate(rows)]
    name = columns.get("pair") or next((column for column in ARENA_IDS if column in columns_present), None)
    if not name:
        more[ARENA_ROW] = [f"row {number}" for number in range(1, len(rows) + 1)]
    if "turn" in columns_present and any(
        number > 1 for number in Counter(_judged_turn(row, name) for row in rows).values()
    ):
        more[ARENA_TURN] = [f"turn {cell_text(row['turn'])}" for row in rows]
    return table.with_columns(**more)


def _judged_turn(row: Mapping[str, Any], name: str | None) -> Sequence[str]:
    """Who judged what: twice the same is the same people at another turn, or the same vote again."""
    known = [part for part in (name, "model_a", "model_b", "judge") if part]
    return tuple(cell_text(row.get(part)) for part in known) if name else (str(id(row)),)


def _find_winner(where: str, row: Mapping[str, Any]) -> str:
    marked = [
        word
        for name, word in zip(ARENA_WINNERS, ARENA_WORDS, strict=True)
        if cell_text(row[name]).lower() in ("1", "true")
    ]
    if len(marked) != 1:
        raise InputError(f"{where}: {len(marked)} of {', '.join(ARENA_WINNERS)} are 1; one is expected.")
    if (winner := cell_text(row.get("winner")).strip()) and not winner.startswith(marked[0]):
        raise InputError(
            f"{where}: winner is {winner!r}, and of {', '.join(ARENA_WINNERS)} it is {marked[0]} that is 1."
        )
    return marked[0]


def known_arena(names: Iterable[str]) -> bool:
    """Whether these columns are those of an arena."""
    columns = set(names)
    return {"model_a", "model_b"} <= columns and ("winner" in columns or set(ARENA_WINNERS) <= columns)


# Preferences

WINNER = "the better answer"
TRIALS = tuple(
    f"{shown}-{pressed}-response" for shown in ("html", "image", "audio", "video") for pressed in ("button", "keyboard")
)
MODEL = re.compile(r"gpt|claude|gemini|llama|mistral|qwen|deepseek|llm", re.IGNORECASE)


def read_webgpt(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """WebGPT's comparisons: the answer with the higher score is the better one."""
    table = flatten_table(table)
    return table.with_columns(**{WINNER: _compare_scores(table.text("score_0"), table.text("score_1"))})


def _compare_scores(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """`a`, `b` or `tie` by two numbers, the higher one being better; empty where one is missing."""
    winners = []
    for score_a, score_b in zip(first, second, strict=True):
        if not (NUMBER.fullmatch(score_a) and NUMBER.fullmatch(score_b)):
            winners.append("")
        else:
            difference = float(score_a) - float(score_b)
            winners.append("tie" if difference == 0 else "a" if difference > 0 else "b")
    return winners


def read_alpaca_eval(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """alpaca_eval's annotators are programs as a rule, whose names say their model: their answers are no votes."""
    numbers = {float(word) for word in table.text("preference") if NUMBER.fullmatch(word)}
    if numbers and max(numbers) <= 1 and min(numbers) < 1:
        raise InputError(
            f"{table.path}: preference runs from {min(numbers):g} to {max(numbers):g}. alpaca_eval's annotations say 1 "
            "for output_1 and 2 for output_2. Its leaderboards say how often output_2 wins, from 0 to 1: if it is "
            "that, add 1 to the column."
        )
    if "annotator" not in table.names or "source" in table.names:
        return table
    return table.with_columns(source=["judge" if MODEL.search(name) else "" for name in table.text("annotator")])


def read_helpsteer(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """HelpSteer's strengths are -3 to 3; numbers of another scale have another direction, too."""
    words = {word for word in table.text("preference_strength") if word and not is_missing(word)}
    if not all(re.fullmatch(r"-?[0-3](?:\.0)?", word) for word in words) or not any(word[0] == "-" for word in words):
        raise InputError(
            f"{table.path}: preference_strength holds {', '.join(sorted(words)[:8])}; HelpSteer's are -3 to 3, below 0 "
            "for response_1. Rename the column, e.g. to choice, and say by --values which numbers are a and which b."
        )
    return table


def read_jspsych(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """Of a jsPsych log the trials that compare: a button or a key was pressed, and the trial has data of its own."""
    own = [name for name in table.names if name not in JSPSYCH]
    types, presses = table.text("trial_type"), table.text("response")
    rows = [
        row
        for row in range(len(table))
        if types[row] in TRIALS and presses[row] and any(cell_text(table.columns[name][row]) for name in own)
    ]
    trials = table.take(rows)
    if "choices" in table.names:
        return trials.with_columns(response=[_button_label(row) for _, row in trials.rows()])
    return trials


def _button_label(row: Mapping[str, Any]) -> Any:
    """What the pressed button said, where the trial tells its buttons."""
    choices, number = row["choices"], cell_text(row["response"]).strip()
    if isinstance(choices, list) and number.isdigit() and int(number) < len(choices):
        return choices[int(number)]
    return row["response"]


def _system_of(option: Mapping[str, Any]) -> Any:
    """The system of an option, where it names one; else its id."""
    fields = {**(option.get("meta") or {}), **option}
    return next((fields[word] for word in ("model", "system") if fields.get(word)), option.get("id"))


def read_prodigy_compare(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """Prodigy's comparison of A and B: `mapping` says which of them stood under accept, and which under reject."""
    rows = [(where, dict(row)) for where, row in table.rows()]
    for where, row in rows:
        mapping, answer = row["mapping"], row.get("answer")
        if not isinstance(mapping, Mapping) or {*mapping.values()} != {"accept", "reject"}:
            raise InputError(f"{where}: mapping is {mapping!r}; A and B are expected there, one accept and one reject.")
        row["status"] = "" if answer in ("accept", "reject") else "rejected"
        row["better"] = next((side.lower() for side, word in mapping.items() if word == answer), "")
    return from_rows(table.path, [row for _, row in rows], table.notes, [where for where, _ in rows])


def read_prodigy(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """Prodigy's choice interface: two options with ids, of which `accept` holds one; other answers are none."""
    rows, places = [], []
    for where, row in table.rows():
        options = [_system_of(option) for option in row.get("options") or () if isinstance(option, Mapping)]
        names = {option.get("id"): _system_of(option) for option in row["options"] if isinstance(option, Mapping)}
        accepted = [names.get(word, word) for word in row.get("accept") or ()]
        flat = {f"meta.{key}": value for key, value in (row.get("meta") or {}).items()}
        first, second = [*options, None, None][:2]
        status = "" if row.get("answer") == "accept" else "rejected"
        shared = {name: value for name, value in row.items() if name not in ("options", "accept", "meta")}
        rows.append(
            {
                **shared,
                **flat,
                "option_a": first,
                "option_b": second,
                "status": status,
                "accepted": accepted[0] if accepted else "",
            }
        )
        places.append(where)
    return from_rows(table.path, rows, table.notes, places)


JSPSYCH = {
    *(
        *("rt", "stimulus", "response", "trial_type", "trial_index", "time_elapsed", "internal_node_id"),
        *("choices", "plugin"),
    ),
    *("subject", "participant", "session", "run_id", "view_history", "plugin_version", "accuracy", "success"),
}
