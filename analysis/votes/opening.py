"""A source of votes (a file of any form, a table in memory) as columns of ours, with the account of how it was read.

Our own files keep a fast reader, since nothing in them is to be decided. Everything else goes through
`dialogue/importing/`, which `crowd import-votes` uses too, so that both give the same votes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from analysis.votes.asked import Bools, rows_asked, with_questions
from analysis.votes.columns import Columns, columns_of_table, read_columns
from dialogue.errors import InputError
from dialogue.importing.naming import IGNORED
from dialogue.importing.potato import read_folder
from dialogue.importing.questions import of_one_question
from dialogue.importing.reading import Reading, Stated
from dialogue.importing.recognising import recognised
from dialogue.importing.votes import Judgements, read_judgements
from dialogue.tables.reading import read_table
from dialogue.tables.table import RawTable


@dataclass(frozen=True, eq=False)
class Opened:
    """The columns by our names, and the account."""

    read: Columns
    reading: Reading
    asked: Bools | None = None  # which rows answer the question, where the file holds several


def opened_votes(source: Path | RawTable, asked: Stated, fields: Mapping[str, pa.DataType], labels: str) -> Opened:
    """Read the source by the one reading that it has, or say which readings it may have."""
    if isinstance(source, RawTable):
        found = _of_table(source, asked, fields, labels)
        quiet = not found.reading.dropped
        return replace(found, reading=replace(found.reading, read=0)) if quiet else found
    if not (asked.tool or asked.wide or asked.columns or asked.values) and _has_header(source):
        return _ours(source, asked, fields)
    if not source.exists():
        read_columns(source, fields, record="votes")  # says so, and how to write the file
    if source.is_dir() and asked.tool == "potato":
        return _of_table(read_folder(source, asked.columns), asked, fields, labels)
    return _of_table(read_table(source), asked, fields, labels)


def _has_header(path: Path) -> bool:
    """Whether this is JSON Lines whose first line says what records it holds."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as handle:
            head = handle.readline(1 << 16)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    try:
        row = json.loads(head.lstrip(b"\xef\xbb\xbf"))
    except ValueError:
        return False
    return isinstance(row, dict) and "format" in row and "version" in row


def _ours(path: Path, asked: Stated, fields: Mapping[str, pa.DataType]) -> Opened:
    read = read_columns(path, with_questions(fields, {}), record="votes")
    mine = rows_asked(read, {}, asked.question)
    rows = len(next(iter(read.arrays.values()), ())) if mine is None else int(mine.sum())
    form = "file of votes" + (f", question {asked.question}" if asked.question else "")
    return Opened(read, Reading(form, rows), mine)


def _of_table(table: RawTable, asked: Stated, fields: Mapping[str, pa.DataType], labels: str) -> Opened:
    if unused := [name for name in ("status", "submission", "left_text")
                  if labels == "any" and asked.columns.get(name, "-") != IGNORED]:  # fmt: skip
        raise InputError(f"--columns {unused[0]}=... does nothing where any label counts.")
    if (
        labels == "any"
        and not asked.wide
        and asked.tool in ("", "plain")
        and recognised(table, asked.columns) == "plain"
    ):
        return _labelled(table, asked, fields)
    return _of_judgements(read_judgements(table, asked), fields)


def _of_judgements(found: Judgements, fields: Mapping[str, pa.DataType]) -> Opened:
    """Settled votes as typed columns; a column of our names that a tool wrote for itself is not one of ours."""
    table, columns = found.table, dict[str, Any]()
    ignored = {ours for ours, theirs in found.reading.columns.items() if theirs == IGNORED}
    for field in fields:
        name = found.names.get(field, field if found.tool == "plain" else "")
        if name in table.columns and field not in ignored:
            columns[field] = table.columns[name]
    columns |= {"pair": found.pair, "choice": found.choice}
    if any(found.left):
        columns["left"] = found.left
    else:
        columns.pop("left", None)
    if found.a:
        columns |= {"system_a": found.a, "system_b": found.b}
    if found.times:
        columns["round"] = _rounds(found)
    if "item" not in columns and found.names.get("pair") != found.names.get("item") and "item" in found.names:
        columns["item"] = table.text(found.names["item"])
    ours = replace(table, columns=columns, twins=())
    read = columns_of_table(ours, fields)
    return Opened(replace(read, found=table.names), found.reading)


def _rounds(found: Judgements) -> list[int]:
    """The order in which each comparison got its votes."""
    numbers: dict[Any, int] = defaultdict(int)
    rounds = []
    for row, pair in enumerate(found.pair):
        key = (pair, frozenset((found.a[row], found.b[row]))) if found.a else pair
        numbers[key] += 1
        rounds.append(numbers[key])
    return rounds


def _labelled(table: RawTable, asked: Stated, fields: Mapping[str, pa.DataType]) -> Opened:
    """A table in which any word is a label."""
    names = {ours: theirs for ours, theirs in asked.columns.items() if theirs != IGNORED}
    if missing := [theirs for theirs in names.values() if theirs not in table.names]:
        raise InputError(f"{table.path} has no column {missing[0]!r} (found: {', '.join(table.names)}).")
    table, question = of_one_question(table, asked, names)
    ignored = {ours for ours, theirs in asked.columns.items() if theirs == IGNORED}
    columns = {field: table.columns[name] for field in fields
               if (name := names.get(field, field)) in table.columns and field not in ignored}  # fmt: skip
    read = columns_of_table(replace(table, columns=columns), fields)
    shown = {field: names.get(field, field) for field in columns}
    return Opened(
        replace(read, found=table.names), Reading(f"table of votes{question}", len(table), shown, notes=table.notes)
    )
