"""The one answer of a row, however its tool spells it: a word, a group of true and false columns, a list of one."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping
from typing import Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.tables.table import RawTable, cell_text


def answer_cells(table: RawTable, name: str) -> list[str]:
    """The cells of a column, of its `.selection` or `.label`, or in each row the one of `name.*` that is true."""
    for key in (name, f"{name}.selection", f"{name}.label"):
        if key in table.columns:
            cells = table.columns[key]
            if all(type(cell) is str for cell in cells):
                words = {cell: _plain(cell) for cell in set(cells)}
                return [words[cell] for cell in cells]
            return [_plain(cell) for cell in cells]
    group = {key[len(name) + 1 :]: table.columns[key] for key in table.names if key.startswith(f"{name}.")}
    answers = []
    for row in range(len(table)):
        marked = [key for key, cells in group.items() if str(cells[row]).strip().lower() in ("true", "1", "on")]
        if len(marked) > 1:
            raise InputError(
                f"{table.place(row)}: {name} has several answers at once: {', '.join(marked)}. Make the question "
                "single-choice."
            )
        answers.append(marked[0] if marked else "")
    return answers


def picked(row: Mapping[str, Any], name: str) -> str:
    """The same for one row as a mapping."""
    return next((_plain(row[key]) for key in (name, f"{name}.selection", f"{name}.label") if key in row), "")


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
    return cell_text(value).strip()


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """`{"x": {"a": true}}` as `{"x.a": true}`, the way Potato's and MTurk's tables name it."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= {f"{name}.{key}": v for key, v in value.items()} if isinstance(value, dict) else {name: value}
    return flat
