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

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from seedvote.analysis.votes.columns import Columns, codes_of, columns_of_table, read_columns
from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.annotation_tools import read_folder
from seedvote.dialogue.importing.naming import IGNORED
from seedvote.dialogue.importing.questions import of_one_question
from seedvote.dialogue.importing.reading import Reading, Stated
from seedvote.dialogue.importing.recognising import recognised
from seedvote.dialogue.importing.votes import Judgements, read_judgements
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import RawTable

Bools = NDArray[np.bool_]
MOST_QUESTIONS = 20  # a column with more values holds something else, e.g. what people asked a system
QUESTION = "question"


@dataclass(frozen=True, eq=False)
class Opened:
    """The columns by our names, and the account."""

    read: Columns
    reading: Reading
    asked: Bools | None = None  # which rows answer the question, where the file holds several


def opened_votes(source: Path | RawTable, stated: Stated, fields: Mapping[str, pa.DataType], labels: str) -> Opened:
    """Read the source by the one reading that it has, or say which readings it may have."""
    if isinstance(source, RawTable):
        opened = _of_table(source, stated, fields, labels)
        quiet = not opened.reading.dropped
        return replace(opened, reading=replace(opened.reading, read=0)) if quiet else opened
    if not (stated.tool or stated.wide or stated.columns or stated.values) and _has_header(source):
        return _ours(source, stated, fields)
    if not source.exists():
        read_columns(source, fields, record="votes")  # says so, and how to write the file
    if source.is_dir() and stated.tool == "potato":
        return _of_table(read_folder(source, stated.columns), stated, fields, labels)
    return _of_table(read_table(source), stated, fields, labels)


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


def _ours(path: Path, stated: Stated, fields: Mapping[str, pa.DataType]) -> Opened:
    table = read_columns(path, {**fields, QUESTION: pa.string()}, record="votes")
    mask = _rows_of_question(table, stated.question)
    rows = len(next(iter(table.arrays.values()), ())) if mask is None else int(mask.sum())
    form = "file of votes" + (f", question {stated.question}" if stated.question else "")
    return Opened(table, Reading(form, rows), mask)


def _of_table(table: RawTable, stated: Stated, fields: Mapping[str, pa.DataType], labels: str) -> Opened:
    if unused := [name for name in ("status", "submission", "left_text")
                  if labels == "any" and stated.columns.get(name, "-") != IGNORED]:  # fmt: skip
        raise InputError(f"--columns {unused[0]}=... does nothing where any label counts.")
    if (
        labels == "any"
        and not stated.wide
        and stated.tool in ("", "plain")
        and recognised(table, stated.columns) == "plain"
    ):
        return _labelled(table, stated, fields)
    return _of_judgements(read_judgements(table, stated), fields)


def _of_judgements(judgements: Judgements, fields: Mapping[str, pa.DataType]) -> Opened:
    """Settled votes as typed columns; a column of our names that a tool wrote for itself is not one of ours."""
    table, columns = judgements.table, dict[str, Any]()
    ignored = {ours for ours, theirs in judgements.reading.columns.items() if theirs == IGNORED}
    for field in fields:
        name = judgements.names.get(field, field if judgements.tool == "plain" else "")
        if name in table.columns and field not in ignored:
            columns[field] = table.columns[name]
    columns |= {"pair": judgements.pair, "choice": judgements.choice}
    if any(judgements.left):
        columns["left"] = judgements.left
    else:
        columns.pop("left", None)
    if judgements.a:
        columns |= {"system_a": judgements.a, "system_b": judgements.b}
    if judgements.times:
        columns["round"] = _rounds(judgements)
    if (
        "item" not in columns
        and judgements.names.get("pair") != judgements.names.get("item")
        and "item" in judgements.names
    ):
        columns["item"] = table.text(judgements.names["item"])
    ours = replace(table, columns=columns, twins=())
    typed = columns_of_table(ours, fields)
    return Opened(replace(typed, found=table.names), judgements.reading)


def _rounds(judgements: Judgements) -> list[int]:
    """The order in which each comparison got its votes."""
    numbers: dict[Any, int] = defaultdict(int)
    rounds = []
    for row, pair in enumerate(judgements.pair):
        key = (pair, frozenset((judgements.a[row], judgements.b[row]))) if judgements.a else pair
        numbers[key] += 1
        rounds.append(numbers[key])
    return rounds


def _labelled(table: RawTable, stated: Stated, fields: Mapping[str, pa.DataType]) -> Opened:
    """A table in which any word is a label."""
    names = {ours: theirs for ours, theirs in stated.columns.items() if theirs != IGNORED}
    if missing := [theirs for theirs in names.values() if theirs not in table.names]:
        raise InputError(f"{table.path} has no column {missing[0]!r} (found: {', '.join(table.names)}).")
    table, question = of_one_question(table, stated, names)
    ignored = {ours for ours, theirs in stated.columns.items() if theirs == IGNORED}
    columns = {field: table.columns[name] for field in fields
               if (name := names.get(field, field)) in table.columns and field not in ignored}  # fmt: skip
    typed = columns_of_table(replace(table, columns=columns), fields)
    columns_used = {field: names.get(field, field) for field in columns}
    return Opened(
        replace(typed, found=table.names),
        Reading(f"table of votes{question}", len(table), columns_used, notes=table.notes),
    )


def _rows_of_question(table: Columns, question: str) -> Bools | None:
    """Which rows answer the question; None where there is but one. Two questions are never pooled: asked which."""
    array = table.arrays.get(QUESTION)
    if array is None:
        if question:
            raise InputError(
                f"--question is {question!r}, and {table.path} has no column of questions. Name it: --columns "
                "question=..."
            )
        return None
    codes, questions = codes_of(array.fill_null(""))
    if question:
        if question not in questions:
            raise InputError(f"--question is {question!r}; the questions are {', '.join(questions[:MOST_QUESTIONS])}.")
        return np.asarray(codes == questions.index(question))
    if 1 < len(questions) <= MOST_QUESTIONS and _has_repeated_votes(table):
        raise Unclear(
            f"{table.path} holds {len(questions)} questions ({', '.join(questions)}), which are analysed one by one "
            "and never pooled.",
            *({"--question": name} for name in questions),
        )
    return None


def _has_repeated_votes(table: Columns) -> bool:
    """Whether some rater votes on some pair in several rows."""
    columns = [array for name in ("pair", "rater") if (array := table.arrays.get(name)) is not None]
    codes = np.stack([codes_of(column)[0] for column in columns], axis=1)
    return len(np.unique(codes, axis=0)) < len(codes)
