"""The domains' databases: which rows match a state, as an AND of one set of rows for each filled slot.

Names, foods and stations match by `match_names`, times as "not after" and "not before", the rest by equality. A row
that does not know a value ("?") is not excluded by it. A slot that no column has excludes nothing. As in the published
rule, the database's own names, foods and stations stay as they are written: only states are brought to one spelling.

Two names match by the partial ratio of published Inform and Success, on Python's difflib. The shorter text is compared
with equally long windows of the longer one, where difflib finds matching blocks; the best ratio counts, in whole per
cent. The rule is the matcher: a search over every window (rapidfuzz's) accepts more names, and published numbers are
then not met (9 of 13 systems where this meets 13).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import lru_cache, reduce
from operator import and_, or_
from typing import Any

from seedvote.dialogue.domains.spelling import NO_MATTER, count_minutes, spell_slot, spell_value

ALIKE = 90  # per cent, of published Inform and Success
_SURE = 0.995  # a window this good ends the search
FUZZY = frozenset({"name", "food", "departure", "destination"})
UNKNOWN = "?"
Rows = int  # a set of rows: bit n stands for the n-th


def partial_ratio(first: str, second: str) -> int:
    """How well the shorter text fits into the longer one, 0 to 100.

    >>> partial_ratio("acorn", "acorn guest house"), partial_ratio("acorn", ""), partial_ratio("kings", "king")
    (100, 0, 100)
    """
    if not first or not second:
        return 0
    short, long = (first, second) if len(first) <= len(second) else (second, first)
    best = 0.0
    for block in SequenceMatcher(None, short, long).get_matching_blocks():
        start = max(block.b - block.a, 0)
        best = max(best, SequenceMatcher(None, short, long[start : start + len(short)]).ratio())
        if best > _SURE:
            return 100
    return round(100 * best)


def match_names(first: str, second: str) -> bool:
    """Whether the partial ratio reaches `ALIKE`; texts that share too few letters are not aligned at all."""
    return _may_be_alike(first, second) and partial_ratio(first, second) >= ALIKE


def _may_be_alike(first: str, second: str) -> bool:
    """Whether so many letters are shared that a window could do: a bound, so that no pair above it is lost.

    A window of w letters that matches m of the n short ones has ratio 2m / (n + w) and w >= m, hence at most
    2m / (n + m); and m is at most the number of shared letters.
    """
    short = min(len(first), len(second))
    shared = (_count_letters(first) & _count_letters(second)).total()
    return short > 0 and 200 * shared >= (ALIKE - 0.5) * (short + shared)


@lru_cache(maxsize=1 << 12)
def _count_letters(text: str) -> Counter[str]:
    return Counter(text)


class DomainTable:
    """One domain's rows. It remembers what it was asked: systems ask for the same few values again and again."""

    def __init__(self, rows: Sequence[Mapping[str, Any]]) -> None:
        spelt = [{spell_slot(str(name)): cell for name, cell in row.items() if isinstance(cell, str)} for row in rows]
        self.rows = [{name: _as_stored(name, cell) for name, cell in row.items()} for row in spelt]
        self.all: Rows = (1 << len(rows)) - 1
        self._holding: dict[str, dict[str, Rows]] = {name: {} for row in self.rows for name in row}
        for n, row in enumerate(self.rows):
            for name, sets in self._holding.items():
                cell = row.get(name, UNKNOWN)
                sets[cell] = sets.get(cell, 0) | 1 << n
        self._known: dict[tuple[str, str], Rows] = {}

    @property
    def columns(self) -> frozenset[str]:
        """The slots that can be asked for."""
        return frozenset(self._holding)

    @property
    def offers(self) -> str:
        """What a response holds when it offers a row: TRAINID or NAME; "" where rows have neither (taxis)."""
        return "TRAINID" if {"trainid", "busid"} & self.columns else "NAME" if "name" in self.columns else ""

    def matching(self, state: Mapping[str, str]) -> Rows:
        """The rows that match every filled slot of a state whose slots and values are spelt as `spelling` spells."""
        matches = [self._match_value(*pair) for pair in state.items() if pair[0] in self._holding]
        return reduce(and_, matches, self.all)

    def _match_value(self, name: str, wanted: str) -> Rows:
        if wanted in NO_MATTER:
            return self.all
        key = (name, wanted)
        if key not in self._known:
            fitting = (rows for stored, rows in self._holding[name].items() if _value_fits(name, stored, wanted))
            self._known[key] = reduce(or_, fitting, 0)
        return self._known[key]


def _as_stored(name: str, cell: str) -> str:
    return cell.strip().lower() if name in FUZZY else spell_value(name, cell)


def _value_fits(name: str, stored: str, wanted: str) -> bool:
    if stored == UNKNOWN:
        return True
    if name == "arrive":
        return count_minutes(stored) <= count_minutes(wanted)
    if name == "leave":
        return count_minutes(stored) >= count_minutes(wanted)
    return match_names(stored, wanted) if name in FUZZY else stored == wanted


def domain_tables(databases: Mapping[str, Any]) -> dict[str, DomainTable]:
    """Domain -> its table, for those databases that are rows."""
    return {name: DomainTable(rows) for name, rows in databases.items() if isinstance(rows, list)}
