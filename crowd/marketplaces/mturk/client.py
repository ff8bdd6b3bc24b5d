"""Calls to Mechanical Turk: HITs that show our own page, paid by the sitting.

One HIT is up to nine sittings by different workers. From ten assignments on MTurk doubles its fee (20 % to 40 %,
requester pricing page); within one HIT it never lets a worker in twice, and across HITs our own assignment core keeps
a worker from seeing a pair again. A qualification type carries the soft block: HITs ask that a worker does not have it.
Accounts are never blocked and work is never rejected.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import ROUND_UP, Decimal
from typing import Any
from xml.sax.saxutils import escape

from botocore.exceptions import ClientError

from seedvote.crowd.marketplaces.money import CENT, Price
from seedvote.crowd.marketplaces.mturk.connecting import Client, explained, turk_code

PLACES_PER_HIT = 9  # assignments; from ten on MTurk's fee doubles
FEE, LEAST_FEE = Decimal("0.20"), Decimal("0.01")
LOCALE, APPROVED, COMPLETED = "00000000000000000071", "000000000000000000L0", "00000000000000000040"
CLOSED_OUT = "Held by workers for whom one study has no further tasks. It says nothing about the quality of their work."
QUESTION_SCHEMA = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2006-07-14/ExternalQuestion.xsd"


@dataclass(frozen=True, slots=True, kw_only=True)
class MTurkLaunch:
    """What a launch created, and what it takes to repeat it without creating anything twice."""

    key: str = field(default_factory=lambda: secrets.token_hex(12))  # every request token follows from it
    sandbox: bool
    public_url: str
    pairs: str  # SHA-256 of pairs.jsonl
    reward: str
    minutes: int  # that a worker has for one sitting
    qualification: str = ""
    hit_type: str = ""
    hits: tuple[Mapping[str, Any], ...] = ()  # {"places": 9, "hit": id or ""}


@dataclass(frozen=True, slots=True)
class MTurkTerms:
    """Which workers, and for how long: what the researcher decides beside hit.toml."""

    title: str
    description: str
    keywords: str = "conversation, chat, compare, opinion, research"
    approve_days: int = 3  # after which MTurk approves by itself
    locales: tuple[str, ...] = ()
    approval_rate: int = 0
    approved_hits: int = 0


@dataclass(frozen=True, slots=True)
class Assignment:
    """An assignment as MTurk lists it."""

    assignment: str
    worker: str
    hit: str
    status: str  # Submitted, Approved or Rejected


# Launch


def mturk_price(sittings: int, reward: Decimal) -> Price:
    """Reward and fee: 20 %, at least one cent an assignment, as long as a HIT has fewer than ten assignments."""
    return Price(sittings, reward, max(LEAST_FEE, reward * FEE), "USD")


def places(sittings: int) -> list[int]:
    """Assignments of each HIT: as even as can be, nine at most.

    >>> places(20)
    [7, 7, 6]
    """
    hits = -(-sittings // PLACES_PER_HIT)  # rounded up
    return [sittings // hits + (i < sittings % hits) for i in range(hits)] if hits else []


def external_question(url: str) -> str:
    """The XML that makes MTurk show our page in its frame, as high as the window allows."""
    return (
        f'<ExternalQuestion xmlns="{QUESTION_SCHEMA}"><ExternalURL>{escape(url)}</ExternalURL>'
        "<FrameHeight>0</FrameHeight></ExternalQuestion>"
    )


def requirements(qualification: str, terms: MTurkTerms) -> list[dict[str, Any]]:
    """Who may see the HITs: workers without our qualification, as the researcher asks for them."""
    conditions: list[dict[str, Any]] = [{"QualificationTypeId": qualification, "Comparator": "DoesNotExist"}]
    if terms.locales:
        lands = [dict(zip(("Country", "Subdivision"), name.split("-"), strict=False)) for name in terms.locales]
        conditions.append({"QualificationTypeId": LOCALE, "Comparator": "In", "LocaleValues": lands})
    for kind, least in ((APPROVED, terms.approval_rate), (COMPLETED, terms.approved_hits)):
        if least:
            at_least = {"Comparator": "GreaterThanOrEqualTo", "IntegerValues": [least]}
            conditions.append({"QualificationTypeId": kind, **at_least})
    # The default guards accepting only: a closed-out worker would still see HITs that refuse them.
    return [{**condition, "ActionsGuarded": "DiscoverPreviewAndAccept"} for condition in conditions]


def planned_hits(sittings: int) -> tuple[Mapping[str, Any], ...]:
    """The record of HITs that do not exist yet."""
    return tuple({"places": number, "hit": ""} for number in places(sittings))


def balance(client: Client) -> Decimal:
    """Money that can be spent."""
    with explained():
        return Decimal(client.get_account_balance()["AvailableBalance"])


Buy = Callable[[MTurkLaunch, str, int], str]  # a token and its number of places -> the HIT, made or found again


def create_missing(client: Client, launch: MTurkLaunch, terms: MTurkTerms, buy: Buy) -> Iterator[MTurkLaunch]:
    """Create what the record plans and does not have yet; after each step the record to keep, so that a crash between
    two steps costs nothing: tokens are the same in the next run, and `buy` finds a HIT again that MTurk holds."""
    if not launch.qualification:
        with explained():
            name = f"Seedvote {launch.key}: no further work in this study"
            launch = replace(launch, qualification=own_qualification(client, name, CLOSED_OUT))
        yield launch
    if not launch.hit_type:
        with explained():
            launch = replace(launch, hit_type=_hit_type(client, launch, terms))
        yield launch
    for n, planned in enumerate(launch.hits):
        if not planned["hit"]:
            done = {**planned, "hit": buy(launch, f"{launch.key}-{n}", planned["places"])}
            yield (launch := replace(launch, hits=(*launch.hits[:n], done, *launch.hits[n + 1 :])))


def own_qualification(client: Client, name: str, about: str) -> str:
    """The qualification type of this name: the one that an earlier attempt made, or a new one."""
    if known := find_qualification(client, name):
        return known
    reply = client.create_qualification_type(Name=name, Description=about, QualificationTypeStatus="Active")
    return str(reply["QualificationType"]["QualificationTypeId"])


def find_qualification(client: Client, name: str) -> str:
    """The qualification type of this name, or nothing."""
    reply = client.list_qualification_types(Query=name, MustBeRequestable=False, MustBeOwnedByCaller=True)
    # Query finds similar names as well
    return next((str(kind["QualificationTypeId"]) for kind in reply["QualificationTypes"] if kind["Name"] == name), "")


def _hit_type(client: Client, launch: MTurkLaunch, terms: MTurkTerms) -> str:
    reply = client.create_hit_type(
        Title=terms.title,
        Description=terms.description,
        Keywords=terms.keywords,
        Reward=launch.reward,
        AssignmentDurationInSeconds=launch.minutes * 60,
        AutoApprovalDelayInSeconds=terms.approve_days * 86_400,
        QualificationRequirements=requirements(launch.qualification, terms),
    )
    return str(reply["HITTypeId"])


def create_hit(client: Client, launch: MTurkLaunch, days: int, token: str, assignments: int, question: str = "") -> str:
    """One HIT that shows our page, or `question`; the token makes a repeated request harmless while MTurk keeps it."""
    with explained():
        return _create_hit(client, launch, days, token, assignments, question)


def _create_hit(client: Client, launch: MTurkLaunch, days: int, token: str, assignments: int, question: str) -> str:
    try:
        reply = client.create_hit_with_hit_type(
            HITTypeId=launch.hit_type,
            MaxAssignments=assignments,
            LifetimeInSeconds=days * 86_400,
            Question=question or external_question(f"{launch.public_url}/"),
            RequesterAnnotation=token,
            UniqueRequestToken=token,
        )
    except ClientError as error:
        known = re.search(r"\b[0-9A-Z]{20,64}\b", str(error))
        # The reply of an earlier attempt was lost: MTurk names the HIT that this token made.
        if turk_code(error).lower() == "hitalreadyexists" and known:
            return known[0]
        raise
    return str(reply["HIT"]["HITId"])


def find_hit(client: Client, launch: MTurkLaunch, token: str) -> str:
    """The HIT that this token made, if MTurk lists it."""
    with explained():
        pages = client.get_paginator("list_hits_for_qualification_type")
        listed = (hit for page in pages.paginate(QualificationTypeId=launch.qualification) for hit in page["HITs"])
        return next((str(hit["HITId"]) for hit in listed if hit.get("RequesterAnnotation") == token), "")


# What happens at MTurk while the study runs


def look_up_hit(client: Client, hit: str) -> Mapping[str, Any] | None:
    """One HIT, or None where it was deleted by hand."""
    with explained():
        try:
            hit_at_mturk: Mapping[str, Any] = client.get_hit(HITId=hit)["HIT"]
        except ClientError as error:
            if turk_code(error) == "HITDoesNotExist":
                return None
            raise
    return None if hit_at_mturk["HITStatus"] == "Disposed" else hit_at_mturk


def hits_of(launch: MTurkLaunch) -> list[str]:
    """The HITs that exist."""
    return [str(planned["hit"]) for planned in launch.hits if planned["hit"]]


def assignments(client: Client, hit: str) -> list[Assignment]:
    """Every submitted assignment of one HIT; none of one that was deleted by hand."""
    if look_up_hit(client, hit) is None:
        return []
    with explained():
        pages = client.get_paginator("list_assignments_for_hit").paginate(HITId=hit)
        return [
            Assignment(row["AssignmentId"], row["WorkerId"], hit, row["AssignmentStatus"])
            for page in pages
            for row in page["Assignments"]
        ]


def assignment_status(client: Client, assignment: str) -> str:
    """Submitted, Approved or Rejected."""
    with explained():
        return str(client.get_assignment(AssignmentId=assignment)["Assignment"]["AssignmentStatus"])


def open_places(client: Client, launch: MTurkLaunch) -> int:
    """Assignments that are free or at work, in HITs that were not deleted."""
    hits = [hit for name in hits_of(launch) if (hit := look_up_hit(client, name))]
    return sum(hit["NumberOfAssignmentsAvailable"] + hit["NumberOfAssignmentsPending"] for hit in hits)


def set_expiry(client: Client, launch: MTurkLaunch, when: datetime) -> int:
    """Close the HITs now (a time in the past) or keep them open until then; how many there were."""
    changed = 0
    for hit in hits_of(launch):
        if look_up_hit(client, hit) is not None:
            with explained():
                client.update_expiration_for_hit(HITId=hit, ExpireAt=when)
            changed += 1
    return changed


def in_days(days: int) -> datetime:
    """That many days from now; 0 is a moment ago."""
    return datetime.now(UTC) + (timedelta(days=days) if days else -timedelta(minutes=1))


def close_to(client: Client, launch: MTurkLaunch, worker: str) -> None:
    """The soft block: give the worker our qualification, silently; the account stays untouched."""
    with explained():
        client.associate_qualification_with_worker(
            QualificationTypeId=launch.qualification, WorkerId=worker, IntegerValue=1, SendNotification=False
        )


def closed_to(client: Client, launch: MTurkLaunch) -> set[str]:
    """Workers who hold the qualification already."""
    with explained():
        pages = client.get_paginator("list_workers_with_qualification_type")
        qualified = pages.paginate(QualificationTypeId=launch.qualification, Status="Granted")
        return {str(row["WorkerId"]) for page in qualified for row in page["Qualifications"]}


def approve_assignment(client: Client, assignment: str) -> None:
    """Approve one submitted assignment: MTurk pays the reward."""
    with explained():
        client.approve_assignment(AssignmentId=assignment)


def bonus_cost(amount: Decimal) -> Decimal:
    """A bonus with its fee."""
    return amount + max(LEAST_FEE, amount * FEE).quantize(CENT, ROUND_UP)


def bonuses(client: Client, assignment: str) -> list[tuple[Decimal, str]]:
    """Amount and reason of each bonus that an assignment has had."""
    with explained():
        pages = client.get_paginator("list_bonus_payments").paginate(AssignmentId=assignment)
        return [(Decimal(row["BonusAmount"]), str(row["Reason"])) for page in pages for row in page["BonusPayments"]]


def send_bonus(client: Client, assignment: str, worker: str, amount: Decimal, reason: str, purpose: str) -> None:
    """Pay a bonus once: the token makes a repeated request harmless."""
    token = hashlib.sha256(f"{assignment} {purpose}".encode()).hexdigest()
    with explained():
        client.send_bonus(
            WorkerId=worker,
            AssignmentId=assignment,
            BonusAmount=f"{amount:.2f}",
            Reason=reason,
            UniqueRequestToken=token,
        )
