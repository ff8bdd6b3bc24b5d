"""One row a judgement, from tables of other shapes: surveys, rankings, nested, one column a rater, counts.

In a survey a row is a person and a column a question, and a key says what each column asked. Qualtrics marks previews
and unfinished surveys; they are left out and counted. Google Forms marks nothing.

A ranking of four systems decides six pairs, best and worst of four decide five; the two in the middle are not compared
and make no vote. What comes from one answer hangs together: its pairs share an item (the answer itself where the table
names none), so that intervals draw whole answers, and the rater.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, combinations
from pathlib import Path
from typing import Any

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.columns import (
    ANSWER_WORDS,
    BETTER_WORDS,
    LIKELY,
    NEGATIVE,
    SYSTEM_WORDS,
    add_source,
    by_plain_name,
    find_twins,
    holds_systems,
    leaf_name,
    plain_name,
    system_columns,
    unnamed_systems,
)
from seedvote.dialogue.importing.order import speaks_of_order
from seedvote.dialogue.importing.reading import IGNORED, Stated, type_names
from seedvote.dialogue.importing.scores_of_sides import LONE_RESPONSE, SCORES_OF_PAIR, join_pairs
from seedvote.dialogue.importing.tools import TOOLS, find_tools, recognise_tool
from seedvote.dialogue.importing.words import NUMBER, is_missing, read_word
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import RawTable, cell_text, explode_lists, flatten_table, from_rows

# Surveys


KEY = ("column", "pair")  # what a key must have; the rest goes to every vote of the column
PEOPLE_COLUMNS = (
    *("prolific_pid", "prolific_id", "participant_id", "worker_id", "workerid", "rater", "response_id", "responseid"),
    *("email_address", "email", "username"),
)
TIME_COLUMNS = ("recorded_date", "recordeddate", "end_date", "enddate", "timestamp", "submitted_at")


@dataclass(frozen=True, eq=False)
class Shaped:
    """A table with one judgement a row, its tool, and how it came to that."""

    table: RawTable
    asked: Stated
    form: str = ""
    dropped: Mapping[str, int] = field(default_factory=dict)  # reason -> judgements
    read: int | None = None  # judgements, where rows of the file are none
    rater: Mapping[str, str] = field(default_factory=dict)  # the column that names the person, where it is no role
    tool: str = "plain"


def melt_survey(table: RawTable, stated: Stated, needs: Sequence[str] = KEY) -> Shaped:
    """One row for each answer of each person, with what the key says about its column."""
    assert stated.wide is not None
    questions = _read_key(table, stated.wide, needs)
    dropped: Counter[str] = Counter()
    rater = stated.columns.get("rater") or _first_named(table, PEOPLE_COLUMNS)
    time = stated.columns.get("submitted") or _first_named(table, TIME_COLUMNS)
    rows: list[dict[str, Any]] = []
    lines = []
    for number, (_, person) in enumerate(table.rows()):
        if reason := _why_unusable(person):
            dropped[reason] += len(questions)
            continue
        for column, about in questions.items():
            choice = cell_text(person[column])
            if not choice.strip():
                dropped["nothing was chosen"] += 1
                continue
            who = cell_text(person[rater]) if rater else f"row {number + 1}"
            rows.append({**about, "choice": choice, "rater": who, "submitted": cell_text(person.get(time, ""))})
            lines.append(table.lines[number] if table.lines else number + 1)
    if not rows:
        raise InputError(f"{table.path} holds no answers in the columns of {stated.wide}.")
    columns = {ours: theirs for ours, theirs in stated.columns.items() if ours not in ("rater", "submitted")}
    return Shaped(
        from_rows(table.path, rows, table.notes, lines=lines),
        replace(stated, columns=columns, wide=None),
        f"one row a person, key {stated.wide.name}",
        dict(dropped),
        len(rows) + dropped.total(),
        {"rater": rater} if rater else {},
    )


def _read_key(table: RawTable, path: Path, needs: Sequence[str]) -> dict[str, dict[str, str]]:
    """Column of the survey -> what the key says of it."""
    key = read_table(path)
    if missing := [name for name in needs if name not in key.names]:
        raise InputError(f"{path} has no column {missing[0]!r} (found: {', '.join(key.names)}); a key needs it.")
    questions: dict[str, dict[str, str]] = {}
    for where, row in key.rows():
        about = {name: cell_text(value).strip() for name, value in row.items() if name != "column"}
        column = _key_column(table, cell_text(row["column"]).strip(), where)
        if column in questions:
            raise InputError(f"{where}: {path} names the column {column!r} twice.")
        questions[column] = {name: value for name, value in about.items() if value}
        if len({"system_a", "system_b"} & questions[column].keys()) == 1:
            raise InputError(f"{where}: the key names one of system_a and system_b; name both, or neither.")
        if empty := [name for name in needs[1:] if name not in questions[column]]:
            raise InputError(f"{where}: {empty[0]} is empty; every question needs one.")
    return questions


def _key_column(table: RawTable, name: str, where: str) -> str:
    """The column of that name, or whose question has these words."""
    titled = [short for short, title in (table.titles or {}).items() if title.strip() == name]
    fits = [name] if name in table.names else titled
    if len(fits) != 1:
        raise InputError(f"{where}: the table has {len(fits)} columns {name!r} (found: {', '.join(table.names[:30])}).")
    return fits[0]


def _first_named(table: RawTable, words: tuple[str, ...]) -> str:
    plain = {plain_name(name): name for name in table.names}
    return next((plain[word] for word in words if word in plain), "")


def _why_unusable(person: Mapping[str, Any]) -> str:
    """Why a response of Qualtrics does not count; nothing for the rest."""
    if cell_text(person.get("Status")).strip().lower() in ("survey preview", "1", "spam", "8") and "Finished" in person:
        return "a preview or spam"
    if cell_text(person.get("Finished")).strip().lower() in ("false", "0"):
        return "the survey was not finished"
    return ""


# Rankings and best-worst answers


RANK = re.compile(r"^rank[_ .](.+)$|^(.+?)(?:[_ .]|(?<=\d))rank$", re.IGNORECASE)
OPTION = re.compile(r"^(?:option|choice|candidate|item|system|model)[_ ]?(?:\d+|[a-h])$", re.IGNORECASE)
ORDINALS = ("1st", "2nd", "3rd", "4th", "5th", "first", "second", "third", "fourth", "fifth")
ORDINAL = re.compile(rf"({'|'.join(ORDINALS[:5])}|(?:{'|'.join(ORDINALS)})(?=_))(?:_(?:place|rank|choice|best))?")
ORDERED = ("ranking", "ranked", "order", "ranks", "ordering", "rank_order", "preference_order")
ITEM_COLUMNS = ("item", "item_id", "pair", "question_id", "prompt_id", "id", "task")
RATER_COLUMNS = ("rater", "worker", "worker_id", "workerid", "annotator", "user", "user_id", "participant", "judge")

Compared = tuple[str, str, str]  # two systems, and a, b or tie


def take_rankings_apart(table: RawTable, asked: Stated) -> Shaped | None:
    """The rankings of a table as pairs; None where it holds none."""
    stated = asked.columns
    plain = {plain_name(name): name for name in table.names}
    if "ranks" in stated and not _numbers_of_two(table, stated):
        return _take_apart(table, asked, plain, _by_columns(table, stated["ranks"]), "ranks")
    if {"choice", "worse", "scores", "ranks"} & {*stated} or {"choice", "worse"} & {*plain}:
        return None
    leaves = by_plain_name(table.names)
    ranks = {(match[1] or match[2]): name for name in table.names if (match := RANK.match(name))}
    ranks = ranks or {str(place): name for name in table.names if (place := _place_named(name))}
    options = [name for name in table.names if OPTION.match(name)]
    if {"best", "worst"} <= plain.keys() and (options or not holds_systems(table, plain["best"], plain["worst"])):
        kind, decided = "best and worst", lambda where, row: _compare_best_worst(where, row, plain, options)
    elif len(ranks) > 1 and all(key.isdigit() for key in ranks) and not _hold_numbers(table, ranks.values()):
        in_order = [ranks[key] for key in sorted(ranks, key=int)]
        kind, decided = "ranks", lambda where, row: _compare_order(where, {"": _names_in(row, in_order)}, "", {})
    elif len(ranks) > 1:
        _refuse_doubtful_zero(table, ranks)
        _refuse_ranks_of_sides(table, stated, ranks)
        columns_named = _columns_of_systems(table, ranks.values())
        kind, decided = "ranks", lambda where, row: _compare_ranks(where, row, _named_ranks(row, ranks, columns_named))
    elif (
        order := next((leaves[name] for name in _names_of_orders(leaves) if _holds_orders(table, leaves[name])), "")
    ) != "":
        side_columns = {leaf: name for leaf, name in leaves.items() if SYSTEM_WORDS & {*leaf.split("_")}}
        two = system_columns(table, stated)
        sides = [] if two is None else [two.a, two.b]
        kind, decided = "rankings", lambda where, row: _compare_order(where, row, order, side_columns, sides)
    else:
        _ask_about_ranks(table)
        return None
    return _take_apart(table, asked, plain, decided, kind)


def _numbers_of_two(table: RawTable, stated: Mapping[str, str]) -> bool:
    """Whether `ranks=losses_a|losses_b` names a number of each of the two systems that other columns name."""
    names = [name.strip() for name in stated["ranks"].split("|")]
    return (
        bool(find_twins(names))
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
    table.check_columns(names)
    columns_named = _columns_of_systems(table, names)
    leaves = [name.rpartition(".")[2] for name in names]
    is_nested = len({name.rpartition(".")[0] for name in names}) == 1
    ranks = dict(zip(leaves if is_nested else names, names, strict=True))
    return lambda where, row: _compare_ranks(where, row, _named_ranks(row, ranks, columns_named))


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


def _refuse_ranks_of_sides(table: RawTable, stated: Mapping[str, str], ranks: Mapping[str, str]) -> None:
    """`rank_a` and `rank_b` beside columns of other names that hold the systems: nothing says which one is a."""
    columns = list(ranks.values())
    if not find_twins(columns) or _columns_of_systems(table, columns):
        return
    systems = system_columns(table, {**stated, **{f"rank {name}": name for name in columns}})
    pairs = [(systems.a, systems.b)] if systems else unnamed_systems(table, columns)
    if not pairs:
        return
    first, second = pairs[0]
    sentence = f"{table.path}: {' and '.join(columns)} rank two responses, and {first} and {second} name systems."
    if systems is not None and systems.kind != find_twins(columns)[0][1].kind:
        raise InputError(f"{sentence} Call the ranks as the systems are called, e.g. rank_left beside model_left.")
    raise Unclear(
        f"{sentence} Which system does {columns[0]} rank?",
        *(
            {"--columns": type_names([("ranks", "|".join(columns)), ("system_a", a), ("system_b", b)])}
            for a, b in ((first, second), (second, first))
        ),
    )


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
    return any(
        isinstance(cell, list | tuple) or ">" in cell_text(cell) or cell_text(cell)[:1] == "["
        for cell in table.columns[name]
    )


def _ask_about_ranks(table: RawTable) -> None:
    """Columns that hold 1 to k in every row, each once, may be the ranks of k systems: asked, as 1 may be the worst."""
    values = {name: [cell for cell in table.values(name) if not is_missing(cell)] for name in table.names}
    numbers = [
        name
        for name, cells in values.items()
        if cells and all(cell in "123456789" for cell in cells) and not ANSWER_WORDS & {*plain_name(name).split("_")}
    ]
    if not 2 <= len(numbers) <= 9 or len(table) < 4:
        return
    cells = zip(*(table.text(name) for name in numbers), strict=True)
    if all(sorted(row) == [str(k + 1) for k in range(len(numbers))] for row in cells if not any(map(is_missing, row))):
        raise Unclear(
            f"{table.path}: in every row, {', '.join(numbers)} hold 1 to {len(numbers)}, each once. Are they ranks, 1 "
            "the best? If 1 is the worst, turn them round first.",
            {"--columns": type_names([("ranks", "|".join(numbers))])},
        )


def _take_apart(table: RawTable, asked: Stated, plain: Mapping[str, str], decided: Any, kind: str) -> Shaped:
    stated = asked.columns
    item, rater = (
        _named_column("item", ITEM_COLUMNS, stated, plain),
        _named_column("rater", RATER_COLUMNS, stated, plain),
    )
    table, source = add_source(table, [item, rater], "" if "source" in stated else plain.get("source", ""))
    rows, places, lone = [], [], 0
    for number, (where, row) in enumerate(table.rows()):
        who = {field: cell_text(row[name]) for field, name in (("rater", rater), ("source", source)) if name}
        name = cell_text(row[item]) if item else f"answer {number + 1}"
        pairs = list(decided(where, row))
        lone += not pairs
        for system_a, system_b, choice in pairs:
            rows.append(
                {"pair": name, "item": name, **who, "system_a": system_a, "system_b": system_b, "choice": choice}
            )
            places.append(where)
    if not rows:
        raise InputError(f"{table.path} holds no answer that compares two systems.")
    if lone > len(table) / 2:
        raise InputError(
            f"{table.path}: {lone:,} of {len(table):,} answers rank fewer than two systems. Take these rows out if "
            "nobody answered there; otherwise name the columns of the ranks: --columns ranks=ONE|OTHER"
        )
    note = f"{len(table):,} answers taken apart into {len(rows):,} pairs"
    return Shaped(
        from_rows(table.path, rows, (*table.notes, note), places),
        replace(asked, columns={ours: name for ours, name in stated.items() if ours not in ("item", "rater", "ranks")}),
        kind,
        {"an answer that ranks fewer than two systems": lone} if lone else {},
        len(rows) + lone,
    )


def _named_column(field: str, words: tuple[str, ...], stated: Mapping[str, str], plain: Mapping[str, str]) -> str:
    column = stated.get(field)
    return "" if column == IGNORED else column or next((plain[word] for word in words if word in plain), "")


def _compare_best_worst(
    where: str, row: Mapping[str, Any], plain: Mapping[str, str], options: list[str]
) -> Iterator[Compared]:
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


def _compare_ranks(where: str, row: Mapping[str, Any], ranks: Mapping[str, str]) -> Iterator[Compared]:
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


def _name_numbers(row: Mapping[str, Any], order: str, names: Sequence[str]) -> Any:
    """The ranking, with names for `[2, 1]`: two ranks, or two numbers of responses from the best, say the same."""
    numbers = [name for place in _read_places(row[order]) for name in place]
    if len(names) != 2 or sorted(numbers) not in (["0", "1"], ["1", "2"]):
        return row[order]
    systems = [cell_text(row[name]).strip() for name in names]
    return systems if numbers[0] < numbers[1] else systems[::-1]


def _compare_order(
    where: str, row: Mapping[str, Any], order: str, columns: Mapping[str, str], sides: Sequence[str] = ()
) -> Iterator[Compared]:
    """`A > B = C`: from the best, equals joined by =; `model_a` is what the column of that name holds."""
    cell = _name_numbers(row, order, sides)
    places = [
        [cell_text(row[columns[plain_name(name)]]).strip() if plain_name(name) in columns else name for name in place]
        for place in _read_places(cell)
    ]
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


def _read_places(cell: Any) -> list[list[str]]:
    """The names from the best, equals together, of a list, of its text, or of `A > B = C`."""
    if isinstance(cell, str) and cell[:1] == "[":
        with contextlib.suppress(ValueError):
            cell = json.loads(cell)
    if isinstance(cell, list | tuple):
        return [
            [cell_text(name).strip() for name in (part if isinstance(part, list | tuple) else [part])] for part in cell
        ]
    return [[name.strip() for name in part.split("=")] for part in cell_text(cell).split(">")]


# Any shape


SEVERAL = "|"  # between the columns of several raters, or of ranks: choice=ann|bob
OF_RATER = re.compile(r"^(rater|annotator|judge|worker|coder|labell?er|evaluator|person|expert|assessor)(_\w+|\d+)?$")
COUNTS = {"wins", "win", "votes", "vote", "n", "count", "counts", "won", "preferred"}  # and no other word
TIE_COUNTS = ("ties", "n_ties", "tie", "ties_count", "count_tie", "n_tie", "count_ties", "votes_tie", "draws")
MOST_COUNTED = 100_000


def shape_table(table: RawTable, stated: Stated) -> Shaped:
    """The table in long form; what is already so stays as it is."""
    if stated.explode:
        table = explode_lists(table, stated.explode)
    if stated.wide is not None:
        survey = melt_survey(table, stated)
        return replace(survey, form=f"wide table, {survey.form}")
    if stated.tool and stated.tool not in (*TOOLS, "plain"):
        raise InputError(f"--from is {stated.tool!r}; the tools are {', '.join(TOOLS)} and plain.")
    if not find_tools(table.names) and stated.tool in ("", "plain"):
        table = _split_two_systems(flatten_table(table))
    if not stated.tool:
        if (apart := join_pairs(table, stated.columns)) is not None:
            pairs, field_of_scores = apart
            dropped = {LONE_RESPONSE: lone} if (lone := len(table) - 2 * len(pairs)) else {}
            stated = replace(stated, columns={**stated.columns, field_of_scores: SCORES_OF_PAIR})
            return Shaped(pairs, stated, "one row a response", dropped, len(pairs) + lone)
        if (parts := take_rankings_apart(table, stated) or _repeat_counts(table, stated)) is not None:
            return parts
        if columns := _columns_of_raters(table, stated):
            return _melt_raters(table, stated, columns)
    return Shaped(table, stated, tool=stated.tool or recognise_tool(table, stated.columns))


def _split_two_systems(table: RawTable) -> RawTable:
    """`models: ["alpha", "beta"]` as two columns, and the numbers of both, as in `scores: [5, 2]`."""
    for name, cells in table.columns.items():
        if not all(isinstance(cell, list) and len(cell) == 2 for cell in cells):
            continue
        is_systems = plain_name(leaf_name(name)).removesuffix("s") in SYSTEM_WORDS
        holds_numbers = all(isinstance(part, int | float) for cell in cells for part in cell)
        if is_systems or (holds_numbers and not speaks_of_order(name)):
            table = table.with_columns(**{f"{name}.{side}": [cell[side] for cell in cells] for side in (0, 1)})
    return table


def _columns_of_raters(table: RawTable, stated: Stated) -> list[str]:
    """The columns that hold one rater's answers each: stated as `choice=ann|bob`, or called after raters."""
    stated_choice = stated.columns.get("choice", "")
    if SEVERAL in stated_choice and stated_choice not in table.names:
        names = [name.strip() for name in stated_choice.split(SEVERAL)]
        table.check_columns(names)
        return names
    if {"choice", "worse", "rater"} & {*stated.columns, *map(plain_name, table.names)}:
        return []
    columns = [name for name in table.names if OF_RATER.match(plain_name(name))]
    says = [name for name in columns if (values := table.values(name)) and all(map(read_word, values))]
    return says if len(says) > 1 and len(says) == len(columns) else []


def _melt_raters(table: RawTable, stated: Stated, columns: list[str]) -> Shaped:
    """One row an answer; the column is the rater."""
    names = [name for name in table.names if name not in columns]
    rows = [(row, name) for row in range(len(table)) for name in columns]
    long: dict[str, list[object]] = {}
    if "pair" not in stated.columns and not {"pair", "item"} & {plain_name(name) for name in names}:
        long["pair"] = [f"row {row + 1}" for row, _ in rows]
    long |= {"rater": [name for _, name in rows], "choice": [table.columns[name][row] for row, name in rows]}
    stated_columns = {ours: theirs for ours, theirs in stated.columns.items() if ours != "choice"}
    blank = [row for row, cell in enumerate(long["choice"]) if cell in (None, "")]
    result = table.repeat([row for row, _ in rows], names, **long)
    if blank and len(blank) < len(rows):
        result = result.take([row for row in range(len(rows)) if row not in set(blank)])
    form = f"table with one column a rater ({', '.join(columns[:6])}{', ...' if len(columns) > 6 else ''})"
    dropped = {"a rater who did not judge this row": len(blank)} if blank else {}
    return Shaped(result, replace(stated, columns=stated_columns), form, dropped, len(rows))


def _repeat_counts(table: RawTable, stated: Stated) -> Shaped | None:
    """Counts of wins in place of votes: each becomes as many rows."""
    if {"choice", "worse", "scores", "ranks"} & {*stated.columns} or {"choice", "worse"} & {
        *map(plain_name, table.names)
    }:
        return None
    plain = {plain_name(leaf_name(name)): name for name in table.names}
    counts = [two for shared, two in find_twins(table.names) if shared and set(shared) <= COUNTS]
    systems = system_columns(table, stated.columns)
    if len(counts) != 1 or systems is None:
        return None
    two = counts[0]
    known = (two.a, two.b, systems.a, systems.b)
    if names := [name for name in table.names if name not in known and _seems_an_answer(table, name)]:
        raise Unclear(
            f"{table.path}: {two.a} and {two.b} seem to count votes, and {names[0]} seems to hold the answer of one "
            f"vote. If each row is one vote, say so; if it counts several, delete the column {names[0]}.",
            *({"--columns": type_names([("choice", name)])} for name in names),
        )
    tie = next((plain[name] for name in TIE_COUNTS if name in plain), "")
    columns = {
        name: [_read_count(table, row, cell) for row, cell in enumerate(table.text(name))]
        for name in (two.a, two.b, tie)
        if name
    }
    total = sum(chain.from_iterable(columns.values()))
    if not 0 < total <= MOST_COUNTED:
        raise InputError(f"{table.path}: {two.a} and {two.b} count {total:,} votes; at most {MOST_COUNTED:,} are read.")
    rows = [
        (row, choice)
        for row in range(len(table))
        for name, choice in ((two.a, "a"), (two.b, "b"), (tie, "tie"))
        if name
        for _ in range(columns[name][row])
    ]
    names = [name for name in table.names if name not in columns]
    is_named = bool({"pair", "item"} & {*names, *stated.columns})
    pairs = {} if is_named else {"pair": [f"row {row + 1}" for row, _ in rows]}
    long = table.repeat([row for row, _ in rows], names, **pairs, choice=[choice for _, choice in rows])
    note = f"{len(table):,} rows of counts are {len(rows):,} votes"
    stated_columns = {ours: theirs for ours, theirs in stated.columns.items() if ours != "choice"} | {"rater": IGNORED}
    stated = replace(stated, columns=stated_columns)
    return Shaped(replace(long, notes=(*table.notes, note)), stated, "counts of wins", read=len(rows))


def _seems_an_answer(table: RawTable, name: str) -> bool:
    """Whether a column may hold an answer of its own: by its name, or since all of its words say sides."""
    plain, values = plain_name(leaf_name(name)), table.values(name)
    if not values or plain in TIE_COUNTS or (speaks_of_order(name) and not BETTER_WORDS & set(plain.split("_"))):
        return False
    is_named = plain in (*LIKELY["choice"], *LIKELY["worse"]) or {*BETTER_WORDS, *NEGATIVE} & set(plain.split("_"))
    sides = [meaning for value in values[:50] if (meaning := read_word(value)) is not None]
    says = len(sides) == len(values[:50]) and any(meaning.kind != "tie" for meaning in sides)
    return bool(is_named) or (says and not all(value.isdigit() for value in values))


def _read_count(table: RawTable, row: int, cell: str) -> int:
    if not cell or is_missing(cell):
        return 0
    if re.fullmatch(r"\d+(\.0+)?", cell):
        return int(float(cell))
    raise InputError(f"{table.place(row)}: a count is {cell!r}; a whole number is expected.")
