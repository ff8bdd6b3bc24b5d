"""Votes of our form from the judgements of another tool, or one sentence on why that is not possible.

Three traps: letters name the side that was shown and not the response; people answer twice; rounds follow time.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from crowd.exchange.other_tools import TOOLS, Judgement
from crowd.store.event_log import iso
from dialogue.errors import InputError
from dialogue.records import Candidate, Choice, Pair, Side, Vote

LEFT: dict[str, Side] = {"a": "a", "b": "b", "0": "a", "1": "b", "ab": "a", "ba": "b", "[0, 1]": "a", "[1, 0]": "b"}
TOO_LATE = 1e11  # seconds since 1970 (the year 5138); a larger number is in milliseconds and not a time here
ZONES = {"UTC": "+0000", "GMT": "+0000", "PST": "-0800", "PDT": "-0700"}

Dated = tuple[float, Judgement]


@dataclass(frozen=True, slots=True)
class Imported:
    """The votes, and what became of everything that was read."""

    votes: Sequence[Vote]
    read: int
    dropped: Mapping[str, int]  # reason -> judgements
    notes: Sequence[str]


@dataclass(frozen=True, slots=True)
class ImportRules:
    """What the user states about the file, because the file does not say it."""

    tool: str
    values: Mapping[str, str]  # the tool's word -> a (shown first), b (shown second) or tie
    fixed_order: bool = False  # the first side was always response a
    file_order: bool = False  # no times: the order of the file stands for the order of the votes


def as_votes(
    found: Sequence[Judgement], rules: ImportRules, pairs: Sequence[Pair] | None, rater_id: Callable[[str], str]
) -> Imported:
    """Every judgement becomes a vote, is dropped for a reason that is counted, or stops the whole import."""
    known = {pair.pair: pair for pair in pairs} if pairs is not None else None
    dropped: Counter[str] = Counter()
    given = [_resolved(one, pairs) for one in found]
    kept = _usable(_in_order(given, rules), known, dropped)
    rounds: dict[str, int] = defaultdict(int)
    votes = []
    for time, one in kept:
        rounds[one.pair] += 1
        pair = known[one.pair] if known is not None else None
        votes.append(_vote(one, time, rounds[one.pair], rules, pair, rater_id))
    if not votes:
        raise InputError(f"None of the {len(found)} judgements can be used: {_listed(dropped)}.")
    return Imported(votes, len(found), dict(dropped), _notes(votes, known))


def values_of(tool: str, text: str) -> dict[str, str]:
    """`a=Response 1,b=Response 2,tie=Same` as the tool's word -> ours; without it the words the tool writes itself."""
    if not text:
        return dict(TOOLS[tool].values)
    stated = dict(part.partition("=")[::2] for part in text.split(","))
    if set(stated) - {"a", "b", "tie"} or not {"a", "b"} <= set(stated) or len(set(stated.values())) < len(stated):
        raise InputError(f"--values is {text!r}; three different words are expected: a=FIRST,b=SECOND,tie=TIE.")
    return {word.strip().lower(): ours for ours, word in stated.items()}


def _resolved(one: Judgement, pairs: Sequence[Pair] | None) -> Judgement:
    """ChatEval names prompt and models: find the pair, and which of its sides value 0 stands for."""
    if one.models is None:
        return one
    if pairs is None:
        first, second = sorted(one.models)
        return replace(one, pair=f"{one.pair}|{first}|{second}", left="a" if one.models[0] == first else "b")
    fits = [
        (pair.pair, left)
        for pair in pairs
        if pair.item == one.pair
        for left, (first, second) in (("a", one.models), ("b", one.models[::-1]))
        if first in _names(pair.a) and second in _names(pair.b)
    ]
    if len(fits) != 1:
        raise InputError(f"{one.where}: {len(fits)} pairs compare {' and '.join(one.models)} on item {one.pair!r}.")
    return replace(one, pair=fits[0][0], left=fits[0][1])


def _names(side: Candidate) -> tuple[str, str]:
    return side.model, f"{side.model}-{side.seed}"


def _in_order(found: Sequence[Judgement], rules: ImportRules) -> list[Dated]:
    """By time of submission; equal times keep the order of the file."""
    missing = [one for one in found if not one.submitted]
    if not missing:
        return sorted(((_seconds_since_1970(one), one) for one in found), key=lambda dated: dated[0])
    if rules.file_order:
        return [(_seconds_since_1970(one) if one.submitted else 0.0, one) for one in found]
    raise InputError(
        f"{missing[0].where}: no time of submission ({len(missing)} of {len(found)} judgements), so the order "
        "of the votes is unknown. Name its column: --columns submitted=..., or state --file-order: then a round is a "
        "place in the file."
    )


def _seconds_since_1970(one: Judgement) -> float:
    text = re.sub(r"\b(UTC|GMT|PST|PDT)\b", lambda match: ZONES[match[0]], one.submitted)
    with contextlib.suppress(ValueError):
        if 0 <= float(text) < TOO_LATE:
            return float(text)
    for read in (datetime.fromisoformat, lambda t: datetime.strptime(t, "%a %b %d %H:%M:%S %z %Y")):
        try:
            time = read(text)
        except ValueError:
            continue
        return (time if time.tzinfo else time.replace(tzinfo=UTC)).timestamp()
    raise InputError(
        f"{one.where}: {one.submitted!r} is not a time. Known forms: ISO 8601, seconds since 1970, and "
        "MTurk's `Mon Nov 16 21:23:44 PST 2020`."
    )


def _usable(ordered: Sequence[Dated], known: Mapping[str, Pair] | None, dropped: Counter[str]) -> list[Dated]:
    """Without what was rejected, left blank, sent twice or given to a check."""
    kept, sent, voted = [], set(), set()
    for time, one in ordered:
        if known is not None and one.pair not in known:
            raise InputError(f"{one.where}: pair {one.pair!r} is not in the pairs file. Give the file that was shown.")
        if one.status.lower() in ("rejected", "true"):
            dropped["rejected, or skipped by the rater"] += 1
        elif not one.choice:
            dropped["nothing was chosen"] += 1
        elif one.submission and one.submission in sent:
            dropped["the same submission again"] += 1
        elif (one.rater, one.pair) in voted:
            dropped["a later vote of the same rater on the same pair"] += 1
        elif known is not None and known[one.pair].kind == "check":
            dropped["an answer to a hidden check"] += 1
        else:
            kept.append((time, one))
            voted.add((one.rater, one.pair))
        sent.add(one.submission)
    return kept


def _vote(
    one: Judgement, time: float, number: int, rules: ImportRules, pair: Pair | None, rater_id: Callable[[str], str]
) -> Vote:
    word = rules.values.get(one.choice.lower())
    if word is None:
        legal = ", ".join(rules.values)
        raise InputError(
            f"{one.where}: choice is {one.choice!r}, expected {legal}. Map it: --values a=...,b=...,tie=..."
        )
    left = _left(one, rules, pair, tie=word == "tie")
    return Vote(
        pair=one.pair,
        rater=rater_id(one.rater),
        choice=_choice(word, left),
        round=number,
        left=None if one.models else left,
        seconds=_number(one),
        submitted=iso(time) if one.submitted else None,
        source="imported",
        kind=pair.kind if pair else "real",
        identical=pair.identical if pair else False,
        dialogue=pair.dialogue if pair else None,
        extra={"tool": rules.tool},
    )


def _choice(word: str, left: Side | None) -> Choice:
    if word == "tie":
        return "tie"
    return "a" if (word == "a") == (left == "a") else "b"


def _left(one: Judgement, rules: ImportRules, pair: Pair | None, *, tie: bool) -> Side | None:
    """Which response was shown first: from the file's own record, from the text that was shown, or as stated."""
    left = _recorded(one, pair)
    if rules.fixed_order and left == "b" and one.models is None:
        raise InputError(f"{one.where}: the file says that b was shown first here, so --fixed-order does not hold.")
    if left is None and rules.fixed_order:
        return "a"
    if left is None and not tie:
        raise InputError(
            f"{one.where}: {one.choice!r} names the side that was shown, and the file does not tell which response "
            "was there. Name the column that does (--columns left=..., with a or b; or left_text=..., with --pairs), "
            "or state --fixed-order if response a always came first."
        )
    return left


def _recorded(one: Judgement, pair: Pair | None) -> Side | None:
    if one.left:
        if one.left.lower() not in LEFT:
            legal = ", ".join(LEFT)
            raise InputError(f"{one.where}: left is {one.left!r}; the response shown first is expected: {legal}.")
        return LEFT[one.left.lower()]
    if not one.left_text or pair is None:
        return None
    sides: tuple[tuple[Side, str], ...] = (("a", pair.a.text), ("b", pair.b.text))
    fits = [side for side, text in sides if text.split() == one.left_text.split()]
    if not fits:
        raise InputError(f"{one.where}: the text shown first is neither response of pair {one.pair!r}.")
    return fits[0] if len(fits) == 1 else None


def _number(one: Judgement) -> float | None:
    if not one.seconds:
        return None
    with contextlib.suppress(ValueError):
        if math.isfinite(float(one.seconds)):
            return float(one.seconds)
    raise InputError(f"{one.where}: seconds is {one.seconds!r}, which is not a number.")


def _listed(dropped: Mapping[str, int]) -> str:
    return "; ".join(f"{number} {reason}" for reason, number in dropped.items()) or "none"


def _notes(votes: Sequence[Vote], known: Mapping[str, Pair] | None) -> list[str]:
    """What the reader of the votes should know."""
    each = Counter(Counter(vote.pair for vote in votes).values())
    notes = []
    if len(each) > 1:
        notes.append("Votes a pair: " + ", ".join(f"{k} on {n} of them" for k, n in sorted(each.items())) + ".")
    if known is not None:
        real = {name for name, pair in known.items() if pair.kind != "check"}
        if empty := len(real - {vote.pair for vote in votes}):
            notes.append(f"{empty} of {len(real)} pairs have no vote.")
    sides = {vote.choice for vote in votes} - {"tie"}
    if len(sides) == 1 and len(votes) >= 20:
        notes.append(f"Nobody chose {'b' if sides == {'a'} else 'a'}: check how the tool writes it.")
    return notes
