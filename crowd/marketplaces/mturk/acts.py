"""How money moves on Mechanical Turk: HITs bought, assignments approved, bonuses sent, each with what settles it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal

from seedvote.crowd.marketplaces.ledger import NotDone, Payout
from seedvote.crowd.marketplaces.mturk import client as mturk
from seedvote.crowd.marketplaces.mturk.connecting import Client


@dataclass(frozen=True, slots=True)
class MTurkApproval:
    """The reward. MTurk refuses a second approval."""

    client: Client
    assignment: str = ""  # where it is not the submission: the HIT of a compensation

    def prepare_payout(self, row: Payout) -> str:
        """Nothing."""
        del row
        return ""

    def send_payout(self, row: Payout) -> bool:
        """Approve it; one that MTurk calls approved already is."""
        try:
            mturk.approve_assignment(self.client, self.assignment or row.submission)
        except NotDone:
            if not self.ask_outcome(row):
                raise
        return True

    def ask_outcome(self, row: Payout) -> bool | None:
        """Its status says."""
        status = mturk.assignment_status(self.client, self.assignment or row.submission)
        return {"Approved": True, "Submitted": False}.get(status)


@dataclass(frozen=True, slots=True)
class MTurkBonus:
    """A bonus, with a request token; MTurk's list of bonuses settles it. The handle is the reason."""

    client: Client
    workers: Mapping[str, str]  # who handed an assignment in
    reason: str
    equal_paid: Callable[[Payout], int]  # how many bonuses of this amount and reason the ledger knows besides this one

    def prepare_payout(self, row: Payout) -> str:
        """Look whether it is there already, from before there was a ledger."""
        if self._is_there(replace(row, handle=self.reason)):
            raise NotDone(
                f"MTurk lists this bonus of {row.amount:.2f} already, and this study's ledger does not know it. "
                "Nothing was paid."
            )
        return self.reason

    def send_payout(self, row: Payout) -> bool:
        """Pay it; MTurk refuses the same token."""
        try:
            worker = self.workers[row.submission]
            mturk.send_bonus(self.client, row.submission, worker, row.amount, self.reason, row.purpose)
        except NotDone:
            if not self.ask_outcome(row):
                raise
        return True

    def ask_outcome(self, row: Payout) -> bool | None:
        """MTurk's list says."""
        return self._is_there(row)

    def _is_there(self, row: Payout) -> bool:
        return mturk.bonuses(self.client, row.submission).count((row.amount, row.handle)) > self.equal_paid(row)


@dataclass(slots=True)
class BoughtHit:
    """A HIT with its places; the handle is its token, by which MTurk lists it."""

    client: Client
    launch: mturk.MTurkLaunch
    days: int
    places: int
    made: str = ""

    def prepare_payout(self, row: Payout) -> str:
        """Nothing."""
        return row.submission

    def send_payout(self, row: Payout) -> bool:
        """Create it."""
        self.made = mturk.create_hit(self.client, self.launch, self.days, row.submission, self.places)
        return True

    def ask_outcome(self, row: Payout) -> bool | None:
        """Whether MTurk lists it."""
        self.made = mturk.find_hit(self.client, self.launch, row.submission)
        return bool(self.made)


def purchase(token: str, places: int, reward: Decimal) -> Payout:
    """The row of a HIT."""
    price = mturk.mturk_price(places, reward)
    return Payout("mturk", token, "places", reward * places, price.total, "USD")
