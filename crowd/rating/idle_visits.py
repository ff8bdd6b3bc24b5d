"""Visits that a marketplace's address announced, and in which nothing was answered: only a few of them hold pairs.

Anybody who knows a worker's id can write such an address. Each forged visit would take a pair in hand that the worker
then cannot be shown, for as long as somebody keeps its page open. So when a visit begins, what was given to idle ones
longest ago goes back; a visit with an answer keeps what it has.
"""

from __future__ import annotations

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from crowd.rating import pool
from crowd.rating.seating import Moment
from crowd.store.store import fetch
from crowd.store.tables import HOLDS_PLACE, leases, payments

MOST = 5  # pairs in hand in idle visits of one worker; a worker may have several tasks open in tabs

_answered = leases.alias("answered")
_IS_IDLE = ~sa.exists().where(
    _answered.c.rater == leases.c.rater, _answered.c.sitting == leases.c.sitting, _answered.c.state == "answered"
)
_HELD = (
    sa.select(leases.c.lease, leases.c.rater, leases.c.pair, leases.c.state)
    .join(payments, sa.and_(payments.c.rater == leases.c.rater, payments.c.sitting == leases.c.sitting))
    .where(leases.c.rater == param("rater"), HOLDS_PLACE, payments.c.listed.is_(None), _IS_IDLE)
    .order_by(leases.c.issued.desc(), leases.c.lease.desc())
)


def release_idle(moment: Moment, rater: str) -> None:
    """Give back what this rater's idle visits hold, but for what was given last; one pair goes to the visit to come."""
    (held,) = fetch(moment.connection, (_HELD, {"rater": rater}))
    pool.release(moment.connection, held[MOST - 1 :], moment.rules.assignment.votes_per_pair, moment.now)
