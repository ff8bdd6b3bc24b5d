"""What the researcher says of one payment: whom, how much, and what is left for later."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from seedvote.crowd.marketplaces.ledger import ZERO, Purpose
from seedvote.crowd.marketplaces.money import money
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import cell_text


@dataclass(frozen=True, slots=True)
class PayTerms:
    """What the researcher says of this payment."""

    bonus: Decimal = ZERO  # for each worked visit
    bonuses: Mapping[str, Decimal] = field(default_factory=dict)  # of a list: by visit or by worker
    bonus_name: str = ""  # a visit has one bonus of each name
    per_answer: Decimal = ZERO  # the same for each answer
    compensation: Decimal = ZERO  # for each answer of who could not hand in
    least_hourly: Decimal | None = None  # the least pay an hour; None: that of the marketplace
    top_up: bool = False  # everybody is raised to it where the median pay is below
    min_answers: int = 1  # below it a visit is listed and left to the researcher
    reason: str = ""  # what a person reads with a bonus
    only: Collection[str] = ()  # visits; empty: all
    without: Collection[str] = ()  # visits

    @property
    def bonus_purpose(self) -> Purpose:
        """The purpose of the bonus in the ledger."""
        return f"bonus {self.bonus_name}" if self.bonus_name else "bonus"

    def takes(self, visit: str) -> bool:
        """Whether this payment is about the visit."""
        return visit not in self.without and (not self.only or visit in self.only)


def read_visits(text: str | None) -> Collection[str]:
    """Ids with commas between them, or the words of a file."""
    if not text:
        return ()
    path = Path(text)
    words = path.read_text(encoding="utf-8-sig") if path.is_file() else text
    return frozenset(words.replace(",", " ").split())


def read_bonuses(path: Path) -> Mapping[str, Decimal]:
    """A table with two columns: whom, and how much."""
    table = read_table(path)
    if len(table.names) != 2:
        raise InputError(f"{path} has {len(table.names)} columns; it must have two: whom, and the amount.")
    whom, amounts = (table.columns[name] for name in table.names)
    bonuses: dict[str, Decimal] = {}
    for cell, amount in zip(whom, amounts, strict=True):
        name = cell_text(cell).strip()
        if name in bonuses:
            raise InputError(f"{path} names {name} twice. Give each visit one amount.")
        bonuses[name] = money(cell_text(amount).strip())
    return bonuses
