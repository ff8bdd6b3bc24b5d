"""What every word of the answers stands for: as stated, as its tool writes it, as a column's or a system's name."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from dialogue.errors import InputError, Unclear
from dialogue.importing.columns import Roles, plain_name
from dialogue.importing.naming import IGNORED, said_no_vote, typed_names
from dialogue.importing.words import Meaning, bound_of, one_name, resembles, spoken
from dialogue.tables.table import RawTable

TIED = 2
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


def same_text(one: str, other: str) -> bool:
    """Whether two cells hold one text, however it is spaced."""
    return one.split() == other.split()


def word_meanings(rows: Rows, values: Mapping[str, str], own: Mapping[str, Meaning]) -> dict[str, Meaning]:
    """Every word of the answers: as stated, as the tool writes it, as the name of a column or system, as it speaks."""
    stated = {word.strip(): ours for word, ours in values.items()}
    folded = {one_name(word): ours for word, ours in stated.items()}
    names_sides = bool({"a", "b", "left", "right"} & {*stated.values()})
    if len({"a", "b"} & {*stated.values()}) == 1 or len({"left", "right"} & {*stated.values()}) == 1:
        typed = typed_names((ours, word) for word, ours in stated.items())
        raise InputError(f"--values is {typed}; three different words are expected: a=FIRST,b=SECOND,tie=TIE.")
    found: dict[str, Meaning] = {}
    for row, word in enumerate(rows.choice):
        if word in found and found[word].kind != "text":
            continue
        ours = stated.get(word, folded.get(one_name(word)) if word else None) or bound_of(word, stated)
        if ours is not None:
            found[word] = _as_stated(rows, word, ours)
        elif not word:
            found[word] = Meaning("blank")
        elif (meaning := _unstated(rows, row, word, own, names_sides)) is not None:
            found[word] = meaning
        else:
            raise unknown_word(rows, row, stated)
    return found


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
    system, speaks = rows.systems.get(one_name(word)), spoken(word)
    for two in (rows.roles.systems, rows.roles.texts):
        if two is not None and two.zero_based and word in ("0", "1") and "2" not in rows.choice:
            return Meaning("response", int(word))
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
    found = f"(found: {', '.join(map(repr, met[:8]))})."
    is_code = re.fullmatch(r"[-\d.]+", word) is not None
    says = {meaning.shown for one in met if (meaning := spoken(one)) is not None}
    if rows.systems and not is_code:
        names = list(rows.systems.values())
        shown = ", ".join(names[:6]) + (", ..." if len(names) > 6 else "")
        if len(short := _short_forms(rows, met, stated)) > 1:
            return Unclear(
                f"{about} and no system's name ({shown}). The answers look like short forms of the systems' names.",
                {"--values": typed_names((name, one) for one, name in short.items())},
            )
        near = [name for name in names if resembles(word, name)]
        which = typed_names([(name, word) for name in near[:1]]) if len(near) == 1 else f"SYSTEM={word}"
        return InputError(
            f"{about} and no system's name ({shown}). If it names a system, say which: --values {which}; if it is a "
            f"tie: --values {typed_names([('tie', word)])}; if it is no vote: {said_no_vote(word)} {found}"
        )
    if ({"a", "b"} <= says or {"left", "right"} <= says or stated) and not is_code:
        step = f"If it is one of them, say so (--values {typed_names([('tie', word)])})"
        return InputError(f"{about}. {step}; if it is no vote: {said_no_vote(word)} {found}")
    missing = ",".join(f"{ours}=..." for ours in ("a", "b", "tie") if is_code or ours not in says)
    if is_code:  # to drop one number of a scale would leave the others to be read as something else
        return InputError(f"{about}. Say of every number what it means: --values {missing}; - for no vote {found}")
    return InputError(
        f"{about}. If the file is from another tool, map it: --values {missing}; a word that is no vote: "
        f"{said_no_vote(word)} {found}"
    )


def _short_forms(rows: Rows, met: Sequence[str], stated: Mapping[str, str]) -> dict[str, str]:
    """Word -> system, where every word that says nothing resembles one system, and no two the same one."""
    unknown = [word for word in met if word not in stated and one_name(word) not in rows.systems and not spoken(word)]
    near = {word: [name for name in rows.systems.values() if resembles(word, name)] for word in unknown}
    if not all(len(names) == 1 for names in near.values()):
        return {}
    found = {word: names[0] for word, names in near.items()}
    return found if len({*found.values()}) == len(found) else {}


def tally(rows: Rows, winner: Winners) -> str:
    """`alpha 80, beta 20, tie 3`: how often each system won by a reading."""
    won: Counter[str] = Counter()
    for row, side in enumerate(winner):
        if side is not None:
            won["tie" if side == TIED else (rows.a, rows.b)[side][row] if rows.a else "ab"[side]] += 1
    names = sorted(won, key=lambda name: (name == "tie", name))
    return ", ".join(f"{name} {won[name]:,}" for name in names[:8]) or "nobody"
