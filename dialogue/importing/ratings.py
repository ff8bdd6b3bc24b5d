"""Columns to ratings on a scale, or to ranks: one row a rating, one column a system, or both sides of a pair in a row.

The columns are named as those of votes are: as stated, else by their names. Ranks of systems in columns of their own
are votes (`rankings.py`); a column of ranks beside one of systems is read here.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.columns import (
    LIKELY,
    add_source,
    commonest_spellings,
    leaf_name,
    plain_name,
    refuse_twins,
)
from seedvote.dialogue.importing.reading import (
    IGNORED,
    Stated,
    no_votes,
    quote_name,
    take_one_question,
    type_names,
)
from seedvote.dialogue.importing.scores_of_sides import SIDES, melt_scores, name_systems_of_places, split_scores
from seedvote.dialogue.importing.shaping import melt_survey
from seedvote.dialogue.importing.tools import RANKS, SCORES, SYSTEMS, are_ranks
from seedvote.dialogue.importing.words import fold_name
from seedvote.dialogue.judges import JUDGE, door_of, find_judges, folded_name, is_judge_name, judges_rating
from seedvote.dialogue.tables.table import NO_NUMBER, RawTable, cell_text, flatten_table, from_rows, with_points

KNOWN: Mapping[str, tuple[str, ...]] = {
    "score": SCORES,
    "system": (*SYSTEMS, "system_id", "systemid", "model_id", "model_name"),
    "item": (
        *("item", "item_id", "id", "example", "example_id", "prompt_id", "question_id", "context_id", "segment_id"),
        *("segmentid", "seg_id"),
    ),
    "rater": ("rater", *LIKELY["rater"], "userid"),
    "dialogue": ("dialogue", "dialogue_id"),
    "seed": ("seed",),
}
IN_KEY = ("column", "item", "system")
CODES = {-1.0, *(sign * number for sign in (1.0, -1.0) for number in (9, 88, 98, 99, 888, 998, 999, 9999, 99999))}
LONG_SCALE = 10  # its end, from which on a scale that begins at 0 has no step -1


class HoldsRanks(InputError):
    """A question was answered by ranks, and ratings are asked for."""


@dataclass(frozen=True, eq=False)
class Ratings:
    """The ratings of one question, a row each; NaN where a row holds none."""

    table: RawTable
    names: Mapping[str, str]  # our field -> its column
    cells: Mapping[str, list[str]]  # our field -> its text in every row
    score: Sequence[float]
    form: str
    dropped: Mapping[str, int]  # reason -> ratings left out on the way


def read_rating_rows(table: RawTable, stated: Stated, systems: Sequence[str] = (), *, ranks: bool = False) -> Ratings:
    """The ratings of a table, of one question; `systems` are columns that each hold the ratings of one."""
    legal = (*KNOWN, *SIDES, "question", "rank")
    if unknown := [name for name in stated.columns if name not in legal]:
        raise InputError(f"--columns names {unknown[0]!r}, which is not one of {', '.join(legal)}.")
    table, dropped, form = flatten_table(table), dict[str, int](), "ranks" if ranks else "ratings"
    if stated.wide is not None:
        long = melt_survey(table, stated, IN_KEY)
        dropped, form = dict(long.dropped), f"ratings, {long.form}"
        rows = [{**row, "score": row["choice"]} for _, row in long.table.rows()]
        table = from_rows(table.path, rows, long.table.notes)
    elif systems:
        table.check_columns(systems)
        of_row = {name: [name] * len(table) for name in systems}
        table, form = melt_scores(table, of_row, items=KNOWN["item"]), f"{form}, one column a system"
        table = table.with_columns(rank=table.columns["score"]) if ranks else table
    elif (sides := split_scores(table, stated.columns)) is not None:
        table, form, stated = sides, "ratings, one column a response", _without_sides(stated)
    else:
        table = name_systems_of_places(table, stated.columns)
        stated = _without_sides(stated)
    table, question = take_one_question(table, stated, stated.columns, of=("item", "system", "rater"))
    names = _find_columns(table, stated, ranks=ranks)
    _refuse_other_scale(table, names["score"], f" --question {stated.question}" if stated.question else "")
    if ranks or "" in map(cell_text, table.columns.get(names.get("seed", ""), ())):  # not of every rating
        names.pop("seed", None)
    cells = _read_texts(table, names)
    _refuse_judges(table, names, cells.get("rater", ()))
    score = [_read_number(table, row, cell, stated.values) for row, cell in enumerate(table.columns[names["score"]])]
    _ask_about_codes(table, names["score"], score, stated.values)
    if not ranks and stated.columns.get("rank") != IGNORED:
        _ask_whether_ranks(table, names, cells, score, systems)
    return Ratings(table, names, cells, score, f"{form}{question}", dropped)


def _without_sides(stated: Stated) -> Stated:
    return replace(stated, columns={ours: theirs for ours, theirs in stated.columns.items() if ours not in SIDES})


def _find_columns(table: RawTable, stated: Stated, *, ranks: bool) -> dict[str, str]:
    """Our field -> its column: as stated, else by its name; where two fit, it is asked."""
    names = {}
    for ours, words in {**KNOWN, **({"score": RANKS} if ranks else {})}.items():
        named = "rank" if ranks and ours == "score" else ours
        if (theirs := stated.columns.get(named)) is not None:
            table.check_columns({theirs} - {IGNORED})
            names[ours] = theirs
            continue
        fits = [
            name for name in table.names if plain_name(leaf_name(name)) in words and name not in stated.columns.values()
        ]
        exact = [name for name in fits if name == named] or [name for name in fits if plain_name(name) == named]
        fits = exact[:1] or fits
        if len(fits) > 1:
            raise Unclear(
                f"{table.path}: {len(fits)} columns may be {named}: {', '.join(fits)}.",
                *({"--columns": f"{named}={name}"} for name in fits),
            )
        names |= dict.fromkeys([ours], fits[0]) if fits else {}
    names = {ours: theirs for ours, theirs in names.items() if theirs != IGNORED}
    if missing := [name for name in ("score", "system", "item") if name not in names]:
        if missing[0] == "score" and not ranks and "rank" in map(plain_name, table.names):
            raise HoldsRanks(f"{table.path} holds ranks and no ratings: python -m analysis ranks {table.path}")
        field = "rank" if ranks and missing[0] == "score" else missing[0]
        raise InputError(
            f"{table.path} has no column for {field} (found: {', '.join(table.names)}). Name it: --columns "
            f"{field}=...; if every system has a column of its own, name these: --systems one,other"
        )
    refuse_twins(table, names.values())
    return names


def _read_texts(table: RawTable, names: Mapping[str, str]) -> dict[str, list[str]]:
    """The cells of every field; `Alpha` and `alpha ` are one system, as in votes."""
    cells = {ours: table.text(name) for ours, name in names.items()}
    spelling = commonest_spellings(filter(None, cells["system"])) | {"": ""}
    cells["system"] = [spelling[fold_name(cell)] for cell in cells["system"]]
    for ours, column in cells.items():
        if ours != "score" and "" in column:
            raise InputError(
                f"{table.place(column.index(''))}: {names[ours]} is empty; give every rating one, or take the row out."
            )
    return cells


def _refuse_judges(table: RawTable, names: Mapping[str, str], raters: Sequence[str]) -> None:
    """Ratings are of people alone: a judge is known by the source of its row, or by its name."""
    table, source = add_source(table, {*names.values()}, "source" if "source" in table.names else "")
    sources = table.text(source) if source else ()
    by_source = {word for word in dict.fromkeys(sources) if door_of(word, table.place(sources.index(word))) == JUDGE}
    judges = find_judges([table.path])
    by_name = {name for name in dict.fromkeys(raters) if folded_name(name) in judges or is_judge_name(name)}
    for row, word in enumerate(sources):
        if word in by_source:
            raise judges_rating(table.place(row), "")
    for row, rater in enumerate(raters):
        if rater in by_name:
            raise judges_rating(table.place(row), judges.get(folded_name(rater), f"is {rater!r}, a judge's name"))


def _refuse_other_scale(table: RawTable, score: str, option: str) -> None:
    """Our own ratings of a question that is a ranking have no score, and those on a scale no rank."""
    if score == "score" and "rank" in table.names and not table.values("score"):
        raise HoldsRanks(f"{table.path} holds ranks and no ratings: python -m analysis ranks {table.path}{option}")
    if score == "rank" and not table.values("rank"):
        raise InputError(f"{table.path} holds ratings and no ranks: python -m analysis ratings {table.path}{option}")


def _ask_whether_ranks(
    table: RawTable,
    names: Mapping[str, str],
    cells: Mapping[str, list[str]],
    score: Sequence[float],
    systems: Sequence[str],
) -> None:
    """Scores that are the ranks of their systems on every item may be ranks, 1 the best: then the loser leads."""
    sheets: dict[tuple[str, str], list[float]] = {}
    for row, item in enumerate(cells["item"]):
        sheets.setdefault((item, cells["rater"][row] if "rater" in cells else ""), []).append(score[row])
    if not (are_ranks(sheets.values()) or "rank" in plain_name(names["score"]).split("_")):
        return
    how = ("--systems", ",".join(systems)) if systems else ("--columns", f"rank={names['score']}")
    command = shlex.join(["python", "-m", "analysis", "ranks", str(table.path), *how])
    raise InputError(
        f"{table.path}: the scores of every item could be ranks, from 1 upwards. If they are, 1 the best: {command}. "
        "If they are ratings: --columns rank=-"
    )


def _ask_about_codes(table: RawTable, name: str, score: Sequence[float], values: Mapping[str, str]) -> None:
    """A number far from all others that tools write where nobody answered: 999 on a scale of 5, -1 below 1 to 5."""
    numbers = {number for number in score if not math.isnan(number)}
    stated = {*values, *values.values()}
    for code in sorted(numbers & CODES):
        others = numbers - CODES
        if f"{code:g}" in stated or len(others) < 2:
            continue
        low, high = min(others), max(others)
        is_far = code > high + 2 * (high - low) or (code < 0 <= low and (code < -1 or low >= 1 or high >= LONG_SCALE))
        if is_far:
            rows = [row for row, number in enumerate(score) if number == code]
            word = cell_text(table.columns[name][rows[0]])
            raise Unclear(
                f"{table.place(rows[0])}: the score is {word}, and the others run from {low:g} to {high:g}. Does it "
                f"say that nobody answered ({len(rows):,} such rows)?",
                {"--values": f"{quote_name(word)}=-"},
                {"--values": type_names([(word, word)])},
            )


def _read_number(table: RawTable, row: int, cell: object, values: Mapping[str, str]) -> float:
    text = cell_text(cell)
    if text.strip() in no_votes(values):
        return math.nan
    text = values.get(text, values.get(text.strip(), text)).strip()
    if text.casefold() in NO_NUMBER:
        return math.nan
    try:
        number = float(with_points(table, text))
        if not math.isfinite(number):
            raise ValueError(text)
        return number
    except ValueError:
        raise InputError(
            f"{table.place(row)}: the score is {text!r}, which is not a number. Say what its words are worth: --values "
            '1="Strongly disagree",2=Disagree,... A cell that holds no rating is left empty.'
        ) from None
