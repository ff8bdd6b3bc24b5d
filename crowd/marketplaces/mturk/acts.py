"""How money moves on Mechanical Turk: HITs bought, assignments approved, bonuses sent, each with what settles it.

A visit that could not be handed in is paid by a HIT of one place, hidden from everybody else: MTurk pays bonuses for
assignments that were submitted. A qualification of its own, granted to the worker, hides the HIT from others; the
worker accepts and submits it, and MTurk's own page asks for nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from seedvote.crowd.marketplaces.ledger import NotDone, Payout
from seedvote.crowd.marketplaces.mturk import client as mturk
from seedvote.crowd.marketplaces.mturk.connecting import Client, explained

OWED_DAYS = 30  # that the HIT stays open
HOUR = 3600  # after which MTurk approves by itself, should nobody type a command again
FORM_SCHEMA = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2017-11-06/QuestionForm.xsd"
OWED_TITLE = "Payment for work that you did and could not submit"
OWED_TEXT = (
    "You answered in one of our HITs and could not submit it. This HIT pays you for that work. Please accept it and "
    "submit it; nothing else is asked of you."
)
OWED_ABOUT = "Held by one worker, so that a HIT that pays for earlier work is shown to nobody else. Deleted after it."


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


def owed_question() -> str:
    """A form that MTurk shows itself, so that no server of ours must run: one line that may stay empty."""
    return (
        f'<QuestionForm xmlns="{FORM_SCHEMA}"><Overview><Text>{OWED_TEXT}</Text></Overview><Question>'
        "<QuestionIdentifier>remark</QuestionIdentifier><IsRequired>false</IsRequired><QuestionContent><Text>Anything "
        "you want to tell us? You may leave this empty.</Text></QuestionContent><AnswerSpecification><FreeTextAnswer/>"
        "</AnswerSpecification></Question></QuestionForm>"
    )


def owed_token(launch: mturk.MTurkLaunch, visit: str) -> str:
    """The name of this visit's HIT: the same in every attempt, and nothing that a worker could be known by."""
    return f"{launch.key}-owed-{hashlib.sha256(visit.encode()).hexdigest()[:16]}"


def find_owed(client: Client, launch: mturk.MTurkLaunch, row: Payout) -> Mapping[str, Any] | None:
    """The HIT of this payment, where MTurk lists it."""
    token, qualification = owed_token(launch, row.submission), row.handle.partition(" ")[0]
    with explained():
        pages = client.get_paginator("list_hits_for_qualification_type").paginate(QualificationTypeId=qualification)
        listed = (hit for page in pages for hit in page["HITs"])
        return next((hit for hit in listed if hit.get("RequesterAnnotation") == token), None)


@dataclass(frozen=True, slots=True)
class OwedHit:
    """The compensation; the handle is the qualification and the HIT type."""

    client: Client
    launch: mturk.MTurkLaunch
    workers: Mapping[str, str]  # who came in a visit

    def prepare_payout(self, row: Payout) -> str:
        """The qualification, granted to the worker, whom MTurk tells of it; both again where they are there."""
        worker = self.workers[row.submission]
        with explained():
            name = mturk.own_qualification(self.client, _hit_name(self.launch, row), OWED_ABOUT)
            self.client.associate_qualification_with_worker(
                QualificationTypeId=name, WorkerId=worker, IntegerValue=1, SendNotification=True
            )
            return f"{name} {self._hit_type(row, name)}"

    def _hit_type(self, row: Payout, qualification: str) -> str:
        reply = self.client.create_hit_type(
            Title=OWED_TITLE,
            Description=OWED_TEXT,
            Keywords="payment, compensation",
            Reward=f"{row.amount:.2f}",
            AssignmentDurationInSeconds=HOUR,
            AutoApprovalDelayInSeconds=HOUR,
            QualificationRequirements=[
                {
                    "QualificationTypeId": qualification,
                    "Comparator": "Exists",
                    "ActionsGuarded": "DiscoverPreviewAndAccept",
                }
            ],
        )
        return str(reply["HITTypeId"])

    def send_payout(self, row: Payout) -> bool:
        """Open it, unless it is there: the token says so for a day only, MTurk's list for as long as the HIT is."""
        known = find_owed(self.client, self.launch, row)
        if known and known["Reward"] != f"{row.amount:.2f}":
            raise NotDone(f"MTurk has this HIT already, with a reward of {known['Reward']}: say --amount of that.")
        if not known:
            kind = replace(self.launch, hit_type=row.handle.partition(" ")[2])
            token = owed_token(self.launch, row.submission)
            mturk.create_hit(self.client, kind, OWED_DAYS, token, 1, owed_question())
        return True

    def ask_outcome(self, row: Payout) -> bool | None:
        """Whether MTurk lists it."""
        return find_owed(self.client, self.launch, row) is not None


def put_away(client: Client, launch: mturk.MTurkLaunch, row: Payout) -> None:
    """Delete the HIT and its qualification, after the worker was paid; what is gone already stays so."""
    with explained():
        qualification = mturk.find_qualification(client, _hit_name(launch, row))
    if not qualification:
        return
    if hit := find_owed(client, launch, row):
        with explained():
            client.delete_hit(HITId=hit["HITId"])
    for worker in mturk.closed_to(client, replace(launch, qualification=qualification)):
        with explained():
            client.disassociate_qualification_from_worker(WorkerId=worker, QualificationTypeId=qualification)
    with explained():
        client.delete_qualification_type(QualificationTypeId=qualification)


def _hit_name(launch: mturk.MTurkLaunch, row: Payout) -> str:
    return f"Seedvote {owed_token(launch, row.submission)}: payment for earlier work"
