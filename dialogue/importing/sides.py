"""Who won every row: what a word stands for there, under every reading that is possible, and never one chosen silently.

A letter may be a response or the place where it was shown; a column of order may or may not say how the columns of the
systems were shown. Each reading gives every row a winner. Readings that agree on every row are one; others are a doubt.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialogue.errors import InputError, Unclear
from dialogue.importing.columns import CODES, LeftColumn, plain_name, reading_of
from dialogue.importing.meanings import TIED, Rows, Winners, same_text, tally, word_meanings
from dialogue.importing.naming import typed_names
from dialogue.importing.reading import Stated
from dialogue.importing.scales import ask_what_numbers_are
from dialogue.importing.words import Meaning, one_name, spoken

LEFT = {"a": 0, "b": 1, "ab": 0, "ba": 1, "a,b": 0, "b,a": 1, "0,1": 0, "1,0": 1}
TRUE, FALSE = {"true", "yes", "1", "1.0"}, {"false", "no", "0", "0.0"}
UNKNOWN = "a and b are responses of no named system"


@dataclass(frozen=True, eq=False)
class RowWinners:
    """The winner of every row, who stood on the left, what every word meant, and why."""

    winner: Winners
    left: list[int | None]
    words: Mapping[str, Meaning]
    evidence: Mapping[str, str]


def decide_sides(rows: Rows, asked: Stated, own: Mapping[str, Meaning], letters: str) -> RowWinners:
    """The one reading of the answers; where several differ, both are told with what settles them.

    `own` are the words of the tool that wrote the table, `letters` is what its letters are.
    """
    if (
        not own
        and not asked.values
        and not any(two and two.zero_based for two in (rows.roles.systems, rows.roles.texts))
    ):
        ask_what_numbers_are(rows, asked.values)
    words = word_meanings(rows, asked.values, own)
    kinds = {meaning.kind for meaning in words.values()}
    left = _left_by_text(rows, asked.texts, left_of(rows, rows.roles.left))
    left = _in_fixed_order(rows, left) if asked.fixed_order else left
    evidence: dict[str, str] = {}
    _refuse_left_twice(rows, words, left)
    if "letter" in kinds:
        as_response = _what_letters_are(rows, words, left, letters, evidence)
        words = {word: Meaning("response" if as_response else "place", one.side, stated=one.stated)
                 if one.kind == "letter" else one for word, one in words.items()}  # fmt: skip
    if "place" in {meaning.kind for meaning in words.values()}:
        _check_places(rows, words, left)
    return RowWinners(resolved(rows, words, left), left, words, evidence)


def resolved(rows: Rows, words: Mapping[str, Meaning], left: Sequence[int | None]) -> Winners:
    """Every row's winner by these meanings."""
    return [_winner(rows, row, words[word], left[row]) for row, word in enumerate(rows.choice)]


def _winner(rows: Rows, row: int, meaning: Meaning, left: int | None) -> int | None:
    if meaning.kind in ("none", "blank"):
        return None
    if meaning.kind == "tie":
        return TIED
    if meaning.kind == "system":
        return _named(rows, row, meaning)
    if meaning.kind == "text":
        return _quoted(rows, row, left)
    if meaning.kind == "place":
        return _at_place(rows, row, meaning.side, left)
    return meaning.side


def _at_place(rows: Rows, row: int, side: int, left: int | None) -> int:
    systems = rows.roles.systems
    if systems is not None and systems.kind == "places":
        return 1 - side if systems.turned else side
    if left is None:
        lacking = "left is empty. Fill it, or leave the row out."
        raise InputError(f"{rows.place(row)}: the answer {rows.choice[row]!r} names a place, and {lacking}")
    return side if left == 0 else 1 - side


def _named(rows: Rows, row: int, meaning: Meaning) -> int:
    both = (rows.a[row], rows.b[row])
    if meaning.system not in both:
        lost = sum(word == rows.choice[row] and meaning.system not in (a, b)
                   for word, a, b in zip(rows.choice, rows.a, rows.b, strict=True))  # fmt: skip
        raise InputError(
            f"{rows.place(row)}: the answer is {rows.choice[row]!r}, and this row compares {both[0]} with {both[1]} "
            f"({lost} such row{'s' * (lost > 1)}). Are the columns of the systems the right ones? Name them: --columns "
            "system_a=...,system_b=..."
        )
    return both.index(meaning.system)


def _quoted(rows: Rows, row: int, left: int | None) -> int:
    texts, columns = rows.roles.texts, (rows.text_a[row], rows.text_b[row])
    assert texts is not None
    fits = [bool(text) and same_text(rows.choice[row], text) for text in columns]
    if all(fits):
        raise InputError(
            f"{rows.place(row)}: the answer is the text of {texts.a} and of {texts.b}, which are the same, so it names "
            "no side. Write a tie there, or leave the row out."
        )
    side = fits.index(True)
    systems = rows.roles.systems
    if texts.kind == (systems.kind if systems is not None else "letters"):
        return 1 - side if systems is not None and systems.turned else side
    return _at_place(rows, row, side, left) if texts.kind == "places" else side


# Who stood on the left


def left_of(rows: Rows, column: LeftColumn | None) -> list[int | None]:
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
    return [_left(rows, row, cell, column, "2" in cells) for row, cell in enumerate(cells)]


def _left_by_text(rows: Rows, texts: Mapping[str, tuple[str, str]], left: list[int | None]) -> list[int | None]:
    """With the sides that the text shown first gives away, looked up among the two responses of the pair."""
    names = rows.roles.names
    if "left_text" not in names or not texts or "pair" not in names:
        return left
    found = list(left)
    cells = zip(rows.table.text(names["left_text"]), rows.table.text(names["pair"]), strict=True)
    for row, (text, pair) in enumerate(cells):
        if left[row] is None and text and pair in texts:
            fits = [side for side, response in enumerate(texts[pair]) if same_text(response, text)]
            if not fits:
                raise InputError(f"{rows.place(row)}: the text shown first is neither response of pair {pair!r}.")
            found[row] = fits[0] if len(fits) == 1 else None
    return found


def _in_fixed_order(rows: Rows, left: list[int | None]) -> list[int | None]:
    if 1 in left and not rows.a:
        where = rows.place(left.index(1))
        raise InputError(f"{where}: the file says that b was shown first here, so --fixed-order does not hold.")
    return [0 if side is None else side for side in left]


def _left(rows: Rows, row: int, cell: str, column: LeftColumn, one_based: bool) -> int | None:
    word = one_name(cell)
    if not word:
        return None
    if column.reads == "swapped":
        if word in TRUE | FALSE:
            return int(word in TRUE)
    elif column.reads == "place of a":
        if word in ("0", "1", "2"):
            return int(word) - one_based if 0 <= int(word) - one_based <= 1 else None
        if (meaning := spoken(cell)) is not None and meaning.kind in ("place", "letter"):
            return meaning.side
    else:
        side = _side(rows, row, cell, one_based)
        if side is not None:
            return side
    sentence = f"{rows.place(row)}: left is {cell!r}, which is not one of a, b; the response shown first is expected."
    if word in CODES:
        raise InputError(f"{sentence} Write a or b there: {cell} does not say which response it was.")
    raise InputError(f"{sentence} If the column means something else, leave it out: --columns left=-.")


def _side(rows: Rows, row: int, cell: str, one_based: bool) -> int | None:
    word = re.sub(r"\s*,\s*", ",", re.sub(r"[\[\]\"'()]", "", cell.lower())).strip()
    plain = {**LEFT, **({"1": 0, "2": 1} if one_based else {"0": 0, "1": 1})}
    speaks = spoken(cell)
    side = plain.get(word, plain.get(word.replace(" ", ",")))
    if side is None and speaks is not None and speaks.kind == "letter":
        side = speaks.side
    if rows.a:
        both = [one_name(rows.a[row]), one_name(rows.b[row])]
        first = re.split(r"[,>|/]", cell)[0]
        name = next((name for name in (one_name(cell), one_name(first)) if name in both), "")
        if name and both[0] != both[1]:
            if side is not None:
                raise InputError(
                    f"{rows.place(row)}: left is {cell!r}, which is the name of a system and of a side. Rename the "
                    "system in the table, so that every name has one meaning."
                )
            return both.index(name)
    return side


# Readings that may differ


def _refuse_left_twice(rows: Rows, words: Mapping[str, Meaning], left: Sequence[int | None]) -> None:
    """`a=left` where a column says who stood on the left: the word would be read against it."""
    systems = rows.roles.systems
    if rows.roles.left is None or (systems is not None and systems.kind == "places"):
        return
    for word, meaning in words.items():
        speaks = spoken(word)
        if meaning.stated and meaning.kind == "response" and speaks is not None and speaks.kind == "place":
            other = {name: Meaning("place", m.side, stated=True) if m.stated and m.kind == "response" else m
                     for name, m in words.items()}  # fmt: skip
            typed = _typed_sides({name: m for name, m in other.items() if m.kind == "place"}, ("left", "right"))
            _refuse_if_different(
                rows, f"--values says that {word!r} is response {meaning.shown}, and the column {rows.roles.left.name} "
                "says who stood on the left.",
                ("as the place, turned back by that column", other, left, {"--values": typed}),
                ("as the response, without that column", words, left, {"--columns": "left=-"}),
            )  # fmt: skip


def _what_letters_are(
    rows: Rows, words: Mapping[str, Meaning], left: Sequence[int | None], letters: str, evidence: dict[str, str]
) -> bool:
    """Whether the letters are responses (True) or places; a doubt where both are possible and differ."""
    systems = rows.roles.systems
    met = {word: meaning for word, meaning in words.items() if meaning.kind == "letter"}
    typed = {"response": _typed_sides(met, ("a", "b")), "place": _typed_sides(met, ("left", "right"))}
    if letters == "response":
        return True
    if systems is not None and systems.kind == "places":
        word = next(iter(met))
        raise Unclear(
            f"{rows.table.path}: the answer {word!r} names a response, and the columns {systems.a} and {systems.b} do "
            f"not say who was called A. If {systems.a} always was, say so; if the sides changed, name the columns of "
            "A and B: --columns system_a=...,system_b=...",
            {"--values": typed["response"]},
        )
    if systems is not None and systems.turned:
        raise InputError(
            f"{rows.table.path}: --columns names {systems.a} as system_a and {systems.b} as system_b, and the answer "
            f"{next(iter(met))!r} is a letter. Name them the other way round: --columns "
            + typed_names([("system_a", systems.b), ("system_b", systems.a)])
        )
    known = rows.roles.left is not None or "left_text" in rows.roles.names or any(side is not None for side in left)
    if known and letters == "place":
        return False
    if known:
        name = rows.roles.left.name if rows.roles.left else rows.roles.names.get("left_text", "--fixed-order")
        sure = rows.roles.left is None or rows.roles.left.sure
        if "left_text" in rows.roles.names or any(side is not None for side in left):
            _compare_letters(rows, words, name, left, typed, sure=sure)
            evidence["letters"] = f"a response or a place: by {name} both give the same votes"
        return True
    for name in rows.roles.suspects:
        if (order := _left_by(rows, name)) is None:
            raise Unclear(
                f"{rows.table.path}: the answer {next(iter(met))!r} names the side that was shown, or the response "
                f"that is called so. {name} may say how the two were shown, but not who stood on the left. If the "
                "answers name places, call it left and write a or b there: the response that stood on the left.",
                {"--values": typed["response"]},
                {"--values": typed["place"]},
            )
        _compare_letters(rows, words, name, order, typed, sure=False)
    _ask_about_shown_texts(rows, next(iter(met)), typed)
    return systems is not None or letters not in ("place", "asked")


def _ask_about_shown_texts(rows: Rows, word: str, typed: Mapping[str, str]) -> None:
    """A letter where columns hold what was shown on the left and on the right: it may be the place."""
    systems = rows.roles.systems
    names = {plain_name(name): name for name in rows.table.names}
    for plain, name in names.items():
        other = names.get(re.sub(r"(^|_)left(_|$)", r"\1right\2", plain))
        if other is None or other == name or systems is None or {name, other} & {systems.a, systems.b}:
            continue
        raise Unclear(
            f"{rows.table.path}: the answer {word!r} names the side that was shown, or the response that is called so. "
            f"{name} and {other} hold what was shown on each side, but not which system it came from. If the answers "
            "name places, add a column left that says which response stood there, a or b.",
            {"--values": typed["response"]},
            {"--values": typed["place"]},
        )


def _left_by(rows: Rows, name: str) -> list[int | None] | None:
    """Who stood on the left by a column of unknown name; None where its name or its cells leave that open."""
    if (reads := reading_of(rows.table, name)) is None:
        return None
    with contextlib.suppress(InputError):
        return left_of(rows, LeftColumn(name, reads, False))
    return None


def _compare_letters(
    rows: Rows,
    words: Mapping[str, Meaning],
    name: str,
    left: Sequence[int | None],
    typed: Mapping[str, str],
    *,
    sure: bool,
) -> None:
    """Refuse letters that give other winners as responses than as places."""
    places = {word: Meaning("place", one.side) if one.kind == "letter" else one for word, one in words.items()}
    responses = {word: Meaning("response", one.side) if one.kind == "letter" else one for word, one in words.items()}
    named = {} if sure else {"--columns": typed_names([("left", name)])}
    first = next(word for word, one in words.items() if one.kind == "letter")
    _refuse_if_different(
        rows,
        f"The answer {first!r} names the side that was shown, or the response that is called so; {name} says who stood "
        "on the left.",
        ("as the response", responses, left, {"--values": typed["response"]}),
        ("as the place", places, left, {"--values": typed["place"], **named}),
    )


def _check_places(rows: Rows, words: Mapping[str, Meaning], left: Sequence[int | None]) -> None:
    """Left and right, where something must say who stood there."""
    systems, column = rows.roles.systems, rows.roles.left
    if systems is not None and systems.kind == "places":
        return
    met = {word: meaning for word, meaning in words.items() if meaning.kind == "place"}
    straight = {"--values": _typed_sides(met, ("a", "b"))}
    needs = [row for row, word in enumerate(rows.choice) if words[word].kind == "place"]
    if all(left[row] is None for row in needs):
        raise _nobody_knows_who_stood_there(rows, next(iter(met)), needs[0], straight)
    if column is None or column.sure or systems is None:
        return
    if len({*zip(rows.a, rows.b, strict=True)}) > len({frozenset(two) for two in zip(rows.a, rows.b, strict=True)}):
        responses = {word: Meaning("response", one.side) if one.kind == "place" else one for word, one in words.items()}
        _refuse_if_different(
            rows,
            f"{systems.a} and {systems.b} change from row to row, and so does {column.name}: either may say who stood "
            "on the left.",
            (f"{systems.a} always on the left", responses, left, {**straight, "--columns": "left=-"}),
            (f"as {column.name} says", words, left, {"--columns": typed_names([("left", column.name)])}),
        )


def _nobody_knows_who_stood_there(rows: Rows, word: str, row: int, straight: Mapping[str, str]) -> InputError:
    systems, near = rows.roles.systems, rows.roles.suspects
    who = "" if systems is None else f" The columns {systems.a} and {systems.b} do not say it."
    first = "response a" if systems is None else systems.a
    readable = [name for name in near if _left_by(rows, name) is not None]
    if near and not readable:
        return InputError(
            f"{rows.place(row)}: choice is {word!r}, which names the side that was shown. {near[0]} may say how the "
            "two were shown, but not who stood on the left. Call it left, and write a or b there: the response "
            "that stood on the left."
        )
    return Unclear(
        f"{rows.place(row)}: choice is {word!r}, which names the side that was shown, and the file does not tell which "
        f"response stood there.{who} If {first} always stood on the left, say so by --values (in import-votes also "
        "--fixed-order). If the sides changed, name the column that tells which response was on the left (a or b): "
        "--columns left=..., or left_text=... with --pairs.",
        *({"--columns": typed_names([("left", name)])} for name in readable),
        *(() if readable else (straight,)),  # where a column tells it, "always on the left" would be a guess
    )


def _typed_sides(met: Mapping[str, Meaning], names: tuple[str, str]) -> str:
    """`a=A,b=B` of the words that say sides; a side that nobody chose has the word that would stand for it."""
    words: dict[int, list[str]] = {0: [], 1: []}
    for word, meaning in met.items():
        words[meaning.side].append(word)
    for side in (0, 1):
        if not words[side]:
            words[side].append(_partner(words[1 - side][0]))
    return typed_names((names[side], word) for side in (0, 1) for word in words[side])


def _partner(word: str) -> str:
    """The word for the other side, in the same letters."""
    for one, other in (("left", "right"), ("top", "bottom"), ("first", "second"), ("1", "2"), ("a", "b")):
        for old, new in ((one, other), (other, one)):
            for form in (str, str.capitalize, str.upper):
                found = re.sub(rf"(?<![A-Za-z]){form(old)}(?![A-Za-z])", form(new), word)
                if found != word:
                    return found
    return f"not {word}"


Way = tuple[str, Mapping[str, Meaning], Sequence[int | None], Mapping[str, str]]


def _refuse_if_different(rows: Rows, sentence: str, *ways: Way) -> None:
    """Two readings that give some row different winners: refused with both, and the rows that tell."""
    winners = [_safely(rows, words, left) for _, words, left, _ in ways]
    differing = [row for row, both in enumerate(zip(*winners, strict=True)) if both[0] != both[1]]
    if not differing:
        return
    outcomes = "; ".join(f"{name}: {tally(rows, won)}" for (name, *_), won in zip(ways, winners, strict=True))
    shown = ", ".join(rows.place(row).rpartition(":")[2].strip() for row in differing[:3])
    more = f", ... ({len(differing):,} rows)" if len(differing) > 3 else ""
    lines = "row" if "row" in rows.place(0) else "line"
    shown = shown.replace("row ", "")
    raise Unclear(
        f"{rows.table.path}: {sentence} {outcomes[0].upper()}{outcomes[1:]}. They differ in {lines} {shown}{more}.",
        *(way for *_, way in ways),
    )


def _safely(rows: Rows, words: Mapping[str, Meaning], left: Sequence[int | None]) -> Winners:
    return [None if words[word].kind == "place" and left[row] is None and not _by_columns(rows)
            else _winner(rows, row, words[word], left[row]) for row, word in enumerate(rows.choice)]  # fmt: skip


def _by_columns(rows: Rows) -> bool:
    return rows.roles.systems is not None and rows.roles.systems.kind == "places"
