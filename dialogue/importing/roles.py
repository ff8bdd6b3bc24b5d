"""Every column of a table with what it holds: as stated, as its tool writes it, by its name, by its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.answer_columns import (
    RULE_OF_TOOL,
    WON_EVERY_ROW,
    add_answers,
    add_ties,
    find_choice_of_tool,
    refuse_turned_question,
    refuse_unread,
)
from seedvote.dialogue.importing.columns import (
    ANSWER_WORDS,
    FIELDS,
    LIKELY,
    MOST_SYSTEMS,
    NEGATIVE,
    SYSTEM_WORDS,
    Roles,
    TwoColumns,
    add_source,
    answer_cells,
    by_plain_name,
    commonest_spellings,
    find_column,
    holds_systems,
    is_row_number,
    is_turned,
    plain_name,
    refuse_twins,
    system_columns,
    text_columns,
    unnamed_systems,
)
from seedvote.dialogue.importing.order import find_left_column, find_lone_side, find_order_suspects
from seedvote.dialogue.importing.reading import IGNORED, Stated, take_one_question, type_names
from seedvote.dialogue.importing.scores_of_sides import BY_SCORE, add_answers_by_score
from seedvote.dialogue.importing.tools import Tool
from seedvote.dialogue.importing.words import fold_name, is_tie
from seedvote.dialogue.tables.table import RawTable, from_rows

ORDER_FIELDS = ("right", "swapped")  # stated alone: a column of that name may mean something else
ONLY_STATED = (*ORDER_FIELDS, "tie")


def assign_roles(table: RawTable, name: str, tool: Tool, stated_table: Stated) -> tuple[RawTable, Roles, str]:
    """The rows of the question that is asked for, with what every column of theirs holds."""
    stated = {ours: theirs for ours, theirs in stated_table.columns.items() if theirs != IGNORED}
    by_score = next(((field, stated.pop(field)) for field in ("scores", "ranks") if field in stated), None)
    ignored = {ours for ours, theirs in stated_table.columns.items() if theirs == IGNORED}
    names, why = _name_columns(table, tool, stated, ignored)
    table = _spread_numbered(table, names)
    table.check_columns(theirs for ours, theirs in stated.items() if ours not in ("choice", "worse", "swapped", "tie"))
    refuse_twins(table, names.values())
    if name != "plain" and by_score is None and not {"choice", "worse"} & names.keys():
        question = "" if stated_table.columns.get("question") else stated_table.question
        names["choice"] = find_choice_of_tool(table, tool.choice, question)
        refuse_unread(table, tool.choice, names["choice"])
        why["choice"] = f"{RULE_OF_TOOL} a {name} export"
    table, question = take_one_question(table, stated_table, names, ours=name != "plain")
    table, systems = _take_winner_and_loser(table, names, why) if name == "plain" and not by_score else (table, None)
    systems = systems or _find_systems(table, name, tool, stated_table, names)
    if systems is None and "system_a" not in ignored:
        table, systems = _add_other_system(table, [name for name in table.names if name not in names.values()])
    if by_score is not None:
        field, columns = by_score
        table, systems = add_answers_by_score(table, columns, systems, lower_wins=field == "ranks")
        names["choice"], why["choice"] = BY_SCORE, f"the {'lower' if field == 'ranks' else 'higher'} of {columns}"
    if systems is not None:
        refuse_twins(table, (systems.a, systems.b))
        names = {
            ours: theirs for ours, theirs in names.items() if ours in stated or theirs not in (systems.a, systems.b)
        }
    if by_score is None:
        add_answers(table, names, why, systems, stated)
    if not {"choice", "worse"} & stated.keys():
        refuse_turned_question(table, names, systems)
    if "tie" not in ignored:
        table = add_ties(table, names, why, systems)
    _add_likely(table, names, why, ignored, systems)
    used = {*names.values(), *((systems.a, systems.b) if systems else ())}
    used |= {stated[field].rpartition(":")[0] or stated[field] for field in ORDER_FIELDS if field in stated}
    if "source" not in ignored and "source" not in stated:
        table, source = add_source(table, used, names.get("source", ""))
        names = {ours: theirs for ours, theirs in names.items() if ours != "source"}
        names |= {"source": source} if source else {}
    used |= {*names.values()}
    free = [column for column in table.names if column not in used]
    texts = text_columns(free)
    if systems is None and "system_a" not in ignored:
        systems = _doubtful_systems(table, free, texts)
    used |= {systems.a, systems.b} if systems else set()
    free = [column for column in free if column not in used and (texts is None or column not in (texts.a, texts.b))]
    folded_systems = (
        {fold_name(cell) for column in (systems.a, systems.b) for cell in table.values(column)} if systems else set()
    )
    order_column = find_left_column(table, names, stated_table.columns, free, folded_systems, texts)
    suspects = [] if order_column or "left" in ignored else find_order_suspects(table, free, folded_systems)
    return table, Roles(names, why, systems, texts, order_column, suspects), question


def _name_columns(
    table: RawTable, tool: Tool, stated: Mapping[str, str], ignored: set[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Field -> column: as stated, else the tool's own, else the column of that name."""
    usual = {field: field for field in FIELDS if not field.startswith("system_") and field not in ONLY_STATED}
    usual |= dict(tool.columns)
    for field, alternatives in tool.instead.items():
        if usual.get(field) not in table.names:
            usual[field] = next(
                (alternative for alternative in alternatives if alternative in table.names), usual.get(field, field)
            )
    plain = by_plain_name(table.names)
    lacking = [field for field, column in usual.items() if column not in table.names and field in plain]
    if "left" in lacking and plain["left"].lower() != "left" and not _holds_sides(table, plain["left"]):
        lacking.remove("left")  # Links may be the left side in German, and is a list of addresses elsewhere
    usual |= {field: plain[field] for field in lacking}
    names = {
        field: column
        for field, column in usual.items()
        if column in table.names and column not in stated.values() and field not in ignored
    }
    if "right" in plain and names.get("left") == plain.get("left", "") and not _holds_sides(table, plain["left"]):
        del names["left"]  # the two responses, or the two systems
    why = {field: "by its name" if column == field else "as the tool writes it" for field, column in names.items()}
    names |= {
        field: column
        for field, column in stated.items()
        if not field.startswith("system_") and field not in ORDER_FIELDS
    }
    return names, why | dict.fromkeys(stated, "as stated")


def _holds_sides(table: RawTable, name: str) -> bool:
    return {value.lower() for value in table.values(name)} <= {"a", "b", "0", "1", "2", "ab", "ba"}


def _spread_numbered(table: RawTable, names: dict[str, str]) -> RawTable:
    """One row a judgement where `{n}` in the names counts the pairs of a row."""
    if not any("{n}" in column for column in names.values()):
        return table
    parts, number = [], 1
    while names["pair"].format(n=number) in table.names:
        numbered = {column: column.replace("{n}", str(number)) for column in names.values() if "{n}" in column}
        cells = {column: answer_cells(table, theirs) for column, theirs in numbered.items()}
        part = table.with_columns(**cells)
        if (sent := names.get("submission")) in table.names:
            part = part.with_columns(**{sent: [f"{cell}:{number}" if cell else "" for cell in table.text(sent)]})
        parts.append(part.take([row for row, cell in enumerate(cells[names["pair"]]) if cell]))
        number += 1
    if not parts:
        missing = names["pair"].format(n=1)
        raise InputError(
            f"{table.path}: no column {missing!r} for pair (found: {', '.join(table.names)}). Map it: "
            "--columns pair=..."
        )
    names.pop("seconds", None)  # the time of the whole row
    order = sorted(
        ((row, part) for part, block in enumerate(parts) for row in range(len(block))),
        key=lambda key: parts[key[1]].place(key[0]),
    )
    rows = [
        (parts[part].place(row), {name: cells[row] for name, cells in parts[part].columns.items()})
        for row, part in order
    ]
    return from_rows(table.path, [row for _, row in rows], table.notes, [where for where, _ in rows])


def _take_winner_and_loser(
    table: RawTable, names: dict[str, str], why: dict[str, str]
) -> tuple[RawTable, TwoColumns | None]:
    """`winner` and `loser`, `chosen_model` and `rejected_model`: the two systems, the first of which won every row."""
    if "as stated" in (why.get("choice"), why.get("worse")) or "choice" in names:
        return table, None
    free = [name for name in table.names if table.values(name)]
    free.sort(key=lambda name: not SYSTEM_WORDS & {*plain_name(name).split("_")})  # texts may be few, too
    for better in free:
        for worse in free:
            better_words, worse_words = set(plain_name(better).split("_")), set(plain_name(worse).split("_"))
            if is_turned(better) or (is_turned(worse) and "more" not in better_words):
                continue
            if (
                better_words & WON
                and worse_words & LOST
                and better_words - WON == worse_words - LOST
                and holds_systems(table, better, worse)
            ):
                names.pop("worse", None)
                names["choice"], why["choice"] = WINNER, WON_EVERY_ROW
                won = {WINNER: [better] * len(table)}
                return table.with_columns(**won), TwoColumns(better, worse, "letters", WINNER_AND_LOSER)
    return table, None


def _find_systems(
    table: RawTable, name: str, tool: Tool, stated_table: Stated, names: Mapping[str, str]
) -> TwoColumns | None:
    taken = {**names, **stated_table.columns}
    systems = system_columns(table, taken)
    if systems is None and stated_table.columns.get("system_a") != IGNORED:
        systems = _systems_of_winners(
            table, [column for column in table.names if column not in names.values() or column == names.get("choice")]
        )
    if tool.names_models and systems is None:
        raise InputError(f"{table.place(0)}: {name}'s table needs model_1 and model_2, which its values stand for.")
    return systems


def _add_other_system(table: RawTable, free: Sequence[str]) -> tuple[RawTable, TwoColumns | None]:
    """Where one column says which of two systems stood on the left, the other one stood on the right."""
    name, is_right = find_lone_side(table, free)
    if not name or unnamed_systems(table, {*table.names} - {*free} | {name}):  # other columns hold both: asked
        return table, None
    cells = table.text(name)
    first, second = commonest_spellings(filter(None, cells)).values()
    partner = {fold_name(first): second, fold_name(second): first, "": ""}
    added = f"the other than {name}"
    table = table.with_columns(**{added: [partner[fold_name(cell)] for cell in cells]})
    left_column_name, right_column_name = (added, name) if is_right else (name, added)
    return table, TwoColumns(
        left_column_name,
        right_column_name,
        "places",
        f"one of two systems stood on the {'right' if is_right else 'left'}",
    )


def _systems_of_winners(table: RawTable, free: Sequence[str]) -> TwoColumns | None:
    """Two columns of any name, of which every winner is named by one."""
    few = [name for name in free if 1 <= len(table.values(name)) <= MOST_SYSTEMS][:40]
    answers = [
        name for name in few if plain_name(name) in LIKELY["choice"] or ANSWER_WORDS & {*plain_name(name).split("_")}
    ]
    for answer in answers:
        winners = {fold_name(value) for value in table.values(answer) if not is_tie(value)}
        if not len(winners) > 1:
            continue
        cells = [fold_name(cell) for cell in table.text(answer)]
        for first, second in combinations([name for name in few if name not in answers], 2):
            if not winners <= {fold_name(value) for name in (first, second) for value in table.values(name)}:
                continue
            systems = zip(map(fold_name, table.text(first)), map(fold_name, table.text(second)), strict=True)
            if all(
                system_a != system_b and (cell in (system_a, system_b) or is_tie(cell) or not cell)
                for cell, (system_a, system_b) in zip(cells, systems, strict=True)
            ):
                return TwoColumns(first, second, "letters", "every winner is one of them")
    return None


def _doubtful_systems(table: RawTable, free: Sequence[str], texts: TwoColumns | None) -> TwoColumns | None:
    """Two columns that hold the systems under names that do not say which is which: asked."""
    columns = [column for column in free if texts is None or column not in (texts.a, texts.b)]
    pairs = unnamed_systems(table, set(table.names) - set(columns))
    if not pairs:
        return None
    ways = [
        {"--columns": type_names([("system_a", a), ("system_b", b)])} for two in pairs[:3] for a, b in (two, two[::-1])
    ]
    column_a, column_b = pairs[0]
    raise Unclear(
        f"{table.path}: {column_a} and {column_b} hold the same names in both orders, so they seem to be the two "
        "systems. Which one is response a, or the left one? (If they are no systems: --columns system_a=-.)",
        *ways,
    )


WON = {"winner", "chosen", "preferred", "better", "best", "won", "more"}
LOST = {*NEGATIVE, "other", "less"}
WINNER_AND_LOSER = "the winner and the loser"
WINNER = "the better of two"  # a column that is added


def _add_likely(
    table: RawTable, names: dict[str, str], why: dict[str, str], ignored: set[str], systems: TwoColumns | None
) -> None:
    """Pair and rater by their usual names. A column that counts the rows names no pair."""
    used = {*names.values(), *((systems.a, systems.b) if systems else ())}
    for field in ("pair", "rater"):
        if field in names or field in ignored:
            continue
        free = [column for column in table.names if column not in used]
        if field == "pair":
            if "item" in names:
                names["pair"], why["pair"] = names["item"], "the item, since no column names the pair"
                continue
            free = [column for column in free if not is_row_number(table, column)]
        if name := find_column(field, free):
            names[field], why[field] = name, "by its name"
            used.add(name)
