"""How money moves on Prolific: one submission at a time, each act with the question that settles it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crowd.marketplaces.ledger import NotDone, Payout
from crowd.marketplaces.prolific import client as prolific

if TYPE_CHECKING:
    import httpx

    from crowd.marketplaces.prolific.client import ProlificLaunch


@dataclass(frozen=True, slots=True)
class ProlificApproval:
    """The reward. Prolific ignores a second approval, so what was not done may be sent again."""

    client: httpx.Client

    def prepare(self, row: Payout) -> str:
        """Nothing."""
        del row
        return ""

    def send(self, row: Payout) -> bool:
        """Approve it."""
        return prolific.approve(self.client, row.submission) == "APPROVED"

    def ask(self, row: Payout) -> bool | None:
        """Its status says."""
        status = prolific.submission_status(self.client, row.submission)
        return {"APPROVED": True, "AWAITING REVIEW": False}.get(status)


@dataclass(frozen=True, slots=True)
class ProlificBonus:
    """A bonus. Paying it is not idempotent and takes minutes, so it is sent once, and then looked for."""

    client: httpx.Client
    launch: ProlificLaunch
    known: Callable[[Payout], int]  # how many bonuses of this amount the ledger knows of this submission

    def prepare(self, row: Payout) -> str:
        """Set it up. The handle remembers how many bonuses of this amount there were before."""
        before = self._equal(row)
        if before > self.known(row):
            raise NotDone(
                f"Prolific lists a bonus of {row.amount:.2f} here that this study's ledger does not know. Nothing was "
                "paid: pay it on Prolific's page if it is another one."
            )
        return f"{prolific.set_up_bonus(self.client, self.launch, row.submission, row.amount)}:{before}"

    def send(self, row: Payout) -> bool:
        """Pay it; Prolific does so later."""
        prolific.pay_bonus(self.client, row.handle.partition(":")[0])
        return False

    def ask(self, row: Payout) -> bool | None:
        """Whether there is one more. Where there is none, it may still come."""
        before = int(row.handle.partition(":")[2] or 0)
        return True if self._equal(row) > before else None

    def _equal(self, row: Payout) -> int:
        return prolific.bonuses_of(self.client, row.submission).count(prolific.cents(row.amount))


@dataclass(frozen=True, slots=True)
class MorePlaces:
    """More places: a number in all, so that saying it twice changes nothing. The handle is that number."""

    client: httpx.Client
    launch: ProlificLaunch
    total: int

    def prepare(self, row: Payout) -> str:
        """Nothing."""
        del row
        return str(self.total)

    def send(self, row: Payout) -> bool:
        """Set the number."""
        del row
        prolific.set_places(self.client, self.launch, self.total)
        return True

    def ask(self, row: Payout) -> bool | None:
        """Whether Prolific has so many."""
        return int(prolific.study_at_prolific(self.client, self.launch)["total_available_places"]) >= int(row.handle)


@dataclass(frozen=True, slots=True)
class ReturnRequest:
    """A message that asks for a submission back. Each call sends it again, so it is sent once, and then looked for."""

    client: httpx.Client
    reason: str

    def prepare(self, row: Payout) -> str:
        """Whether somebody has asked already, here or on Prolific's page."""
        if prolific.return_requested(self.client, row.submission):
            raise NotDone("it was asked back already. Nothing was sent.")
        return ""

    def send(self, row: Payout) -> bool:
        """Ask."""
        prolific.request_return(self.client, row.submission, self.reason)
        return True

    def ask(self, row: Payout) -> bool | None:
        """Prolific keeps when it was asked for; where it shows nothing, it may still come."""
        return True if prolific.return_requested(self.client, row.submission) else None
