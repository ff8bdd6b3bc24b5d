"""Every column of a table with what it holds: as stated, as its tool writes it, by its name, by its values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from dialogue.errors import InputError, Unclear
from dialogue.importing.answers import answer_cells, choice_column, choice_columns, has_answers, refuse_unread
from dialogue.importing.columns import (
    ANSWER_WORDS,
    BETTER_WORDS,
    FIELDS,
    LIKELY,
    NEGATIVE,
    Roles,
    TwoColumns,
    by_plain_name,
    commonest,
    first_fit,
    holds_systems,
    is_row_number,
    is_turned,
    leaf_name,
    left_column,
    lone_left_system,
    plain_name,
    refuse_twins,
    side_suspects,
    system_columns,
    text_columns,
    twins,
    unnamed_systems,
)  # fmt: skip
from dialogue.importing.judged import with_source
from dialogue.importing.naming import IGNORED, typed_names
from dialogue.importing.questions import MOST_QUESTIONS, QUESTIONS, of_one_question
from dialogue.importing.reading import Stated
from dialogue.importing.recognising import unknown_table
from dialogue.importing.tool import Tool
from dialogue.importing.words import is_tie, one_name, spoken
from dialogue.tables.table import RawTable, from_rows


def with_roles(table: RawTable, name: str, tool: Tool, asked: Stated) -> tuple[RawTable, Roles, str]:
    """The rows of the question that is asked for, with what every column of theirs holds."""
    stated = {ours: theirs for ours, theirs in asked.columns.items() if theirs != IGNORED}
    ignored = {ours for ours, theirs in asked.columns.items() if theirs == IGNORED}
    names, why = _names(table, tool, stated, ignored)
    table = _spread(table, names)
    for ours, theirs in stated.items():
        if ours != "choice" and theirs.replace("{n}", "1") not in (*table.names, theirs):
            raise InputError(f"{table.path} has no column {theirs!r} (found: {', '.join(table.names)}).")
        if ours not in ("choice", "worse") and theirs not in table.names:
            raise InputError(f"{table.path} has no column {theirs!r} (found: {', '.join(table.names)}).")
    refuse_twins(table, names.values())
    if name != "plain" and not {"choice", "worse"} & names.keys():
        names["choice"] = _of_tool(table, tool, asked)
        why["choice"] = f"the answer of a {name} export"
    table, question = of_one_question(table, asked, names, ours=name != "plain")
    table, systems = _winner_and_loser(table, names, why) if name == "plain" else (table, None)
    systems = systems or _systems(table, name, tool, asked, names)
    if systems is not None:
        refuse_twins(table, (systems.a, systems.b))
        names = {
            ours: theirs for ours, theirs in names.items() if ours in stated or theirs not in (systems.a, systems.b)
        }
    _add_choice(table, names, why, systems, stated)
    if not {"choice", "worse"} & stated.keys():
        _refuse_turned_question(table, names, systems)
    _add_likely(table, names, why, ignored, systems)
    used = {*names.values(), *((systems.a, systems.b) if systems else ())}
    if "source" not in ignored and "source" not in stated:
        table, source = with_source(table, used, names.get("source", ""))
        names |= {"source": source} if source else {}
    used |= {*names.values()}
    free = [column for column in table.names if column not in used]
    texts = text_columns(free)
    if systems is None and "system_a" not in ignored:
        table, systems = _with_the_other_system(table, free)
        systems = systems or _doubtful_systems(table, free, texts)
    used |= {systems.a, systems.b} if systems else set()
    free = [column for column in free if column not in used and (texts is None or column not in (texts.a, texts.b))]
    named = {one_name(cell) for column in (systems.a, systems.b) for cell in table.values(column)} if systems else set()
    left = left_column(table, names, asked.columns, free, named)
    suspects = [] if left or "left" in ignored else side_suspects(table, free, named)
    return table, Roles(names, why, systems, texts, left, suspects), question


def _names(
    table: RawTable, tool: Tool, stated: Mapping[str, str], ignored: set[str]
) -> tuple[dict[str, str], dict[str, str]]:
    """Field -> column: as stated, else the tool's own, else the column of that name."""
    usual = {field: field for field in FIELDS if not field.startswith("system_")} | dict(tool.columns)
    for field, others in tool.instead.items():
        if usual.get(field) not in table.names:
            usual[field] = next((other for other in others if other in table.names), usual.get(field, field))
    plain = by_plain_name(table.names)
    lacking = [field for field, column in usual.items() if column not in table.names and field in plain]
    usual |= {field: plain[field] for field in lacking}
    names = {field: column for field, column in usual.items()
             if column in table.names and column not in stated.values() and field not in ignored}  # fmt: skip
    if {"left", "right"} <= set(table.names) and names.get("left") == "left" and not _holds_sides(table, "left"):
        del names["left"]  # the two responses, or the two systems
    why = {field: "by its name" if column == field else "as the tool writes it" for field, column in names.items()}
    names |= {field: column for field, column in stated.items() if not field.startswith("system_")}
    return names, why | dict.fromkeys(stated, "as stated")


def _holds_sides(table: RawTable, name: str) -> bool:
    return {value.lower() for value in table.values(name)} <= {"a", "b", "0", "1", "2", "ab", "ba"}


def _spread(table: RawTable, names: dict[str, str]) -> RawTable:
    """One row a judgement where `{n}` in the names counts the pairs of a row."""
    if not any("{n}" in column for column in names.values()):
        return table
    parts, number = [], 1
    while names["pair"].format(n=number) in table.names:
        shown = {column: column.replace("{n}", str(number)) for column in names.values() if "{n}" in column}
        cells = {column: answer_cells(table, theirs) for column, theirs in shown.items()}
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
        ((row, part) for part, one in enumerate(parts) for row in range(len(one))),
        key=lambda key: parts[key[1]].place(key[0]),
    )
    rows = [
        (parts[part].place(row), {name: cells[row] for name, cells in parts[part].columns.items()})
        for row, part in order
    ]
    return from_rows(table.path, [row for _, row in rows], table.notes, [where for where, _ in rows])


def _of_tool(table: RawTable, tool: Tool, asked: Stated) -> str:
    """The choice column of a tool: what `--question` names, by its whole name or what follows the tool's prefix."""
    if asked.question and not asked.columns.get("question"):
        columns = choice_columns(table, tool)
        fits = [column for column in columns if asked.question in (column, column.partition(".")[2])]
        if len(fits) == 1:
            return fits[0]
        if columns:
            raise InputError(f"--question is {asked.question!r}; the questions are {', '.join(columns) or 'none'}.")
    if not choice_columns(table, tool) and len(fits := _says_sides_at_all(table)) == 1:
        return fits[0]
    column = choice_column(table, tool)
    refuse_unread(table, tool, column)
    return column


def _says_sides_at_all(table: RawTable) -> list[str]:
    """The columns whose words all say sides, of whatever name; none where another one can only say tie."""
    if any((values := table.values(name)) and all(map(is_tie, values)) for name in table.names):
        return []
    return [name for name in table.names if _says_sides(table, name, None) and plain_name(name) not in _NO_CHOICE]


def _winner_and_loser(
    table: RawTable, names: dict[str, str], why: dict[str, str]
) -> tuple[RawTable, TwoColumns | None]:
    """`winner` and `loser`, `chosen_model` and `rejected_model`: the two systems, the first of which won every row."""
    if "as stated" in (why.get("choice"), why.get("worse")) or "choice" in names:
        return table, None
    free = [name for name in table.names if table.values(name)]
    for better in free:
        for worse in free:
            one, other = set(plain_name(better).split("_")), set(plain_name(worse).split("_"))
            if is_turned(better) or is_turned(worse):
                continue
            if one & WON and other & LOST and one - WON == other - LOST and holds_systems(table, better, worse):
                names.pop("worse", None)
                names["choice"], why["choice"] = WINNER, WON_EVERY_ROW
                won = {WINNER: [better] * len(table)}
                return table.with_columns(**won), TwoColumns(better, worse, "letters", WINNER_AND_LOSER)
    return table, None


def _systems(table: RawTable, name: str, tool: Tool, asked: Stated, names: Mapping[str, str]) -> TwoColumns | None:
    taken = {**names, **asked.columns}
    systems = system_columns(table, taken)
    if tool.names_models and systems is None:
        raise InputError(f"{table.place(0)}: {name}'s table needs model_1 and model_2, which its values stand for.")
    return systems


def _with_the_other_system(table: RawTable, free: Sequence[str]) -> tuple[RawTable, TwoColumns | None]:
    """Where one column says which of two systems stood on the left, the other one stood on the right."""
    if not (name := lone_left_system(table, free)):
        return table, None
    cells = table.text(name)
    first, second = commonest(filter(None, cells)).values()
    right = {one_name(first): second, one_name(second): first, "": ""}
    other = f"the other than {name}"
    table = table.with_columns(**{other: [right[one_name(cell)] for cell in cells]})
    return table, TwoColumns(name, other, "places", "one of two systems stood on the left")


def _doubtful_systems(table: RawTable, free: Sequence[str], texts: TwoColumns | None) -> TwoColumns | None:
    """Two columns that hold the systems under names that do not say which is which: asked."""
    columns = [column for column in free if texts is None or column not in (texts.a, texts.b)]
    found = unnamed_systems(table, set(table.names) - set(columns))
    if not found:
        return None
    ways = [
        {"--columns": typed_names([("system_a", a), ("system_b", b)])} for two in found[:3] for a, b in (two, two[::-1])
    ]
    one, other = found[0]
    raise Unclear(
        f"{table.path}: {one} and {other} hold the same names in both orders, so they seem to be the two systems. "
        "Which one is response a, or the left one? (If they are no systems: --columns system_a=-.)",
        *ways,
    )


def _add_choice(
    table: RawTable, names: dict[str, str], why: dict[str, str], systems: TwoColumns | None, stated: Mapping[str, str]
) -> None:
    """The column of the answers, or of the worse ones: stated, or by its name if all of its words say something."""
    used = {*names.values(), *((systems.a, systems.b) if systems else ())}
    if (name := names.get("choice")) is not None:
        if not has_answers(table, name):
            raise InputError(f"{table.path} has no column {name!r} (found: {', '.join(table.names)}).")
        if _is_negative(table, name) and stated.get("choice") == name:
            raise Unclear(
                f"{table.path}: the column {name!r} seems to name the worse response. If it does, say so; if it names "
                "the better one, rename the column.",
                {"--columns": typed_names([("choice", IGNORED), ("worse", name)])},
            )
        names.pop("worse", None) if "worse" not in stated else None
        if "choice" not in stated and why.get("choice") != WON_EVERY_ROW:
            _refuse_turned(table, name)
            others = [column for column in table.names if column not in used and _may_answer(table, column, systems)]
            if others and plain_name(name) == "winner":
                raise Unclear(f"{table.path}: several columns may hold the choice: {', '.join([name, *others])}.",
                              *({"--columns": typed_names([("choice", fit)])} for fit in [name, *others]))  # fmt: skip
            if _is_negative(table, name):
                names["worse"], why["worse"] = names.pop("choice"), "by the words of its name"
        return
    if "worse" in names:
        return
    free = [column for column in table.names if column not in used]
    plain = by_plain_name(free)
    for field in ("choice", "worse"):
        fits = [plain[word] for word in LIKELY[field] if word in plain and _says_sides(table, plain[word], systems)]
        if fits and field == "choice":
            fits += [column for column in free if column not in fits and _may_answer(table, column, systems)]
        if len(fits) > 1:
            raise Unclear(f"{table.path}: several columns may hold the choice: {', '.join(fits)}.",
                          *({"--columns": typed_names([("choice", name)])} for name in fits))  # fmt: skip
        if fits:
            if plain_name(fits[0]) not in LIKELY["worse"]:
                _refuse_turned(table, fits[0])
            field = "worse" if _is_negative(table, fits[0]) else field
            names[field], why[field] = fits[0], "by its name and words"
            return
    counts = {name for rest, two in twins(free) if rest for name in (two.a, two.b) if _holds_numbers(table, name)}
    fits = [column for column in free if _says_sides(table, column, systems)
            and plain_name(column) not in _NO_CHOICE and column not in counts]  # fmt: skip
    asked = [column for column in fits if BETTER_WORDS & set(plain_name(column).split("_"))]
    if len(asked) == 1:
        _refuse_turned(table, asked[0])
    if any(column not in asked and _may_answer(table, column, systems) for column in fits):
        asked = []
    if len(asked) == 1 and not _is_negative(table, asked[0]):
        names["choice"], why["choice"] = asked[0], "by the words of its name"
        return
    if len(fits) > 1:
        raters = {"--columns": typed_names([("choice", "|".join(fits))])}
        raise Unclear(
            f"{table.path}: {len(fits)} columns hold answers: {', '.join(fits[:8])}. Are they questions, which are "
            "analysed one by one, or is each the answers of one rater (the last way)?",
            *({"--columns": typed_names([("choice", name)])} for name in fits[:6]), raters,
        )  # fmt: skip
    if fits:
        ways = [{"--columns": typed_names([(field, name)])} for name in fits[:3] for field in ("choice", "worse")]
        raise Unclear(
            f"{table.path} has no column 'choice', which every vote needs. {fits[0]!r} holds words of choices: does it "
            "name the better response, or the worse one?", *ways,
        )  # fmt: skip
    _ask_about_flags(table, free)
    _ask_about_names(table, free, systems)
    raise unknown_table(table, "choice")


def _may_answer(table: RawTable, name: str, systems: TwoColumns | None) -> bool:
    """Whether a column such as `human_choice` holds answers too, by its name and its words."""
    words = set(plain_name(name).split("_"))
    return bool(words & ANSWER_WORDS) and not words & NEGATIVE and _says_sides(table, name, systems)


def _refuse_turned(table: RawTable, name: str) -> None:
    """A name such as `not_preferred` is never taken as the better response, nor as the worse one."""
    question = (table.titles or {}).get(name, "")
    if is_turned(name) or is_turned(question):
        raise Unclear(
            f"{table.path}: {name!r} holds the answers, and its name may say the opposite of better. Does it name the "
            "better response, or the worse one?",
            *({"--columns": typed_names([(field, name)])} for field in ("choice", "worse")),
        )


def _refuse_turned_question(table: RawTable, names: Mapping[str, str], systems: TwoColumns | None) -> None:
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
            asked = set(plain_name(question).split("_"))
            if asked & {*NEGATIVE, "less", "worsen"} or (is_turned(question) and asked & BETTER_WORDS):
                raise Unclear(
                    f"{table.path}: {name} asks {question[:80]!r}, so {answers!r} may name the worse response. Does it "
                    "name the better response, or the worse one?",
                    *({"--columns": typed_names([(field, answers)])} for field in ("choice", "worse")),
                )


def _holds_numbers(table: RawTable, name: str) -> bool:
    return all(re.fullmatch(r"\d+(\.\d+)?", cell) for cell in table.values(name))


def _ask_about_flags(table: RawTable, free: Sequence[str]) -> None:
    """`prefers_a` or `A is better` with true and false: the name says what true means."""
    for name in free:
        words, tokens = table.values(name), set(re.sub(r"[^a-z0-9]+", " ", name.lower()).split())
        true = [word for word in words if word.lower() in ("true", "yes", "1")]
        false = [word for word in words if word.lower() in ("false", "no", "0")]
        sides = [side for side, other in ("ab", "ba") if side in tokens and other not in tokens]
        if (
            len(true) == len(false) == 1 == len(sides)
            and len(words) == 2
            and tokens & {*BETTER_WORDS, "prefers", "wins"}
        ):
            other = {"a": "b", "b": "a"}[sides[0]]
            typed = typed_names(sorted([(sides[0], true[0]), (other, false[0])]))
            turned = typed_names(sorted([(sides[0], false[0]), (other, true[0])]))
            doubtful = is_turned(name) or bool(NEGATIVE & tokens)
            means = "better or worse" if doubtful else "better"
            raise Unclear(
                f"{table.path} has no column 'choice', which every vote needs. {name!r} seems to say whether response "
                f"{sides[0]} is {means}.",
                *({"--columns": typed_names([("choice", name)]), "--values": words}
                  for words in ((typed, turned) if doubtful else (typed,))),
            )  # fmt: skip


def _ask_about_names(table: RawTable, free: Sequence[str], systems: TwoColumns | None) -> None:
    """A column of winners that holds two names, where no columns name the systems."""
    if systems is not None:
        return
    plain = by_plain_name(free)
    for name in (plain[word] for word in LIKELY["choice"] if word in plain):
        words = [word for word in table.values(name) if not is_tie(word)]
        if words and {word.casefold() for word in words} <= OUTCOMES:
            raise InputError(
                f"{table.path}: {name!r} says {' and '.join(words)}, and no columns name both systems of a row: "
                "it is open who won. If it is the outcome of one of them, name both columns, that one as a. Add: "
                f"--columns choice={name},system_a=...,system_b=... --values "
                + typed_names((("a" if word.casefold() in WINS else "b"), word) for word in words)
            )
        if len(words) == 2 and not any(spoken(word) or len(word) > 60 or word.lower() in _FLAGS for word in words):
            meant = typed_names(zip("ab", sorted(words), strict=True))
            raise Unclear(
                f"{table.path}: no columns name the systems, and {name!r} holds two names. If they are the systems "
                "that won, a is the first one:",
                {"--columns": typed_names([("choice", name)]), "--values": meant},
            )


ASKS = {*QUESTIONS, "questions", "instruction", "instructions", "task", "criteria"}  # in the name of a column
WON = {"winner", "chosen", "preferred", "better", "best", "won"}
LOST = {*NEGATIVE, "other"}
WINNER_AND_LOSER = "the winner and the loser"
WON_EVERY_ROW = "the winner won every row"
WINNER = "the better of two"  # a column that is added
WINS = {"win", "wins", "won", "winner", "better", "good"}
OUTCOMES = {*WINS, "loss", "losses", "lose", "loses", "lost", "loser", "worse", "bad"}
_FLAGS = {"true", "false", "yes", "no", "0", "1"}
_NO_CHOICE = {"left", "source", "kind", "status", "position", "order"}


def _says_sides(table: RawTable, name: str, systems: TwoColumns | None) -> bool:
    """Whether all words of a column say a side, a tie or a system, and some of them a side or a system."""
    named = set()
    if systems is not None:
        named = {one_name(cell) for column in (systems.a, systems.b) for cell in table.values(column)}
    texts = text_columns(one for one in table.names if one != name)
    quoted = {cell for column in (texts.a, texts.b) for cell in table.values(column)} if texts else set()
    values = table.values(name)
    says = [one_name(value) in named or value in quoted or (spoken(value) is not None) for value in values[:50]]
    sides = [value for value in values[:50] if one_name(value) in named or value in quoted
             or ((one := spoken(value)) is not None and one.kind != "tie")]  # fmt: skip
    return bool(sides) and all(says) and len(values) > 1


def _is_negative(table: RawTable, name: str) -> bool:
    asked = (table.titles or {}).get(name, "")
    return bool(NEGATIVE & {*plain_name(name).split("_"), *plain_name(asked).split("_")})


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
        if name := first_fit(field, free):
            names[field], why[field] = name, "by its name"
            used.add(name)
