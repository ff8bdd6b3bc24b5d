"""The one answer of a row, however its tool spells it: a word, a group of true and false columns, a list of one."""

from __future__ import annotations

import ast
import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dialogue.ballots.judgement import Tool, ToolRow
from dialogue.ballots.naming import typed_names
from dialogue.errors import InputError, Unclear
from dialogue.tables.table import cell_text


def choice_column(rows: Sequence[ToolRow], tool: Tool) -> str:
    """The one column that can hold the choice; with several or none the user must say."""
    found: dict[str, None] = {}
    for _, row in rows:
        for name, value in row.items():
            if (column := tool.choice(name, value)) is not None:
                found[column] = None
    if len(found) != 1:
        shown = ", ".join(found) or "none"
        sentence = f"{rows[0][0]}: which column holds the choice? Candidates: {shown}."
        if not found:
            raise InputError(f"{sentence} Name it: --columns choice=...")
        raise Unclear(
            f"{sentence} Several questions are analysed one by one and never pooled.",
            *({"--columns": typed_names([("choice", name)])} for name in found),
        )
    return next(iter(found))


def refuse_unread(rows: Sequence[ToolRow], tool: Tool, choice: str) -> None:
    """A row without this answer that has another one would be lost: a doubt, not a blank."""
    for where, row in rows:
        others = [name for key, value in row.items() if (name := tool.choice(key, value)) not in (None, choice)]
        given = [name for name in dict.fromkeys(others) if name and picked(row, name)]
        if given and not picked(row, choice):
            raise InputError(
                f"{where}: {choice} is empty, and {given[0]} holds {picked(row, given[0])!r}. If both are parts of one "
                f"question, give them one name; if {given[0]} is another question, say so: --columns choice={choice}."
            )


def each(row: Mapping[str, Any], names: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The fields of every judgement of a row: one, or with `{n}` in the names as many as there are columns."""
    if "{n}" not in names["pair"]:
        yield {field: picked(row, name) for field, name in names.items()}
        return
    number = 1
    while names["pair"].format(n=number) in row:
        one = {field: picked(row, name.replace("{n}", str(number))) for field, name in names.items()}
        if one["pair"]:
            submission = one.get("submission", "")
            yield one | {"seconds": "", "submission": f"{submission}:{number}" if submission else ""}
        number += 1


def picked(row: Mapping[str, Any], name: str) -> str:
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
    return cell_text(value).strip()


def flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """`{"x": {"a": true}}` as `{"x.a": true}`, the way Potato's and MTurk's tables name it."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        flat |= {f"{name}.{key}": v for key, v in value.items()} if isinstance(value, dict) else {name: value}
    return flat
