"""Data sets of preferences as they are published, and logs of experiments whose answers are numbers of buttons."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dialogue.errors import InputError
from dialogue.importing.scales import by_score
from dialogue.importing.tool import Tool
from dialogue.importing.words import NUMBER
from dialogue.tables.nesting import flat_table
from dialogue.tables.table import RawTable, cell_text, from_rows

WINNER = "the better answer"
BUTTONS = ("html-button-response", "image-button-response", "audio-button-response", "video-button-response")
MODEL = re.compile(r"gpt|claude|gemini|llama|mistral|qwen|deepseek|llm", re.IGNORECASE)


def with_winner_by_score(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """WebGPT's comparisons: the answer with the higher score is the better one."""
    table = flat_table(table)
    return table.with_columns(**{WINNER: by_score(table.text("score_0"), table.text("score_1"))})


def with_judges_marked(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """alpaca_eval's annotators are programs as a rule, whose names say their model: their answers are no votes."""
    numbers = {float(word) for word in table.text("preference") if NUMBER.fullmatch(word)}
    if numbers and max(numbers) <= 1 and min(numbers) < 1:
        raise InputError(
            f"{table.path}: preference runs from {min(numbers):g} to {max(numbers):g}. alpaca_eval's annotations say 1 "
            "for output_1 and 2 for output_2; its leaderboards say how often output_2 wins, from 0 to 1. If it is the "
            "latter, add 1 to the column."
        )
    if "annotator" not in table.names or "source" in table.names:
        return table
    return table.with_columns(source=["judge" if MODEL.search(name) else "" for name in table.text("annotator")])


def checked_strengths(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """HelpSteer's strengths are -3 to 3; numbers of another scale have another direction, too."""
    words = {word for word in table.text("preference_strength") if word}
    if not all(re.fullmatch(r"-?[0-3](?:\.0)?", word) for word in words) or not any(word[0] == "-" for word in words):
        raise InputError(
            f"{table.path}: preference_strength holds {', '.join(sorted(words)[:8])}; HelpSteer's are -3 to 3, below 0 "
            "for response_1. Rename the column, e.g. to choice, and say by --values which numbers are a and which b."
        )
    return table


def button_trials(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """Of a jsPsych log the trials that compare: a button was pressed, and the trial has data of its own."""
    own = [name for name in table.names if name not in JSPSYCH]
    types, presses = table.text("trial_type"), table.text("response")
    rows = [
        row for row in range(len(table))
        if types[row] in BUTTONS and presses[row] and any(cell_text(table.columns[name][row]) for name in own)
    ]  # fmt: skip
    kept = table.take(rows)
    if "choices" in table.names:
        return kept.with_columns(response=[_label(row) for _, row in kept.rows()])
    return kept


def _label(row: Mapping[str, Any]) -> Any:
    """What the pressed button said, where the trial tells its buttons."""
    choices, number = row["choices"], cell_text(row["response"]).strip()
    if isinstance(choices, list) and number.isdigit() and int(number) < len(choices):
        return choices[int(number)]
    return row["response"]


def from_options(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """Prodigy's choice interface: two options with ids, of which `accept` holds one; other answers are none."""
    rows, places = [], []
    for where, row in table.rows():
        options = [option.get("id") for option in row.get("options") or () if isinstance(option, Mapping)]
        accepted = row.get("accept") or []
        flat = {f"meta.{key}": value for key, value in (row.get("meta") or {}).items()}
        first, second = [*options, None, None][:2]
        status = "" if row.get("answer") == "accept" else "rejected"
        rest = {name: value for name, value in row.items() if name not in ("options", "accept", "meta")}
        rows.append({**rest, **flat, "option_a": first, "option_b": second, "accepted": accepted[0] if accepted else "",
                     "status": status})  # fmt: skip
        places.append(where)
    return from_rows(table.path, rows, table.notes, places)


JSPSYCH = {
    *(
        "rt",
        "stimulus",
        "response",
        "trial_type",
        "trial_index",
        "time_elapsed",
        "internal_node_id",
        "choices",
        "plugin",
    ),
    *("subject", "participant", "session", "run_id", "view_history", "plugin_version", "accuracy", "success"),
}


def _has(*names: str) -> Any:
    def known(columns: Iterable[str]) -> bool:
        return set(names) <= set(columns)

    return known


PUBLISHED = {
    "alpaca-eval": Tool(
        columns={"pair": "instruction", "rater": "annotator", "choice": "preference"},
        reshape=with_judges_marked,
        values={"<1.5": "a", ">1.5": "b", "1.5": "tie", "0": "tie"},
        names_models=True,
        known=_has("generator_1", "generator_2", "preference", "output_1", "output_2"),
    ),
    "webgpt": Tool(
        columns={"choice": WINNER},
        instead={"pair": ("question.id", "question.full_text", "question", "id")},
        reshape=with_winner_by_score,
        letters="response",
        known=_has("score_0", "score_1", "answer_0", "answer_1"),
    ),
    "helpsteer": Tool(
        columns={"pair": "prompt", "choice": "preference_strength"},
        reshape=checked_strengths,
        values={"<0": "a", ">0": "b", "0": "tie"},
        letters="response",
        known=_has("preference_strength", "response_1", "response_2"),
    ),
    "shp": Tool(
        columns={"pair": "post_id", "choice": "labels"},
        values={"1": "a", "0": "b"},
        letters="response",
        known=_has("human_ref_A", "human_ref_B", "labels"),
    ),
    "toloka": Tool(
        columns={"rater": "ASSIGNMENT:worker_id", "status": "ASSIGNMENT:status", "submitted": "ASSIGNMENT:submitted"},
        instead={"pair": ("INPUT:pair", "INPUT:pair_id", "INPUT:id", "INPUT:item", "ASSIGNMENT:task_id"),
                 "submitted": ("ASSIGNMENT:submitted", "ASSIGNMENT:started")},
        choice=lambda name, _value: name if name.startswith("OUTPUT:") else None,
        letters="asked",
        known=lambda names: any(name.startswith("OUTPUT:") for name in names) and "ASSIGNMENT:worker_id" in set(names),
    ),
    "prodigy": Tool(
        columns={"pair": "_task_hash", "choice": "accepted", "status": "status", "submitted": "_timestamp"},
        instead={"pair": ("_input_hash", "_task_hash"), "rater": ("_annotator_id", "_session_id")},
        reshape=from_options,
        known=_has("options", "accept", "answer"),
    ),
    "jspsych": Tool(
        columns={"choice": "response", "seconds": "rt"},
        instead={"rater": ("subject", "participant", "subject_id", "participant_id", "run_id", "PROLIFIC_PID"),
                 "pair": ("pair", "pair_id", "item", "item_id", "stimulus_id")},
        values={"0": "a", "1": "b"},
        reshape=button_trials,
        known=_has("trial_type", "trial_index", "response"),
    ),
}  # fmt: skip
