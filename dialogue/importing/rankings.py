"""Rankings and best-worst answers taken apart into the pairs that they decide.

A ranking of four systems decides six pairs, best and worst of four decide five; the two in the middle are not compared
and make no vote. What comes from one answer hangs together: its pairs share an item (the answer itself where the table
names none), so that intervals draw whole answers, and the rater.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from dialogue.errors import InputError
from dialogue.importing.columns import plain_name
from dialogue.importing.naming import IGNORED
from dialogue.tables.table import RawTable, cell_text, from_rows

RANK = re.compile(r"^rank[_ .](.+)$|^(.+)[_ .]rank$", re.IGNORECASE)
OPTION = re.compile(r"^(?:option|choice|candidate|item|system|model)[_ ]?(?:\d+|[a-h])$", re.IGNORECASE)
ITEMS = ("item", "item_id", "pair", "question_id", "prompt_id", "id", "task")
RATERS = ("rater", "worker", "worker_id", "workerid", "annotator", "user", "user_id", "participant", "judge")

Compared = tuple[str, str, str]  # two systems, and a, b or tie


@dataclass(frozen=True, eq=False)
class Apart:
    """One row a pair that an answer decides, what the table was, and how many answers decide nothing."""

    table: RawTable
    kind: str
    dropped: Mapping[str, int]


def taken_apart(table: RawTable, stated: Mapping[str, str]) -> Apart | None:
    """The rankings of a table as pairs; None where it holds none."""
    plain = {plain_name(name): name for name in table.names}
    if "choice" in stated or "choice" in table.names:
        return None
    ranks = {(found[1] or found[2]): name for name in table.names if (found := RANK.match(name))}
    if {"best", "worst"} <= plain.keys():
        options = [name for name in table.names if OPTION.match(name)]
        kind, decided = "best and worst", lambda where, row: _best_worst(where, row, plain, options)
    elif len(ranks) > 1:
        _refuse_doubtful_zero(table, ranks)
        kind, decided = "ranks", lambda where, row: _ranked(where, row, ranks)
    elif "ranking" in plain and any(">" in value for value in table.values(plain["ranking"])):
        kind, decided = "rankings", lambda where, row: _ordered(where, row[plain["ranking"]])
    else:
        return None
    return _apart(table, stated, plain, decided, kind)


def _apart(table: RawTable, stated: Mapping[str, str], plain: Mapping[str, str], decided: Any, kind: str) -> Apart:
    item, rater = _named("item", ITEMS, stated, plain), _named("rater", RATERS, stated, plain)
    rows, lines, lone = [], [], 0
    for number, (where, row) in enumerate(table.rows()):
        told = {"rater": cell_text(row[rater])} if rater else {}
        name = cell_text(row[item]) if item else f"answer {number + 1}"
        pairs = list(decided(where, row))
        lone += not pairs
        for one, other, choice in pairs:
            rows.append({"pair": name, "item": name, **told, "system_a": one, "system_b": other, "choice": choice})
            lines.append(table.lines[number] if table.lines else number + 1)
    if not rows:
        raise InputError(f"{table.path} holds no answer that compares two systems.")
    note = f"{len(table):,} answers taken apart into {len(rows):,} pairs"
    apart = RawTable(table.path, from_rows(table.path, rows).columns, tuple(lines), (*table.notes, note))
    return Apart(apart, kind, {"an answer that ranks fewer than two systems": lone} if lone else {})


def _named(field: str, words: tuple[str, ...], stated: Mapping[str, str], plain: Mapping[str, str]) -> str:
    asked = stated.get(field)
    return "" if asked == IGNORED else asked or next((plain[word] for word in words if word in plain), "")


def _best_worst(where: str, row: Mapping[str, Any], plain: Mapping[str, str], options: list[str]) -> Iterator[Compared]:
    best, worst = (cell_text(row[plain[name]]).strip() for name in ("best", "worst"))
    shown = [name for option in options if (name := cell_text(row[option]).strip())]
    if len(shown) < 2:
        raise InputError(
            f"{where}: which systems were shown? Columns option_1, option_2, ... with their names are expected beside "
            "best and worst."
        )
    if best == worst or best not in shown or worst not in shown:
        raise InputError(f"{where}: best is {best!r} and worst {worst!r}; two different ones of {', '.join(shown)}.")
    yield from ((best, other, "a") for other in shown if other != best)
    yield from ((other, worst, "a") for other in shown if other not in (best, worst))


def _ranked(where: str, row: Mapping[str, Any], ranks: Mapping[str, str]) -> Iterator[Compared]:
    given = {system: cell_text(row[name]).strip() for system, name in ranks.items()}
    try:
        placed = {system: float(text) for system, text in given.items() if text and text.lower() != "nan"}
    except ValueError:
        raise InputError(
            f"{where}: the ranks are {', '.join(given.values())}; numbers are expected, 1 the best."
        ) from None
    for one, other in combinations(placed, 2):
        gap = placed[one] - placed[other]
        yield one, other, "tie" if gap == 0 else "a" if gap < 0 else "b"


def _refuse_doubtful_zero(table: RawTable, ranks: Mapping[str, str]) -> None:
    """0 is the best of 0, 1, ..., or says that nothing was ranked: beside ranks that begin at 1 it may be both."""
    cells = {value for name in ranks.values() for value in table.values(name)}
    if "0" in cells and any(cell.isdigit() and int(cell) >= len(ranks) for cell in cells):
        raise InputError(
            f"{table.path}: the ranks run from 0 to {max(int(cell) for cell in cells if cell.isdigit())}, and "
            f"{len(ranks)} systems are ranked. If 0 stands for a system that was not ranked, clear these cells; if it "
            "is the best rank, count from 1."
        )


def _ordered(where: str, cell: Any) -> Iterator[Compared]:
    """`A > B = C`: from the best, equals joined by =."""
    places = [[name.strip() for name in part.split("=")] for part in cell_text(cell).split(">")]
    named = [name for place in places for name in place]
    if named == [""]:
        return
    if "" in named or len(set(named)) < len(named):
        raise InputError(f"{where}: the ranking is {cell_text(cell)!r}; every system once is expected, as A > B = C.")
    place_of = {name: k for k, place in enumerate(places) for name in place}
    yield from (
        (one, other, "tie" if place_of[one] == place_of[other] else "a") for one, other in combinations(named, 2)
    )
