"""A pair is reserved for whoever is let in, so that nobody reads examples or answers checks and then finds no pair.

A reservation is a lease that is not shown yet. It takes a place among its pair's k, ends when its rater does nothing
for as long as a lease lasts, and gives way to an ordinary lease when the first real pair of the sitting is due.
"""

from __future__ import annotations

from typing import Any

from seedvote.crowd.rating.seating import Moment, SeatedRater
from seedvote.crowd.store import event_log
from seedvote.crowd.store import statements as sql
from seedvote.crowd.store.identity import lease_token
from seedvote.crowd.store.store import fetch, later

MOST_IDLE = 5  # pairs in hand in idle visits of one worker; a worker may have several tasks open in tabs


def is_certain(moment: Moment, seated: SeatedRater) -> bool:
    """Whether the rater has a real pair in this sitting already: judged, in hand or reserved."""
    waiting, reservation = seated.waiting, seated.reservation
    if seated.has_real or (waiting is not None and _is_real(waiting) and waiting.state == "held"):
        return True
    if seated.status == "incomplete" and seated.life.reals:
        return True  # their votes wait for the checks that they still owe
    if reservation is not None and not reservation.open and not seated.done:
        return False  # others completed it, by late answers or new rules; who has begun keeps it all the same
    return seated.reserved is not None and (seated.reserved_until > moment.now or _is_at_work(waiting, moment.now))


def _is_at_work(waiting: Any, now: float) -> bool:
    """Whether the check that they have in hand keeps their reservation, see RUNS_OUT."""
    return waiting is not None and waiting.state == "held" and not sql.has_run_out(waiting, now)


def can_be_taken_up(moment: Moment, waiting: Any) -> bool:
    """Whether a real pair that ran out while the rater was away has a place for them still."""
    return _is_real(waiting) and bool(waiting.open) and waiting.live < moment.rules.assignment.votes_per_pair


def _is_real(row: Any) -> bool:
    return row.kind not in ("check", "void")


def reserve(moment: Moment, seated: SeatedRater, row: Any, layout: str) -> None:
    """Hold this pair back for the rater; `left` is how it will be laid out."""
    seat, now = seated.seat, moment.now
    token = lease_token(moment.secret, seat.rater, row.pair, 0)
    who = {"token": token, "attempt": 0, "rater": seat.rater, "sitting": seat.sitting, "slot": seated.life.reals}
    what = {"pair": row.pair, "kind": row.kind, "left": layout, "state": "reserved"}
    times = {"issued": now, "expires": now + moment.rules.assignment.lease_seconds}
    later(
        moment.connection,
        (sql.INSERT_LEASE, who | what | times),
        sql.recount(row.pair, moment.rules.assignment.votes_per_pair, held=1),
        event_log.entry("reserved", now, seat.rater, row.pair, sitting=seat.sitting),
    )


def prolong(moment: Moment, seated: SeatedRater) -> None:
    """The rater reads on, so their reservation lasts as long as a lease that is given now."""
    if seated.reserved is not None:
        until = moment.now + moment.rules.assignment.lease_seconds
        later(moment.connection, (sql.PROLONG, {"this": seated.reserved, "until": until}))


def move(moment: Moment, rater: str, sitting: int) -> None:
    """What was reserved in another visit is reserved in this one."""
    later(moment.connection, (sql.MOVE_RESERVATION, {"this": rater, "here": sitting}))


def give_back(moment: Moment, seated: SeatedRater) -> None:
    """The sitting ends without it."""
    if seated.reserved is not None:
        moment.needs_study()
        (rows,) = fetch(moment.connection, (sql.ONE_LEASE, {"lease": seated.reserved}))
        sql.release(moment.connection, rows, moment.rules.assignment.votes_per_pair, moment.now)


def release_idle(moment: Moment, person: str) -> None:
    """Give back what this person's idle visits hold, but for what was given last; one pair goes to the visit to come.

    Anybody who knows a worker's id can forge visits. Each would take a pair that the worker then cannot be shown, for
    as long as somebody keeps its page open. A visit with an answer keeps what it has.
    """
    (rows,) = fetch(moment.connection, (sql.IDLE_HELD, {"person": person}))
    sql.release(moment.connection, rows[MOST_IDLE - 1 :], moment.rules.assignment.votes_per_pair, moment.now)
