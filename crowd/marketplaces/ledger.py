"""The ledger: every call that moves money is a row of `payouts`, written before the call and never sent again.

A row says `intended` before anything leaves this house, `sent` in the moment before the call, and then what came of
it: `confirmed`, `refused`, or `uncertain` where no answer came. Each state is on disk before the next step, so that a
crash leaves a row that says what may have happened. What is uncertain is settled by asking the marketplace, or by a
person who has looked there; it is sent anew only where the marketplace says that it was not done.

Marketplaces pay some things later. So a row that was sent rests for an hour: the marketplace is asked about it, but
nobody is told to look, and nobody may say that it was not paid.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Literal, Protocol, get_args

import sqlalchemy as sa

from seedvote.crowd.marketplaces.caps import OverTheCap, check_currency, refuse_above
from seedvote.crowd.store.store import Store
from seedvote.crowd.store.tables import payouts
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Source

State = Literal["intended", "sent", "confirmed", "uncertain", "refused"]
# reward, bonus, answers, top-up, screen-out, compensation, places, refund, return, rejection; a bonus with a name is
# `bonus NAME`
Purpose = str
EXTRA = ("bonus", "answers", "top-up", "compensation")  # what comes on top of the reward
STATES: tuple[State, ...] = get_args(State)
BY_HAND = "looked up by hand: not paid"
RESTS = 3600.0  # seconds after the call in which nobody can know that it was not done
ZERO = Decimal(0)


class NotDone(InputError):
    """The marketplace has answered, and it did not do it."""


class NotReached(NotDone):
    """It was not done, and nothing else would be done now: the marketplace is busy or away."""


class Unsure(InputError):
    """No answer came: it may have been done."""


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
    """How one purpose is carried out at one marketplace, for as many at once as one call takes."""

    @property
    def most(self) -> int:
        """Rows of one call."""

    @property
    def is_late(self) -> bool:
        """Whether it is done some time after the call, so that "not done" within the hour means "not yet"."""

    def prepare_payouts(self, rows: Sequence[Payout]) -> Sequence[Payout]:
        """Whatever comes before the money moves; gives the rows with their handles. Spends nothing: may be repeated."""

    def send_payouts(self, rows: Sequence[Payout]) -> bool:
        """Move the money of all of them, in one call. True: it is done. False: it is accepted and will be done."""

    def ask_outcomes(self, rows: Sequence[Payout]) -> Mapping[str, bool | None]:
        """By submission, whether it was done. None: the marketplace cannot say, or not yet."""


class SingleAct(Protocol):
    """How one purpose is carried out where a call is about one submission."""

    def prepare_payout(self, row: Payout) -> str:
        """Whatever comes before the money moves; gives the handle. Spends nothing, so it may be repeated."""

    def send_payout(self, row: Payout) -> bool:
        """Move the money, in one call. True: it is done. False: it is accepted and will be done."""

    def ask_outcome(self, row: Payout) -> bool | None:
        """Whether it was done. None: the marketplace cannot say, or not yet."""


@dataclass(frozen=True, slots=True)
class OneByOne:
    """Calls about one submission each, as an act."""

    act: SingleAct
    most: int = 1
    is_late: bool = False

    def prepare_payouts(self, rows: Sequence[Payout]) -> Sequence[Payout]:
        """Each with its handle."""
        return [replace(row, handle=self.act.prepare_payout(row)) for row in rows]

    def send_payouts(self, rows: Sequence[Payout]) -> bool:
        """The only one."""
        (row,) = rows
        return self.act.send_payout(row)

    def ask_outcomes(self, rows: Sequence[Payout]) -> Mapping[str, bool | None]:
        """Each by a call of its own; one that fails hides no other."""
        answers: dict[str, bool | None] = {}
        for row in rows:
            with suppress(NotDone, Unsure):
                answers[row.submission] = self.act.ask_outcome(row)
        return answers


class PayoutLedger:
    """The payouts of one launch."""

    def __init__(self, store: Store, market: Source, clock: Callable[[], float] | None = None) -> None:
        self.store, self.market, self.clock = store, market, clock or (lambda: time.time())

    def read_payouts(self, *states: State) -> list[Payout]:
        """What was ever intended here, oldest first."""
        wanted = sa.and_(payouts.c.market == self.market, payouts.c.state.in_(states or STATES))
        with self.store.read() as connection:
            return [payout_of(row) for row in connection.execute(_ROWS.where(wanted))]

    def carry_out(self, due: Payout, act: SingleAct) -> Payout:
        """Pay it, unless it was paid; what was begun and not finished is asked about first."""
        return self.carry_out_all([due], OneByOne(act))[0]

    def buy_places(self, due: Payout, act: SingleAct) -> None:
        """Carry it out; InputError where it is not confirmed, because what follows needs it."""
        if (row := self.carry_out(due, act)).state != "confirmed":
            raise InputError(f"{row.why} Run the same command again: it goes on where it stopped.")

    def ask_one(self, row: Payout, act: SingleAct) -> Payout:
        """Ask the marketplace what became of it; `intended` again where it was certainly not done."""
        return self.ask_all([row], OneByOne(act))[_payout_key(row)]

    def _settle_row(self, connection: sa.Connection, row: Payout, done: bool | None) -> Payout:
        if done is None and row.state == "sent" and self.is_resting(row):
            return row  # it may be done yet
        if done is None:
            why = row.why if row.state == "uncertain" else "it was sent, and the marketplace does not show it yet"
            return self._write_move(connection, row, "uncertain", why=why, only_from=row.state)
        return self._write_move(connection, row, "confirmed" if done else "intended", only_from=row.state)

    def is_resting(self, row: Payout) -> bool:
        """Whether it was sent so lately that the marketplace may still do it."""
        return row.sent is not None and 0 <= self.clock() - row.sent < RESTS

    def carry_out_all(self, dues: Sequence[Payout], act: Act) -> list[Payout]:
        """Pay them, each unless it was paid, in as few calls as the marketplace allows."""
        rows = self._intend_all(dues)
        begun = self.ask_all([row for row in rows if row.state in ("sent", "uncertain")], act)
        rows = [begun.get(_payout_key(row), row) for row in rows]
        fresh = [row for row in rows if row.state == "intended"]
        paid: dict[tuple[str, str], Payout] = {}
        for start in range(0, len(fresh), act.most):
            paid |= {_payout_key(row): row for row in self._carry_out_batch(fresh[start : start + act.most], act)}
        return [paid.get(_payout_key(row), row) for row in rows]

    def _intend_all(self, dues: Sequence[Payout]) -> list[Payout]:
        """The rows, all on disk by then; one that the cap does not allow is refused, and stops no other."""
        rows = []
        with self.store.write() as connection:
            for due in dues:
                try:
                    rows.append(self._record_intent(connection, due))
                except (NotDone, OverTheCap) as error:
                    rows.append(replace(due, state="refused", why=str(error)))
        return rows

    def _carry_out_batch(self, rows: Sequence[Payout], act: Act) -> list[Payout]:
        """One call; where the marketplace refuses it for one of them, the others are tried without that one."""
        try:
            prepared = act.prepare_payouts(rows)
            if not (claimed := self._claim_all(prepared)):
                return self.refresh_rows(rows)  # another command has moved one: the next `pay` goes on
            return self._send_all(claimed, act)
        except (NotDone, Unsure) as error:  # Unsure of the preparation: nothing has moved yet
            rows = self.refresh_rows(rows)
            if len(rows) == 1 or isinstance(error, (NotReached, Unsure)):
                return [self._move_row(row, "refused", why=str(error), only_from="intended") for row in rows]
            half = len(rows) // 2
            return [*self._carry_out_batch(rows[:half], act), *self._carry_out_batch(rows[half:], act)]

    def _send_all(self, rows: Sequence[Payout], act: Act) -> list[Payout]:
        try:
            done = act.send_payouts(rows)
        except NotDone:  # certainly not done: they may be sent in a smaller call
            with self.store.write() as connection:
                for row in rows:
                    self._write_move(connection, row, "intended", only_from="sent")
            raise
        except Unsure as error:
            with self.store.write() as connection:
                moved = [
                    self._write_move(connection, row, "uncertain", why=str(error), only_from="sent") for row in rows
                ]
            return list(self.ask_all(moved, act).values())
        return [self._move_row(row, "confirmed") for row in rows] if done else list(rows)

    def refresh_rows(self, rows: Sequence[Payout]) -> list[Payout]:
        """The rows as they are now; one that was never written as it is given."""
        with self.store.read() as connection:
            return [_find_row(connection, row) or row for row in rows]

    def ask_all(self, rows: Sequence[Payout], act: Act) -> dict[tuple[str, str], Payout]:
        """Ask the marketplace what became of them; `intended` again where one was certainly not done.

        The answers are of the moment before: where another command has moved a row since, they say nothing.
        """
        if not rows:
            return {}
        try:
            answers = act.ask_outcomes(rows)
        except (NotDone, Unsure):  # a question that failed says nothing about the answer
            answers = {}
        with self.store.write() as connection:
            return {
                _payout_key(row): self._settle_row(connection, row, self._answer_for(row, answers, act)) for row in rows
            }

    def _answer_for(self, row: Payout, answers: Mapping[str, bool | None], act: Act) -> bool | None:
        is_done = answers.get(row.submission)
        return None if is_done is False and act.is_late and self.is_resting(row) else is_done

    def decide_submission(self, submission: str, *, paid: bool) -> list[Payout]:
        """A person has looked at the marketplace: what was uncertain about this submission was paid, or was not.

        "Not paid" is taken only of what was sent more than an hour ago: to say so early would pay twice. Who said it
        and finds it paid later may say so, as long as nothing was sent anew.
        """
        open_ = self.open_of(submission, refused=paid)
        if not paid and (resting := [row for row in open_ if self.is_resting(row)]):
            minutes = max(1, round((RESTS - self.clock() + max(row.sent or 0.0 for row in resting)) / 60))
            raise InputError(
                f"{submission} was sent less than an hour ago, and a marketplace may pay that late. If it were sent "
                f"anew, the person could be paid twice. Run this again in {minutes} min. Nothing was changed."
            )
        after: State = "confirmed" if paid else "refused"
        return [self._move_row(row, after, why="" if paid else BY_HAND) for row in open_]

    def open_of(self, submission: str, *, refused: bool = False) -> list[Payout]:
        """What is not settled about a submission; `refused`: also what a person said was not paid."""
        rows = [row for row in self.read_payouts("sent", "uncertain", "refused") if row.submission == submission]
        open_ = [row for row in rows if row.state != "refused" or (refused and row.why == BY_HAND)]
        if not open_:
            raise InputError(
                f"{submission} has no payout that is uncertain. `crowd pay` lists those that are, by their ids."
            )
        return open_

    def equal_paid(self, row: Payout, handle: str | None = None) -> int:
        """How many extra payments of this very amount (and handle) the submission has had for other purposes."""
        return sum(
            payout.amount == row.amount and payout.purpose != row.purpose and _is_bonus_there(payout)
            for payout in self.read_payouts("confirmed")
            if payout.submission == row.submission and handle in (None, payout.handle)
        )

    def note_payment(self, due: Payout) -> None:
        """Something the marketplace has paid by itself: known here, so that it counts against the cap.

        What was sent stays as it is, and is asked about.
        """
        with self.store.write() as connection:
            before = _find_row(connection, due)
            if before is not None and before.state not in ("intended", "refused"):
                return
            if before is not None:
                connection.execute(sa.delete(payouts).where(_match_row(due)))
            now = self.clock()
            connection.execute(sa.insert(payouts), _column_values(replace(due, state="confirmed", sent=now), now))

    def set_vat(self, rows: Sequence[Payout], vats: Sequence[Decimal]) -> None:
        """What of the cost of each was VAT, where the marketplace says it later."""
        with self.store.write() as connection:
            for row, vat in zip(rows, vats, strict=True):
                connection.execute(sa.update(payouts).where(_match_row(row)).values(vat=f"{vat:f}"))

    def _record_intent(self, connection: sa.Connection, due: Payout) -> Payout:
        before = _find_row(connection, due)
        if before is not None and before.state not in ("intended", "refused"):
            return before
        _check_equal(connection, due)
        _check_cap(connection, due)
        row = replace(due, state="intended")
        if before is not None:
            connection.execute(sa.delete(payouts).where(_match_row(due)))
        connection.execute(sa.insert(payouts), _column_values(row, self.clock()))
        return row

    def _claim_all(self, rows: Sequence[Payout]) -> list[Payout]:
        """All of them or none: they are sent in one call, so one that another command has claimed stops them all."""
        now = self.clock()
        claimed = [replace(row, state="sent", why="", at=now, sent=now) for row in rows]
        with self.store.write() as connection:
            for row in rows:
                if (stored := _find_row(connection, row)) is None or stored.state != "intended":
                    return []
            for row in claimed:
                connection.execute(sa.update(payouts).where(_match_row(row)).values(_column_values(row, now)))
        return claimed

    def _move_row(self, row: Payout, state: State, *, why: str = "", only_from: State | None = None) -> Payout:
        """The row as it is now. What is confirmed stays so; `only_from`: so does what another command has moved."""
        with self.store.write() as connection:
            return self._write_move(connection, row, state, why=why, only_from=only_from)

    def _write_move(
        self, connection: sa.Connection, row: Payout, state: State, *, why: str = "", only_from: State | None = None
    ) -> Payout:
        is_movable = sa.and_(_match_row(row), payouts.c.state != "confirmed")
        if only_from is not None:
            is_movable = sa.and_(is_movable, payouts.c.state == only_from, payouts.c.handle == row.handle)
        values = {"state": state, "handle": row.handle, "why": why, "at": self.clock()}
        connection.execute(sa.update(payouts).where(is_movable).values(values))
        return _find_row(connection, row) or replace(row, state=state, why=why)


_ROWS = sa.select(payouts).order_by(payouts.c.at, payouts.c.submission, payouts.c.purpose)


def payout_of(row: sa.Row[Any]) -> Payout:
    """A row of the table."""
    values = row._asdict()
    return Payout(**values | {name: Decimal(values[name]) for name in ("amount", "cost", "vat")})


def _column_values(row: Payout, now: float) -> dict[str, object]:
    names = ("market", "submission", "purpose", "currency", "state", "handle", "why", "sent")
    money = {name: f"{getattr(row, name):f}" for name in ("amount", "cost", "vat")}
    return {**{name: getattr(row, name) for name in names}, **money, "at": now}


def is_extra(purpose: Purpose) -> bool:
    """Whether it comes on top of the reward; a bonus may have a name of its own.

    >>> is_extra("bonus pilot"), is_extra("reward")
    (True, False)
    """
    return purpose.partition(" ")[0] in EXTRA


def _is_bonus_there(row: Payout) -> bool:
    """Whether the marketplace lists it among the bonuses; Prolific does so with its own pay of a screen-out."""
    return is_extra(row.purpose) or row.purpose == "screen-out"


def _payout_key(row: Payout) -> tuple[str, str]:
    return row.submission, row.purpose


def _match_row(row: Payout) -> sa.ColumnElement[bool]:
    is_named = sa.and_(payouts.c.market == row.market, payouts.c.submission == row.submission)
    return sa.and_(is_named, payouts.c.purpose == row.purpose)


def _find_row(connection: sa.Connection, row: Payout) -> Payout | None:
    stored = connection.execute(_ROWS.where(_match_row(row))).first()
    return None if stored is None else payout_of(stored)


def _check_equal(connection: sa.Connection, due: Payout) -> None:
    """Two equal extra payments of one submission at once: the marketplace's list could not say which was made."""
    is_of_visit = sa.and_(payouts.c.market == due.market, payouts.c.submission == due.submission)
    open_ = sa.and_(is_of_visit, payouts.c.purpose != due.purpose, payouts.c.state.in_(("sent", "uncertain")))
    rows = map(payout_of, connection.execute(_ROWS.where(open_)).all())
    if is_extra(due.purpose) and any(is_extra(row.purpose) and row.amount == due.amount for row in rows):
        raise NotDone("an equal payment of this submission is not settled yet. Run the same command again later.")


def check_cap(store: Store, dues: Iterable[Payout]) -> None:
    """Say before anything is done that all of these would pass the cap."""
    dues = list(dues)
    with store.read() as connection:
        for due in dues:
            check_currency(connection, due.currency)
        fresh = [due for due in dues if (stored := _find_row(connection, due)) is None or stored.state == "refused"]
        refuse_above(connection, sum((due.cost for due in fresh), Decimal(0)))


def _check_cap(connection: sa.Connection, due: Payout) -> None:
    before = _find_row(connection, due)
    promised = before.cost if before is not None and before.state == "intended" else Decimal(0)
    refuse_above(connection, due.cost - promised)
