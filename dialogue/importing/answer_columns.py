"""Which column holds the answers: as stated, by the rule of its tool, by its name, or by its words. Two are a doubt."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.columns import (
    ANSWER_WORDS,
    ANSWERS,
    BETTER_WORDS,
    LIKELY,
    NEGATIVE,
    RIVALS,
    TwoColumns,
    answer_cells,
    by_plain_name,
    commonest_spellings,
    find_twins,
    is_turned,
    leaf_name,
    plain_name,
    text_columns,
)
from seedvote.dialogue.importing.order import speaks_of_order
from seedvote.dialogue.importing.reading import IGNORED, MOST_QUESTIONS, QUESTIONS, type_names
from seedvote.dialogue.importing.scores_of_sides import ask_about_numbers
from seedvote.dialogue.importing.tools import refuse_ranks, refuse_scores_of_sides, unknown_table
from seedvote.dialogue.importing.words import (
    FLAGS,
    NUMBER,
    fold_name,
    in_english,
    is_missing,
    is_tie,
    plain_word,
    read_named_winner,
    read_word,
)
from seedvote.dialogue.judges import is_judge_name
from seedvote.dialogue.tables.table import RawTable

ChoiceRule = Callable[[str, Any], str | None]  # name and cell of a column -> the answer that it belongs to, if any
ASKS = {*QUESTIONS, "questions", "instruction", "instructions", "task", "criteria"}  # in the name of a column
RULE_OF_TOOL = "the answer of"
WON_EVERY_ROW = "the winner won every row"
WINS = {"win", "wins", "won", "winner", "better", "good"}
OUTCOMES = {*WINS, "loss", "losses", "lose", "loses", "lost", "loser", "worse", "bad"}
NO_SYSTEMS = {"pair", "item", "rater", *LIKELY["pair"], *LIKELY["rater"]}  # columns that name none
NO_CHOICE = {"left", "right", "source", "kind", "status", "position", "order"}
ABOUT_ANSWERS = {
    *("confidence", "margin", "score", "time", "seconds", "reason", "rationale", "type", "count", "tie", "ties"),
    *("prob", "probability", "certainty", "comment", "explanation", "id", "n", "rt"),
}
MOST_STEPS = 101  # of a scale


# By the rule of a tool


def choice_columns(table: RawTable, rule: ChoiceRule) -> list[str]:
    """The columns, or groups of columns, that can hold the choice by the tool's own rule."""
    columns: dict[str, None] = {}
    for name, cells in table.columns.items():
        for cell in cells:
            if (column := rule(name, cell)) is not None:
                columns[column] = None
                break
    return list(columns)


def find_choice_of_tool(table: RawTable, rule: ChoiceRule, question: str) -> str:
    """The choice column of a tool: what `--question` names, by its whole name or what follows the tool's prefix."""
    columns = choice_columns(table, rule)
    if question:
        fits = [column for column in columns if question in (column, column.partition(".")[2])]
        if len(fits) == 1:
            return fits[0]
        if columns:
            raise InputError(f"--question is {question!r}; the questions are {', '.join(columns) or 'none'}.")
    if not columns and len(fits := _columns_of_sides(table)) == 1:
        return fits[0]
    sentence = f"{table.place(0)}: which column holds the choice? Candidates: {', '.join(columns) or 'none'}."
    if not columns:
        raise InputError(f"{sentence} Name it: --columns choice=...")
    if len(columns) > 1:
        if any(
            shared and _holds_numbers(table, two.a) and _holds_numbers(table, two.b)
            for shared, two in find_twins(columns)
        ):
            raise Unclear(
                f"{table.path}: {' and '.join(columns[:4])} hold numbers, a rating of each response. Keep them in a "
                "CSV file with the systems, and compare them by python -m analysis ratings. To count the higher one "
                "as a vote, say so.",
                *({"--columns": type_names([("scores", f"{two.a}|{two.b}")])} for shared, two in find_twins(columns)),
            )
        raise Unclear(
            f"{sentence} Several questions are analysed one by one and never pooled.",
            *({"--columns": type_names([("choice", name)])} for name in columns),
        )
    return columns[0]


def _columns_of_sides(table: RawTable) -> list[str]:
    """The columns whose words all say sides, of whatever name; none where another one can only say tie."""
    if any((values := table.values(name)) and all(map(is_tie, values)) for name in table.names):
        return []
    return [name for name in table.names if says_sides(table, name, None) and plain_name(name) not in NO_CHOICE]


# By name and words


def add_answers(
    table: RawTable, names: dict[str, str], why: dict[str, str], systems: TwoColumns | None, stated: Mapping[str, str]
) -> None:
    """The column of the answers, or of the worse ones: stated, or by its name if all of its words say something."""
    if names.get("choice") is not None:
        _check_choice(table, names, why, systems, stated)
        return
    if "worse" in names:
        return
    used = {*names.values(), *((systems.a, systems.b) if systems else ())}
    free = [column for column in table.names if column not in used]
    if fits := _likely_answers(table, free, systems):
        _refuse_several(table, fits)
        if fits[0] in _flags_of_sides(table, fits, systems):
            raise _open_flag(table, fits[0], systems)
        _refuse_turned(table, fits[0])
        field = "worse" if _is_negative(table, fits[0]) else "choice"
        names[field], why[field] = fits[0], "by its name and words"
        return
    plain = by_plain_name(free)
    if fits := [plain[word] for word in LIKELY["worse"] if word in plain and says_sides(table, plain[word], systems)]:
        _refuse_several(table, fits)
        names["worse"], why["worse"] = fits[0], "by its name and words"
        return
    refuse_ranks(table)
    _ask_about_unnamed(table, free, systems)
    _ask_about_names(table, free, systems)
    _refuse_pairs_of_texts(table)
    refuse_scores_of_sides(table)
    ask_about_numbers(table, systems)
    raise unknown_table(table, "choice")


def _check_choice(
    table: RawTable, names: dict[str, str], why: dict[str, str], systems: TwoColumns | None, stated: Mapping[str, str]
) -> None:
    """The column that is stated, or called so: there, the only one of its kind, and not of the worse response."""
    name = names["choice"]
    if not _has_answers(table, name):
        table.check_columns([name])
    if _is_negative(table, name) and stated.get("choice") == name and not _true_and_false(table, name):
        raise Unclear(
            f"{table.path}: the column {name!r} seems to name the worse response. If it does, say so; if it names "
            "the better one, rename the column.",
            {"--columns": type_names([("choice", IGNORED), ("worse", name)])},
        )
    if "worse" not in stated:
        names.pop("worse", None)
    if "choice" in stated or why.get("choice") == WON_EVERY_ROW:
        return
    _refuse_turned(table, name)
    if systems is None and name in table.names:
        _ask_whose_outcomes(table, name)
    if _is_negative(table, name):
        names["worse"], why["worse"] = names.pop("choice"), "by the words of its name"
    if why.get("choice", "").startswith(RULE_OF_TOOL):
        return
    used = {*names.values(), *((systems.a, systems.b) if systems else ())}
    free = [column for column in table.names if column not in used]
    free = [column for column in free if not column.startswith(f"{name}.")]
    _refuse_several(
        table, [name, *(column for column in _likely_answers(table, free, systems) if "strength" not in column.lower())]
    )


def _likely_answers(table: RawTable, free: Sequence[str], systems: TwoColumns | None) -> list[str]:
    """The columns that hold answers by their names and words; first those called choice, winner, ..."""
    plain = by_plain_name(free)
    usual_columns = [plain[word] for word in LIKELY["choice"] if word in plain]
    order = [*dict.fromkeys(usual_columns), *(column for column in free if column not in usual_columns)]
    flags = _flags_of_sides(table, order, systems)
    fits = [column for column in order if column in flags or _may_answer(table, column, systems)]
    answers = [column for column in fits if "strength" not in plain_name(column).split("_")]
    counts = {
        name for shared, two in find_twins(free) if shared for name in (two.a, two.b) if _holds_numbers(table, name)
    }
    known = ANSWERS if "kind" in table.names else ()  # what hidden checks should get
    return [column for column in answers or fits if column not in counts and plain_name(column) not in known]


def _may_answer(table: RawTable, name: str, systems: TwoColumns | None) -> bool:
    """Whether a column such as `human_choice` holds answers, by its name and its words; a judge's are no votes."""
    plain = plain_name(leaf_name(name))
    words = set(plain.split("_"))
    if (
        words & {*NEGATIVE, *ABOUT_ANSWERS} - ({"id"} if words & BETTER_WORDS else set())
        or plain in LIKELY["rater"]
        or plain.replace("_", " ") in DECIDED
        or is_judge_name(name)
        or not (plain in LIKELY["choice"] or words & ANSWER_WORDS)
    ):
        return False
    if speaks_of_order(name) and not words & BETTER_WORDS:
        return False
    return says_sides(table, name, systems) or _holds_codes(table, name)


def says_sides(table: RawTable, name: str, systems: TwoColumns | None) -> bool:
    """Whether all words of a column say a side, a tie or a system, and some of them a side or a system."""
    folded_systems = set()
    if systems is not None:
        folded_systems = {fold_name(cell) for column in (systems.a, systems.b) for cell in table.values(column)}
    texts = text_columns(column for column in table.names if column != name)
    quoted = {cell for column in (texts.a, texts.b) for cell in table.values(column)} if texts else set()
    values = table.values(name)
    words = [value for value in values[:50] if not is_missing(value)]
    names = dict(zip(folded_systems, folded_systems, strict=True))
    sides = [
        value
        for value in words
        if fold_name(value) in folded_systems
        or value in quoted
        or read_named_winner(value, names) is not None
        or ((meaning := read_word(value)) is not None and meaning.kind != "tie")
    ]
    return bool(sides) and len(values) > 1 and all(value in sides or is_tie(value) for value in words)


def _seems_to_answer(table: RawTable, name: str, systems: TwoColumns | None) -> bool:
    """Whether a column is called as answers are, and most of its words name one of the systems of their table."""
    words = {*plain_name(leaf_name(name)).split("_")}
    if systems is None or not words & {*ANSWER_WORDS, *LIKELY["choice"]} or words & {*NEGATIVE, *ABOUT_ANSWERS}:
        return False
    folded_systems = {fold_name(cell) for column in (systems.a, systems.b) for cell in table.values(column)}
    cells = [cell for cell in table.text(name) if not is_missing(cell)]
    return sum(fold_name(cell) in folded_systems for cell in cells) > len(cells) / 2


def _holds_codes(table: RawTable, name: str) -> bool:
    """Whether a column holds numbers of a scale, or true and false."""
    values = table.values(name)
    words = [word for word in values[: MOST_STEPS + 20] if not is_tie(word) and not is_missing(word)]
    numbers = [word for word in words if NUMBER.fullmatch(word)]
    if len(numbers) == len(words):
        return 2 <= len(words) <= MOST_STEPS
    return len(words) == 2 and all(word.lower() in FLAGS for word in words)


def _refuse_several(table: RawTable, fits: Sequence[str]) -> None:
    if len(fits) > 1:
        raise Unclear(
            f"{table.path}: several columns may hold the choice: {', '.join(fits)}.",
            *({"--columns": type_names([("choice", name)])} for name in fits),
        )


def _refuse_turned(table: RawTable, name: str) -> None:
    """A name such as `not_preferred` is never taken as the better response, nor as the worse one."""
    question = (table.titles or {}).get(name, "")
    if is_turned(name) or is_turned(question):
        raise Unclear(
            f"{table.path}: {name!r} holds the answers, and its name may say the opposite of better. Does it name the "
            "better response, or the worse one?",
            *({"--columns": type_names([(field, name)])} for field in ("choice", "worse")),
        )


def refuse_turned_question(table: RawTable, names: Mapping[str, str], systems: TwoColumns | None) -> None:
    """An answer to "Which response is worse?", where a column of questions says so and the name of the answers not."""
    if (answers := names.get("choice")) is None:
        return
    taken = {answers, *((systems.a, systems.b) if systems else ())}
    for name in table.names:
        words = set(plain_name(leaf_name(name)).split("_"))
        questions = table.values(name)
        if name in taken or not words & ASKS or len(questions) > MOST_QUESTIONS:
            continue
        for question in questions:
            words = set(plain_name(question).split("_"))
            if words & {*NEGATIVE, "less", "worsen"} or (is_turned(question) and words & BETTER_WORDS):
                raise Unclear(
                    f"{table.path}: {name} asks {question[:80]!r}, so {answers!r} may name the worse response. Does it "
                    "name the better response, or the worse one?",
                    *({"--columns": type_names([(field, answers)])} for field in ("choice", "worse")),
                )


def _has_answers(table: RawTable, name: str) -> bool:
    """Whether a name is a column, a column's beginning, or a group of columns."""
    return any(key in (name, f"{name}.selection", f"{name}.label") or key.startswith(f"{name}.") for key in table.names)


def _is_negative(table: RawTable, name: str) -> bool:
    question = (table.titles or {}).get(name, "")
    return bool(NEGATIVE & {*plain_name(name).split("_"), *plain_name(question).split("_")})


def _holds_numbers(table: RawTable, name: str) -> bool:
    return all(re.fullmatch(r"\d+(\.\d+)?", cell) for cell in table.values(name))


# Flags: `prefers_a`, `A is better`, `alpha_lost`, and a share such as `prob_a`

OVER = re.compile(r"(.+)_(?:beats|beat|wins_over|won_over|better_than|preferred_over|preferred_to|over)_(.+)")
LOSES = {*NEGATIVE, "loses", "lose", "loss"}
SHARES = {"prob", "probability", "p", "share", "preference", "winrate", "win", "wins"}
HALF = re.compile(r"0(\.\d+)?|1(\.0+)?|\.\d+")


def _side_in(name: str, systems: Mapping[str, str]) -> str:
    """What a name speaks of: `a` in `is_a_better`, `alpha` in `alpha_lost`; empty where it speaks of none or of two."""
    plain = plain_name(name)
    if (over := OVER.fullmatch(plain)) is not None:
        plain = f"{over[1]}_better"
    words = plain.split("_")
    if not {*words} & {*BETTER_WORDS, *LOSES, *SHARES, "won", "beats"}:
        return ""
    sides = [side for side in "ab" if side in words]
    spelt = {plain_name(word): system for word, system in systems.items() if word not in "ab"}
    sides += [system for word, system in spelt.items() if f"_{word}_" in f"_{plain}_"]
    return sides[0] if len(sides) == 1 else ""


def _true_and_false(table: RawTable, name: str) -> tuple[str, str] | None:
    words = table.values(name)
    true = [word for word in words if word.lower() in ("true", "yes", "1")]
    false = [word for word in words if word.lower() in ("false", "no", "0")]
    if len(true) == len(false) == 1 and len(words) == 2:
        return true[0], false[0]
    is_share = len(words) > 1 and bool(SHARES & {*plain_name(name).split("_")})
    return (">0.5", "<0.5") if is_share and all(map(HALF.fullmatch, words)) else None


def _flags_of_sides(table: RawTable, free: Sequence[str], systems: TwoColumns | None) -> list[str]:
    names = _two_systems(table, systems)
    flags = [name for name in free if not speaks_of_order(name) and _true_and_false(table, name)]
    return [name for name in flags if _side_in(name, names)]


def _two_systems(table: RawTable, systems: TwoColumns | None) -> dict[str, str]:
    """Folded name -> name, where the table compares two systems alone: one that did not win has lost."""
    cells = commonest_spellings([*table.values(systems.a), *table.values(systems.b)]) if systems else {}
    return cells if len(cells) == 2 else {}


def _open_flag(table: RawTable, name: str, systems: TwoColumns | None) -> Unclear:
    """`prefers_a` with true and false: the name says what true means, unless it may say the reverse."""
    names = _two_systems(table, systems)
    side, flags = _side_in(name, names), _true_and_false(table, name)
    assert flags is not None
    partner = {"a": "b", "b": "a"}.get(side) or next(system for system in names.values() if system != side)
    tie = [("tie", "0.5")] if flags[0] == ">0.5" else []
    straight = type_names([*sorted([(side, flags[0]), (partner, flags[1])]), *tie])
    turned = type_names([*sorted([(side, flags[1]), (partner, flags[0])]), *tie])
    says_loser = bool(LOSES & set(plain_name(name).split("_")))
    is_doubtful = is_turned(name) or says_loser
    means = "better or worse" if is_doubtful else "better"
    who = f"response {side}" if side in ("a", "b") else side
    return Unclear(
        f"{table.path} has no column 'choice', which every vote needs. {name!r} seems to say whether {who} is {means}.",
        *(
            {"--columns": type_names([("choice", name)]), "--values": values}
            for values in ((straight, turned) if is_doubtful else (straight,))
        ),
    )


# A column that says which rows are ties, beside the column of the winner

TIE_WORDS = {"tie", "ties", "tied", "draw", "draws", "drawn", "equal"}
ABOUT_FLAGS = {"is", "was", "it", "a", "flag", "flagged", "marked", "as", "or", "vote", "both"}
LIKE_TIES = {"indifferent", "indistinguishable", "comparable", "ex aequo", "equivalent", "no winner", "no clear winner"}
ABOUT_TIES = {*ABOUT_FLAGS, "n", "num", "number", "of", "count", "quality", "they", "were", "are", "the"}
DECIDED = {"decisive", "decided", "has winner", "clear winner", "has preference", "clear preference", "winner found"}
STRENGTHS = {"margin", "strength", "difference", "diff", "gap", "degree", "magnitude", "intensity"}
OF_TEXTS = {"length", "words", "tokens", "chars", "time", "seconds", "size", "date", "id", "rank"}  # no strength
ALSO_NO_TIE = {"neutral", "both", "neither", "even", "similar", "same", "equal"}  # they may say something else
YES = {"true", "yes", "y", "t", "1", "1.0", "ja", "oui", "si", "x", "是"}
NO = {"", "false", "no", "n", "f", "0", "0.0", "nein", "non", "否", *WINS}
MOST_KINDS = 6  # of answers in a column that tells ties from others
WITH_TIES = "the answer, ties as flagged"  # a column that is added


def add_ties(table: RawTable, names: dict[str, str], why: dict[str, str], systems: TwoColumns | None) -> RawTable:
    """The table with the ties that a column such as `draw` marks, where another one names the winner of every row."""
    used = {*names.values(), *((systems.a, systems.b) if systems else ())}
    free = [name for name in table.names if name not in used or name == names.get("status")]
    won_every_row = why.get("choice") == WON_EVERY_ROW
    answers = next((names[field] for field in ("choice", "worse") if field in names), "")
    flag, _, word = names.get("tie", "").rpartition(":") if names.get("tie", "") not in table.names else ("", "", "")
    flag = flag or names.get("tie", "")
    flag = flag or next((name for name in free if _marks_ties(table, name, won_every_row)), "")
    if flag:
        table.check_columns([flag])
    elif answers:
        _ask_about_ties(table, free, answers, won_every_row, systems)
    if not flag or not answers:
        return table
    cells, marks = answer_cells(table, answers), _read_marks(table, flag, word)
    if "tie" not in names and not won_every_row:
        for row, (cell, mark) in enumerate(zip(cells, marks, strict=True)):
            if mark and cell and not is_tie(cell):
                raise Unclear(
                    f"{table.place(row)}: {answers} is {cell!r}, and {flag} says that it is a tie. Is it one?",
                    {"--columns": type_names([("tie", flag)])},
                    {"--columns": type_names([("tie", IGNORED)])},
                )
    field = "choice" if "choice" in names else "worse"
    names |= {field: WITH_TIES, "tie": flag}
    why.setdefault("tie", "by its name and words")
    answers_with_ties = ["tie" if mark else cell for cell, mark in zip(cells, marks, strict=True)]
    return table.with_columns(**{WITH_TIES: answers_with_ties})


def _read_marks(table: RawTable, flag: str, word: str) -> list[bool]:
    """Which rows are ties: those with the word that is stated, else those that say tie or yes."""
    cells = table.text(flag)
    if word:
        if fold_name(word) not in map(fold_name, cells):
            raise InputError(
                f"{table.path}: no cell of {flag} is {word!r} (found: {', '.join(table.values(flag)[:8])})."
            )
        return [fold_name(cell) == fold_name(word) for cell in cells]
    says_tie = any(map(is_tie, table.values(flag)))  # so its other words say something else
    marks = [is_tie(cell) if says_tie else _is_yes(cell) for cell in cells]
    if None in marks:
        raise InputError(
            f"{table.place(marks.index(None))}: {flag} is neither yes nor no. Name the word of a tie: "
            f"--columns tie={flag}:WORD; or say that it marks none: --columns tie=-."
        )
    return list(map(bool, marks))


def _marks_ties(table: RawTable, name: str, won_every_row: bool) -> bool:
    """Whether a column is called a tie and some cells say yes, or, where a winner stands in every row, some say tie."""
    values = table.values(name)
    if _is_called_tie(name):
        return any(map(_is_yes, values))
    return won_every_row and any(map(is_tie, values)) and None not in map(_is_yes, values)


def _is_called_tie(name: str) -> bool:
    words = {*plain_name(leaf_name(name)).split("_")}
    return bool(words & TIE_WORDS) and words <= TIE_WORDS | ABOUT_FLAGS


def _ask_about_ties(
    table: RawTable, free: Sequence[str], answers: str, won_every_row: bool, systems: TwoColumns | None
) -> None:
    """A column that may say that the winner of a row is none: by a word, by yes or no, or by a strength of 0."""
    cells = answer_cells(table, answers)
    for name in free:
        words = _words_of_ties(table, name, won_every_row, systems)
        folded = {fold_name(word) for word in words}
        marks = [fold_name(cell) in folded for cell in table.text(name)]
        if rows := [row for row, cell in enumerate(cells) if marks[row] and cell and not is_tie(cell)]:
            raise Unclear(
                f"{table.place(rows[0])}: {name} is {table.text(name)[rows[0]]!r}, and the answer names a winner "
                f"({len(rows):,} rows have both). Is it a tie?",
                *({"--columns": type_names([("tie", f"{name}:{word}")])} for word in words),
                {"--columns": type_names([("tie", IGNORED)])},
            )


def _words_of_ties(table: RawTable, name: str, won_every_row: bool, systems: TwoColumns | None) -> list[str]:
    """The words by which a column may mark ties; none where it speaks of something else."""
    words = table.values(name)
    parts = plain_name(leaf_name(name)).split("_")
    is_strength = bool(STRENGTHS & {*parts}) and not {"no", *OF_TEXTS} & {*parts}
    if is_strength and len(words) > 1 and (zeros := [word for word in words if _is_none(word)]):
        return zeros[:1]
    if len(words) > MOST_KINDS or says_sides(table, name, systems):
        return []
    ties = [word for word in words if is_tie(word)]
    certain = [word for word in ties if won_every_row or is_strength or plain_word(word) not in ALSO_NO_TIE]
    if certain and len(words) > len(ties):
        return certain[:1]
    names_ties = bool({*parts} & TIE_WORDS) and {*parts} <= TIE_WORDS | ABOUT_TIES
    if None in map(_is_yes, words):
        return list(words) if names_ties and not _holds_numbers(table, name) else []
    spoken = " ".join(parts), " ".join(part for part in parts if part not in ABOUT_TIES)
    if names_ties or any(is_tie(text) or text in LIKE_TIES for text in spoken):
        return [word for word in words if _is_yes(word)][:1]
    return [word for word in words if not _is_yes(word)][:1] if {*spoken} & DECIDED else []


def _is_none(word: str) -> bool:
    return word.casefold() in ("none", "no") or (NUMBER.fullmatch(word) is not None and float(word) == 0)


def _is_yes(cell: str) -> bool | None:
    word = in_english(cell.strip().casefold())
    return True if word in YES or is_tie(word) else False if word in NO or is_missing(word) else None


# Asked


def _ask_about_unnamed(table: RawTable, free: Sequence[str], systems: TwoColumns | None) -> None:
    """Columns whose names do not say that they hold answers, and whose words do."""
    counts = {
        name for shared, two in find_twins(free) if shared for name in (two.a, two.b) if _holds_numbers(table, name)
    }
    fits = [
        column
        for column in free
        if says_sides(table, column, systems) and plain_name(column) not in NO_CHOICE and column not in counts
    ]
    fits = [column for column in fits if not speaks_of_order(column)] or fits
    if flags := _flags_of_sides(table, free, systems):
        raise _open_flag(table, flags[0], systems)
    if not fits and len(likely := [name for name in free if _seems_to_answer(table, name, systems)]) == 1:
        raise Unclear(
            f"{table.path} has no column 'choice', which every vote needs. {likely[0]!r} seems to hold it.",
            {"--columns": type_names([("choice", likely[0])])},
        )
    if len(fits) > 1:
        raters = {"--columns": type_names([("choice", "|".join(fits))])}
        raise Unclear(
            f"{table.path}: {len(fits)} columns hold answers: {', '.join(fits[:8])}. Are they questions, which are "
            "analysed one by one, or is each the answers of one rater (the last way)?",
            *({"--columns": type_names([("choice", name)])} for name in fits[:6]),
            raters,
        )
    if fits and not speaks_of_order(fits[0]):
        raise Unclear(
            f"{table.path} has no column 'choice', which every vote needs. {fits[0]!r} holds words of choices: does it "
            "name the better response, or the worse one?",
            *({"--columns": type_names([(field, fits[0])])} for field in ("choice", "worse")),
        )


def _ask_about_names(table: RawTable, free: Sequence[str], systems: TwoColumns | None) -> None:
    """A column of winners that holds two names, where no columns name the systems."""
    if systems is not None:
        return
    plain = by_plain_name(free)
    for name in (plain[word] for word in (*LIKELY["choice"], "outcome") if word in plain):
        words = [word for word in table.values(name) if not is_tie(word)]
        _ask_whose_outcomes(table, name)
        if len(words) == 2 and not any(
            read_word(word) or len(word) > 60 or word.lower() in FLAGS or NUMBER.fullmatch(word) for word in words
        ):
            meant = type_names(zip("ab", sorted(words), strict=True))
            raise Unclear(
                f"{table.path}: no columns name the systems, and {name!r} holds two names. If they are the systems "
                "that won, a is the first one:",
                {"--columns": type_names([("choice", name)]), "--values": meant},
            )


def _ask_whose_outcomes(table: RawTable, name: str) -> None:
    """Win and loss of one of two systems, where no columns name both."""
    words = [word for word in table.values(name) if not is_tie(word)]
    if not words or not {word.casefold() for word in words} <= OUTCOMES:
        return
    plain = by_plain_name(table.names)
    values = type_names((("a" if word.casefold() in WINS else "b"), word) for word in words)
    sentence = (
        f"{table.path}: {name!r} says {' and '.join(words)}, and no columns name both systems of a row: it is open who "
        "won. If it is the outcome of one of them, name both columns, that one as a."
    )
    a, b = ([plain[word] for word in side if word in plain] for side in RIVALS)
    if len(a) == len(b) == 1:
        columns = type_names([("choice", name), ("system_a", a[0]), ("system_b", b[0])])
        raise Unclear(f"{sentence} If it is that of {a[0]}:", {"--columns": columns, "--values": values})
    if {plain_name(column) for column in table.names if column != name} <= NO_SYSTEMS:
        raise Unclear(
            f"{sentence} If all rows are the outcome of the same system, it is a:",
            {"--columns": type_names([("choice", name)]), "--values": values},
            conditional=True,
        )
    raise InputError(f"{sentence} Add: --columns choice={name},system_a=...,system_b=... --values {values}")


def _refuse_pairs_of_texts(table: RawTable) -> None:
    """Chosen and rejected texts, as HH-RLHF has them: who wrote them is nowhere."""
    plain = {plain_name(name.partition(".")[0]): name.partition(".")[0] for name in table.names}
    chosen = next((plain[word] for word in ("chosen", "preferred", "better") if word in plain), "")
    rejected = next((plain[word] for word in ("rejected", "dispreferred", "worse") if word in plain), "")
    if chosen and rejected:
        raise InputError(
            f"{table.path}: {chosen} and {rejected} hold the {len(table):,} texts that people preferred and rejected, "
            "and nothing says which system wrote which text. Such data train a reward model; they compare no systems. "
            "If the systems are known, add them in two columns: chosen_model and rejected_model."
        )


def refuse_unread(table: RawTable, rule: ChoiceRule, choice: str) -> None:
    """A row without this answer that has another one would be lost: a doubt, not a blank."""
    rivals = [name for name in choice_columns(table, rule) if name != choice]
    if not rivals:
        return
    answers = answer_cells(table, choice)
    for name in rivals:
        for row, cell in enumerate(answer_cells(table, name)):
            if cell and not answers[row]:
                raise InputError(
                    f"{table.place(row)}: {choice} is empty, and {name} holds {cell!r}. If both are parts of one "
                    f"question, give them one name; if {name} is another question, say so: --columns choice={choice}."
                )
