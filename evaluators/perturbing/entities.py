"""Entities that no model can know: names, cuisines and stations are replaced by invented ones, everywhere alike.

A value is replaced throughout a dialogue, in texts, states, acts and goal, if it stands in the words of the dialogue by
the time that it is first annotated; a value that was put otherwise stays. The databases gain the rows that the invented
values need, so that every goal which could be met still can be; the old rows stay.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from seedvote.dialogue.records import Dialogue, Turn
from seedvote.dialogue.seeds import child_random

COLUMNS = ("name", "food", "departure", "destination")
ACT_SLOTS = frozenset({"name", "food", "depart", "dest"})
ONSETS = (
    "b",
    "br",
    "d",
    "dr",
    "f",
    "fl",
    "g",
    "gl",
    "gr",
    "h",
    "j",
    "k",
    "kl",
    "l",
    "m",
    "n",
    "p",
    "pl",
    "pr",
    "r",
    "s",
    "sk",
    "st",
    "t",
    "tr",
    "v",
    "w",
    "y",
    "z",
)
VOWELS = ("a", "e", "i", "o", "u", "ai", "ea", "ou")
CODAS = ("", "l", "m", "n", "nd", "r", "rk", "sk", "th", "x")
Renamed = Mapping[str, str]
Tables = Mapping[str, Any]


def invented_names(databases: Tables, texts: Iterable[str], *, seed: int) -> dict[str, str]:
    """Value of a database -> an invented one, none of whose invented words occurs anywhere in the texts."""
    values = sorted(
        {value for rows in _list_tables(databases) for row in rows for value in _named_columns(row).values()}
    )
    endings = Counter(value.split()[-1] for value in values if " " in value)
    taken = {word for text in texts for word in re.findall(r"\w+", text.lower())}
    taken.update(word for value in values for word in re.findall(r"\w+", value))
    names = {}
    for value in values:
        words = value.split()
        common_noun = (
            words[-1:] if len(words) > 1 and endings[words[-1]] > 1 else []
        )  # "guest house": what it is, not who
        word = _new_word(taken, rng=child_random(seed, "entities", value))
        taken.add(word)
        names[value] = " ".join([word, *common_noun])
    return names


def _new_word(taken: Collection[str], *, rng: random.Random) -> str:
    while True:
        parts = (rng.choice(part) for _ in range(2) for part in (ONSETS, VOWELS, CODAS))
        if len(word := "".join(parts)) > 4 and word not in taken:
            return word


def with_unseen(dialogue: Dialogue, names: Renamed) -> tuple[Dialogue, dict[str, str], int]:
    """The dialogue with invented names, which were replaced, and how many annotated ones stand nowhere verbatim."""
    used, absent = _find_replaceable(dialogue, names)
    if not used:
        return dialogue, {}, absent
    pattern = _name_pattern(used)
    turns = [_rename_turn(turn, used, pattern) for turn in dialogue.turns]
    return replace(dialogue, turns=tuple(turns), goal=_rename_parts(dialogue.goal, used)), used, absent


def _find_replaceable(dialogue: Dialogue, names: Renamed) -> tuple[dict[str, str], int]:
    conversation, used, absent = "", {}, set()
    for turn in dialogue.turns:
        conversation += f" {turn.text.lower()} "
        for value in _annotated_values(turn):
            if value not in names or value in used or value in absent:
                continue
            if re.search(rf"(?<!\w){re.escape(value)}(?!\w)", conversation):
                used[value] = names[value]
            else:
                absent.add(value)
    return used, len(absent)


def _annotated_values(turn: Turn) -> list[str]:
    states = [value for slot, value in (turn.belief or {}).items() if slot.rpartition("-")[2] in COLUMNS]
    acts = [value for pairs in (turn.acts or {}).values() for slot, value in pairs if slot.lower() in ACT_SLOTS]
    return [value.strip().lower() for value in (*states, *acts)]


def _name_pattern(used: Renamed) -> re.Pattern[str]:
    longest = sorted(used, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:(an?)(\s+))?(?<!\w)({'|'.join(map(re.escape, longest))})(?!\w)", re.I)


def _rename_turn(turn: Turn, used: Renamed, pattern: re.Pattern[str]) -> Turn:
    def put(match: re.Match[str]) -> str:
        new = used[match[3].lower()]
        new_name = new.title() if match[3][:1].isupper() else new
        if not match[1]:
            return new_name
        return match[1][0] + ("n" if new[0] in "aeiou" else "") + match[2] + new_name

    acts = turn.acts and {act: tuple((s, _rename_value(v, used)) for s, v in pairs) for act, pairs in turn.acts.items()}
    belief = turn.belief and {slot: _rename_value(value, used) for slot, value in turn.belief.items()}
    return replace(turn, text=pattern.sub(put, turn.text), belief=belief, acts=acts)


def _rename_value(value: str, used: Renamed) -> str:
    return used.get(value.strip().lower(), value)


def _rename_parts(value: Any, used: Renamed) -> Any:
    if isinstance(value, Mapping):
        return {name: _rename_parts(part, used) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_rename_parts(part, used) for part in value]
    return _rename_value(value, used) if isinstance(value, str) else value


def extend_databases(databases: Tables, used: Renamed) -> dict[str, Any]:
    """The databases with a further row for every way in which a row's values may have been replaced."""
    return {
        name: [*rows, *_further_rows(rows, used)] if isinstance(rows, list) else rows
        for name, rows in databases.items()
    }


def _further_rows(rows: Sequence[Any], used: Renamed) -> list[Any]:
    new_rows = []
    for row in rows:
        new_values = {column: used[value] for column, value in _named_columns(row).items() if value in used}
        for size in range(1, len(new_values) + 1):
            new_rows += [{**row, **dict(some)} for some in combinations(new_values.items(), size)]
    return new_rows


def _list_tables(databases: Tables) -> list[Sequence[Any]]:
    return [rows for rows in databases.values() if isinstance(rows, list)]


def _named_columns(row: Any) -> dict[str, str]:
    """The columns of a row that hold names, with their values in small letters."""
    if not isinstance(row, dict):
        return {}
    values = {column: row[column].strip().lower() for column in COLUMNS if isinstance(row.get(column), str)}
    return {column: value for column, value in values.items() if len(value) > 2}
