"""What every word of the answers stands for: as stated, as its tool writes it, as a column's or a system's name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dialogue.errors import InputError, Unclear, typed_options
from dialogue.importing.columns import Roles, are_aligned, plain_name
from dialogue.importing.naming import IGNORED, said_no_vote, typed_names
from dialogue.importing.words import Meaning, bound_of, one_name, resembles, spoken, winner_named
from dialogue.tables.table import RawTable

TIED = 2
Sides = list[int | None]  # which response stood on the left in every row: 0 or 1, None where nothing says it
Winners = list[int | None]  # 0: the response of the first column, 1: of the second, 2: a tie; None: nobody chose


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


def word_meanings(rows: Rows, values: Mapping[str, str], own: Mapping[str, Meaning]) -> dict[str, Meaning]:
    """Every word of the answers: as stated, as the tool writes it, as the name of a column or system, as it speaks."""
    stated = {word.strip(): ours for word, ours in values.items()}
    folded = {one_name(word): ours for word, ours in stated.items()}
    names_sides = bool({"a", "b", "left", "right"} & {*stated.values()})
    if len({"a", "b"} & {*stated.values()}) == 1 or len({"left", "right"} & {*stated.values()}) == 1:
        typed = typed_names((ours, word) for word, ours in stated.items())
        raise InputError(f"--values is {typed}; three different words are expected: a=FIRST,b=SECOND,tie=TIE.")
    meanings: dict[str, Meaning] = {}
    for row, word in enumerate(rows.choice):
        if word in meanings and meanings[word].kind != "text":
            continue
        ours = stated.get(word, folded.get(one_name(word)) if word else None) or bound_of(word, stated)
        if ours is not None:
            meanings[word] = _as_stated(rows, word, ours)
        elif not word:
            meanings[word] = Meaning("blank")
        elif (meaning := _unstated(rows, row, word, own, names_sides)) is not None:
            meanings[word] = meaning
        else:
            raise unknown_word(rows, row, stated)
    return meanings


def _as_stated(rows: Rows, word: str, ours: str) -> Meaning:
    if ours == IGNORED:
        return Meaning("none", stated=True)
    if ours == "tie":
        return Meaning("tie", stated=True)
    if ours in ("a", "b", "left", "right"):
        near = [name for name in rows.systems.values() if one_name(name) == one_name(word) or resembles(word, name)]
        if near and len(rows.systems) > 1 and spoken(word) is None:
            raise Unclear(
                f"{rows.table.path}: --values says that {word!r} is {ours}, a side, and it looks like the system "
                f"{near[0]!r}.",
                *({"--values": typed_names([(name, word)])} for name in near),
            )
        return Meaning("response" if ours in "ab" else "place", int(ours in ("b", "right")), stated=True)
    if (system := rows.systems.get(one_name(ours))) is not None:
        return Meaning("system", system=system, stated=True)
    legal = ", ".join(["a, b, tie, left, right", *list(rows.systems.values())[:8]])
    raise InputError(f"--values gives {word!r} the meaning {ours!r}, which is not one of {legal}, or - for no vote.")


def _unstated(rows: Rows, row: int, word: str, own: Mapping[str, Meaning], names_sides: bool) -> Meaning | None:
    if (meaning := own.get(word.lower())) is not None and not (names_sides and meaning.kind != "tie"):
        return meaning
    if not names_sides and (bounded := bound_of(word, {name: name for name in own})) is not None:
        return own[next(name for name in own if bound_of(word, {name: name}) == bounded)]
    if (by_verb := winner_named(word, rows.systems)) is not None and one_name(word) not in rows.systems:
        return by_verb
    system, speaks = rows.systems.get(one_name(word)), spoken(word)
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
            raise InputError(
                f"{rows.place(row)}: the answer {word!r} is the name of a system and of a side. Rename the system in "
                "the table, so that every answer has one meaning."
            )
        return Meaning("system", system=system)
    if rows.text_a and any(text and same_text(word, text) for text in (rows.text_a[row], rows.text_b[row])):
        return Meaning("text")
    if names_sides and speaks is not None and speaks.kind != "tie":
        return None
    return speaks


def unknown_word(rows: Rows, row: int, stated: Mapping[str, str]) -> InputError:
    """A word that says nothing: where it stands, and what to type; never a mapping that may name the loser."""
    word, met = rows.choice[row], list(dict.fromkeys(word for word in rows.choice if word))
    about = f"{rows.place(row)}: choice is {word!r}, which is not one of a, b, tie"
    words = f"(found: {', '.join(map(repr, met[:8]))})."
    is_code = re.fullmatch(r"[-\d.]+", word) is not None
    says = {meaning.shown for answer in met if (meaning := spoken(answer)) is not None}
    if rows.systems and not is_code:
        names = list(rows.systems.values())
        systems = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        if len(short := _short_forms(rows, met, stated)) > 1:
            return Unclear(
                f"{about} and no system's name ({systems}). The answers look like short forms of the systems' names.",
                {"--values": typed_names((name, answer) for answer, name in short.items())},
            )
        near = [name for name in names if resembles(word, name)]
        which = typed_names([(name, word) for name in near[:1]]) if len(near) == 1 else f"SYSTEM={word}"
        return InputError(
            f"{about} and no system's name ({systems}). If it names a system, say which: --values {which}; if it is a "
            f"tie: --values {typed_names([('tie', word)])}; if it is no vote: {said_no_vote(word)} {words}"
        )
    if ({"a", "b"} <= says or {"left", "right"} <= says or stated) and not is_code:
        step = f"If it is one of them, say so (--values {typed_names([('tie', word)])})"
        return InputError(f"{about}. {step}; if it is no vote: {said_no_vote(word)} {words}")
    missing = ",".join(f"{ours}=..." for ours in ("a", "b", "tie") if is_code or ours not in says)
    if is_code:  # to drop one number of a scale would leave the others to be read as something else
        return InputError(f"{about}. Say of every number what it means: --values {missing}; - for no vote {words}")
    return InputError(
        f"{about}. If the file is from another tool, map it: --values {missing}; a word that is no vote: "
        f"{said_no_vote(word)} {words}"
    )


def _short_forms(rows: Rows, met: Sequence[str], stated: Mapping[str, str]) -> dict[str, str]:
    """Word -> system, where every word that says nothing resembles one system, and no two the same one."""
    unknown = [word for word in met if word not in stated and one_name(word) not in rows.systems and not spoken(word)]
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


def tell_readings(rows: Rows, sentence: str, alternatives: Sequence[Alternative]) -> None:
    """Refuse readings that give some row different winners, with the result of each and the rows that tell."""
    different: dict[tuple[int | None, ...], Alternative] = {}
    for reading in alternatives:
        different.setdefault(tuple(reading.winners), reading)
    if len(different) < 2:
        return
    results = "; ".join(f"{reading.name or typed_options(reading.options)}: {tally(rows, reading.winners)}"
                        for reading in different.values())  # fmt: skip
    rows_that_tell = [row for row, won in enumerate(zip(*different, strict=True)) if len({*won}) > 1]
    places = ", ".join(rows.place(row).rpartition(":")[2].replace("row", "").strip() for row in rows_that_tell[:3])
    more = f", ... ({len(rows_that_tell):,} rows)" if len(rows_that_tell) > 3 else ""
    line = "row" if "row" in rows.place(0) else "line"
    raise Unclear(
        f"{rows.table.path}: {sentence} {results[:1].upper()}{results[1:]}. They differ in {line} {places}{more}.",
        *(reading.options for reading in different.values()),
    )


def tally(rows: Rows, winner: Winners) -> str:
    """`alpha 80, beta 20, tie 3`: how often each system won by a reading."""
    won: Counter[str] = Counter()
    for row, side in enumerate(winner):
        if side is not None:
            won["tie" if side == TIED else (rows.a, rows.b)[side][row] if rows.a else "ab"[side]] += 1
    names = sorted(won, key=lambda name: (name == "tie", name))
    return ", ".join(f"{name} {won[name]:,}" for name in names[:8]) or "nobody"
