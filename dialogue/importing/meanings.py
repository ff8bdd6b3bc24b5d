"""What every word of the answers stands for: as stated, as its tool writes it, as a column's or a system's name.

A number, a flag, or another code says nothing of its side. Every assignment that is possible is told with its result,
and the user types one: `--values a=1,b=2`, or with bounds: `--values a=<1.5,b=>1.5,tie=1.5`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import permutations

from seedvote.dialogue.errors import InputError, Unclear
from seedvote.dialogue.importing.columns import Roles, are_aligned, plain_name
from seedvote.dialogue.importing.reading import IGNORED, quote_name, say_no_vote, type_names
from seedvote.dialogue.importing.words import (
    FLAGS,
    NUMBER,
    Meaning,
    find_bound,
    fold_name,
    is_missing,
    is_tie,
    read_named_winner,
    read_word,
    resembles,
)
from seedvote.dialogue.tables.table import RawTable

TIED = 2
SKIPPED = re.compile(
    r"skip(ped)?( this)?|none|unsure|not sure|don'?t know|do not know|i don'?t know|can'?t (tell|say|decide|judge)|"
    r"no (answer|vote|response)|unclear|invalid|error|abstain(ed)?|pass|-+|\?+|idk|weiß nicht|keine angabe"
)
Sides = list[int | None]  # which response stood on the left in every row: 0 or 1, None where nothing says it
Winners = list[int | None]  # 0: the response of the first column, 1: of the second, 2: a tie; None: nobody chose

Assignment = dict[str, int]  # a code, or a bound such as `<3` -> 0 for the first side, 1 for the second, 2 for a tie
SIDE_NAMES = {"response": ("a", "b", "tie"), "place": ("left", "right", "tie")}


@dataclass(frozen=True, eq=False)
class Rows:
    """The cells that decide, one entry a row."""

    table: RawTable
    roles: Roles
    choice: Sequence[str]
    a: Sequence[str] = ()  # the system of either column, in one spelling; empty where none is named
    b: Sequence[str] = ()
    text_a: Sequence[str] = ()
    text_b: Sequence[str] = ()
    systems: Mapping[str, str] = field(default_factory=dict)  # folded name -> name

    def place(self, row: int) -> str:
        """Where a row stands."""
        return self.table.place(row)


def same_text(text_a: str, text_b: str) -> bool:
    """Whether two cells hold one text, however it is spaced."""
    return text_a.split() == text_b.split()


def read_words(rows: Rows, values: Mapping[str, str], own: Mapping[str, Meaning]) -> dict[str, Meaning]:
    """Every word of the answers: as stated, as the tool writes it, as the name of a column or system, as it speaks."""
    stated = {word.strip(): ours for word, ours in values.items()}
    folded = {fold_name(word): ours for word, ours in stated.items()}
    names_sides = bool({"a", "b", "left", "right"} & {*stated.values()})
    if len({"a", "b"} & {*stated.values()}) == 1 or len({"left", "right"} & {*stated.values()}) == 1:
        typed = type_names((ours, word) for word, ours in stated.items())
        raise InputError(f"--values is {typed}; three different words are expected: a=FIRST,b=SECOND,tie=TIE.")
    meanings: dict[str, Meaning] = {}
    for row, word in enumerate(rows.choice):
        if word in meanings and meanings[word].kind != "text":
            continue
        ours = stated.get(word, folded.get(fold_name(word)) if word else None) or find_bound(word, stated)
        if ours is not None:
            meanings[word] = _stated_meaning(rows, word, ours)
        elif not word:
            meanings[word] = Meaning("blank")
        elif (meaning := _unstated_meaning(rows, row, word, own, names_sides)) is not None:
            meanings[word] = meaning
        else:
            raise _unknown_word(rows, row, stated)
    return meanings


def _stated_meaning(rows: Rows, word: str, ours: str) -> Meaning:
    if ours == IGNORED:
        return Meaning("none", stated=True)
    if ours == "tie":
        return Meaning("tie", stated=True)
    if ours in ("a", "b", "left", "right"):
        near = [name for name in rows.systems.values() if fold_name(name) == fold_name(word) or resembles(word, name)]
        if near and len(rows.systems) > 1 and read_word(word) is None:
            raise Unclear(
                f"{rows.table.path}: --values says that {word!r} is {ours}, a side, and it looks like the system "
                f"{near[0]!r}.",
                *({"--values": type_names([(name, word)])} for name in near),
            )
        return Meaning("response" if ours in "ab" else "place", int(ours in ("b", "right")), stated=True)
    if (system := rows.systems.get(fold_name(ours))) is not None:
        return Meaning("system", system=system, stated=True)
    legal = ", ".join(["a, b, tie, left, right", *list(rows.systems.values())[:8]])
    raise InputError(f"--values gives {word!r} the meaning {ours!r}, which is not one of {legal}, or - for no vote.")


def _unstated_meaning(rows: Rows, row: int, word: str, own: Mapping[str, Meaning], names_sides: bool) -> Meaning | None:
    if (meaning := own.get(word.lower())) is not None and not (names_sides and meaning.kind != "tie"):
        return meaning
    if not names_sides and (bounded := find_bound(word, {name: name for name in own})) is not None:
        return own[next(name for name in own if find_bound(word, {name: name}) == bounded)]
    if (by_verb := read_named_winner(word, rows.systems)) is not None and fold_name(word) not in rows.systems:
        return by_verb
    system, speaks = rows.systems.get(fold_name(word)), read_word(word)
    texts = rows.roles.texts
    if texts is not None and rows.roles.systems is not None and not are_aligned(rows.roles.systems, texts):
        texts = None
    for two in (rows.roles.systems, texts):
        if two is not None and plain_name(word) in (names := [plain_name(two.a), plain_name(two.b)]) and word:
            if system is not None:
                raise InputError(
                    f"{rows.place(row)}: the answer {word!r} is the name of a system and of a column. Rename the "
                    "column, so that every answer has one meaning."
                )
            return Meaning("response", names.index(plain_name(word)))
    if system is not None:
        if speaks is not None:
            raise _name_and_side(rows, row, speaks)
        return Meaning("system", system=system)
    if rows.text_a and any(text and same_text(word, text) for text in (rows.text_a[row], rows.text_b[row])):
        return Meaning("text")
    if names_sides and speaks is not None and speaks.kind != "tie":
        return None
    return speaks


def _name_and_side(rows: Rows, row: int, speaks: Meaning) -> InputError:
    """The answer `A` where a system is called A: the system, or the response or place that is called so."""
    sentence = f"{rows.place(row)}: the answer {rows.choice[row]!r} is the name of a system and of a side."
    names = [(rows.systems.get(fold_name(word), ""), word) for word in dict.fromkeys(rows.choice) if not is_tie(word)]
    sides = [(meaning.side, word) for _, word in names if (meaning := read_word(word)) is not None]
    is_plain = all(name and name not in ("a", "b", "tie", "left", "right") for name, _ in names)
    if not is_plain or sorted(side for side, _ in sides) != [0, 1]:
        return InputError(f"{sentence} Rename the system in the table, so that every answer has one meaning.")
    is_place = speaks.kind == "place" or (rows.roles.systems is not None and rows.roles.systems.kind == "places")
    called = ("left", "right") if is_place else ("a", "b")
    ways = (type_names(names), type_names((called[side], word) for side, word in sides))
    return Unclear(f"{sentence} Which does it name here?", *({"--values": way} for way in ways))


def _unknown_word(rows: Rows, row: int, stated: Mapping[str, str]) -> InputError:
    """A word that says nothing: where it stands, and what to type; never a mapping that may name the loser."""
    word, met = rows.choice[row], list(dict.fromkeys(word for word in rows.choice if word))
    about = f"{rows.place(row)}: choice is {word!r}, which is not one of a, b, tie"
    words = f"(found: {', '.join(map(repr, met[:8]))})."
    if is_missing(word) or SKIPPED.fullmatch(word.strip().casefold()):
        return Unclear(
            f"{about} {words} Is it no vote, or a tie?",
            *({"--values": typed} for typed in (f"{quote_name(word)}=-", type_names([("tie", word)]))),
        )
    is_code = re.fullmatch(r"[-\d.]+", word) is not None
    says = {meaning.shown for answer in met if (meaning := read_word(answer)) is not None}
    if rows.systems and not is_code:
        names = list(rows.systems.values())
        systems = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        if len(short := _short_forms(rows, met, stated)) > 1:
            return Unclear(
                f"{about} and no system's name ({systems}). The answers look like short forms of the systems' names.",
                {"--values": type_names((name, answer) for answer, name in short.items())},
            )
        near = [name for name in names if resembles(word, name)]
        which = type_names([(name, word) for name in near[:1]]) if len(near) == 1 else f"SYSTEM={word}"
        return InputError(
            f"{about} and no system's name ({systems}). If it names a system, say which: --values {which}; if it is a "
            f"tie: --values {type_names([('tie', word)])}; if it is no vote: {say_no_vote(word)} {words}"
        )
    if ({"a", "b"} <= says or {"left", "right"} <= says or stated) and not is_code:
        step = f"If it is one of them, say so (--values {type_names([('tie', word)])})"
        return InputError(f"{about}. {step}; if it is no vote: {say_no_vote(word)} {words}")
    missing = ",".join(f"{ours}=..." for ours in ("a", "b", "tie") if is_code or ours not in says)
    if is_code:  # to drop one number of a scale would leave the others to be read as something else
        return InputError(f"{about}. Say of every number what it means: --values {missing}; - for no vote {words}")
    return InputError(
        f"{about}. If the file is from another tool, map it: --values {missing}; a word that is no vote: "
        f"{say_no_vote(word)} {words}"
    )


def _short_forms(rows: Rows, met: Sequence[str], stated: Mapping[str, str]) -> dict[str, str]:
    """Word -> system, where every word that says nothing resembles one system, and no two the same one."""
    unknown = [
        word for word in met if word not in stated and fold_name(word) not in rows.systems and not read_word(word)
    ]
    near = {word: [name for name in rows.systems.values() if resembles(word, name)] for word in unknown}
    if not all(len(names) == 1 for names in near.values()):
        return {}
    systems = {word: names[0] for word, names in near.items()}
    return systems if len({*systems.values()}) == len(systems) else {}


@dataclass(frozen=True, eq=False)
class Alternative:
    """One way to read the answers: what is typed for it, and who won every row by it."""

    options: Mapping[str, str]
    winners: Winners
    name: str = ""


def refuse_different_readings(rows: Rows, sentence: str, alternatives: Sequence[Alternative]) -> None:
    """Refuse readings that give some row different winners, with the result of each and the rows that tell."""
    different: dict[tuple[int | None, ...], Alternative] = {}
    for reading in alternatives:
        different.setdefault(tuple(reading.winners), reading)
    if len(different) < 2:
        return
    rows_that_tell = [row for row, won in enumerate(zip(*different, strict=True)) if len({*won}) > 1]
    places = ", ".join(rows.place(row).rpartition(":")[2].replace("row", "").strip() for row in rows_that_tell[:3])
    more = f", ... ({len(rows_that_tell):,} rows)" if len(rows_that_tell) > 3 else ""
    line = "row" if "row" in rows.place(0) else "line"
    raise Unclear(
        f"{rows.table.path}: {sentence} The readings differ in {line} {places}{more}.",
        *(reading.options for reading in different.values()),
        results=[
            ": ".join(filter(None, [reading.name, tally_winners(rows, reading.winners)]))
            for reading in different.values()
        ],
    )


def tally_winners(rows: Rows, winner: Winners) -> str:
    """`alpha 80, beta 20, tie 3`: how often each system won by a reading."""
    won: Counter[str] = Counter()
    for row, side in enumerate(winner):
        if side is not None:
            won["tie" if side == TIED else (rows.a, rows.b)[side][row] if rows.a else "ab"[side]] += 1
    names = sorted(won, key=lambda name: (name == "tie", name))
    return ", ".join(f"{name} {won[name]:,}" for name in names[:8]) or "nobody"


# Codes


def find_codes(rows: Rows, stated: Mapping[str, str], own: Mapping[str, Meaning]) -> list[str]:
    """The codes among the answers whose meaning nobody has said; none where other words say sides."""
    known = {**dict.fromkeys(own, ""), **stated}
    folded = {fold_name(word) for word in known}
    words = [
        word
        for word in dict.fromkeys(rows.choice)
        if word and fold_name(word) not in folded and find_bound(word, known) is None
    ]
    codes = [word for word in words if NUMBER.fullmatch(word) or word.lower() in FLAGS]
    if any(word not in codes and not is_tie(word) and not is_missing(word) for word in words):
        codes = _two_unknown(rows, words)
    if any(fold_name(word) in rows.systems for word in codes):
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
        read_word(word)
        or read_named_winner(word, rows.systems)
        or word in texts
        or plain_name(word) in names
        or any(fold_name(word) == fold_name(name) or resembles(word, name) for name in rows.systems.values())
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
    for assignment in _possible_assignments(codes):
        if systems is None or systems.kind == "letters":
            won = [_decode_word(word, assignment) for word in rows.choice]
            alternatives.append(Alternative({"--values": _type_assignment(assignment, "response", words)}, won))
        for typed, left_sides in orders.items():
            options = {"--values": _type_assignment(assignment, "place", words)} | (
                {"--columns": typed} if typed else {}
            )
            alternatives.append(Alternative(options, _winners_by_place(rows, assignment, left_sides)))
    numbers = sorted(float(code) for code in codes if NUMBER.fullmatch(code))
    what = f"are numbers from {numbers[0]:g} to {numbers[-1]:g}" if numbers else f"are {' and '.join(codes)}"
    refuse_different_readings(rows, f"the answers {what}, and nothing says which of them means a.", alternatives)


def _type_assignment(assignment: Assignment, kind: str, more: Sequence[tuple[str, str]]) -> str:
    names = SIDE_NAMES[kind]
    sides = sorted((names[side], code) for code, side in assignment.items())
    if not any(ours == "tie" for ours, _ in sides):
        sides += [pair for pair in more if pair[0] == "tie"]
    return type_names([*sides, *(pair for pair in more if pair[1] == IGNORED)])


def _decode_word(word: str, assignment: Assignment) -> int | None:
    if is_tie(word):
        return TIED
    if word in assignment:
        return assignment[word]
    meant = find_bound(word, {bound: str(side) for bound, side in assignment.items()})
    return None if meant is None else int(meant)


def _winners_by_place(rows: Rows, assignment: Assignment, left_sides: Sides) -> Winners:
    """Winners where the codes are places."""
    won: Winners = []
    for word, side_left in zip(rows.choice, left_sides, strict=True):
        place = _decode_word(word, assignment)
        if place in (None, TIED) or side_left is None:
            won.append(None if place != TIED else TIED)
        else:
            won.append(place if side_left == 0 else 1 - place)
    return won


def _possible_assignments(codes: Sequence[str]) -> list[Assignment]:
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
    middles = [f"{middle:g}" for middle in _possible_middles([float(code) for code in ordered])]
    return [{f"<{middle}": side, f">{middle}": 1 - side, middle: TIED} for middle in middles for side in (0, 1)]


def _possible_middles(numbers: Sequence[float]) -> list[float]:
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
