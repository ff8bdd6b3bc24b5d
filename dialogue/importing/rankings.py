"""Rankings and best-worst answers taken apart into the pairs that they decide.

A ranking of four systems decides six pairs, best and worst of four decide five; the two in the middle are not compared
and make no vote. What comes from one answer hangs together: its pairs share an item (the answer itself where the table
names none), so that intervals draw whole answers, and the rater.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.columns import (
    ANSWER_WORDS,
    LIKELY,
    SYSTEM_WORDS,
    by_plain_name,
    holds_systems,
    plain_name,
    system_columns,
    twins,
)
from seedvote.dialogue.importing.judged import with_source
from seedvote.dialogue.importing.naming import IGNORED, typed_names
from seedvote.dialogue.importing.words import NUMBER, is_missing
from seedvote.dialogue.tables.table import RawTable, cell_text, from_rows

RANK = re.compile(r"^rank[_ .](.+)$|^(.+?)(?:[_ .]|(?<=\d))rank$", re.IGNORECASE)
OPTION = re.compile(r"^(?:option|choice|candidate|item|system|model)[_ ]?(?:\d+|[a-h])$", re.IGNORECASE)
ORDINALS = ("1st", "2nd", "3rd", "4th", "5th", "first", "second", "third", "fourth", "fifth")
ORDINAL = re.compile(rf"({'|'.join(ORDINALS[:5])}|(?:{'|'.join(ORDINALS)})(?=_))(?:_(?:place|rank|choice|best))?")
ORDERED = ("ranking", "ranked", "order", "ranks", "ordering", "rank_order", "preference_order")
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
    if "ranks" in stated and not _numbers_of_two(table, stated):
        return _apart(table, stated, plain, _by_columns(table, stated["ranks"]), "ranks")
    if {"choice", "worse", "scores", "ranks"} & {*stated} or {"choice", "worse"} & {*plain}:
        return None
    leaves = by_plain_name(table.names)
    ranks = {(match[1] or match[2]): name for name in table.names if (match := RANK.match(name))}
    ranks = ranks or {str(place): name for name in table.names if (place := _place_named(name))}
    options = [name for name in table.names if OPTION.match(name)]
    if {"best", "worst"} <= plain.keys() and (options or not holds_systems(table, plain["best"], plain["worst"])):
        kind, decided = "best and worst", lambda where, row: _best_worst(where, row, plain, options)
    elif len(ranks) > 1 and all(key.isdigit() for key in ranks) and not _hold_numbers(table, ranks.values()):
        in_order = [ranks[key] for key in sorted(ranks, key=int)]
        kind, decided = "ranks", lambda where, row: _ordered(where, {"": _names_in(row, in_order)}, "", {})
    elif len(ranks) > 1:
        _refuse_doubtful_zero(table, ranks)
        columns_named = _columns_of_systems(table, ranks.values())
        kind, decided = "ranks", lambda where, row: _ranked(where, row, _named_ranks(row, ranks, columns_named))
    elif (
        order := next((leaves[name] for name in _names_of_orders(leaves) if _holds_orders(table, leaves[name])), "")
    ) != "":
        side_columns = {leaf: name for leaf, name in leaves.items() if SYSTEM_WORDS & {*leaf.split("_")}}
        two = system_columns(table, stated)
        sides = [] if two is None else [two.a, two.b]
        kind, decided = "rankings", lambda where, row: _ordered(where, row, order, side_columns, sides)
    else:
        _ask_about_ranks(table)
        return None
    return _apart(table, stated, plain, decided, kind)


def _numbers_of_two(table: RawTable, stated: Mapping[str, str]) -> bool:
    """Whether `ranks=losses_a|losses_b` names a number of each of the two systems that other columns name."""
    names = [name.strip() for name in stated["ranks"].split("|")]
    return (
        bool(twins(names))
        and not _columns_of_systems(table, names)
        and system_columns(table, {**stated, "ranks": "", "lower": names[0], "upper": names[-1]}) is not None
    )


def _place_named(name: str) -> int:
    """The rank in `1st`, `2nd place` or `third_choice`; 0 where there is none. `first` alone may be the one shown."""
    match = ORDINAL.fullmatch(plain_name(name))
    return (ORDINALS.index(match[1]) % 5 + 1) if match else 0


def _hold_numbers(table: RawTable, names: Iterable[str]) -> bool:
    return all(NUMBER.fullmatch(value) or is_missing(value) for name in names for value in table.values(name))


def _names_in(row: Mapping[str, Any], columns: Iterable[str]) -> list[str]:
    """`rank_1` and `rank_2` may hold the names of the systems, and not their ranks."""
    return [name for column in columns if (name := cell_text(row[column]).strip())] or [""]


def _by_columns(table: RawTable, stated: str) -> Any:
    names = [name.strip() for name in stated.split("|")]
    if missing := [name for name in names if name not in table.names]:
        raise InputError(f"{table.path} has no column {missing[0]!r} (found: {', '.join(table.names)}).")
    columns_named = _columns_of_systems(table, names)
    leaves = [name.rpartition(".")[2] for name in names]
    is_nested = len({name.rpartition(".")[0] for name in names}) == 1
    ranks = dict(zip(leaves if is_nested else names, names, strict=True))
    return lambda where, row: _ranked(where, row, _named_ranks(row, ranks, columns_named))


def _columns_of_systems(table: RawTable, ranks: Iterable[str]) -> dict[str, str]:
    """Column of ranks -> the column that names its system: `system1rank` -> `system1Id`; empty unless all have one."""
    name_columns: dict[tuple[str, ...], str] = {}
    for name in table.names:
        words = re.findall(r"[a-z]+|\d+", plain_name(name))
        if SYSTEM_WORDS & {*words} and any(not NUMBER.fullmatch(value) for value in table.values(name)):
            name_columns.setdefault(tuple(word for word in words if word not in {*SYSTEM_WORDS, "id", "name"}), name)
    columns = {}
    for rank in ranks:
        words = re.findall(r"[a-z]+|\d+", plain_name(rank))
        key = tuple(word for word in words if word not in {*SYSTEM_WORDS, "rank"})
        if (column := name_columns.get(key)) is not None:
            columns[rank] = column
    return columns if len(columns) == len({*ranks}) == len({*columns.values()}) else {}


def _named_ranks(
    row: Mapping[str, Any], ranks: Mapping[str, str], name_columns: Mapping[str, str]
) -> Mapping[str, str]:
    return {cell_text(row[name_columns[rank]]).strip(): rank for rank in ranks.values()} if name_columns else ranks


def _names_of_orders(leaves: Mapping[str, str]) -> list[str]:
    """The names under which a ranking may stand; beside answers an order is the one in which two were shown."""
    has_answers = bool({*LIKELY["choice"], *LIKELY["worse"]} & leaves.keys())
    return [name for name in ORDERED if name in leaves and not (has_answers and name.endswith(("order", "ordering")))]


def _holds_orders(table: RawTable, name: str) -> bool:
    """Whether cells are orders of several names: lists, their text, or `A > B`."""
    return any(isinstance(cell, list | tuple) or ">" in cell_text(cell) or cell_text(cell)[:1] == "["
               for cell in table.columns[name])  # fmt: skip


def _ask_about_ranks(table: RawTable) -> None:
    """Columns that hold 1 to k in every row, each once, may be the ranks of k systems: asked, as 1 may be the worst."""
    values = {name: [cell for cell in table.values(name) if not is_missing(cell)] for name in table.names}
    numbers = [name for name, cells in values.items() if cells and all(cell in "123456789" for cell in cells)
               and not ANSWER_WORDS & {*plain_name(name).split("_")}]  # fmt: skip
    if not 2 <= len(numbers) <= 9 or len(table) < 4:
        return
    cells = zip(*(table.text(name) for name in numbers), strict=True)
    if all(sorted(row) == [str(k + 1) for k in range(len(numbers))] for row in cells if not any(map(is_missing, row))):
        raise Unclear(
            f"{table.path}: in every row, {', '.join(numbers)} hold 1 to {len(numbers)}, each once. Are they ranks, 1 "
            "the best? If 1 is the worst, turn them round first.",
            {"--columns": typed_names([("ranks", "|".join(numbers))])},
        )


def _apart(table: RawTable, stated: Mapping[str, str], plain: Mapping[str, str], decided: Any, kind: str) -> Apart:
    item, rater = _named("item", ITEMS, stated, plain), _named("rater", RATERS, stated, plain)
    table, source = with_source(table, [item, rater], "" if "source" in stated else plain.get("source", ""))
    rows, lines, lone = [], [], 0
    for number, (where, row) in enumerate(table.rows()):
        who = {field: cell_text(row[name]) for field, name in (("rater", rater), ("source", source)) if name}
        name = cell_text(row[item]) if item else f"answer {number + 1}"
        pairs = list(decided(where, row))
        lone += not pairs
        for system_a, system_b, choice in pairs:
            rows.append(
                {"pair": name, "item": name, **who, "system_a": system_a, "system_b": system_b, "choice": choice}
            )
            lines.append(table.lines[number] if table.lines else number + 1)
    if not rows:
        raise InputError(f"{table.path} holds no answer that compares two systems.")
    if lone > len(table) / 2:
        raise InputError(
            f"{table.path}: {lone:,} of {len(table):,} answers rank fewer than two systems. Take these rows out if "
            "nobody answered there; otherwise name the columns of the ranks: --columns ranks=ONE|OTHER"
        )
    note = f"{len(table):,} answers taken apart into {len(rows):,} pairs"
    pairs_table = RawTable(table.path, from_rows(table.path, rows).columns, tuple(lines), (*table.notes, note))
    return Apart(pairs_table, kind, {"an answer that ranks fewer than two systems": lone} if lone else {})


def _named(field: str, words: tuple[str, ...], stated: Mapping[str, str], plain: Mapping[str, str]) -> str:
    column = stated.get(field)
    return "" if column == IGNORED else column or next((plain[word] for word in words if word in plain), "")


def _best_worst(where: str, row: Mapping[str, Any], plain: Mapping[str, str], options: list[str]) -> Iterator[Compared]:
    best, worst = (cell_text(row[plain[name]]).strip() for name in ("best", "worst"))
    systems = [name for option in options if (name := cell_text(row[option]).strip())]
    if len(systems) < 2:
        raise InputError(
            f"{where}: which systems were shown? Columns option_1, option_2, ... with their names are expected beside "
            "best and worst."
        )
    if best == worst or best not in systems or worst not in systems:
        raise InputError(f"{where}: best is {best!r} and worst {worst!r}; two different ones of {', '.join(systems)}.")
    yield from ((best, system, "a") for system in systems if system != best)
    yield from ((system, worst, "a") for system in systems if system not in (best, worst))


def _ranked(where: str, row: Mapping[str, Any], ranks: Mapping[str, str]) -> Iterator[Compared]:
    ranks_of = {system: cell_text(row[name]).strip() for system, name in ranks.items()}
    try:
        placed = {system: float(text) for system, text in ranks_of.items() if text and not is_missing(text)}
    except ValueError:
        raise InputError(
            f"{where}: the ranks are {', '.join(ranks_of.values())}; numbers are expected, 1 the best."
        ) from None
    for system_a, system_b in combinations(placed, 2):
        gap = placed[system_a] - placed[system_b]
        yield system_a, system_b, "tie" if gap == 0 else "a" if gap < 0 else "b"


def _refuse_doubtful_zero(table: RawTable, ranks: Mapping[str, str]) -> None:
    """0 is the best of 0, 1, ..., or says that nothing was ranked: beside ranks that begin at 1 it may be both."""
    cells = {value for name in ranks.values() for value in table.values(name)}
    if "0" in cells and any(cell.isdigit() and int(cell) >= len(ranks) for cell in cells):
        raise InputError(
            f"{table.path}: the ranks run from 0 to {max(int(cell) for cell in cells if cell.isdigit())}, and "
            f"{len(ranks)} systems are ranked. If 0 stands for a system that was not ranked, clear these cells; if it "
            "is the best rank, count from 1."
        )


def _numbered(row: Mapping[str, Any], order: str, names: Sequence[str]) -> Any:
    """The ranking, with names for `[2, 1]`: two ranks, or two numbers of responses from the best, say the same."""
    numbers = [name for place in _places(row[order]) for name in place]
    if len(names) != 2 or sorted(numbers) not in (["0", "1"], ["1", "2"]):
        return row[order]
    systems = [cell_text(row[name]).strip() for name in names]
    return systems if numbers[0] < numbers[1] else systems[::-1]


def _ordered(
    where: str, row: Mapping[str, Any], order: str, columns: Mapping[str, str], sides: Sequence[str] = ()
) -> Iterator[Compared]:
    """`A > B = C`: from the best, equals joined by =; `model_a` is what the column of that name holds."""
    cell = _numbered(row, order, sides)
    places = [[cell_text(row[columns[plain_name(name)]]).strip() if plain_name(name) in columns else name
               for name in place] for place in _places(cell)]  # fmt: skip
    systems = [name for place in places for name in place]
    if systems == [""]:
        return
    if all(NUMBER.fullmatch(name) for name in systems):
        raise InputError(
            f"{where}: {order} is {cell_text(cell)}, which may be ranks, or numbers of responses from the best. Write "
            "the names of the systems there, from the best."
        )
    if "" in systems or len(set(systems)) < len(systems):
        raise InputError(f"{where}: the ranking is {cell_text(cell)!r}; every system once is expected, as A > B = C.")
    place_of = {name: k for k, place in enumerate(places) for name in place}
    yield from (
        (system_a, system_b, "tie" if place_of[system_a] == place_of[system_b] else "a")
        for system_a, system_b in combinations(systems, 2)
    )


def _places(cell: Any) -> list[list[str]]:
    """The names from the best, equals together, of a list, of its text, or of `A > B = C`."""
    if isinstance(cell, str) and cell[:1] == "[":
        with contextlib.suppress(ValueError):
            cell = json.loads(cell)
    if isinstance(cell, list | tuple):
        return [
            [cell_text(name).strip() for name in (part if isinstance(part, list | tuple) else [part])] for part in cell
        ]
    return [[name.strip() for name in part.split("=")] for part in cell_text(cell).split(">")]
