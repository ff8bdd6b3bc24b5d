"""Data sets of preferences as they are published, and logs of experiments whose answers are numbers of buttons."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.words import NUMBER, is_missing
from seedvote.dialogue.tables.nesting import flat_table
from seedvote.dialogue.tables.table import RawTable, cell_text, from_rows

# Battles, as Chatbot Arena and its followers publish them: `model_a`, `model_b` and who won, in a column or in three

ARENA_WINNERS = ("winner_model_a", "winner_model_b", "winner_tie")  # one of the three is 1
ARENA_WORDS = ("model_a", "model_b", "tie")
ARENA_IDS = ("question_id", "id", "conversation_id", "battle_id", "pair", "pair_id")
ARENA_ROW, ARENA_TURN = (
    "number of the row",
    "judged turn",
)  # columns that are added where nothing names the pair, or two turns it


def with_arena_winner(table: RawTable, columns: Mapping[str, str]) -> RawTable:
    """The rows, each with the pair that it judges and, where people judged a dialogue twice, the turn as a question."""
    rows = [dict(row) for _, row in table.rows()]
    columns_present, more = set(table.names), dict[str, list[Any]]()
    if set(ARENA_WINNERS) <= columns_present and "choice" not in columns:
        more["winner"] = [_only_winner(table.place(number), row) for number, row in enumerate(rows)]
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


def _only_winner(where: str, row: Mapping[str, Any]) -> str:
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
TRIALS = tuple(f"{shown}-{pressed}-response" for shown in ("html", "image", "audio", "video")
               for pressed in ("button", "keyboard"))  # fmt: skip
MODEL = re.compile(r"gpt|claude|gemini|llama|mistral|qwen|deepseek|llm", re.IGNORECASE)


def with_winner_by_score(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """WebGPT's comparisons: the answer with the higher score is the better one."""
    table = flat_table(table)
    return table.with_columns(**{WINNER: by_score(table.text("score_0"), table.text("score_1"))})


def by_score(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """`a`, `b` or `tie` by two numbers, the higher one being better; empty where one is missing."""
    winners = []
    for score_a, score_b in zip(first, second, strict=True):
        if not (NUMBER.fullmatch(score_a) and NUMBER.fullmatch(score_b)):
            winners.append("")
        else:
            difference = float(score_a) - float(score_b)
            winners.append("tie" if difference == 0 else "a" if difference > 0 else "b")
    return winners


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
    words = {word for word in table.text("preference_strength") if word and not is_missing(word)}
    if not all(re.fullmatch(r"-?[0-3](?:\.0)?", word) for word in words) or not any(word[0] == "-" for word in words):
        raise InputError(
            f"{table.path}: preference_strength holds {', '.join(sorted(words)[:8])}; HelpSteer's are -3 to 3, below 0 "
            "for response_1. Rename the column, e.g. to choice, and say by --values which numbers are a and which b."
        )
    return table


def button_trials(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """Of a jsPsych log the trials that compare: a button or a key was pressed, and the trial has data of its own."""
    own = [name for name in table.names if name not in JSPSYCH]
    types, presses = table.text("trial_type"), table.text("response")
    rows = [
        row for row in range(len(table))
        if types[row] in TRIALS and presses[row] and any(cell_text(table.columns[name][row]) for name in own)
    ]  # fmt: skip
    trials = table.take(rows)
    if "choices" in table.names:
        return trials.with_columns(response=[_label(row) for _, row in trials.rows()])
    return trials


def _label(row: Mapping[str, Any]) -> Any:
    """What the pressed button said, where the trial tells its buttons."""
    choices, number = row["choices"], cell_text(row["response"]).strip()
    if isinstance(choices, list) and number.isdigit() and int(number) < len(choices):
        return choices[int(number)]
    return row["response"]


def _system_of(option: Mapping[str, Any]) -> Any:
    """The system of an option, where it names one; else its id."""
    fields = {**(option.get("meta") or {}), **option}
    return next((fields[word] for word in ("model", "system") if fields.get(word)), option.get("id"))


def compared(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
    """Prodigy's comparison of A and B: `mapping` says which of them stood under accept, and which under reject."""
    rows = [(where, dict(row)) for where, row in table.rows()]
    for where, row in rows:
        mapping, answer = row["mapping"], row.get("answer")
        if not isinstance(mapping, Mapping) or {*mapping.values()} != {"accept", "reject"}:
            raise InputError(f"{where}: mapping is {mapping!r}; A and B are expected there, one accept and one reject.")
        row["status"] = "" if answer in ("accept", "reject") else "rejected"
        row["better"] = next((side.lower() for side, word in mapping.items() if word == answer), "")
    return from_rows(table.path, [row for _, row in rows], table.notes, [where for where, _ in rows])


def from_options(table: RawTable, _columns: Mapping[str, str]) -> RawTable:
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
        rows.append({**shared, **flat, "option_a": first, "option_b": second, "status": status,
                     "accepted": accepted[0] if accepted else ""})  # fmt: skip
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
