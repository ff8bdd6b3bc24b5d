"""Visits that somebody wants to look at before they are paid, and why."""

from __future__ import annotations

import sqlalchemy as sa

from seedvote.crowd.store.store import Store
from seedvote.crowd.store.tables import holds, payments
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Source


def holds_of(store: Store, market: Source) -> dict[str, str]:
    """The visits that somebody wants to look at before they are paid, and why."""
    with store.read() as connection:
        rows = connection.execute(sa.select(holds.c.submission, holds.c.why).where(holds.c.market == market)).all()
    return {row.submission: row.why for row in rows}


def hold_visit(store: Store, market: Source, submission: str, why: str, now: float) -> str:
    """Pay nothing for this visit until it is released; a sentence about it."""
    with store.write() as connection:
        known = sa.and_(payments.c.source == market, payments.c.key == submission)
        if connection.execute(sa.select(payments.c.key).where(known)).first() is None:
            raise InputError(f"{submission} is no visit that came to this study. Nothing was changed.")
        connection.execute(sa.delete(holds).where(holds.c.market == market, holds.c.submission == submission))
        connection.execute(sa.insert(holds).values(market=market, submission=submission, why=why, at=now))
    return f"{submission} is held: nothing is paid for it until `crowd pay --release {submission}`."


def release_visit(store: Store, market: Source, submission: str) -> str:
    """Let it be paid again; a sentence about it."""
    with store.write() as connection:
        is_held = sa.and_(holds.c.market == market, holds.c.submission == submission)
        if not connection.execute(sa.delete(holds).where(is_held)).rowcount:
            raise InputError(f"{submission} is not held. `crowd pay` lists those that are.")
    return f"{submission} is paid again."
