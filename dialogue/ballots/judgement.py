"""One judgement as another tool wrote it, before anybody decided what its answer stands for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialogue.records import Side
from dialogue.tables.reading import read_table

ToolRow = tuple[str, dict[str, Any]]  # place in the file, values
ToolReader = Callable[[Path, Mapping[str, str]], Iterable[ToolRow] | None]  # None: the file has no form of this tool's

JUDGEMENT_FIELDS = (
    *("pair", "rater", "choice", "left", "left_text", "submitted", "seconds", "submission", "status"),
    *("system_a", "system_b", "item", "dialogue", "source"),
)
LEFT: dict[str, Side] = {"a": "a", "b": "b", "0": "a", "1": "b", "ab": "a", "ba": "b", "[0, 1]": "a", "[1, 0]": "b"}


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
    item: str = ""
    dialogue: str = ""
    question: str = ""
    source: str = ""  # read for one word alone: that a judge is behind the row
    models: tuple[str, str] | None = None  # what the columns of the systems say
    shown: tuple[str, str] | None = None  # whom the first and the second answer stand for
    said: Mapping[str, str] = field(default_factory=dict)  # system, or response a and b -> its text, if the row has it
    turned: bool = False  # the answer's letters stand for columns, and the system of the second one was shown first
    placed: bool = False  # who was shown on the left is known, not only whom a letter stands for


def plain_rows(path: Path, _columns: Mapping[str, str]) -> Iterable[ToolRow]:
    """The rows of a table as they are."""
    return read_table(path).rows()


@dataclass(frozen=True, slots=True)
class Tool:
    """How one tool writes judgements."""

    columns: Mapping[str, str]  # our field -> its column
    values: Mapping[str, str]  # its word in small letters -> a (shown first), b (shown second) or tie
    read: ToolReader = plain_rows
    forms: str = "a table"  # as a sentence lists them
    choice: Callable[[str, Any], str | None] = lambda _name, _value: None  # the choice a column belongs to, if any
    names_models: bool = False  # its values stand for models and not for places on the screen
    known: Callable[[Iterable[str]], bool] = lambda _names: False  # whether these columns give the tool away
    instead: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # columns that it may have in their place
