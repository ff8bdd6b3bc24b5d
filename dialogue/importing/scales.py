"""Answers that are numbers: which side of a bound says a, which b, and what to ask where nobody has said it.

`--values a=<1.5,b=>1.5,tie=1.5` reads alpaca_eval's preferences; `a=<0,b=>0,tie=0` a scale from -3 to 3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialogue.errors import Unclear
from dialogue.importing.meanings import Rows, tally
from dialogue.importing.naming import typed_names
from dialogue.importing.words import NUMBER, bound_of


def ask_what_numbers_are(rows: Rows, stated: Mapping[str, str]) -> None:
    """Numbers of a scale, or 0 and 1, whose direction nobody has said: both are told."""
    words = list(dict.fromkeys(word for word in rows.choice if word and word not in stated))
    if len(words) < 2 or not all(NUMBER.fullmatch(word) for word in words):
        return
    numbers = sorted(float(word) for word in words)
    if len(words) == 2 and numbers == [0, 1]:
        ways = [{word: "ab"[int(float(word)) ^ turned] for word in words} for turned in (0, 1)]
    elif numbers[0] < 0 < numbers[-1] or len(words) > 3 or any(not number.is_integer() for number in numbers):
        middle = 0.0 if numbers[0] < 0 < numbers[-1] else (numbers[0] + numbers[-1]) / 2
        tie = {f"{middle:g}": "tie"}
        ways = [{f"<{middle:g}": one, f">{middle:g}": other, **tie} for one, other in ("ab", "ba")]
    else:
        return
    outcomes = [tally(rows, [_winner(word, way) for word in rows.choice]) for way in ways]
    typed = [typed_names(sorted((ours, theirs) for theirs, ours in way.items())) for way in ways]
    raise Unclear(
        f"{rows.table.path}: the answers are numbers from {numbers[0]:g} to {numbers[-1]:g}, and nothing says which "
        f"end means a. {typed[0]} gives {outcomes[0]}; {typed[1]} gives {outcomes[1]}.",
        *({"--values": one} for one in typed),
    )


def _winner(word: str, way: Mapping[str, str]) -> int | None:
    ours = bound_of(word, way)
    return None if ours is None else ("a", "b", "tie").index(ours)


def by_score(first: Sequence[str], second: Sequence[str]) -> list[str]:
    """`a`, `b` or `tie` by two numbers, the higher one being better; empty where one is missing."""
    found = []
    for one, other in zip(first, second, strict=True):
        if not (NUMBER.fullmatch(one) and NUMBER.fullmatch(other)):
            found.append("")
        else:
            found.append("tie" if float(one) == float(other) else "a" if float(one) > float(other) else "b")
    return found
