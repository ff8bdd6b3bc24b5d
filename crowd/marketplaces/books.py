"""The books of studies: every payment as a line, and what left the account by month.

A reward is paid from a place that was bought before. So places, bonuses, fees and VAT leave the account, and the cost
of a reward is 0: the sum of `cost` is what the studies have cost.
"""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import IO, Any

import sqlalchemy as sa

from seedvote.crowd.marketplaces.caps import month_of
from seedvote.crowd.marketplaces.ledger import ZERO, Payout, payout_of
from seedvote.crowd.store.store import Store
from seedvote.crowd.store.tables import payouts

COLUMNS = ("study", "market", "visit", "purpose", "amount", "fee", "VAT", "cost", "currency", "date", "state")
NO_MONEY = ("return", "rejection")  # messages that went through the ledger
PLACES = ("places", "refund")


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the books."""

    study: str
    row: Payout

    @property
    def at(self) -> float:
        """When it was sent, or when its state changed last."""
        return self.row.at if self.row.sent is None else self.row.sent

    @property
    def amount(self) -> Decimal:
        """What people get, or the rewards of places."""
        return self.row.amount

    @property
    def fee(self) -> Decimal:
        """What the marketplace takes, without VAT; that of a reward was paid with its place."""
        return self.row.cost - self.row.amount - self.row.vat if self.row.cost else ZERO

    def cells(self) -> list[str]:
        """As the table has them."""
        row = self.row
        money = [f"{amount:.2f}" for amount in (row.amount, self.fee, row.vat, row.cost)]
        date = f"{datetime.fromtimestamp(self.at, UTC):%Y-%m-%d}"
        return [self.study, row.market, row.submission, row.purpose, *money, row.currency, date, row.state]


def entries_of(study: Path, store: Store) -> list[Entry]:
    """Every line of one study that is about money, oldest first."""
    with store.read() as connection:
        rows = connection.execute(sa.select(payouts).order_by(payouts.c.at, payouts.c.submission)).all()
    entries = [Entry(study.name, payout_of(row)) for row in rows]
    return sorted((entry for entry in entries if entry.row.purpose not in NO_MONEY), key=lambda entry: entry.at)


def write_entries(entries: Iterable[Entry], file: IO[Any]) -> None:
    """As CSV."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(entry.cells() for entry in entries)


@dataclass(frozen=True, slots=True)
class Month:
    """What left the account in one month, of one currency."""

    month: str
    currency: str
    places: Decimal  # rewards of places that were bought, less those that were refunded
    extra: Decimal  # bonuses and whatever else came on top
    fees: Decimal
    vat: Decimal
    open: Decimal  # of the total: sent or intended, and not confirmed yet

    @property
    def total(self) -> Decimal:
        """All of it."""
        return self.places + self.extra + self.fees + self.vat


def months_of(entries: Sequence[Entry]) -> list[Month]:
    """Totals by month, in order."""
    groups: dict[tuple[str, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.row.state != "refused" and entry.row.cost:
            groups[month_of(entry.at), entry.row.currency].append(entry)
    return [_sum_month(month, currency, group) for (month, currency), group in sorted(groups.items())]


def _sum_month(month: str, currency: str, entries: Sequence[Entry]) -> Month:
    def add_amounts(amounts: Iterable[Decimal]) -> Decimal:
        return sum(amounts, ZERO)

    return Month(
        month,
        currency,
        places=add_amounts(entry.amount for entry in entries if entry.row.purpose in PLACES),
        extra=add_amounts(entry.amount for entry in entries if entry.row.purpose not in PLACES),
        fees=add_amounts(entry.fee for entry in entries),
        vat=add_amounts(entry.row.vat for entry in entries),
        open=add_amounts(entry.row.cost for entry in entries if entry.row.state != "confirmed"),
    )


def month_lines(months: Sequence[Month]) -> Iterator[str]:
    """Totals by month as a table for people."""
    yield f"{'month':<9}{'places':>10}{'bonuses':>10}{'fees':>10}{'VAT':>10}{'total':>12}"
    for month in months:
        amounts = f"{month.places:>10.2f}{month.extra:>10.2f}{month.fees:>10.2f}{month.vat:>10.2f}{month.total:>12.2f}"
        still = f", of it {month.open:.2f} not confirmed yet" if month.open else ""
        yield f"{month.month:<9}{amounts} {month.currency}{still}"
