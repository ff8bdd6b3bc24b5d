"""A file of votes, whatever wrote it, as columns of ours, with the ledger of how it was read.

Our own files and plain tables keep their columns; what a tool wrote goes through the reader of that tool
(`dialogue/ballots/`), which `crowd import-votes` uses too, so that both give the same votes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import pyarrow as pa

from analysis.reading.asked import MOST_QUESTIONS, QUESTION, Bools, rows_asked, with_questions
from analysis.reading.columns import Columns, columns_of_table, read_columns
from analysis.reading.people import Reading
from dialogue.ballots.ledger import Ledger
from dialogue.ballots.naming import IGNORED, no_votes
from dialogue.ballots.rankings import taken_apart
from dialogue.ballots.recognising import recognised
from dialogue.ballots.settling import Imported, ImportRules, as_votes, values_of
from dialogue.ballots.systems import SystemColumns, system_columns
from dialogue.ballots.texts import text_columns, with_sides
from dialogue.ballots.tools import TOOLS, judgements
from dialogue.ballots.wide import melted
from dialogue.errors import InputError, Unclear
from dialogue.files import as_json
from dialogue.judges import JUDGE, judges_beside, refuse_verdicts
from dialogue.tables.decoding import PACKED
from dialogue.tables.reading import read_table
from dialogue.tables.table import RawTable, cell_text, from_rows

QUESTIONS = ("question", "criterion", "dimension", "aspect", "attribute", "quality", "metric")


@dataclass(frozen=True, slots=True)
class Stated:
    """What the user states about a file."""

    columns: Mapping[str, str] = field(default_factory=dict)  # ours -> theirs
    values: Mapping[str, str] = field(default_factory=dict)  # theirs -> ours
    tool: str = ""
    wide: Path | None = None
    question: str = ""
    how: Reading = field(default_factory=Reading)


@dataclass(frozen=True, eq=False)
class Opened:
    """The columns, the names and words that they have, and the ledger."""

    read: Columns
    columns: Mapping[str, str]
    ledger: Ledger
    systems: SystemColumns | None = None
    settled: bool = False  # every answer is a, b or tie already
    asked: Bools | None = None  # which rows answer the question, where the file holds several


def opened_votes(path: Path, asked: Stated, wanted: Mapping[str, pa.DataType]) -> Opened:
    """Read the file in the one form that it has, or say which forms it may have."""
    special = asked.tool or asked.wide or (asked.question and not _has_questions(path, asked.columns))
    if not special and _is_lines_of_votes(path, asked.columns):
        return _ours(path, asked, wanted)
    if not path.exists():
        read_columns(path, wanted, record="votes")  # says so, and how to write the file
    if path.is_dir() and asked.tool:
        return _of_tool(path, asked.tool, asked, wanted)
    table = read_table(path)
    if asked.wide is not None:
        long = melted(table, asked.wide, asked.columns)
        stated = {ours: theirs for ours, theirs in asked.columns.items() if ours not in ("rater", "submitted")}
        note = f"one row a person, key {asked.wide.name}"
        rater = {"rater": long.rater} if long.rater else {}
        found = _plain(long.table, replace(asked, columns=stated), wanted, f"wide table, {note}", rater)
        read = len(long.table) + sum(long.dropped.values())
        return replace(found, ledger=replace(found.ledger, read=read, dropped=long.dropped))
    if not asked.tool and (apart := taken_apart(table, asked.columns)) is not None:
        keep = {name: column for name, column in asked.columns.items() if name not in ("item", "rater")}
        found = _plain(apart.table, replace(asked, columns=keep), wanted, apart.kind)
        read = len(apart.table) + sum(apart.dropped.values())
        return replace(found, ledger=replace(found.ledger, read=read, dropped=apart.dropped))
    tool = asked.tool or recognised(table, asked.columns)
    return _plain(table, asked, wanted, "table of votes") if tool == "plain" else _of_tool(path, tool, asked, wanted)


def _is_lines_of_votes(path: Path, names: Mapping[str, str]) -> bool:
    """Whether this is JSON Lines with the columns of votes: read at once by pyarrow, however many there are."""
    if not path.is_file():
        return False
    try:
        with path.open("rb") as handle:
            head = handle.read(1 << 16)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.") from error
    if any(head.startswith(mark) for mark, _ in PACKED) or not head.lstrip(b"\xef\xbb\xbf \n\r\t").startswith(b"{"):
        return False
    for line in head.splitlines()[:2]:
        try:
            row = json.loads(line.lstrip(b"\xef\xbb\xbf"))
        except ValueError:
            return path.suffix == ".jsonl" and b"\0" not in head  # its own complaint names the line
        if isinstance(row, dict) and "format" in row and "version" in row:
            return True
        needed = isinstance(row, dict) and all(names.get(name, name) in row for name in ("pair", "choice"))
        return needed and text_columns(row) is None  # texts are compared with the answers, row by row
    return False


def _has_questions(path: Path, names: Mapping[str, str]) -> bool:
    """Whether the first vote of JSON Lines says which question it answers."""
    if not _is_lines_of_votes(path, names):
        return False
    with path.open(encoding="utf-8-sig") as handle:
        rows = [json.loads(line) for line in islice((line for line in handle if line.strip()), 2)]
    return any(names.get(QUESTION, QUESTION) in row for row in rows)


def _ours(path: Path, asked: Stated, wanted: Mapping[str, pa.DataType]) -> Opened:
    read = read_columns(path, with_questions(wanted, asked.columns), record="votes")
    mine = rows_asked(read, asked.columns, asked.question)
    rows = len(next(iter(read.arrays.values()), ())) if mine is None else int(mine.sum())
    form = "file of votes" + (f", question {asked.question}" if asked.question else "")
    systems = system_columns(read.arrays, {n: c for n, c in asked.columns.items() if n.startswith("system_")})
    return Opened(read, asked.columns, Ledger(form, rows, asked.columns), systems, asked=mine)


def _of_tool(path: Path, tool: str, asked: Stated, wanted: Mapping[str, pa.DataType]) -> Opened:
    """What a tool wrote, by the reader that `crowd import-votes` has; people keep the names that the file gives."""
    if tool == "plain":
        return _plain(read_table(path), asked, wanted, "table of votes")
    if tool not in TOOLS:
        raise InputError(f"--from is {tool!r}; the tools are {', '.join(TOOLS)} and plain.")
    judged = judgements([path], tool, asked.columns, asked.question)
    none = no_votes(asked.values)
    words = values_of(tool, [(ours, theirs) for theirs, ours in asked.values.items() if ours != IGNORED])
    rules = ImportRules(tool, words, file_order=True, stated=bool({"a", "b"} & {*asked.values.values()}), raters=False,
                        judges=judges_beside([path, *asked.how.beside]), with_judges=asked.how.with_judges,
                        no_vote=none)  # fmt: skip
    settled = as_votes(judged, rules, None, str)
    own = {theirs: ours for ours, theirs in asked.columns.items() if theirs != IGNORED}
    wanted = {own.get(name, name): kind for name, kind in wanted.items()}  # these votes have our names
    shown = dict(judged.columns)
    if judged.systems is not None:
        shown |= {"system_a": judged.systems.a, "system_b": judged.systems.b}
    ledger = Ledger(f"{tool} table", settled.read, shown, settled.words, settled.dropped, settled.notes)
    return Opened(_as_columns(path, settled, wanted), {}, ledger, _named(settled), settled=True)


def _named(settled: Imported) -> SystemColumns | None:
    return SystemColumns("system_a", "system_b", "stated") if "system_a" in settled.votes[0].extra else None


def _as_columns(path: Path, settled: Imported, wanted: Mapping[str, pa.DataType]) -> Columns:
    """Votes as columns; rounds only where times tell the order, raters only where the file names them."""
    votes = settled.votes
    unknown = {"rater_status", "counted", "identical"}
    unknown |= {"source"} if not any(vote.source == JUDGE for vote in votes) else set()
    unknown |= {"rater"} if not any(vote.rater for vote in votes) else set()
    unknown |= {"round"} if not all(vote.submitted for vote in votes) else set()
    rows = [{name: value for name, value in as_json(vote).items() if name not in unknown} for vote in votes]
    return columns_of_table(from_rows(path, rows), wanted)


def _plain(
    table: RawTable, asked: Stated, wanted: Mapping[str, pa.DataType], form: str, more: Mapping[str, str] | None = None
) -> Opened:
    """A table with the columns of votes, of one question."""
    refuse_verdicts(table.path, table.names)
    if unused := [name for name in ("status", "submission", "left_text") if asked.columns.get(name, "-") != IGNORED]:
        raise InputError(
            f"{table.path} is read as a plain table, where --columns {unused[0]}=... does nothing. Take out the rows "
            "that do not count, or name the tool that wrote the table (--from)."
        )
    one, question = of_one_question(table, asked)
    systems = system_columns(one.names, asked.columns)
    one = with_sides(one, asked.columns, systems, no_votes(asked.values))
    shown = {name: asked.columns.get(name, name) for name in wanted if asked.columns.get(name, name) in one.names}
    if systems is not None:
        shown |= {"system_a": systems.a, "system_b": systems.b}
        wanted = {**wanted, systems.a: pa.string(), systems.b: pa.string()}
    ignored = {name: theirs for name, theirs in asked.columns.items() if theirs == IGNORED}
    said = Ledger(f"{form}{question}", len(one), {**shown, **(more or {}), **ignored}, {}, {}, one.notes)
    taken = {name: kind for name, kind in wanted.items() if name not in ignored}
    return Opened(columns_of_table(one, taken), asked.columns, said, systems)


def of_one_question(table: RawTable, asked: Stated, *more: str) -> tuple[RawTable, str]:
    """The rows of one question. A column of questions shows by its name, and by people who judge a pair twice."""
    stated = asked.columns.get("question")
    name = stated or next((one for one in table.names if one.lower() in QUESTIONS), "")
    if not name or name == IGNORED or name not in table.names:
        if asked.question:
            raise InputError(
                f"--question is {asked.question!r}, and {table.path} has no column of questions. Name it: --columns "
                "question=..."
            )
        return table, ""
    found = table.values(name)
    if asked.question:
        if asked.question not in found:
            raise InputError(f"--question is {asked.question!r}; the questions are {', '.join(found[:20])}.")
        return _rows_where(table, name, asked.question), f", question {asked.question}"
    several = 1 < len(found) <= MOST_QUESTIONS
    if several and (stated or _judged_twice(table, asked, *more)):
        raise Unclear(
            f"{table.path} holds {len(found)} questions ({name}: {', '.join(found)}), which are analysed one by one "
            "and never pooled.",
            *({"--question": one} for one in found),
        )
    return table, ""


def _judged_twice(table: RawTable, asked: Stated, *more: str) -> bool:
    names = [asked.columns.get(field, field) for field in (*(more or ["pair"]), "rater")]
    columns = [table.columns[name] for name in names if name in table.names]
    met = list(zip(*columns, strict=True))
    return len(set(map(str, met))) < len(met)


def _rows_where(table: RawTable, name: str, value: str) -> RawTable:
    kept = [number for number, cell in enumerate(table.columns[name]) if cell_text(cell) == value]
    columns = {column: [cells[k] for k in kept] for column, cells in table.columns.items()}
    return replace(table, columns=columns, lines=tuple(table.lines[k] for k in kept) if table.lines else ())
