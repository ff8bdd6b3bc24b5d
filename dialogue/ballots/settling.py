"""Votes of our form from the judgements of another tool, or one sentence on why that is not possible.

Every judgement becomes a vote, is dropped for a reason that is counted, or stops everything.

Three traps: letters name the side that was shown and not the response; people answer twice; rounds follow time.
"""

from __future__ import annotations

import contextlib
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from dialogue.ballots.judgement import LEFT, Judgement
from dialogue.ballots.naming import said_no_vote, typed_names
from dialogue.ballots.systems import PLACES, SystemColumns, refuse_place_for_letter
from dialogue.ballots.texts import same_text
from dialogue.ballots.tools import TOOLS, Judged
from dialogue.ballots.words import spoken
from dialogue.errors import InputError
from dialogue.judges import JUDGE, refusal, whose
from dialogue.records import Candidate, Choice, Pair, Side, Vote

TOO_LATE = 1e11  # seconds since 1970 (the year 5138); a larger number is in milliseconds and not a time here
ANSWERED_NOT = ("rejected", "true", "discarded", "draft")  # states in which an answer is none
ZONES = {"UTC": "+0000", "GMT": "+0000", "PST": "-0800", "PDT": "-0700"}

Dated = tuple[float, Judgement]


@dataclass(frozen=True, slots=True)
class Imported:
    """The votes, and what became of everything that was read."""

    votes: Sequence[Vote]
    read: int
    dropped: Mapping[str, int]  # reason -> judgements
    notes: Sequence[str]
    words: Mapping[str, str]  # the file's word -> a, b or tie; the name of a system stands for itself


@dataclass(frozen=True, slots=True)
class ImportRules:
    """What the user states about the file, because the file does not say it."""

    tool: str
    values: Mapping[str, str]  # the tool's word -> a (shown first), b (shown second) or tie
    fixed_order: bool = False  # the first side was always response a
    file_order: bool = False  # no times: the order of the file stands for the order of the votes
    stated: bool = False  # the user gave the words
    raters: bool = True  # every judgement must name its rater
    systems: SystemColumns | None = None
    named: frozenset[str] = field(default_factory=frozenset)  # every system of the file
    judges: Mapping[str, str] = field(default_factory=dict)  # plain names of judges, and where they are named
    with_judges: bool = False  # keep their votes, marked as theirs
    no_vote: frozenset[str] = frozenset()  # words that are no vote


def as_votes(
    judged: Judged, rules: ImportRules, pairs: Sequence[Pair] | None, rater_id: Callable[[str], str]
) -> Imported:
    """Every judgement becomes a vote, is dropped for a reason that is counted, or stops the whole import."""
    found = judged.found
    rules = replace(rules, systems=judged.systems, named=frozenset(name for one in found for name in one.models or ()))
    _check_words(found, rules)
    known = {pair.pair: pair for pair in pairs} if pairs is not None else None
    dropped: Counter[str] = Counter()
    given = [_resolved(_marked(one, rules), pairs, known, rules) for one in found]
    kept = _usable(_in_order(given, rules), known, dropped, rules)
    rounds: dict[str, int] = defaultdict(int)
    votes = []
    for time, one in kept:
        rounds[one.pair] += 1
        pair = known[one.pair] if known is not None else None
        if pair is not None:
            _refuse_swapped(one, pair)
        votes.append(_vote(one, time, rounds[one.pair], rules, pair, rater_id))
    if not votes:
        raise InputError(f"None of the {len(found)} judgements can be used: {_listed(dropped)}.")
    words = {one.choice: meaning for one in found if (meaning := word_of(one.choice, rules))}
    words = {word: meaning for word, meaning in words.items() if word.strip() not in rules.no_vote}
    return Imported(votes, len(found), dict(dropped), _notes(votes, known), words)


def values_of(tool: str, stated: Sequence[tuple[str, str]]) -> dict[str, str]:
    """The tool's word in small letters -> a, b or tie: as stated; what was not, as the tool writes it itself."""
    usual = dict(TOOLS[tool].values)
    if not stated:
        return usual
    words = [theirs for _, theirs in stated]
    ours = {name for name, _ in stated}
    if ours - {"a", "b", "tie"} or len(ours & {"a", "b"}) == 1 or len(set(words)) < len(words):
        shown = typed_names(stated)
        raise InputError(f"--values is {shown}; three different words are expected: a=FIRST,b=SECOND,tie=TIE.")
    kept = {word: meaning for word, meaning in usual.items() if meaning not in ours or ours == {"tie"}}
    return kept | {word.strip().lower(): name for name, word in stated}


def word_of(word: str, rules: ImportRules) -> str | None:
    """What a word says: a (shown first), b or tie; as stated, as the tool writes, or as it speaks for itself."""
    known = rules.values.get(word.strip().lower())
    return known if known is not None or rules.stated else spoken(word)


def _check_words(found: Sequence[Judgement], rules: ImportRules) -> None:
    """Words that could be a side or a system, and places where only letters are known, are doubts."""
    words = list(dict.fromkeys(one.choice for one in found if one.choice and one.choice.strip() not in rules.no_vote))
    if both := [word for word in words if word in rules.named and word_of(word, rules) is not None]:
        raise InputError(
            f"{found[0].where}: the answer {both[0]!r} is the name of a system and of a side. Rename the system in the "
            "table, so that every answer has one meaning."
        )
    if rules.systems is not None and not rules.stated:
        unplaced = list(dict.fromkeys(one.choice for one in found if one.choice and not one.left))
        refuse_place_for_letter(unplaced, rules.systems, found[0].where)


def _marked(one: Judgement, rules: ImportRules) -> Judgement:
    """A judge's answer stops the import, unless judges may be among the raters; then it says whose it is."""
    why = whose(one.source, one.rater, rules.judges)
    if why is None:
        return replace(one, source="")
    if not rules.with_judges:
        raise refusal(one.where, whose("", one.rater, rules.judges) or why)
    return replace(one, source=JUDGE)


def _resolved(
    one: Judgement, pairs: Sequence[Pair] | None, known: Mapping[str, Pair] | None, rules: ImportRules
) -> Judgement:
    """Columns name the systems: find the pair, and which of its sides the first answer stands for."""
    if one.models is None:
        return one
    shown = one.models if not one.left or _first_shown(one) == "a" else one.models[::-1]
    placed = bool(one.left) or (rules.systems is not None and rules.systems.kind == "places")
    turned = TOOLS[rules.tool].names_models and shown != one.models and one.choice.strip().lower() not in PLACES
    one = replace(one, placed=placed, turned=turned, item=one.item or one.pair)
    if pairs is None or known is None:
        first, second = sorted(shown)
        left = "a" if shown[0] == first else "b"
        return replace(one, pair=f"{one.pair}|{first}|{second}", left=left, shown=shown)
    near = [known[one.pair]] if one.pair in known else [pair for pair in pairs if pair.item == one.pair]
    fits = [
        (pair.pair, left)
        for pair in near
        for left, (first, second) in (("a", shown), ("b", shown[::-1]))
        if first in _names(pair.a) and second in _names(pair.b)
    ]
    if len(fits) != 1:
        raise InputError(f"{one.where}: {len(fits)} pairs compare {' and '.join(shown)} on item {one.pair!r}.")
    return replace(one, pair=fits[0][0], left=fits[0][1], shown=shown)


def _first_shown(one: Judgement) -> Side:
    """Which response was on the left: a letter, 0 or 1, or the name of its system."""
    if one.shown is None and one.models is not None and one.left in one.models:
        if one.left.lower() in LEFT:
            raise InputError(
                f"{one.where}: left is {one.left!r}, which is the name of a system and of a side. Rename the system in "
                "the table, so that every name has one meaning."
            )
        return "a" if one.left == one.models[0] else "b"
    if one.left.lower() not in LEFT:
        raise InputError(
            f"{one.where}: left is {one.left!r}; the response shown first is expected: {', '.join(LEFT)}. If the "
            "column means something else, leave it out: --columns left=-."
        )
    return LEFT[one.left.lower()]


def _names(side: Candidate) -> tuple[str, str]:
    return side.model, f"{side.model}-{side.seed}"


def _in_order(found: Sequence[Judgement], rules: ImportRules) -> list[Dated]:
    """By time of submission; equal times keep the order of the file."""
    missing = [one for one in found if not one.submitted]
    if not missing and found:
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


def _usable(
    ordered: Sequence[Dated], known: Mapping[str, Pair] | None, dropped: Counter[str], rules: ImportRules
) -> list[Dated]:
    """Without what was rejected, left blank, sent twice or given to a check."""
    kept, sent, voted = [], set(), set()
    for time, one in ordered:
        if known is not None and one.pair not in known:
            raise InputError(f"{one.where}: pair {one.pair!r} is not in the pairs file. Give the file that was shown.")
        if not one.rater and rules.raters:
            raise InputError(f"{one.where}: rater is empty; every judgement needs one.")
        if one.status.lower() in ANSWERED_NOT:
            dropped["rejected, or skipped by the rater"] += 1
        elif not one.choice:
            dropped["nothing was chosen"] += 1
        elif one.choice.strip() in rules.no_vote:
            dropped[f"{one.choice!r}, stated as no vote"] += 1
        elif one.models is not None and one.models[0] == one.models[1]:
            dropped["both systems are the same"] += 1
        elif one.submission and one.submission in sent:
            dropped["the same submission again"] += 1
        elif one.rater and (one.rater, one.pair) in voted:
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
    word = _said(one, rules)
    left = _left(one, rules, pair, tie=word == "tie")
    named = {} if one.shown is None else dict(zip(("system_a", "system_b"), sorted(one.shown), strict=True))
    if named and pair is not None:
        named = {"system_a": pair.a.model, "system_b": pair.b.model}
    return Vote(
        pair=one.pair,
        rater=_rater(one, rater_id),
        choice=_choice(word, left),
        round=number,
        left=None if one.models and not one.placed else left,
        seconds=_number(one),
        submitted=utc(time) if one.submitted else None,
        source="judge" if one.source else "imported",
        kind=pair.kind if pair else "real",
        identical=pair.identical if pair else False,
        dialogue=(pair.dialogue if pair else None) or one.dialogue or None,
        extra={"tool": rules.tool, **named, **({"item": one.item} if one.item else {})},
    )


def _rater(one: Judgement, rater_id: Callable[[str], str]) -> str:
    """The id of the person; a judge keeps its name, which is nobody's secret."""
    return one.rater if one.source or not one.rater else rater_id(one.rater)


def _said(one: Judgement, rules: ImportRules) -> str:
    """a (shown first), b or tie; the name of a system stands for the side that it is on."""
    word = word_of(one.choice, rules)
    if word is None and one.shown is not None and one.choice in rules.named:
        if one.choice not in one.shown:
            raise InputError(
                f"{one.where}: the answer is {one.choice!r}, and this row compares {' with '.join(one.shown)}. Are the "
                "columns of the systems the right ones? Name them: --columns system_a=...,system_b=..."
            )
        return "a" if one.choice == one.shown[0] else "b"
    if word in ("a", "b") and one.turned:
        return "b" if word == "a" else "a"
    if word is None:
        legal = ", ".join([*rules.values, *sorted(rules.named)[:6]])
        raise InputError(
            f"{one.where}: choice is {one.choice!r}, expected {legal}. Map it: --values a=...,b=...,tie=..., or if "
            f"it is no vote: {said_no_vote(one.choice)}"
        )
    return word


def utc(seconds: float) -> str:
    """A time as our files write it: ISO 8601 in UTC, with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


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
        return _first_shown(one)
    if not one.left_text or pair is None:
        return None
    sides: tuple[tuple[Side, str], ...] = (("a", pair.a.text), ("b", pair.b.text))
    fits = [side for side, text in sides if text.split() == one.left_text.split()]
    if not fits:
        raise InputError(f"{one.where}: the text shown first is neither response of pair {one.pair!r}.")
    return fits[0] if len(fits) == 1 else None


def _refuse_swapped(one: Judgement, pair: Pair) -> None:
    """Texts that the table and the pairs file both have must stand on the same sides."""
    for side, mine, other in (("a", pair.a, pair.b), ("b", pair.b, pair.a)):
        text = next((one.said[name] for name in (side, *_names(mine)) if name in one.said), "")
        if text and same_text(text, other.text) and not same_text(text, mine.text):
            raise InputError(
                f"{one.where}: the table and the pairs file have the two responses of pair {one.pair!r} on opposite "
                f"sides: response {side} there is the other response here. Give the pairs file that was shown, or mend "
                "the columns of the texts."
            )


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
    if judged := [vote.rater for vote in votes if vote.source == JUDGE]:
        verb, who, them = ("is", "a judge's", "it") if len(judged) == 1 else ("are", "judges'", "them")
        notes.append(
            f"{len(judged):,} of {len(votes):,} votes {verb} {who} ({', '.join(sorted(set(judged)))}). Every analysis "
            f"refuses {them}, unless --with-judges says to treat judges as raters."
        )
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
