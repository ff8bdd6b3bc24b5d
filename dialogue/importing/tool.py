"""How one tool writes judgements: a row of the table in `tools.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dialogue.tables.table import RawTable

Reshape = Callable[[RawTable, Mapping[str, str]], RawTable]


@dataclass(frozen=True, slots=True)
class Tool:
    """Its columns and words, and its rows as one judgement a row."""

    columns: Mapping[str, str] = field(default_factory=dict)  # our field -> its column
    values: Mapping[str, str] = field(
        default_factory=dict
    )  # its word in small letters -> a, b (shown first, second), tie
    reshape: Reshape = lambda table, _columns: table
    choice: Callable[[str, Any], str | None] = lambda _name, _value: None  # the choice a column belongs to, if any
    names_models: bool = False  # its values a and b are responses and no places on the screen
    known: Callable[[Iterable[str]], bool] = lambda _names: False  # whether these columns give the tool away
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # columns that it may have in their place
    letters: Literal["", "response", "place", "asked"] = ""  # what A and B are on its page; asked where nothing tells
