"""Votes of any table: one path for every format and every tool, from columns and words to one judgement a row.

Each row becomes a vote, or is left out for a reason that is counted, or stops everything with one sentence.
"""

from __future__ import annotations

import contextlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from difflib import get_close_matches

from dialogue.errors import InputError, Unclear
from dialogue.importing.answers import answer_cells
from dialogue.importing.columns import (
    ANSWERS,
    Roles,
    TwoColumns,
    commonest,
    plain_name,
)  # fmt: skip
from dialogue.importing.meanings import TIED, Rows
from dialogue.importing.naming import IGNORED
from dialogue.importing.reading import Reading, Stated
from dialogue.importing.roles import WINNER_AND_LOSER, with_roles
from dialogue.importing.shaping import shaped
from dialogue.importing.sides import RowWinners, decide_sides
from dialogue.importing.texts import refuse_swapped_texts
from dialogue.importing.tool import Tool
from dialogue.importing.tools import TOOLS
from dialogue.importing.words import Kind, Meaning, is_tie, one_name
from dialogue.judges import refuse_verdicts
from dialogue.records import Choice, Side
from dialogue.tables.table import RawTable

OWN = {"pair", "rater", "choice", "round", "left"}  # columns of our own votes, whose letters are responses
NO_ANSWERS = ("rejected", "discarded", "draft", "cancelled", "canceled", "skipped")  # states in which an answer is none
TOO_LATE = 1e11  # seconds since 1970 (the year 5138); a larger number is in milliseconds and not a time here
ZONES = {"UTC": "+0000", "GMT": "+0000", "PST": "-0800", "PDT": "-0700"}
LETTERS: tuple[Choice, ...] = ("a", "b", "tie")


@dataclass(frozen=True, eq=False)
class Judgements:
    """The usable rows of a table as votes, in the order of their times where the tool tells them."""

    table: RawTable  # these rows, with all of their columns
    names: Mapping[str, str]  # our field -> its column
    choice: Sequence[Choice]
    pair: Sequence[str]
    left: Sequence[Side | None]
    a: Sequence[str]  # the system of each response; empty where none is named
    b: Sequence[str]
    times: Sequence[float]  # seconds since 1970; empty where some row has none
    reading: Reading
    tool: str
    texts: Sequence[tuple[str, str]] = ()

    def text(self, field: str) -> list[str]:
        """A field as text, empty where the table has none."""
        name = self.names.get(field)
        return [""] * len(self.choice) if name is None else self.table.text(name)


def read_judgements(table: RawTable, asked: Stated) -> Judgements:
    """The votes of a table, by the one reading that it has; several readings are refused with what settles them."""
    refuse_verdicts(table.path, table.names)
    form = shaped(table, asked)
    table, name, asked = form.table, form.tool, form.asked
    tool = TOOLS.get(name, Tool())
    table = _reshaped(table, name, tool, asked)
    if not len(table):
        raise InputError(f"{table.path} holds no {'rows' if name == 'plain' else 'judgements'}.")
    table, roles, question = with_roles(table, name, tool, asked)
    rows = _rows(table, roles)
    found = _decided(rows, tool, name, asked)
    said = form.form or ("table of votes" if name == "plain" else f"{name} table")
    return _settled(rows, found, asked, name, said + question, Counter(form.dropped), form.rater, form.read)


def _reshaped(table: RawTable, name: str, tool: Tool, asked: Stated) -> RawTable:
    try:
        return tool.reshape(table, asked.columns)
    except InputError:
        raise
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{table.path} does not have the form of a {name} export ({error!r}).") from error


# Words and winners


def _decided(rows: Rows, tool: Tool, name: str, asked: Stated) -> RowWinners:
    table, roles = rows.table, rows.roles
    own: dict[str, Meaning] = {}
    for word, ours in tool.values.items():
        kind: Kind = "tie" if ours == "tie" else "response" if tool.names_models else "place"
        own[word] = Meaning(kind, int(ours == "b"))
    letters = "response" if set(table.names) >= OWN and name == "plain" else tool.letters
    found = decide_sides(rows, asked, own, letters)
    if roles.texts is not None:
        refuse_swapped_texts(rows, roles.names.get("pair"), found.left)
    if "worse" in roles.names:
        found = replace(found, winner=[side if side in (None, TIED) else 1 - side for side in found.winner])
    return found


def _refuse_odd_names(table: RawTable, systems: TwoColumns, a: Sequence[str], b: Sequence[str]) -> None:
    """A sign or a tie is no system. Of winners and losers, two that are spelt nearly the same may be one."""
    for cells in (a, b):
        for cell in dict.fromkeys(cells):
            if cell and (is_tie(cell) or not any(sign.isalnum() for sign in cell)):
                where = table.place(cells.index(cell))
                raise InputError(
                    f"{where}: the system is {cell!r}, which is no name. Correct it, or leave the row out."
                )
    if systems.why == WINNER_AND_LOSER:
        for name in {*a} - {*b} - {""}:
            if near := get_close_matches(name, {*b} - {*a}, 1, 0.75):
                raise InputError(f"{table.path}: {name!r} always won and {near[0]!r} always lost. If they are one "
                                 "system, write its name in one way.")  # fmt: skip


def _rows(table: RawTable, roles: Roles) -> Rows:
    choice = answer_cells(table, roles.names.get("choice", roles.names.get("worse", "")))
    a: list[str] = []
    b: list[str] = []
    if (systems := roles.systems) is not None:
        a, b = table.text(systems.a), table.text(systems.b)
        kinds = table.text("kind") if "kind" in table.names else ["real"] * len(a)
        for name, cells in ((systems.a, a), (systems.b, b)):
            for row, cell in enumerate(cells):
                if not cell and choice[row] and kinds[row] in ("real", ""):
                    raise InputError(f"{table.place(row)}: {name} is empty; every vote compares two systems.")
        _refuse_odd_names(table, systems, a, b)
        spelling = commonest([*filter(None, a), *filter(None, b)]) | {"": ""}
        a, b = ([spelling[one_name(cell)] for cell in cells] for cells in (a, b))
    texts = roles.texts
    both = ([], []) if texts is None else (table.text(texts.a), table.text(texts.b))
    return Rows(table, roles, choice, a, b, *both, {one_name(name): name for name in dict.fromkeys([*a, *b]) if name})


# What counts


def _settled(
    rows: Rows, found: RowWinners, asked: Stated, name: str, form: str, dropped: Counter[str],
    rater: Mapping[str, str], read: int | None,
) -> Judgements:  # fmt: skip
    table, roles = rows.table, rows.roles
    names = dict(roles.names)
    pair = table.text(names["pair"]) if "pair" in names else [f"row {row + 1}" for row in range(len(table))]
    left: list[Side | None] = [None if side is None else ("a", "b")[side] for side in found.left]
    kept = _usable(rows, names, pair, found, dropped, own="round" in table.names)
    if not kept:
        said = "; ".join(f"{number} {reason}" for reason, number in dropped.items()) or "none"
        raise InputError(f"{table.path}: None of the {len(table)} judgements can be used: {said}.")
    times = _times(table, names, kept) if name != "plain" else []
    if times:
        order = sorted(range(len(kept)), key=lambda at: times[at])
        kept, times = [kept[at] for at in order], [times[at] for at in order]
    _refuse_failed_checks(rows, names, found)
    notes = [*table.notes, *(["no column names the pair, so every row is one"] if "pair" not in names else [])]
    shown = {field: column for field, column in names.items() if field not in ("worse",) or "worse" in names}
    if roles.systems is not None:
        shown |= {"system_a": roles.systems.a, "system_b": roles.systems.b}
    if roles.left is not None:
        shown["left"] = roles.left.name
    shown |= {**rater, **{ours: theirs for ours, theirs in asked.columns.items() if theirs == IGNORED}}
    silent = ("none", "blank", "text")
    words = {word: meaning.shown for word, meaning in found.words.items() if meaning.kind not in silent}
    evidence = {**roles.why, **({"systems": roles.systems.why} if roles.systems else {}), **found.evidence}
    reading = Reading(form, len(table) if read is None else read, shown, words, dict(dropped), tuple(notes),
                      evidence=evidence)  # fmt: skip
    texts = [(rows.text_a[row], rows.text_b[row]) for row in kept] if roles.texts else []
    return Judgements(
        table.take(kept), names, [LETTERS[found.winner[row] or 0] for row in kept], [pair[row] for row in kept],
        [left[row] for row in kept], [rows.a[row] for row in kept] if rows.a else (),
        [rows.b[row] for row in kept] if rows.b else (), times, reading, name,
        texts,
    )  # fmt: skip


def _usable(
    rows: Rows, names: Mapping[str, str], pair: Sequence[str], found: RowWinners, dropped: Counter[str], *, own: bool
) -> list[int]:
    """The rows that count, and why the others do not: rejected, blank, sent twice, a second vote of one rater."""
    table = rows.table
    cells = {field: table.text(names[field]) for field in ("rater", "status", "submission") if field in names}
    by_tool = names.get("status") not in (None, "status")
    cells |= {"rater": answer_cells(table, names["rater"])} if "rater" in names else {}
    _ask_what_blanks_are(rows, cells.get("status"), found)
    rater = cells.get("rater", [""] * len(table))
    order = _first_to_last(table, names)
    kept, sent, voted, again = [], set(), set(), 0
    for row in order:
        word, meaning = rows.choice[row], found.words[rows.choice[row]]
        if not pair[row]:
            raise InputError(f"{table.place(row)}: pair is empty; give every vote one, or take the row out.")
        submission = cells["submission"][row] if "submission" in cells else ""
        one, other = (rows.a[row], rows.b[row]) if rows.a else ("a", "b")
        who = (rater[row], pair[row], min(one, other), max(one, other))
        if "status" in cells and is_no_answer(cells["status"][row], by_tool):
            dropped["rejected, or skipped by the rater"] += 1
        elif meaning.kind == "blank":
            dropped["nothing was chosen"] += 1
        elif meaning.kind == "none":
            dropped[f"{word!r}, stated as no vote"] += 1
        elif one == other and one:
            dropped["both systems are the same"] += 1
        elif submission and submission in sent:
            dropped["the same submission again"] += 1
        elif who[0] and who in voted and not own:
            dropped["a later vote of the same rater on the same pair"] += 1
            again += 1
        else:
            kept.append(row)
            voted.add(who)
        sent.add(submission)
    if again > len(kept):
        raise Unclear(
            f"{table.path}: {again:,} of {again + len(kept):,} answers are a further one of the same rater on the same "
            f"pair ({names['pair']}, {names['rater']}). Is every row a comparison of its own (pair=-), or is the rater "
            "not who answered (rater=-)? Otherwise name the right column: --columns pair=...",
            {"--columns": "pair=-"}, {"--columns": "rater=-"},
        )  # fmt: skip
    return sorted(kept)


def is_no_answer(status: str, flags: bool) -> bool:
    """Whether a state says that the answer is none; `true` does where the column says that it was cancelled."""
    return status.lower() in NO_ANSWERS or (flags and status.lower() == "true")


def _first_to_last(table: RawTable, names: Mapping[str, str]) -> list[int]:
    """The rows by time, where every row has one that can be read; otherwise as they stand."""
    rows = list(range(len(table)))
    if "submitted" not in names:
        return rows
    try:
        times = [seconds_since_1970(cell, "") for cell in table.text(names["submitted"])]
    except InputError:
        return rows
    return sorted(rows, key=lambda row: times[row])


def _ask_what_blanks_are(rows: Rows, status: Sequence[str] | None, found: RowWinners) -> None:
    """An empty answer where no word says tie may be a tie."""
    blank = [row for row, word in enumerate(rows.choice) if found.words[word].kind == "blank"
             and (status is None or not is_no_answer(status[row], True))]  # fmt: skip
    answered = any(meaning.kind not in ("blank", "none") for meaning in found.words.values())
    if blank and answered and not any(meaning.kind in ("tie", "none") for meaning in found.words.values()):
        raise Unclear(
            f"{rows.place(blank[0])}: the answer is empty ({len(blank):,} of {len(rows.choice):,} rows), and no answer "
            "says tie. Is an empty answer a tie, or no vote?",
            {"--values": 'tie=""'}, {"--values": '""=-'},
        )  # fmt: skip


def _refuse_failed_checks(rows: Rows, names: Mapping[str, str], found: RowWinners) -> None:
    """Hidden checks have a known answer: where most raters miss it, the sides are turned."""
    table = rows.table
    plain = {plain_name(name): name for name in table.names if name not in names.values()}
    answer = next((plain[word] for word in ANSWERS if word in plain), "")
    if "kind" not in table.names or not answer:
        return
    met = missed = 0
    for row, (kind, cell) in enumerate(zip(table.text("kind"), table.text(answer), strict=True)):
        if kind == "check" and cell in ("a", "b") and found.winner[row] in (0, 1):
            met += found.winner[row] == "ab".index(cell)
            missed += found.winner[row] != "ab".index(cell)
    if missed > met and missed > 2:
        raise InputError(
            f"{table.path}: {missed} of {met + missed} hidden checks were answered against {answer!r}, so the sides "
            "seem to be turned. Say what the answers mean: --values a=...,b=..., or left=...,right=..."
        )


# Times


def _times(table: RawTable, names: Mapping[str, str], kept: Sequence[int]) -> list[float]:
    if "submitted" not in names:
        return []
    cells = table.text(names["submitted"])
    if not all(cells[row] for row in kept):
        return []
    return [seconds_since_1970(cells[row], table.place(row)) for row in kept]


def seconds_since_1970(cell: str, where: str) -> float:
    """A time as people and tools write it."""
    text = re.sub(r"\b(UTC|GMT|PST|PDT)\b", lambda match: ZONES[match[0]], cell)
    with contextlib.suppress(ValueError):
        if 0 <= float(text) < TOO_LATE:
            return float(text)
    for read in (datetime.fromisoformat, lambda t: datetime.strptime(t, "%a %b %d %H:%M:%S %z %Y")):
        try:
            time = read(text)
        except ValueError:
            continue
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    raise InputError(
        f"{where}: {cell!r} is not a time. Known forms: ISO 8601, seconds since 1970, and MTurk's `Mon Nov 16 21:23:44 "
        "PST 2020`."
    )
