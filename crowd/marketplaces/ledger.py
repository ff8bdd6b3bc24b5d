"""The ledger: every call that moves money is a row of `payouts`, written before the call and never sent again.

A row says `intended` before anything leaves this house, `sent` in the moment before the call, and then what came of
it: `confirmed`, `refused`, or `uncertain` where no answer came. Each state is on disk before the next step, so that a
crash leaves a row that says what may have happened. What is uncertain is settled by asking the marketplace, or by a
person who has looked there; it is sent anew only where the marketplace says that it was not done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Literal, Protocol, get_args

import sqlalchemy as sa

from crowd.store.store import Store, put, settings
from crowd.store.tables import payouts
from dialogue.errors import InputError
from dialogue.records import Source

State = Literal["intended", "sent", "confirmed", "uncertain", "refused"]
Purpose = Literal["reward", "bonus", "answers", "screen-out", "compensation", "places", "return"]
CAP = "cap"  # the study's setting: what all payouts together may cost
EXTRA: tuple[Purpose, ...] = ("bonus", "answers", "compensation")  # what comes on top of the reward
STATES: tuple[State, ...] = get_args(State)
BY_HAND = "looked up by hand: not paid"
ZERO = Decimal(0)


class NotDone(InputError):
    """The marketplace has answered, and it did not do it."""


class Unsure(InputError):
    """No answer came: it may have been done."""


class OverTheCap(InputError):
    """More than the study may cost."""


@dataclass(frozen=True, slots=True)
class Payout:
    """One row: what one submission gets for one purpose."""

    market: Source
    submission: str
    purpose: Purpose
    amount: Decimal  # to the person; for places the reward of all of them; 0 for a request to return
    cost: Decimal  # what the study pays for it in all; 0 for a reward that was paid for with its place
    currency: str
    state: State = "intended"
    handle: str = ""  # what it takes to ask the marketplace about it
    why: str = ""  # of `refused` and `uncertain`, for people
    vat: Decimal = ZERO  # a part of `cost`, where the marketplace says it
    at: float = 0.0  # when its state last changed
    sent: float | None = None  # when the call was made


class Act(Protocol):
    """How one purpose is carried out at one marketplace."""

    def prepare(self, row: Payout) -> str:
        """Whatever comes before the money moves; gives the handle. Spends nothing, so it may be repeated."""

    def send(self, row: Payout) -> bool:
        """Move the money, in one call. True: it is done. False: it is accepted and will be done."""

    def ask(self, row: Payout) -> bool | None:
        """Whether it was done. None: the marketplace cannot say, or not yet."""


class PayoutLedger:
    """The payouts of one launch."""

    def __init__(self, store: Store, market: Source, clock: Callable[[], float] = time.time) -> None:
        self.store, self.market, self.clock = store, market, clock

    def rows(self, *states: State) -> list[Payout]:
        """What was ever intended here, oldest first."""
        wanted = sa.and_(payouts.c.market == self.market, payouts.c.state.in_(states or STATES))
        with self.store.read() as connection:
            return [_payout(row) for row in connection.execute(_ROWS.where(wanted))]

    def carry_out(self, due: Payout, act: Act) -> Payout:
        """Pay it, unless it was paid; what was begun and not finished is asked about first."""
        row = self._intend(due)
        if row.state in ("sent", "uncertain"):
            row = self.ask(row, act)
        if row.state != "intended":
            return row
        try:
            handle = act.prepare(row)
        except (NotDone, Unsure) as error:  # nothing has moved yet
            return self._move(row, "refused", why=str(error), only_from="intended")
        mine = self._claim(row, handle)
        return self._send(mine, act) if mine else row

    def _send(self, row: Payout, act: Act) -> Payout:
        try:
            done = act.send(row)
        except NotDone as error:
            return self._move(row, "refused", why=str(error))
        except Unsure as error:
            return self.ask(self._move(row, "uncertain", why=str(error), only_from="sent"), act)
        return self._move(row, "confirmed") if done else row

    def ask(self, row: Payout, act: Act) -> Payout:
        """Ask the marketplace what became of it; `intended` again where it was certainly not done.

        The answer is of the moment before: where another command has moved the row since, it says nothing.
        """
        try:
            done = act.ask(row)
        except (NotDone, Unsure):  # a question that failed says nothing about the answer
            done = None
        if done is None:
            return self._uncertain(row)
        return self._move(row, "confirmed" if done else "intended", only_from=row.state)

    def _uncertain(self, row: Payout) -> Payout:
        why = row.why if row.state == "uncertain" else "it was sent, and the marketplace does not show it yet"
        return self._move(row, "uncertain", why=why, only_from=row.state)

    def decide(self, submission: str, *, paid: bool) -> list[Payout]:
        """A person has looked at the marketplace: what was uncertain about this submission was paid, or was not.

        Who said "not paid" and finds it paid later may say so, as long as nothing was sent anew.
        """
        mine = [row for row in self.rows("sent", "uncertain", "refused") if row.submission == submission]
        open_ = [row for row in mine if row.state != "refused" or (paid and row.why == BY_HAND)]
        if not open_:
            raise InputError(
                f"{submission} has no payout that is uncertain. `crowd pay` lists those that are, by their ids."
            )
        after: State = "confirmed" if paid else "refused"
        return [self._move(row, after, why="" if paid else BY_HAND) for row in open_]

    def paid_beside(self, row: Payout) -> int:
        """How many extra payments of this very amount the submission has had for other purposes."""
        others = (one for one in self.rows("confirmed") if one.submission == row.submission and one.purpose in EXTRA)
        return sum(one.amount == row.amount and one.purpose != row.purpose for one in others)

    def note(self, due: Payout) -> None:
        """Something the marketplace has paid by itself: known here, so that it counts against the cap.

        What was sent stays as it is, and is asked about.
        """
        with self.store.write() as connection:
            before = _found(connection, due)
            if before is not None and before.state not in ("intended", "refused"):
                return
            if before is not None:
                connection.execute(sa.delete(payouts).where(_same(due)))
            now = self.clock()
            connection.execute(sa.insert(payouts), _columns(replace(due, state="confirmed", sent=now), now))

    def _intend(self, due: Payout) -> Payout:
        """The row, which is on disk by then; a cap that it would pass is said before anything is sent."""
        with self.store.write() as connection:
            before = _found(connection, due)
            if before is not None and before.state not in ("intended", "refused"):
                return before
            _check_alone(connection, due)
            _check_cap(connection, due)
            row = replace(due, state="intended")
            if before is not None:
                connection.execute(sa.delete(payouts).where(_same(due)))
            connection.execute(sa.insert(payouts), _columns(row, self.clock()))
            return row

    def _claim(self, row: Payout, handle: str) -> Payout | None:
        """Write `sent`, in one step for whoever is first: two commands at once must not both send it."""
        mine = sa.and_(_same(row), payouts.c.state == "intended")
        now = self.clock()
        values = {"state": "sent", "handle": handle, "why": "", "at": now, "sent": now}
        with self.store.write() as connection:
            first = connection.execute(sa.update(payouts).where(mine).values(values)).rowcount == 1
        return replace(row, state="sent", handle=handle, at=now, sent=now) if first else None

    def _move(self, row: Payout, state: State, *, why: str = "", only_from: State | None = None) -> Payout:
        """The row as it is now. What is confirmed stays so; `only_from`: so does what another command has moved."""
        here = sa.and_(_same(row), payouts.c.state != "confirmed")
        if only_from is not None:
            here = sa.and_(here, payouts.c.state == only_from, payouts.c.handle == row.handle)
        values = {"state": state, "handle": row.handle, "why": why, "at": self.clock()}
        with self.store.write() as connection:
            connection.execute(sa.update(payouts).where(here).values(values))
            return _found(connection, row) or replace(row, state=state, why=why)


_ROWS = sa.select(payouts).order_by(payouts.c.at, payouts.c.submission, payouts.c.purpose)


def _payout(row: sa.Row[tuple[object, ...]]) -> Payout:
    values = row._asdict()
    return Payout(**values | {name: Decimal(values[name]) for name in ("amount", "cost", "vat")})


def _columns(row: Payout, now: float) -> dict[str, object]:
    names = ("market", "submission", "purpose", "currency", "state", "handle", "why", "sent")
    money = {name: f"{getattr(row, name):f}" for name in ("amount", "cost", "vat")}
    return {**{name: getattr(row, name) for name in names}, **money, "at": now}


def _same(row: Payout) -> sa.ColumnElement[bool]:
    named = sa.and_(payouts.c.market == row.market, payouts.c.submission == row.submission)
    return sa.and_(named, payouts.c.purpose == row.purpose)


def _found(connection: sa.Connection, row: Payout) -> Payout | None:
    found = connection.execute(_ROWS.where(_same(row))).first()
    return None if found is None else _payout(found)


def _check_alone(connection: sa.Connection, due: Payout) -> None:
    """Two extra payments of one submission at once could not be told apart when the marketplace is asked."""
    others = sa.and_(payouts.c.market == due.market, payouts.c.submission == due.submission)
    open_ = sa.and_(others, payouts.c.purpose.in_(EXTRA), payouts.c.state.in_(("sent", "uncertain")))
    if due.purpose in EXTRA and connection.execute(_ROWS.where(open_, payouts.c.purpose != due.purpose)).first():
        raise NotDone("another payment of this submission is not settled yet. Run the same command again later.")


# The cap


def cap_of(connection: sa.Connection) -> Decimal | None:
    """What the study may cost in all; None where nobody has said."""
    kept = settings(connection).get(CAP)
    return None if kept is None else Decimal(kept)


def set_cap(store: Store, amount: Decimal) -> None:
    """Say what the study may cost in all, through every marketplace and command."""
    with store.write() as connection:
        spent = spent_of(connection)
        if amount < spent:
            raise InputError(f"--cap is {amount}, but {spent:.2f} is spent or promised already. Nothing was changed.")
        put(connection, CAP, f"{amount:f}")


def spent_of(connection: sa.Connection) -> Decimal:
    """What is spent, promised or may have been spent: all but what was refused."""
    kept: Sequence[str] = connection.scalars(sa.select(payouts.c.cost).where(payouts.c.state != "refused")).all()
    return sum(map(Decimal, kept), Decimal(0))


def check_cap(store: Store, dues: Iterable[Payout]) -> None:
    """Say before anything is done that all of these would pass the cap."""
    dues = list(dues)
    with store.read() as connection:
        for due in dues:
            _check_currency(connection, due)
        fresh = [due for due in dues if (found := _found(connection, due)) is None or found.state == "refused"]
        _refuse_above(connection, sum((due.cost for due in fresh), Decimal(0)))


def _check_cap(connection: sa.Connection, due: Payout) -> None:
    before = _found(connection, due)
    held = before.cost if before is not None and before.state == "intended" else Decimal(0)
    _refuse_above(connection, due.cost - held)


def _check_currency(connection: sa.Connection, due: Payout) -> None:
    """A study pays in one currency: no cap could be held against the sum of two."""
    others = connection.scalars(sa.select(payouts.c.currency).where(payouts.c.currency != due.currency)).first()
    if others is not None:
        raise InputError(
            f"this study has paid in {others} before, and this would be in {due.currency}: nobody could hold both "
            "against one cap. Launch it from a study folder of its own. Nothing was paid."
        )


def _refuse_above(connection: sa.Connection, more: Decimal) -> None:
    cap, spent = cap_of(connection), spent_of(connection)
    if cap is not None and more > 0 and spent + more > cap:
        raise OverTheCap(
            f"the study may cost {cap:.2f} in all, {spent:.2f} is spent or promised, and this is {more:.2f} more. "
            "Raise it with --cap if that is right."
        )
