"""Answers that are codes: numbers, scales, true and false, yes and no. A code says nothing of which side it means.

Every assignment that is possible is told with its result, and the user types one of them: `--values a=1,b=2`, or with
bounds: `--values a=<1.5,b=>1.5,tie=1.5` reads alpaca_eval's preferences, `a=<0,b=>0,tie=0` a scale from -3 to 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

from dialogue.importing.columns import plain_name
from dialogue.importing.meanings import TIED, Alternative, Rows, Sides, Winners, tell_readings
from dialogue.importing.naming import IGNORED, typed_names
from dialogue.importing.words import (
    FLAGS,
    NUMBER,
    Meaning,
    bound_of,
    is_missing,
    is_tie,
    one_name,
    resembles,
    spoken,
    winner_named,
)

Assignment = dict[str, int]  # a code, or a bound such as `<3` -> 0 for the first side, 1 for the second, 2 for a tie
SIDE_NAMES = {"response": ("a", "b", "tie"), "place": ("left", "right", "tie")}


def codes_of(rows: Rows, stated: Mapping[str, str], own: Mapping[str, Meaning]) -> list[str]:
    """The codes among the answers whose meaning nobody has said; none where other words say sides."""
    known = {**dict.fromkeys(own, ""), **stated}
    folded = {one_name(word) for word in known}
    words = [word for word in dict.fromkeys(rows.choice)
             if word and one_name(word) not in folded and bound_of(word, known) is None]  # fmt: skip
    codes = [word for word in words if NUMBER.fullmatch(word) or word.lower() in FLAGS]
    if any(word not in codes and not is_tie(word) and not is_missing(word) for word in words):
        codes = _two_unknown(rows, words)
    if any(one_name(word) in rows.systems for word in codes):
        return []
    columns = rows.roles.systems or rows.roles.texts
    is_called_so = columns is not None and columns.family == ("1", "2") and {*codes} <= {"1", "2"}
    return [] if is_called_so else codes


def _two_unknown(rows: Rows, words: Sequence[str]) -> list[str]:
    """Two words that say nothing, where no other word says a side: `f` and `j`, say, of which keys were pressed."""
    columns = [two for two in (rows.roles.systems, rows.roles.texts) if two is not None]
    names = {plain_name(name) for two in columns for name in (two.a, two.b)}
    texts = {*rows.text_a, *rows.text_b}
    unknown = [word for word in words if not is_tie(word) and not is_missing(word)]
    is_known = any(
        spoken(word)
        or winner_named(word, rows.systems)
        or word in texts
        or plain_name(word) in names
        or any(one_name(word) == one_name(name) or resembles(word, name) for name in rows.systems.values())
        for word in unknown
    )
    return unknown if rows.roles.systems is not None and len(unknown) == 2 and not is_known else []


def ask_what_codes_mean(
    rows: Rows, codes: Sequence[str], stated: Mapping[str, str], orders: Mapping[str, Sides]
) -> None:
    """Tell every assignment of the codes with its result; `orders` are the columns that may say who stood where."""
    words = [(ours, theirs) for theirs, ours in stated.items()]
    words += [(word, IGNORED) for word in dict.fromkeys(rows.choice) if is_missing(word) and word not in stated]
    systems = rows.roles.systems
    alternatives = []
    for assignment in _assignments(codes):
        if systems is None or systems.kind == "letters":
            won = [_meant(word, assignment) for word in rows.choice]
            alternatives.append(Alternative({"--values": _typed(assignment, "response", words)}, won))
        for typed, left_sides in orders.items():
            options = {"--values": _typed(assignment, "place", words)} | ({"--columns": typed} if typed else {})
            alternatives.append(Alternative(options, _placed(rows, assignment, left_sides)))
    numbers = sorted(float(code) for code in codes if NUMBER.fullmatch(code))
    what = f"are numbers from {numbers[0]:g} to {numbers[-1]:g}" if numbers else f"are {' and '.join(codes)}"
    tell_readings(rows, f"the answers {what}, and nothing says which of them means a.", alternatives)


def _typed(assignment: Assignment, kind: str, more: Sequence[tuple[str, str]]) -> str:
    names = SIDE_NAMES[kind]
    sides = sorted((names[side], code) for code, side in assignment.items())
    if not any(ours == "tie" for ours, _ in sides):
        sides += [pair for pair in more if pair[0] == "tie"]
    return typed_names([*sides, *(pair for pair in more if pair[1] == IGNORED)])


def _meant(word: str, assignment: Assignment) -> int | None:
    if is_tie(word):
        return TIED
    if word in assignment:
        return assignment[word]
    meant = bound_of(word, {bound: str(side) for bound, side in assignment.items()})
    return None if meant is None else int(meant)


def _placed(rows: Rows, assignment: Assignment, left_sides: Sides) -> Winners:
    """Winners where the codes are places."""
    won: Winners = []
    for word, side_left in zip(rows.choice, left_sides, strict=True):
        place = _meant(word, assignment)
        if place in (None, TIED) or side_left is None:
            won.append(None if place != TIED else TIED)
        else:
            won.append(place if side_left == 0 else 1 - place)
    return won


def _assignments(codes: Sequence[str]) -> list[Assignment]:
    """What codes can mean: two are the two sides, three may hold a tie, more are a scale with a middle."""
    if len(codes) == 1:
        partners = {"1": "2", "2": "1", "0": "1", "true": "false", "false": "true", "yes": "no", "no": "yes"}
        partner = partners.get(codes[0].lower(), f"not {codes[0]}")
        return [{codes[0]: side, partner: 1 - side} for side in (0, 1)]
    if not all(NUMBER.fullmatch(code) for code in codes):
        return [{codes[0]: side, codes[1]: 1 - side} for side in (0, 1)] if len(codes) == 2 else []
    ordered = sorted(codes, key=float)
    if len(codes) == 2:
        return [{ordered[0]: side, ordered[1]: 1 - side} for side in (0, 1)]
    if len(codes) == 3 and {float(code) for code in codes} in ({0, 1, 2}, {1, 2, 3}):
        return [dict(zip(ordered, sides, strict=True)) for sides in permutations((0, 1, TIED))]
    middles = [f"{middle:g}" for middle in _middles([float(code) for code in ordered])]
    return [{f"<{middle}": side, f">{middle}": 1 - side, middle: TIED} for middle in middles for side in (0, 1)]


def _middles(numbers: Sequence[float]) -> list[float]:
    """The middles that a scale with these numbers may have; its ends need not have been chosen."""
    low, high = numbers[0], numbers[-1]
    if low < 0 < high:
        return [0.0]
    if not all(number.is_integer() for number in numbers):
        return [0.5] if high <= 1 else [1.5] if low >= 1 and high <= 2 else [(low + high) / 2]
    if high > 10:
        return [50.0] if low >= 0 and high <= 100 else [(low + high) / 2]
    first = 1.0 if low >= 1 else low
    return list(dict.fromkeys([(first + high) / 2, (first + high + 1) / 2]))
