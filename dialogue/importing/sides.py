"""Who won every row: what a word stands for there, under every reading that is possible, and never one chosen silently.

A letter may be a response or the place where it was shown; a column of order may or may not say how the columns of the
systems were shown. Each reading gives every row a winner. Readings that agree on every row are one; others are a doubt.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.columns import LeftColumn, TwoColumns, are_aligned, plain_name
from seedvote.dialogue.importing.meanings import (
    TIED,
    Alternative,
    Rows,
    Sides,
    Winners,
    ask_what_codes_mean,
    find_codes,
    read_words,
    refuse_different_readings,
    same_text,
)
from seedvote.dialogue.importing.order import add_texts_shown_first, fix_order, possible_readings, read_left_sides
from seedvote.dialogue.importing.reading import Stated, type_names
from seedvote.dialogue.importing.words import Meaning, read_word


@dataclass(frozen=True, eq=False)
class RowWinners:
    """The winner of every row, who stood on the left, what every word meant, and why."""

    winner: Winners
    left: Sides
    words: Mapping[str, Meaning]
    evidence: Mapping[str, str]


def decide_sides(rows: Rows, stated: Stated, own: Mapping[str, Meaning], letters: str) -> RowWinners:
    """The one reading of the answers; where several differ, all are told with what settles them.

    `own` are the words of the tool that wrote the table, `letters` is what its letters are.
    """
    left_sides = add_texts_shown_first(rows, stated.texts, read_left_sides(rows, rows.roles.left))
    left_sides = fix_order(rows, left_sides) if stated.fixed_order else left_sides
    if codes := find_codes(rows, stated.values, own):
        ask_what_codes_mean(rows, codes, stated.values, _possible_orders(rows, left_sides))
    words = read_words(rows, stated.values, own)
    kinds = {meaning.kind for meaning in words.values()}
    evidence: dict[str, str] = {}
    _refuse_left_twice(rows, words, left_sides)
    if "letter" in kinds:
        as_response = _are_letters_responses(rows, words, left_sides, letters, evidence)
        words = _read_letters_as(words, "response" if as_response else "place")
    if "place" in {meaning.kind for meaning in words.values()}:
        _check_places(rows, words, left_sides)
    winner = _read_winners(rows, words, left_sides, strict=True)
    return RowWinners(winner, left_sides, words, evidence)


def _read_letters_as(words: Mapping[str, Meaning], kind: str) -> dict[str, Meaning]:
    return {
        word: Meaning(kind, meaning.side, stated=meaning.stated) if meaning.kind == "letter" else meaning  # type: ignore[arg-type]
        for word, meaning in words.items()
    }


def _row_winner(rows: Rows, row: int, meaning: Meaning, left_side: int | None) -> int | None:
    """The winner of a row whose answer names a system, quotes a text or names a place."""
    if meaning.kind == "system":
        return _named_winner(rows, row, meaning)
    if meaning.kind == "text":
        return _quoted_winner(rows, row, left_side)
    return _winner_at_place(rows, row, meaning.side, left_side)


def _winner_at_place(rows: Rows, row: int, side: int, left_side: int | None) -> int:
    systems = rows.roles.systems
    if systems is not None and systems.kind == "places":
        return 1 - side if systems.turned else side
    if left_side is None:
        lacking = "left is empty. Fill it, or leave the row out."
        raise InputError(f"{rows.place(row)}: the answer {rows.choice[row]!r} names a place, and {lacking}")
    return side if left_side == 0 else 1 - side


def _named_winner(rows: Rows, row: int, meaning: Meaning) -> int:
    systems = (rows.a[row], rows.b[row])
    if meaning.system not in systems:
        lost = sum(
            word == rows.choice[row] and meaning.system not in (a, b)
            for word, a, b in zip(rows.choice, rows.a, rows.b, strict=True)
        )
        raise InputError(
            f"{rows.place(row)}: the answer is {rows.choice[row]!r}, and this row compares {systems[0]} with "
            f"{systems[1]} ({lost} such row{'s' * (lost > 1)}). Are the columns of the systems the right ones? Name "
            "them: --columns system_a=...,system_b=..."
        )
    return systems.index(meaning.system) ^ meaning.side


def _quoted_winner(rows: Rows, row: int, left_side: int | None) -> int:
    texts, cells = rows.roles.texts, (rows.text_a[row], rows.text_b[row])
    assert texts is not None
    fits = [bool(text) and same_text(rows.choice[row], text) for text in cells]
    if all(fits):
        raise InputError(
            f"{rows.place(row)}: the answer is the text of {texts.a} and of {texts.b}, which are the same, so it names "
            "no side. Write a tie there, or leave the row out."
        )
    side = fits.index(True)
    systems = rows.roles.systems
    if systems is not None and texts.kind == systems.kind and not are_aligned(systems, texts):
        raise InputError(
            f"{rows.place(row)}: the answer is the text of {(texts.a, texts.b)[side]}, and {texts.a} and {texts.b} do "
            f"not say which of them is that of {systems.a}. If {texts.a} always is, rename the texts as the systems "
            "are named."
        )
    if texts.kind == (systems.kind if systems is not None else "letters"):
        return 1 - side if systems is not None and systems.turned else side
    return _winner_at_place(rows, row, side, left_side) if texts.kind == "places" else side


# Readings that may differ


def _possible_orders(rows: Rows, left_sides: Sides) -> dict[str, Sides]:
    """What is typed for a column of order -> who stood on the left by it; empty for the one that is known."""
    if any(side is not None for side in left_sides):
        column = rows.roles.left
        return {"" if column is None or column.sure else column.typed: left_sides}
    return {column.typed: sides for name in rows.roles.suspects for column, sides in _orders_by(rows, name)}


def _orders_by(rows: Rows, name: str) -> list[tuple[LeftColumn, Sides]]:
    """Who stood on the left by a column of unknown name: one reading, or two that are opposite."""
    orders = []
    for column in possible_readings(rows.table, name, rows.systems):
        with contextlib.suppress(InputError):
            orders.append((column, read_left_sides(rows, column)))
    return orders


def _refuse_left_twice(rows: Rows, words: Mapping[str, Meaning], left_sides: Sides) -> None:
    """`a=left` where a column says who stood on the left: the word would be read against it."""
    systems = rows.roles.systems
    if rows.roles.left is None or (systems is not None and systems.kind == "places"):
        return
    for word, meaning in words.items():
        speaks = read_word(word)
        if meaning.stated and meaning.kind == "response" and speaks is not None and speaks.kind == "place":
            places = {
                name: Meaning("place", m.side, stated=True) if m.stated and m.kind == "response" else m
                for name, m in words.items()
            }
            typed = _type_sides({name: m for name, m in places.items() if m.kind == "place"}, ("left", "right"))
            refuse_different_readings(
                rows,
                f"--values says that {word!r} is response {meaning.shown}, and the column {rows.roles.left.name} "
                "says who stood on the left.",
                [
                    Alternative(
                        {"--values": typed},
                        _read_winners(rows, places, left_sides),
                        "as the place, turned back by that column",
                    ),
                    Alternative(
                        {"--columns": "left=-"},
                        _read_winners(rows, words, left_sides),
                        "as the response, without that column",
                    ),
                ],
            )


def _are_letters_responses(
    rows: Rows, words: Mapping[str, Meaning], left_sides: Sides, letters: str, evidence: dict[str, str]
) -> bool:
    """Whether the letters are responses, and not places; a doubt where both are possible and differ."""
    systems = rows.roles.systems
    met = {word: meaning for word, meaning in words.items() if meaning.kind == "letter"}
    word = next(iter(met))
    if letters == "response":
        return True
    if systems is not None and systems.kind == "places":
        raise Unclear(
            f"{rows.table.path}: the answer {word!r} names a response, and the columns {systems.a} and {systems.b} do "
            f"not say who was called A. If {systems.a} or {systems.b} always was, say so; if the sides changed, name "
            "the columns of A and B: --columns system_a=...,system_b=...",
            *_both_assignments(met),
            conditional=True,
        )
    if systems is not None and systems.turned:
        raise InputError(
            f"{rows.table.path}: --columns names {systems.a} as system_a and {systems.b} as system_b, and the answer "
            f"{word!r} is a letter. Name them the other way round: --columns "
            + type_names([("system_a", systems.b), ("system_b", systems.a)])
        )
    is_known = (
        rows.roles.left is not None or "left_text" in rows.roles.names or any(side is not None for side in left_sides)
    )
    if is_known and letters == "place":
        return False
    if is_known:
        name = rows.roles.left.name if rows.roles.left else rows.roles.names.get("left_text", "--fixed-order")
        if "left_text" in rows.roles.names or any(side is not None for side in left_sides):
            typed = "" if rows.roles.left is None or rows.roles.left.sure else rows.roles.left.typed
            _compare_letters(rows, words, f"{name} says who stood on the left.", {typed: left_sides})
            evidence["letters"] = f"a response or a place: by {name} both give the same votes"
        return True
    for name in rows.roles.suspects:
        orders = _orders_by(rows, name)
        if not orders:
            raise InputError(
                f"{rows.table.path}: the answer {word!r} names the side that was shown, or the response that is called "
                f"so. {name} may say how the two were shown, but not who stood on the left. If the answers name "
                "places, call it left and write a or b there: the response that stood on the left. If it means "
                "something else, rename it."
            )
        doubt = f"{name} may say who stood on the left."
        _compare_letters(rows, words, doubt, {column.typed: sides for column, sides in orders})
    _ask_about_shown_texts(rows, word, met)
    if systems is None:
        return letters not in ("place", "asked")
    if letters in ("place", "asked") or not _are_columns_called(systems, met):
        raise Unclear(
            f"{rows.table.path}: the answer {word!r} names the side that was shown, or a response, and nothing says "
            f"who stood on the left. If {systems.a} always was {_first_word(met)!r}, or always the other, say so "
            "by --values. If the sides changed, name the column that tells which response was on the left: --columns "
            "left=...; without one, nobody can say who won.",
            *_both_assignments(met),
            conditional=True,
        )
    return True


def _are_columns_called(systems: TwoColumns, letters: Mapping[str, Meaning]) -> bool:
    """Whether the columns of the systems have the letters of the answers; a and b may stand for any two columns.

    Our own names, as a key of a survey has them, say by definition which answer is the first.
    """
    signs = {meaning.sign for meaning in letters.values()}
    return signs <= {"a", "b"} or signs <= set(systems.family) or (systems.a, systems.b) == ("system_a", "system_b")


def _first_word(letters: Mapping[str, Meaning]) -> str:
    return next((word for word, meaning in letters.items() if meaning.side == 0), "the first")


def _ask_about_shown_texts(rows: Rows, word: str, letters: Mapping[str, Meaning]) -> None:
    """A letter where columns hold what was shown on the left and on the right: it may be the place."""
    systems = rows.roles.systems
    if systems is None or not (columns := _columns_as_shown(rows)):
        return
    raise Unclear(
        f"{rows.table.path}: the answer {word!r} names the side that was shown, or the response that is called so. "
        f"{' and '.join(columns)} hold what was shown on each side, but not which system it came from. If the answers "
        "name places, add a column left that says which response stood there, a or b. If they name "
        f"{systems.a} and {systems.b}, say so by --values.",
        {"--values": _type_sides(letters, ("a", "b"))},
    )


def _columns_as_shown(rows: Rows) -> tuple[str, ...]:
    """The two columns of what was shown on the left and on the right, where they are not the systems."""
    systems = rows.roles.systems
    columns = {plain_name(name): name for name in rows.table.names}
    for plain, name in columns.items():
        partner = columns.get(re.sub(r"(^|_)left(_|$)", r"\1right\2", plain), name)
        if partner != name and systems is not None and not {name, partner} & {systems.a, systems.b}:
            return name, partner
    return ()


def _compare_letters(rows: Rows, words: Mapping[str, Meaning], doubt: str, orders: Mapping[str, Sides]) -> None:
    """Refuse letters that give other winners as responses than as places; `orders` are typed names of columns."""
    letters = {word: meaning for word, meaning in words.items() if meaning.kind == "letter"}
    first = next(iter(letters))
    responses = _read_winners(rows, _read_letters_as(words, "response"), next(iter(orders.values())))
    readings = [Alternative({"--values": _type_sides(letters, ("a", "b"))}, responses, "as the response")]
    for typed, left_sides in orders.items():
        options = {"--values": _type_sides(letters, ("left", "right"))} | ({"--columns": typed} if typed else {})
        name = "as the place" if len(orders) == 1 else f"as the place, {typed}"
        readings.append(Alternative(options, _read_winners(rows, _read_letters_as(words, "place"), left_sides), name))
    refuse_different_readings(
        rows,
        f"The answer {first!r} names the side that was shown, or the response that is called so; {doubt}",
        readings,
    )


def _check_places(rows: Rows, words: Mapping[str, Meaning], left_sides: Sides) -> None:
    """Left and right, where something must say who stood there."""
    systems, column = rows.roles.systems, rows.roles.left
    if systems is not None and systems.kind == "places":
        return
    met = {word: meaning for word, meaning in words.items() if meaning.kind == "place"}
    straight, turned = _both_assignments(met)
    needs = [row for row, word in enumerate(rows.choice) if words[word].kind == "place"]
    if all(left_sides[row] is None for row in needs):
        raise _nobody_knows_who_stood_there(rows, words, next(iter(met)), needs[0], (straight, turned))
    if column is None or column.sure or systems is None:
        return
    if len({*zip(rows.a, rows.b, strict=True)}) > len({frozenset(two) for two in zip(rows.a, rows.b, strict=True)}):
        responses = {
            word: Meaning("response", meaning.side) if meaning.kind == "place" else meaning
            for word, meaning in words.items()
        }
        refuse_different_readings(
            rows,
            f"{systems.a} and {systems.b} change from row to row, and so does {column.name}: either may say who stood "
            "on the left.",
            [
                Alternative(
                    {**straight, "--columns": "left=-"},
                    _read_winners(rows, responses, left_sides),
                    f"{systems.a} always on the left",
                ),
                Alternative(
                    {"--columns": column.typed}, _read_winners(rows, words, left_sides), f"as {column.name} says"
                ),
            ],
        )


def _nobody_knows_who_stood_there(
    rows: Rows, words: Mapping[str, Meaning], word: str, row: int, assignments: Sequence[Mapping[str, str]]
) -> InputError:
    systems, suspects = rows.roles.systems, rows.roles.suspects
    who = "" if systems is None else f" The columns {systems.a} and {systems.b} do not say it."
    first = "response a" if systems is None else systems.a
    orders = [order for name in suspects for order in _orders_by(rows, name)]
    if orders:
        try:
            refuse_different_readings(
                rows,
                f"The answer {word!r} names the side that was shown, and {', '.join(suspects)} may say which "
                "response stood there.",
                [
                    Alternative({"--columns": column.typed}, _read_winners(rows, words, sides))
                    for column, sides in orders
                ],
            )
        except Unclear as doubt:
            return doubt
        return Unclear(
            f"{rows.place(row)}: choice is {word!r}, which names the side that was shown.{who}",
            {"--columns": orders[0][0].typed},
        )
    if systems is not None and (columns := _columns_as_shown(rows)):
        return InputError(
            f"{rows.place(row)}: choice is {word!r}, which names the side that was shown. {' and '.join(columns)} hold "
            "what was shown on each side, but not which system it came from. Add a column left that says which "
            "response stood there, a or b."
        )
    if suspects:
        return InputError(
            f"{rows.place(row)}: choice is {word!r}, which names the side that was shown. {suspects[0]} may say how "
            "the two were shown, but not who stood on the left. Call it left, and write a or b there: the response "
            "that stood on the left."
        )
    return Unclear(
        f"{rows.place(row)}: choice is {word!r}, which names the side that was shown. The file does not tell which "
        f"response stood there.{who} If {first} always stood on the left, or always the other, say so by --values. In "
        "import-votes, --fixed-order says it too. If the sides changed, name the column that tells which response was "
        "on the left (a or b): --columns left=..., or left_text=... with --pairs. Without one, nobody can say who won.",
        *assignments,
        conditional=True,
    )


def _both_assignments(met: Mapping[str, Meaning]) -> tuple[dict[str, str], dict[str, str]]:
    """The words as the first response and the second, and the other way round."""
    return {"--values": _type_sides(met, ("a", "b"))}, {"--values": _type_sides(met, ("b", "a"))}


def _type_sides(met: Mapping[str, Meaning], names: tuple[str, str]) -> str:
    """`a=A,b=B` of the words that say sides; a side that nobody chose has the word that would stand for it."""
    words: dict[int, list[str]] = {0: [], 1: []}
    for word, meaning in met.items():
        words[meaning.side].append(word)
    for side in (0, 1):
        if not words[side]:
            words[side].append(_partner_word(words[1 - side][0]))
    return type_names((names[side], word) for side in (0, 1) for word in words[side])


def _partner_word(word: str) -> str:
    """The word for the other side, in the same letters."""
    for two in (("left", "right"), ("top", "bottom"), ("first", "second"), ("1", "2"), ("a", "b")):
        for old, new in (two, two[::-1]):
            for form in (str, str.capitalize, str.upper):
                partner = re.sub(rf"(?<![A-Za-z]){form(old)}(?![A-Za-z])", form(new), word)
                if partner != word:
                    return partner
    return f"not {word}"


def _read_winners(rows: Rows, words: Mapping[str, Meaning], left_sides: Sides, *, strict: bool = False) -> Winners:
    """Every row's winner by these meanings; `strict` refuses a place where nothing says who stood there."""
    systems = rows.roles.systems
    is_lenient = not strict and not (systems is not None and systems.kind == "places")
    same_everywhere = {
        word: {"response": meaning.side, "tie": TIED}.get(meaning.kind)
        for word, meaning in words.items()
        if meaning.kind in ("response", "tie", "none", "blank")
    }
    winners: Winners = []
    for row, word in enumerate(rows.choice):
        if word in same_everywhere:
            winners.append(same_everywhere[word])
        elif is_lenient and words[word].kind == "place" and left_sides[row] is None:
            winners.append(None)
        else:
            winners.append(_row_winner(rows, row, words[word], left_sides[row]))
    return winners


# Texts


def refuse_swapped_texts(rows: Rows, pair: str | None, left_sides: Sequence[int | None]) -> None:
    """On every pair that is judged on several rows, whoever said a text must have said it on all of them."""
    texts = rows.roles.texts
    if texts is None or pair is None:
        return
    met: dict[tuple[str, ...], tuple[dict[str, str], int]] = {}
    for row, name in enumerate(rows.table.text(pair)):
        sides = _speakers_of_texts(rows, row, left_sides[row])
        texts_of_row = rows.text_a[row], rows.text_b[row]
        if sides is None or sides[0] == sides[1] or not all(texts_of_row) or same_text(*texts_of_row):
            continue
        text_of = {side: " ".join(text.split()) for side, text in zip(sides, texts_of_row, strict=True)}
        before, first = met.setdefault((name, *sorted(sides)), (text_of, row))
        if text_of != before and text_of == dict(zip(before, reversed(before.values()), strict=True)):
            raise InputError(
                f"{rows.place(row)}: on pair {name!r}, {sides[0]} and {sides[1]} have changed texts since "
                f"{rows.place(first)} ({texts.a}, {texts.b}). The two sides were swapped in one of these rows and not "
                "in the answer. Name the columns of the two systems: --columns system_a=...,system_b=... Or name what "
                "tells which response was on the left: --columns left=... Mend the rows where these are wrong."
            )


def _speakers_of_texts(rows: Rows, row: int, left_side: int | None) -> tuple[str, str] | None:
    """Who said the first and the second text of a row; None where the table does not tell."""
    texts, systems = rows.roles.texts, rows.roles.systems
    assert texts is not None
    if systems is not None:
        return (rows.a[row], rows.b[row]) if are_aligned(systems, texts) else None
    if texts.kind == "letters":
        return "a", "b"
    return ("left", "right") if left_side is None else ("ab"[left_side], "ab"[1 - left_side])
