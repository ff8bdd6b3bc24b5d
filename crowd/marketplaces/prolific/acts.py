"""How money moves on Prolific: approvals and bonuses many at once, each act with the question that settles it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import TYPE_CHECKING

from seedvote.crowd.marketplaces.ledger import NotDone, Payout
from seedvote.crowd.marketplaces.money import CENT
from seedvote.crowd.marketplaces.prolific import client as prolific

if TYPE_CHECKING:
    import httpx

    from seedvote.crowd.marketplaces.prolific.client import ProlificLaunch, Submission


class Listing:
    """Every submission of the launch, by its name: asked for once, and again after something was sent."""

    def __init__(self, ask: Callable[[], dict[str, Submission]]) -> None:
        self._ask = ask
        self._rows: dict[str, Submission] | None = None

    def read_submissions(self) -> dict[str, Submission]:
        """As Prolific has them since the last call that changed something."""
        if self._rows is None:
            self._rows = self._ask()
        return self._rows

    def forget_submissions(self) -> None:
        """Something is about to change."""
        self._rows = None


@dataclass(frozen=True, slots=True)
class Approvals:
    """The rewards. Prolific ignores a second approval, so what was not done may be sent again."""

    client: httpx.Client
    listing: Listing
    most: int = prolific.MOST_APPROVALS
    is_late: bool = True

    def prepare_payouts(self, rows: Sequence[Payout]) -> Sequence[Payout]:
        """Nothing."""
        return rows

    def send_payouts(self, rows: Sequence[Payout]) -> bool:
        """Approve them; Prolific does so a little later."""
        self.listing.forget_submissions()
        prolific.approve_all(self.client, [row.submission for row in rows])
        return False

    def ask_outcomes(self, rows: Sequence[Payout]) -> Mapping[str, bool | None]:
        """Their statuses say."""
        listed = self.listing.read_submissions()
        done = {"APPROVED": True, "AWAITING REVIEW": False}
        known = {row.submission: listed[row.submission].status for row in rows if row.submission in listed}
        return {name: done.get(status) for name, status in known.items()}


@dataclass(slots=True)
class Bonuses:
    """Bonuses. Paying them is not idempotent and takes minutes, so they are sent once, and then looked for.

    The handle is the name under which they were set up, and how many equal ones the submission had before.
    """

    client: httpx.Client
    listing: Listing
    equal_paid: Callable[[Payout], int]  # how many bonuses of this amount the ledger knows of this submission
    most: int = prolific.MOST_BONUSES
    is_late: bool = True
    before: Mapping[str, Submission] | None = None  # as Prolific had them before the first of these was paid

    def prepare_payouts(self, rows: Sequence[Payout]) -> Sequence[Payout]:
        """Set them up, and check that Prolific means the same money."""
        before = self.before = self.before or self.listing.read_submissions()
        equal = {row.submission: self._count_equal(row, before) for row in rows}
        for row in rows:
            if equal[row.submission] > self.equal_paid(row):
                raise NotDone(
                    f"Prolific lists a bonus of {row.amount:.2f} here that this study's ledger does not know. Nothing "
                    "was paid: pay it on Prolific's page if it is another one."
                )
        study = _study_of(rows, before)
        plan = prolific.set_up_bonuses(self.client, study, {row.submission: row.amount for row in rows})
        _check_plan(plan, rows)
        handles = (f"{plan.name}:{equal[row.submission]}" for row in rows)
        shares = shares_of(plan.vat, [row.amount for row in rows])
        return [replace(row, handle=handle, vat=vat) for row, handle, vat in zip(rows, handles, shares, strict=True)]

    def send_payouts(self, rows: Sequence[Payout]) -> bool:
        """Pay them; Prolific does so later."""
        self.listing.forget_submissions()
        prolific.pay_bonuses(self.client, rows[0].handle.partition(":")[0])
        return False

    def ask_outcomes(self, rows: Sequence[Payout]) -> Mapping[str, bool | None]:
        """Whether there is one more than before. Where there is none, it may still come."""
        listed = self.listing.read_submissions()
        before = {row.submission: int(row.handle.partition(":")[2] or 0) for row in rows}
        return {row.submission: self._count_equal(row, listed) > before[row.submission] or None for row in rows}

    def _count_equal(self, row: Payout, listed: Mapping[str, Submission]) -> int:
        """The equal bonuses of this submission, by the list where it says them, else by a question of its own."""
        known = listed[row.submission].bonuses if row.submission in listed else None
        bonuses = prolific.bonuses_of(self.client, row.submission) if known is None else known
        return list(bonuses).count(prolific.cents(row.amount))


def _study_of(rows: Sequence[Payout], listed: Mapping[str, Submission]) -> str:
    """The one study that all of them took part in."""
    names = {listed[row.submission].study for row in rows if row.submission in listed}
    if len(names) != 1:
        raise NotDone("Prolific does not list this submission. Nothing was paid.")
    return names.pop()


def _check_plan(plan: prolific.BonusPlan, rows: Sequence[Payout]) -> None:
    """Refuse where Prolific would pay another amount, or ask more for it than the cap was held against."""
    amount = sum(prolific.cents(row.amount) for row in rows)
    most = sum(prolific.cents(row.cost) for row in rows) + len(rows)  # each cost is rounded by less than a cent
    if plan.amount is not None and plan.amount != amount:
        raise NotDone(f"Prolific understood {plan.amount} cents where {amount} were meant. Nothing was paid.")
    if (cost := amount + plan.fees + plan.vat) > most:
        raise NotDone(
            f"Prolific asks {cost / 100:.2f} for this, more than the {most / 100:.2f} of the fee that was given. "
            "Nothing was paid: give the right one with --fee-percent, or leave it out."
        )


def shares_of(cents: int, amounts: Sequence[Decimal]) -> list[Decimal]:
    """An amount in cents, divided in proportion, in whole cents that add up to it.

    >>> [str(share) for share in shares_of(3, [Decimal("0.20"), Decimal("0.20")])]
    ['0.02', '0.01']
    """
    total, sums = sum(amounts), itertools.accumulate(amounts)
    ends = [(Decimal(cents) / 100 * part / total).quantize(CENT, ROUND_HALF_UP) for part in sums]
    return [end - start for start, end in itertools.pairwise([Decimal(0), *ends])]


@dataclass(frozen=True, slots=True)
class MorePlaces:
    """More places: a number in all, so that saying it twice changes nothing. The handle is that number."""

    client: httpx.Client
    launch: ProlificLaunch
    total: int

    def prepare_payout(self, row: Payout) -> str:
        """Nothing."""
        del row
        return str(self.total)

    def send_payout(self, row: Payout) -> bool:
        """Set the number."""
        del row
        prolific.set_places(self.client, self.launch, self.total)
        return True

    def ask_outcome(self, row: Payout) -> bool | None:
        """Whether Prolific has so many."""
        return int(prolific.study_at_prolific(self.client, self.launch)["total_available_places"]) >= int(row.handle)


@dataclass(frozen=True, slots=True)
class ReturnRequest:
    """A message that asks for a submission back. Each call sends it again, so it is sent once, and then looked for."""

    client: httpx.Client
    reason: str

    def prepare_payout(self, row: Payout) -> str:
        """Whether somebody has asked already, here or on Prolific's page."""
        if prolific.return_requested(self.client, row.submission):
            raise NotDone("it was asked back already. Nothing was sent.")
        return ""

    def send_payout(self, row: Payout) -> bool:
        """Ask."""
        prolific.request_return(self.client, row.submission, self.reason)
        return True

    def ask_outcome(self, row: Payout) -> bool | None:
        """Prolific keeps when it was asked for; where it shows nothing, it may still come."""
        return True if prolific.return_requested(self.client, row.submission) else None


@dataclass(frozen=True, slots=True)
class Rejection:
    """A rejection with its category and the message that the person reads. Prolific ignores a second one."""

    client: httpx.Client
    category: str
    message: str

    def prepare_payout(self, row: Payout) -> str:
        """Only who waits for their review can be rejected."""
        status = prolific.submission_status(self.client, row.submission)
        if status != "AWAITING REVIEW":
            raise NotDone(f"it is {status}, so it cannot be rejected. Nothing was sent.")
        return ""

    def send_payout(self, row: Payout) -> bool:
        """Reject it."""
        return prolific.reject(self.client, row.submission, self.category, self.message) == "REJECTED"

    def ask_outcome(self, row: Payout) -> bool | None:
        """Its status says."""
        status = prolific.submission_status(self.client, row.submission)
        return {"REJECTED": True, "AWAITING REVIEW": False}.get(status)
