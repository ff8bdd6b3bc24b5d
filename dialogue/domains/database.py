"""The domains' databases: which rows match a state, as an AND of one set of rows for each filled slot.

Names, foods and stations match by `match_names`, times as "not after" and "not before", the rest by equality. A row
that does not know a value ("?") is not excluded by it. A slot that no column has excludes nothing. As in the published
rule, the database's own names, foods and stations stay as they are written: only states are brought to one spelling.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from operator import and_, or_
from typing import Any

from seedvote.dialogue.domains.matching import match_names
from seedvote.dialogue.domains.spelling import NO_MATTER, count_minutes, spell_slot, spell_value

FUZZY = frozenset({"name", "food", "departure", "destination"})
UNKNOWN = "?"
Rows = int  # a set of rows: bit n stands for the n-th


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
