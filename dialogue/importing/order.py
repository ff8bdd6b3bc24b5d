"""Who stood on the left in every row: by the systems' own columns, by a column of order, or by the text shown first.

The name of a column may say how it is read (`left`, `shown_right`, `swapped`). Where its name leaves that open, both of
its readings are kept, so that they can be told with the winner that each of them gives.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from difflib import get_close_matches

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.columns import (
    ANSWER_WORDS,
    ANSWERS,
    LIKELY,
    NO_SYSTEM,
    SYSTEM_WORDS,
    LeftColumn,
    TwoColumns,
    is_turned,
    leaf_name,
    name_words,
    plain_name,
)
from seedvote.dialogue.importing.meanings import Rows, same_text
from seedvote.dialogue.importing.reading import IGNORED, type_names
from seedvote.dialogue.importing.words import fold_name, read_word
from seedvote.dialogue.tables.table import RawTable

Sides = list[int | None]  # 0 or 1 for every row: the response that stood on the left; None where nothing says it
SHOWN_FIRST = {
    *("left_side", "on_left", "shown_first", "first_shown", "shown_left", "left_response", "left_is", "first"),
    *("displayed_first", "left_shown", "left_first", "input_left", "which_left"),
}
SHOWN_SECOND = {
    *("right_side", "on_right", "shown_second", "second_shown", "shown_right", "right_response", "right_is"),
    *("displayed_second", "right_shown", "input_right", "which_right"),
}
ORDERS = {
    *("order", "presentation_order", "display_order", "shown_order", "side_order", "order_shown", "ordering"),
    *("response_order", "presented_order"),
}
SWAPS = {
    *("swapped", "swap", "is_swapped", "flipped", "flip", "is_flipped", "reversed", "is_reversed", "switched"),
    *("inverted", "order_swapped", "swap_order", "sides_swapped", "position_swapped", "was_swapped"),
}
OF_A = {
    *("position_a", "a_position", "pos_a", "side_a", "a_side", "model_a_position", "position_of_a", "model_a_side"),
    *("position_model_a", "a_pos", "system_a_side", "system_a_position"),
}
ORDER_NAME = re.compile(
    r"order|position|swap|flip|random|revers|inver[st]|switch|tausch|reihenfolge|ordre|orden|links|gauche|izquierd|"
    r"rechts|droite|derech|presentation|\b(lr|pos|left\w*|right\w*|first\w*|second\w*|shown|display\w*|turned|"
    r"perm\w*|side\w*|top|bottom|lhs|rhs)\b"
)  # in the name of a column that may say how the two responses were shown
FLAGS = {"true", "false", "yes", "no", "0", "1", "0.0", "1.0", "y", "n", "t", "f"}
TRUE, FALSE = {"true", "yes", "y", "t", "1", "1.0"}, {"false", "no", "n", "f", "0", "0.0"}
LETTER_CELLS = {"a", "b", "model_a", "model_b", "ab", "ba"}
LEFT = {"a": 0, "b": 1, "ab": 0, "ba": 1, "a,b": 0, "b,a": 1, "0,1": 0, "1,0": 1}


def find_left_column(
    table: RawTable,
    names: Mapping[str, str],
    stated: Mapping[str, str],
    free: Sequence[str],
    systems: Collection[str],
    texts: TwoColumns | None,
) -> LeftColumn | None:
    """The column that says who stood on the left, as stated or by its name; None where there is none."""
    if stated.get("left") == IGNORED:
        return None
    if column := _stated_order(table, stated):
        return column
    if (name := names.get("left")) is not None:
        if _quotes_responses(table, name, texts):
            return LeftColumn(name, "left", True)
        readings = possible_readings(table, name, systems)
        reading = next((way for way in readings if way.reads == "left" or len(readings) == 1), None)
        if reading is None:
            raise _open_order(table, name, readings)
        return LeftColumn(name, reading.reads, True, reading.word)
    for name in free:
        plain = plain_name(leaf_name(name))
        cells = {fold_name(cell) for cell in table.values(name)}
        if plain in SWAPS and cells <= FLAGS:
            return LeftColumn(name, "swapped", False)
        says_response = cells <= LETTER_CELLS | {"0", "1", "2"} or cells <= set(systems)
        if (plain in SHOWN_FIRST or _is_system_at(name, LEFT_WORDS)) and says_response:
            return LeftColumn(name, "left", False)
        if (plain in SHOWN_SECOND or _is_system_at(name, RIGHT_WORDS)) and (
            cells <= LETTER_CELLS or cells <= set(systems)
        ):
            return LeftColumn(name, "right", False)
        if plain in ORDERS and _holds_orders(table, name):
            return LeftColumn(name, "left", False)
        if plain in OF_A:
            return LeftColumn(name, "place of a", False)
        if LEFT_WORDS & {*name_words(name)} and _quotes_responses(table, name, texts):
            return LeftColumn(name, "left", True)
    return None


def _quotes_responses(table: RawTable, name: str, texts: TwoColumns | None) -> bool:
    """Whether every cell is one of the two responses of its row, which then stood there."""
    if texts is None or texts.kind != "letters" or name in (texts.a, texts.b):
        return False
    cells = zip(table.text(name), table.text(texts.a), table.text(texts.b), strict=True)
    return all(not cell or same_text(cell, text_a) or same_text(cell, text_b) for cell, text_a, text_b in cells)


def _stated_order(table: RawTable, stated: Mapping[str, str]) -> LeftColumn | None:
    """`right=COLUMN`: who stood there; `swapped=COLUMN` or `swapped=COLUMN:WORD`: the rows in which b stood left."""
    for field in ("right", "swapped"):
        if (name := stated.get(field, IGNORED)) == IGNORED:
            continue
        word = ""
        if field == "swapped" and name not in table.names:
            name, _, word = name.rpartition(":")
        table.check_columns([name] if name in table.names else [stated[field]])
        cells = {cell.lower() for cell in table.values(name)}
        if field == "swapped" and (word.lower() not in cells if word else not cells <= FLAGS):
            raise Unclear(
                f"{table.path}: {name} holds {', '.join(table.values(name)[:4])}. Which of these words says that the "
                "sides were swapped, so that response b stood on the left?",
                *({"--columns": type_names([("swapped", f"{name}:{cell}")])} for cell in table.values(name)[:4]),
            )
        return LeftColumn(name, "right" if field == "right" else "swapped", True, word)
    return None


def _open_order(table: RawTable, name: str, readings: Sequence[LeftColumn]) -> InputError:
    sentence = (
        f"{table.path}: {name} holds {', '.join(table.values(name)[:2])}, which do not say for sure who stood on the "
        "left."
    )
    if not readings:
        return InputError(
            f"{sentence} Call the column left, and write a or b there: the response that stood on the left."
        )
    return Unclear(
        f"{sentence} Which word says that response b stood there?", *({"--columns": way.typed} for way in readings)
    )


def possible_readings(table: RawTable, name: str, systems: Collection[str] = ()) -> list[LeftColumn]:
    """How the cells of a column may say who stood on the left; several where its name and cells leave that open.

    `not_swapped`, `a_first` with true and false, and `secondab` are open: some of them would be read against their
    meaning.
    """
    plain = plain_name(leaf_name(name))
    cells = list(dict.fromkeys(cell.lower() for cell in table.values(name)))
    folded = {fold_name(cell) for cell in cells}
    if plain in OF_A:
        return [LeftColumn(name, "place of a", False)]
    if plain == "left" or not cells:
        return [LeftColumn(name, "left", False)]
    if plain in SWAPS and set(cells) <= FLAGS:
        return [LeftColumn(name, "swapped", False)]
    if plain in SHOWN_FIRST | ORDERS and set(cells) <= {"0", "1", "2"}:
        return [LeftColumn(name, "left", False)]
    if systems and all(_system_shown_first(cell, systems) for cell in cells):
        if plain in ORDERS:
            return [LeftColumn(name, "left", False)]
        return [LeftColumn(name, "left", False), LeftColumn(name, "right", False)]
    if folded <= LETTER_CELLS or (systems and folded <= set(systems)) or _holds_orders(table, name):
        if (plain in SHOWN_FIRST | ORDERS or _is_system_at(name, LEFT_WORDS)) and not is_turned(plain):
            return [LeftColumn(name, "left", False)]
        if plain in SHOWN_SECOND or _is_system_at(name, RIGHT_WORDS):
            return [LeftColumn(name, "right", False)]
        return [LeftColumn(name, "left", False), LeftColumn(name, "right", False)]
    if len(cells) == 2:
        return [LeftColumn(name, "swapped", False, cell) for cell in cells]
    return []


def _system_shown_first(cell: str, systems: Iterable[str]) -> str:
    """The system that `alpha-beta` begins with; empty where the cell is not made of two systems' names."""
    folded = fold_name(re.sub(r"[\[\]\"'()]", "", cell))
    for first in systems:
        remainder = folded.removeprefix(first)
        if remainder != folded and any(second != first and remainder.endswith(second) for second in systems):
            return first
    return ""


def _holds_orders(table: RawTable, name: str) -> bool:
    return all(
        re.fullmatch(r"[\[\"' ]*(a|b|ab|ba|a ?, ?b|b ?, ?a|0, ?1|1, ?0|model_[ab])[\]\"' ]*", value.lower())
        for value in table.values(name)
    )


LEFT_WORDS, RIGHT_WORDS = {"left", "first", "top"}, {"right", "second", "bottom"}


def _is_system_at(name: str, places: Collection[str]) -> bool:
    """`left_model`, `System shown first`: the system that stood there."""
    words = set(name_words(name))
    return bool(words & set(places)) and bool(words & SYSTEM_WORDS) and not words & NO_SYSTEM


def find_lone_side(table: RawTable, free: Iterable[str]) -> tuple[str, bool]:
    """The column of the system at one side, where none names its partner; whether that side is the right one."""
    of_two = [name for name in free if len({fold_name(cell) for cell in table.values(name)}) == 2]
    columns = [
        (name, places is RIGHT_WORDS)
        for name in of_two
        for places in (LEFT_WORDS, RIGHT_WORDS)
        if _is_system_at(name, places)
    ]
    return columns[0] if len(columns) == 1 else ("", False)


def find_order_suspects(table: RawTable, free: Iterable[str], systems: Collection[str]) -> list[str]:
    """Columns with two values, whose cells are sides or whose names speak of the order: they may say who stood left."""
    suspects = []
    for name in free:
        values = {value.lower() for value in table.values(name)}
        if len(values) != 2:
            continue
        sides = any(values <= words for words in ({"a", "b"}, {"ab", "ba"}, {"left", "right"}, {"[0, 1]", "[1, 0]"}))
        names_systems = bool(systems) and {fold_name(value) for value in values} <= set(systems)
        if (sides or speaks_of_order(name) or names_systems) and not _is_known(plain_name(name)):
            suspects.append(name)
    return suspects


def speaks_of_order(name: str) -> bool:
    """Whether a column's name has a word for places or their change."""
    plain = plain_name(name)
    return bool(ORDER_NAME.search(plain.replace("_", " ")) or get_close_matches(plain, [*SWAPS, "left"], 1, 0.75))


def _is_known(plain: str) -> bool:
    """Whether a plain name means something else: a known answer, a source, an answer."""
    return (
        plain in ANSWERS
        or plain in ("kind", "source")
        or (
            not re.search(r"order|position|swap|flip|shown|display|left|right|side", plain)
            and (plain in LIKELY["choice"] or bool(ANSWER_WORDS & set(plain.split("_"))))
        )
    )


def read_left_sides(rows: Rows, column: LeftColumn | None) -> Sides:
    """Which response stood on the left in every row: 0 or 1, None where nothing says it."""
    systems, size = rows.roles.systems, len(rows.choice)
    if systems is not None and systems.kind == "places":
        return [int(systems.turned)] * size
    if column is None:
        return [None] * size
    cells = rows.table.text(column.name)
    if column.reads == "place of a" and {*cells} <= {"1", "1.0", ""}:
        raise InputError(
            f"{rows.table.path}: {column.name} is 1 in every row, which is the first place or the second. Write left "
            "or right there; if the column means something else, leave it out: --columns left=-."
        )
    one_based = "2" in cells
    return [_read_left_cell(rows, row, cell, column, one_based) for row, cell in enumerate(cells)]


def add_texts_shown_first(rows: Rows, texts: Mapping[str, tuple[str, str]], left_sides: Sides) -> Sides:
    """With the sides that the text shown first gives away, looked up among the two responses of the pair."""
    names = rows.roles.names
    if "left_text" not in names or not texts or "pair" not in names:
        return left_sides
    sides = list(left_sides)
    cells = zip(rows.table.text(names["left_text"]), rows.table.text(names["pair"]), strict=True)
    for row, (text, pair) in enumerate(cells):
        if left_sides[row] is None and text and pair in texts:
            fits = [side for side, response in enumerate(texts[pair]) if same_text(response, text)]
            if not fits:
                raise InputError(f"{rows.place(row)}: the text shown first is neither response of pair {pair!r}.")
            sides[row] = fits[0] if len(fits) == 1 else None
    return sides


def fix_order(rows: Rows, left_sides: Sides) -> Sides:
    """The first response on the left wherever nothing says it (`--fixed-order`)."""
    if 1 in left_sides and not rows.a:
        where = rows.place(left_sides.index(1))
        raise InputError(f"{where}: the file says that b was shown first here, so --fixed-order does not hold.")
    return [0 if side is None else side for side in left_sides]


def _read_left_cell(rows: Rows, row: int, cell: str, column: LeftColumn, one_based: bool) -> int | None:
    word = fold_name(cell)
    if not word:
        return None
    if column.reads == "swapped":
        if column.word:
            return int(word == fold_name(column.word))
        if word in TRUE | FALSE:
            return int(word in TRUE)
    elif column.reads == "place of a":
        if word in ("0", "1", "2"):
            return int(word) - one_based if 0 <= int(word) - one_based <= 1 else None
        if (meaning := read_word(cell)) is not None and meaning.kind in ("place", "letter"):
            return meaning.side
    elif (side := _named_side(rows, row, cell, one_based)) is not None:
        return side if column.reads == "left" else 1 - side
    sentence = f"{rows.place(row)}: left is {cell!r}, which is not one of a, b; the response shown first is expected."
    if word in FLAGS | {"2", "2.0"}:
        raise InputError(f"{sentence} Write a or b there: {cell} does not say which response it was.")
    raise InputError(f"{sentence} If the column means something else, leave it out: --columns left=-.")


def _named_side(rows: Rows, row: int, cell: str, one_based: bool) -> int | None:
    word = re.sub(r"\s*,\s*", ",", re.sub(r"[\[\]\"'()]", "", cell.lower())).strip()
    sides = {**LEFT, **({"1": 0, "2": 1} if one_based else {"0": 0, "1": 1})}
    speaks = read_word(cell)
    side = sides.get(word, sides.get(word.replace(" ", ",")))
    if side is None and speaks is not None and speaks.kind == "letter":
        side = speaks.side
    if rows.a:
        systems = [fold_name(rows.a[row]), fold_name(rows.b[row])]
        name = fold_name(cell) if fold_name(cell) in systems else _system_shown_first(cell, systems)
        if name and systems[0] != systems[1]:
            if side is not None:
                raise InputError(
                    f"{rows.place(row)}: left is {cell!r}, which is the name of a system and of a side. Rename the "
                    "system in the table, so that every name has one meaning."
                )
            return systems.index(name)
    if side is None and rows.text_a:
        fits = [same_text(cell, text) for text in (rows.text_a[row], rows.text_b[row])]
        return fits.index(True) if sum(fits) == 1 else None
    return side
