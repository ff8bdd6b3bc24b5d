"""Tables as Chatbot Arena and its followers publish them: `model_a`, `model_b` and who won, in a column or in three."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dialogue.errors import InputError
from dialogue.tables.table import RawTable, cell_text

WINNERS = ("winner_model_a", "winner_model_b", "winner_tie")  # one of the three is 1
WORDS = ("model_a", "model_b", "tie")
IDS = ("question_id", "id", "conversation_id", "battle_id", "pair", "pair_id")
ROW, TURN = "number of the row", "judged turn"  # columns that are added where nothing names the pair, or two turns it


def with_winner(table: RawTable, columns: Mapping[str, str]) -> RawTable:
    """The rows, each with the pair that it judges and, where people judged a dialogue twice, the turn as a question."""
    rows = [dict(row) for _, row in table.rows()]
    held, more = set(table.names), dict[str, list[Any]]()
    if set(WINNERS) <= held and "choice" not in columns:
        more["winner"] = [_only_winner(table.place(number), row) for number, row in enumerate(rows)]
    name = columns.get("pair") or next((one for one in IDS if one in held), None)
    if not name:
        more[ROW] = [f"row {number}" for number in range(1, len(rows) + 1)]
    if "turn" in held and any(number > 1 for number in Counter(_judged(row, name) for row in rows).values()):
        more[TURN] = [f"turn {cell_text(row['turn'])}" for row in rows]
    return table.with_columns(**more)


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
    return {"model_a", "model_b"} <= held and ("winner" in held or set(WINNERS) <= held)
