"""The one answer of a row, however its tool spells it: a word, a group of true and false columns, a list of one."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Mapping
from typing import Any

from dialogue.errors import InputError, Unclear
from dialogue.importing.naming import typed_names
from dialogue.importing.tool import Tool
from dialogue.tables.table import RawTable, cell_text


def choice_columns(table: RawTable, tool: Tool) -> list[str]:
    """The columns, or groups of columns, that can hold the choice by the tool's own rule."""
    found: dict[str, None] = {}
    for name, cells in table.columns.items():
        for cell in cells:
            if (column := tool.choice(name, cell)) is not None:
                found[column] = None
                break
    return list(found)


def choice_column(table: RawTable, tool: Tool) -> str:
    """The one column that can hold the choice; with several or none the user must say."""
    found = choice_columns(table, tool)
    if len(found) == 1:
        return found[0]
    sentence = f"{table.place(0)}: which column holds the choice? Candidates: {', '.join(found) or 'none'}."
    if not found:
        raise InputError(f"{sentence} Name it: --columns choice=...")
    raise Unclear(
        f"{sentence} Several questions are analysed one by one and never pooled.",
        *({"--columns": typed_names([("choice", name)])} for name in found),
    )


def refuse_unread(table: RawTable, tool: Tool, choice: str) -> None:
    """A row without this answer that has another one would be lost: a doubt, not a blank."""
    others = [name for name in choice_columns(table, tool) if name != choice]
    if not others:
        return
    own = answer_cells(table, choice)
    for name in others:
        for row, cell in enumerate(answer_cells(table, name)):
            if cell and not own[row]:
                raise InputError(
                    f"{table.place(row)}: {choice} is empty, and {name} holds {cell!r}. If both are parts of one "
                    f"question, give them one name; if {name} is another question, say so: --columns choice={choice}."
                )


def has_answers(table: RawTable, name: str) -> bool:
    """Whether a name is a column, a column's beginning, or a group of columns."""
    return any(key in (name, f"{name}.selection", f"{name}.label") or key.startswith(f"{name}.") for key in table.names)


def answer_cells(table: RawTable, name: str) -> list[str]:
    """The cells of a column, of its `.selection` or `.label`, or in each row the one of `name.*` that is true."""
    for key in (name, f"{name}.selection", f"{name}.label"):
        if key in table.columns:
            return [_plain(value) for value in table.columns[key]]
    group = {key[len(name) + 1 :]: table.columns[key] for key in table.names if key.startswith(f"{name}.")}
    found = []
    for row in range(len(table)):
        marked = [key for key, cells in group.items() if str(cells[row]).strip().lower() in ("true", "1", "on")]
        if len(marked) > 1:
            raise InputError(
                f"{table.place(row)}: {name} has several answers at once: {', '.join(marked)}. Make the question "
                "single-choice."
            )
        found.append(marked[0] if marked else "")
    return found


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
