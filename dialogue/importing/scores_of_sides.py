"""Scores of responses under their systems: two columns of scores a row, or a row a place, and spans of errors.

`score_a` belongs to `model_a`, and `score_left` to `model_left`. A rating under `left` is that of the system that stood
there. The errors that MQM marks in a text add up to one number for each system, item and rater.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.columns import (
    BETTER_WORDS,
    LIKELY,
    NEGATIVE,
    RIVALS,
    SYSTEM_WORDS,
    TwoColumns,
    by_plain_name,
    find_twins,
    is_turned,
    leaf_name,
    plain_name,
    system_columns,
)
from seedvote.dialogue.importing.reading import type_names
from seedvote.dialogue.importing.words import NUMBER, is_missing, read_word
from seedvote.dialogue.tables.table import RawTable

SIDES = ("system_a", "system_b")
SCORE_WORDS = {"score", "scores", "rating", "stars", "grade", "points", "likert", "quality", "rank"}
NAMES = ("system", "model", "position", "side", "response", "place")
WEIGHTS = {"critical": 10.0, "major": 5.0, "minor": 1.0, "neutral": 0.0, "no-error": 0.0, "no error": 0.0, "": 0.0}
MQM = {"system", "rater", "severity"}


def split_scores(table: RawTable, stated: Mapping[str, str]) -> RawTable | None:
    """One row a score, where each row scores both responses; the errors of MQM as sums. None where it does not."""
    if {plain_name(name) for name in table.names} >= MQM and "score" not in table.names:
        return _sum_errors(table)
    if columns_of_systems := _scores_by_name(table):
        constant = {column: [system] * len(table) for system, column in columns_of_systems.items()}
        return melt_scores(table, constant, items=("item", "item_id", "id"))
    scores = [two for shared, two in find_twins(table.names) if set(shared) & SCORE_WORDS]
    systems = system_columns(table, {ours: theirs for ours, theirs in stated.items() if ours in SIDES})
    if systems is None or len(scores) != 1:
        return None
    (score,) = scores
    if _kind_of_sides(score) != _kind_of_sides(systems):
        raise _other_kind(table, score, systems)
    long = melt_scores(
        table,
        {score.a: table.columns[systems.a], score.b: table.columns[systems.b]},
        but=(systems.a, systems.b, "system", "score"),
        items=("item", "pair"),
    )
    return long if "item" in long.names else long.with_columns(item=long.columns["pair"])


def melt_scores(
    table: RawTable, systems: Mapping[str, Sequence[object]], items: Sequence[str], but: Sequence[str] = ()
) -> RawTable:
    """One row a score: `systems` are the columns of scores, each with the system of every row.

    Where none of the columns `items` is there, a row is an item of its own. Columns called as in `but` are left.
    """
    names = [name for name in table.names if name not in (*systems, *but)]
    order = [(row, name) for row in range(len(table)) for name in systems]
    more: dict[str, Sequence[object]] = {
        "system": [systems[name][row] for row, name in order],
        "score": [table.columns[name][row] for row, name in order],
    }
    if not {*items} & {plain_name(name) for name in names}:
        more["item"] = [f"row {row + 1}" for row, _ in order]
    return table.repeat([row for row, _ in order], names, **more)


# Scores as votes: `--columns scores=score_a|score_b`, the higher one wins; `ranks=`, the lower one

SEVERAL = "|"  # between two columns
SCORES_OF_PAIR, LONE_RESPONSE = "score_a|score_b", "a response without its partner"
BY_SCORE = "the better by score"  # a column that is added
CHOSEN = {*BETTER_WORDS, "chosen", "won", "win", "wins", "selected", "picked"}  # in the name of a flag
MARKS = {"true": True, "yes": True, "1": True, "1.0": True, "false": False, "no": False, "0": False, "0.0": False}


def ways_to_score(table: RawTable) -> list[dict[str, str]]:
    """`scores=score_a|score_b` where the higher number is better; `ranks=` too where it may be the lower one."""
    if len(columns := list(_scores_by_name(table).values())) == 2:
        return _ways_by_columns(table, columns, is_plain=True)
    ways = [
        _ways_by_columns(table, [two.a, two.b], is_plain={*shared} <= SCORE_WORDS - {"rank"})
        for shared, two in find_twins(table.names)
        if {*shared} & SCORE_WORDS
    ]
    return [way for several in ways for way in several]


def ways_to_score_rows(table: RawTable) -> list[dict[str, str]]:
    """The same where two rows with a score each make a pair."""
    columns = [name for name in table.names if plain_name(name) in SCORE_WORDS]
    return [
        way
        for name in columns
        if join_pairs(table, {"scores": name}) is not None
        for way in _ways_by_columns(table, [name], is_plain=True)
    ]


def _ways_by_columns(table: RawTable, columns: Sequence[str], *, is_plain: bool) -> list[dict[str, str]]:
    may_be_ranks = {cell for name in columns for cell in table.values(name)} <= {"1", "2", "1.0", "2.0"}
    fields = ("scores", "ranks") if may_be_ranks or not is_plain else ("scores",)
    return [{"--columns": type_names([(field, SEVERAL.join(columns))])} for field in fields]


def ask_about_numbers(table: RawTable, systems: TwoColumns | None) -> None:
    """Two columns of numbers, one for each system, whose name does not say whether more is better."""
    if systems is None:
        return
    for _, two in find_twins(name for name in table.names if name not in (systems.a, systems.b)):
        cells = [*table.values(two.a), *table.values(two.b)]
        if two.kind == systems.kind and len({*cells}) > 1 and all(NUMBER.fullmatch(cell) for cell in cells):
            raise Unclear(
                f"{table.path} has no column 'choice', which every vote needs. {two.a} and {two.b} hold a number for "
                "each response. Does the higher number win (scores), or the lower one (ranks)?",
                *_ways_by_columns(table, [two.a, two.b], is_plain=False),
            )


def add_answers_by_score(
    table: RawTable, stated: str, systems: TwoColumns | None, *, lower_wins: bool
) -> tuple[RawTable, TwoColumns]:
    """The table with a column that names the better of two by their scores; equal scores are a tie."""
    names = [name.strip() for name in stated.split(SEVERAL)]
    if len(names) != 2 or (missing := [name for name in names if name not in table.names]):
        what = f"no column {missing[0]!r}" if len(names) == 2 else f"scores={stated}"
        raise InputError(
            f"{table.path}: {what}; two columns are expected, e.g. scores=score_a|score_b (found: "
            f"{', '.join(table.names)})."
        )
    if systems is None or not find_twins(names):
        parts = _systems_named(names, () if systems is None else (*table.values(systems.a), *table.values(systems.b)))
        if not parts:
            raise InputError(
                f"{table.path}: nothing says which of {names[0]} and {names[1]} is the score of "
                f"{systems and systems.a}. Name them as the systems are named."
            )
        first, second = (f"system of {name}" for name in names)
        systems = TwoColumns(first, second, "letters", "by the names of the scores")
        called = dict(zip((first, second), parts, strict=True))
        table = table.with_columns(**{name: [system] * len(table) for name, system in called.items()})
    for _, two in find_twins(names) if systems.family else ():
        if _kind_of_sides(two) != _kind_of_sides(systems):
            raise _other_kind(table, two, systems)
        names = [two.b, two.a] if systems.turned else [two.a, two.b]
    answers = []
    for row, cells in enumerate(zip(*map(table.text, names), strict=True)):
        if any(not cell or is_missing(cell) for cell in cells):
            answers.append("")
            continue
        if not all(map(NUMBER.fullmatch, cells)):
            raise InputError(
                f"{table.place(row)}: {names[0]} and {names[1]} are {' and '.join(cells)}; numbers are expected."
            )
        gap = (float(cells[0]) - float(cells[1])) * (-1 if lower_wins else 1)
        answers.append("tie" if gap == 0 else systems.a if gap > 0 else systems.b)
    return table.with_columns(**{BY_SCORE: answers}), systems


def _systems_named(names: Sequence[str], systems: Sequence[str]) -> tuple[str, ...]:
    """`alpha` and `beta` of `annotations.alpha.score` and `annotations.beta.score`; empty where systems fit neither."""
    if systems:
        spelt = {plain_name(system): system for system in systems}
        fits = [
            [system for plain, system in spelt.items() if f"_{plain}_" in f"_{plain_name(name)}_"] for name in names
        ]
        return tuple(chain.from_iterable(fits)) if len(spelt) == 2 and [*map(len, fits)] == [1, 1] else ()
    parts = [re.split(r"[.:]", name) for name in names]
    different = [k for k, (a, b) in enumerate(zip(*parts, strict=False)) if a != b]
    if len(parts[0]) != len(parts[1]) or len(different) != 1:
        return tuple(names)
    return tuple(part[different[0]] for part in parts)


def join_pairs(table: RawTable, stated: Mapping[str, str]) -> tuple[RawTable, str] | None:
    """One row a pair, where two rows with a system each make one, and whether `scores` or `ranks` say who won.

    A flag says which response was chosen, or a rank; or the user names the column. None where the rows are not so.
    """
    plain = by_plain_name(table.names)
    field = "ranks" if "ranks" in stated else "scores"
    value = stated.get(field, "")
    if is_mark := value not in table.names:
        value, field = _find_mark(table)
    if not value or {"choice", "worse"} & {*stated, *plain} or {*RIVALS[1]} & plain.keys():
        return None
    system = next(
        (
            name
            for word, name in plain.items()
            if SYSTEM_WORDS & {*word.split("_")} and not {*word.split("_")} - {*SYSTEM_WORDS, "name", "id"}
        ),
        next((plain[word] for word in NAMES if word in plain), ""),
    )
    pair = stated.get("pair") or next((plain[word] for word in ("pair", *LIKELY["pair"]) if word in plain), "")
    if not (system and pair) or value in (system, pair):
        return None
    same = [pair, *(plain[word] for word in ("rater", *LIKELY["rater"], "source") if word in plain)]
    groups: dict[tuple[str, ...], list[int]] = {}
    for row, key in enumerate(zip(*map(table.text, dict.fromkeys(same)), strict=True)):
        groups.setdefault(key, []).append(row)
    systems = table.text(system)
    if any(len(rows) > 2 or len({systems[row] for row in rows}) < len(rows) for rows in groups.values()):
        return None
    twos = [rows for rows in groups.values() if len(rows) == 2]
    if len(twos) < max(1, 0.8 * len(groups)):
        return None
    two_columns = system_columns(table, {ours: theirs for ours, theirs in stated.items() if ours in SIDES})
    used = [system, value, *([two_columns.a, two_columns.b] if two_columns else [])]
    cells, systems = table.text(value), name_systems_of_places(table, stated, system).text(system)
    others = {name: table.text(name) for name in table.names if name not in used}
    shared = [name for name, texts in others.items() if all(texts[first] == texts[second] for first, second in twos)]
    scores = [
        _read_two_scores(cells[first], cells[second], is_flag=is_mark and field == "scores") for first, second in twos
    ]
    columns: dict[str, Sequence[object]] = {}
    for side, name in enumerate("ab"):
        columns[f"system_{name}"] = [systems[rows[side]] for rows in twos]
        columns[f"score_{name}"] = [two[side] for two in scores]
    note = f"{len(table):,} rows of one response are {len(twos):,} pairs"
    pairs = table.repeat([first for first, _ in twos], shared, **columns)
    return replace(pairs, notes=(*table.notes, note)), field


def _read_two_scores(first: str, second: str, *, is_flag: bool) -> tuple[str, str]:
    """Two scores; two flags as 1 and 0, and as nothing where they are equal: a tie, or no answer."""
    if not is_flag:
        return first, second
    flags = [MARKS.get(cell.lower()) for cell in (first, second)]
    return ("", "") if None in flags or flags[0] == flags[1] else (str(int(bool(flags[0]))), str(int(bool(flags[1]))))


def _find_mark(table: RawTable) -> tuple[str, str]:
    """The column that says of every response whether it was chosen (`scores`), or its rank; empty where none does."""
    marks = []
    for name in table.names:
        words = {*plain_name(leaf_name(name)).split("_")}
        cells = {word.lower() for word in table.values(name)}
        if (
            words & CHOSEN
            and not words & NEGATIVE
            and not is_turned(name)
            and len(cells) == 2
            and cells <= MARKS.keys()
        ):
            marks.append((name, "scores"))
        if words == {"rank"} and cells == {"1", "2"}:
            marks.append((name, "ranks"))
    return marks[0] if len(marks) == 1 else ("", "")


def _scores_by_name(table: RawTable) -> dict[str, str]:
    """System -> its column, where each has a score under its name: Pearmut's `annotations.alpha.score`."""
    groups: dict[tuple[str, str], dict[str, str]] = {}
    for name in table.names:
        if parts := re.fullmatch(r"(.*\.)?([^.]+)\.(score|rating)", name):
            groups.setdefault((parts[1] or "", parts[3]), {})[parts[2]] = name
    several = [columns for columns in groups.values() if len(columns) > 1]
    return several[0] if len(several) == 1 else {}


def _other_kind(table: RawTable, score: TwoColumns, systems: TwoColumns) -> InputError:
    return InputError(
        f"{table.path}: {score.a} and {score.b} are scores of {_kind_of_sides(score)}, and {systems.a} and {systems.b} "
        f"name the systems by {_kind_of_sides(systems)}. Name the systems of the scores: --columns "
        "system_a=...,system_b=..."
    )


def _kind_of_sides(two: TwoColumns) -> str:
    return "places" if two.kind == "places" else "an order" if {"first", "1st"} & {*two.family} else "letters"


def name_systems_of_places(table: RawTable, stated: Mapping[str, str], column: str = "") -> RawTable:
    """The table, with the systems in place of sides where a row scores what stood at one side."""
    plain = {plain_name(leaf_name(name)): name for name in table.names}
    name = column or stated.get("system") or next((plain[word] for word in NAMES if word in plain), "")
    words = table.values(name) if name in table.names else ()
    meant = {word: read_word(word) for word in words}
    if not words or not all(
        meaning_of_word is not None and meaning_of_word.kind in ("place", "letter")
        for meaning_of_word in meant.values()
    ):
        return table
    stated_systems = {ours: theirs for ours, theirs in stated.items() if ours in SIDES}
    are_letters = all(
        meaning_of_word is not None and meaning_of_word.kind == "letter" for meaning_of_word in meant.values()
    )
    if "system" in stated and not stated_systems and are_letters:
        return table  # whoever names the column says that these letters are systems
    systems = system_columns(table, stated_systems) if len(set(words)) == 2 else None
    if systems is None and are_letters and SYSTEM_WORDS & {*plain_name(leaf_name(name)).split("_")}:
        return replace(table, notes=(*table.notes, f"{' and '.join(words[:4])} of {name} are taken for systems"))
    kinds = {
        "places" if meaning_of_word and meaning_of_word.kind == "place" else "letters"
        for meaning_of_word in meant.values()
    }
    if systems is None or kinds != {systems.kind}:
        raise InputError(
            f"{table.path}: {name} holds sides ({', '.join(words[:4])}) and no systems, so a rating belongs to a place "
            "and nobody knows to whom. Name the columns of the two systems: --columns system_a=...,system_b=... If "
            f"these are the names of the systems: --columns system={name}"
        )
    cells = table.text(name)
    systems_by_side = table.text(systems.a), table.text(systems.b)
    who = [
        systems_by_side[meaning.side ^ systems.turned][row] if (meaning := meant.get(cell)) else ""
        for row, cell in enumerate(cells)
    ]
    return table.with_columns(**{name: who})


def _sum_errors(table: RawTable) -> RawTable:
    """One row a system, item and rater of an MQM table: minus the weighted errors, so that more is better."""
    plain = {plain_name(name): name for name in table.names}
    item = next(
        (plain[word] for word in ("seg_id", "segment_id", "item", "globalsegid", "doc_id") if word in plain), ""
    )
    if not item:
        raise InputError(f"{table.path}: no column names the segment (seg_id; found: {', '.join(table.names)}).")
    document = plain.get("doc_id") or plain.get("doc") or ""
    sums: dict[tuple[str, ...], float] = {}
    first: dict[tuple[str, ...], int] = {}
    columns = [table.text(plain[name]) for name in ("system", "rater", "severity")]
    items, documents = table.text(item), table.text(document) if document else [""] * len(table)
    for row, (system, rater, severity) in enumerate(zip(*columns, strict=True)):
        if severity.lower() not in WEIGHTS:
            raise InputError(
                f"{table.place(row)}: severity is {severity!r}, which is not one of {', '.join(filter(None, WEIGHTS))}."
            )
        key = system, f"{documents[row]}:{items[row]}", documents[row], rater
        sums[key] = sums.get(key, 0.0) - WEIGHTS[severity.lower()]
        first.setdefault(key, row)
    long: dict[str, Sequence[object]] = {
        "system": [key[0] for key in sums],
        "item": [key[1] for key in sums],
        "rater": [key[3] for key in sums],
        "score": list(sums.values()),
    }
    if document:
        long["dialogue"] = [key[2] for key in sums]
    notes = (*table.notes, f"{len(table):,} errors added up by segment: critical -10, major -5, minor -1")
    return RawTable(table.path, long, (), notes, places=tuple(table.place(row) for row in first.values()))
