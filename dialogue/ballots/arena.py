"""Tables as Chatbot Arena and its followers publish them: `model_a`, `model_b` and who won, in a column or in three."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dialogue.ballots.judgement import ToolRow
from dialogue.ballots.systems import system_columns
from dialogue.errors import InputError
from dialogue.tables.reading import read_table
from dialogue.tables.table import cell_text

WINNERS = ("winner_model_a", "winner_model_b", "winner_tie")  # one of the three is 1
WORDS = ("model_a", "model_b", "tie")
IDS = ("question_id", "id", "conversation_id", "battle_id", "pair", "pair_id")
ROW, TURN = "number of the row", "judged turn"  # columns that are added where nothing names the pair, or two turns it


def read_arena(path: Path, columns: Mapping[str, str]) -> Iterable[ToolRow]:
    """The rows, each with the pair that it judges and, where people judged a dialogue twice, the turn as a question."""
    rows = [(where, dict(row)) for where, row in read_table(path).rows()]
    if rows and set(WINNERS) <= set(rows[0][1]) and "choice" not in columns:
        rows = [(where, {**row, "winner": _only_winner(where, row)}) for where, row in rows]
    held = set(rows[0][1]) if rows else set()
    name = columns.get("pair") or next((one for one in IDS if one in held), None)
    twice = "turn" in held and any(number > 1 for number in Counter(_judged(row, name) for _, row in rows).values())
    for number, (_, row) in enumerate(rows, 1):
        row |= {} if name else {ROW: f"row {number}"}
        row |= {TURN: f"turn {cell_text(row['turn'])}"} if twice else {}
    return rows


def _judged(row: Mapping[str, Any], name: str | None) -> Sequence[str]:
    """Who judged what: twice the same is the same people at another turn, or the same vote again."""
    known = [part for part in (name, "model_a", "model_b", "judge") if part]
    return tuple(cell_text(row.get(part)) for part in known) if name else (str(id(row)),)


def _only_winner(where: str, row: Mapping[str, Any]) -> str:
    marked = [word for name, word in zip(WINNERS, WORDS, strict=True) if cell_text(row[name]).lower() in ("1", "true")]
    if len(marked) != 1:
        raise InputError(f"{where}: {len(marked)} of {', '.join(WINNERS)} are 1; one is expected.")
    if (other := cell_text(row.get("winner")).strip()) and not other.startswith(marked[0]):
        raise InputError(f"{where}: winner is {other!r}, and of {', '.join(WINNERS)} it is {marked[0]} that is 1.")
    return marked[0]


def known_arena(names: Iterable[str]) -> bool:
    """Whether these columns are those of an arena."""
    held = set(names)
    systems = {"model_a", "model_b"} <= held
    return systems and ("winner" in held or set(WINNERS) <= held) and system_columns(held, {}) is not None
