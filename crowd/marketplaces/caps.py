"""What a study may cost, in all and in a month: kept in the store, so no command goes beyond it."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from decimal import Decimal

import sqlalchemy as sa

from seedvote.crowd.store.store import Store, put, settings
from seedvote.crowd.store.tables import payouts
from seedvote.dialogue.errors import InputError

CAP, MONTH_CAP = "cap", "month cap"  # the study's settings


class OverTheCap(InputError):
    """More than the study may cost."""


def cap_of(connection: sa.Connection, name: str = CAP) -> Decimal | None:
    """What the study may cost in all, or in a month; None where nobody has said."""
    text = settings(connection).get(name)
    return None if text is None else Decimal(text)


def set_caps(store: Store, total: Decimal | None = None, month: Decimal | None = None) -> None:
    """Say what the study may cost, in all and in a month, through every marketplace and command. None: as before."""
    with store.write() as connection:
        for name, amount, spent in (
            (CAP, total, spent_of(connection)),
            (MONTH_CAP, month, spent_of(connection, month_of(time.time()))),
        ):
            if amount is None:
                continue
            if amount < spent:
                option = f"--{name.replace(' ', '-')}"
                raise InputError(f"{option} is {amount}, but {spent:.2f} is spent or promised. Nothing was changed.")
            put(connection, name, f"{amount:f}")


def month_of(at: float) -> str:
    """The month of a moment, in UTC.

    >>> month_of(0)
    '1970-01'
    """
    return f"{datetime.fromtimestamp(at, UTC):%Y-%m}"


def spent_of(connection: sa.Connection, month: str | None = None) -> Decimal:
    """What is spent, promised or may have been spent: all but what was refused. With a month, in it alone."""
    query = sa.select(payouts.c.cost, sa.func.coalesce(payouts.c.sent, payouts.c.at).label("at"))
    rows = connection.execute(query.where(payouts.c.state != "refused")).all()
    return sum((Decimal(row.cost) for row in rows if month in (None, month_of(row.at))), Decimal(0))


def over_the_cap(store: Store) -> list[str]:
    """A sentence where more is spent than the cap allows: somebody has bought places on the marketplace's page."""
    with store.read() as connection:
        cap, spent = cap_of(connection), spent_of(connection)
    if cap is None or spent <= cap:
        return []
    return [f"{spent:.2f} is spent or promised, more than the cap of {cap:.2f}. Raise it with --cap if that is right."]


def check_currency(connection: sa.Connection, currency: str) -> None:
    """A study pays in one currency: no cap could be held against the sum of two."""
    other_currency = connection.scalars(sa.select(payouts.c.currency).where(payouts.c.currency != currency)).first()
    if other_currency is not None:
        raise InputError(
            f"this study has paid in {other_currency} before, and this would be in {currency}: nobody could hold both "
            "against one cap. Launch it from a study folder of its own. Nothing was paid."
        )


def refuse_above(connection: sa.Connection, more: Decimal) -> None:
    """Refuse what the study may not cost, in all or in this month."""
    if more <= 0:
        return
    for name, when, month in ((CAP, "in all", None), (MONTH_CAP, "this month", month_of(time.time()))):
        cap = cap_of(connection, name)
        if cap is not None and (spent := spent_of(connection, month)) + more > cap:
            raise OverTheCap(
                f"the study may cost {cap:.2f} {when}, {spent:.2f} is spent or promised, and this is {more:.2f} more. "
                f"Raise it with --{name.replace(' ', '-')} if that is right."
            )
