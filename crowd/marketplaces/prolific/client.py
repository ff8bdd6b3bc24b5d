"""Prolific: a draft study through its REST interface, and the people who take part in it.

The draft is published by hand on Prolific's own page, which shows the final price; from then on places, approvals and
bonuses spend money, each through the ledger. Prolific has no request tokens, so a random internal name in our record
tells whether the draft of an interrupted launch exists already. Interface: https://docs.prolific.com/api-reference.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

import httpx

from seedvote.crowd.marketplaces.ledger import Unsure
from seedvote.crowd.marketplaces.money import Price
from seedvote.crowd.marketplaces.prolific.calling import call
from seedvote.crowd.web.entrance import origin_of

PAGE = 200  # submissions or studies in one answer, as Prolific's own command-line program asks for them
MOST_BONUSES = 200  # in one payment, by Prolific's documentation
MOST_APPROVALS = 200  # in one call; the documentation names no number
CURRENCIES = ("USD", "GBP")
HUNDRED = Decimal(100)
FEE_PRECISION = Decimal("0.0001")  # per cent: what a calculator that rounds to cents can tell


@dataclass(frozen=True, slots=True, kw_only=True)
class ProlificLaunch:
    """What a launch created, and before that what it will."""

    # random; the study's internal name at Prolific, by which an interrupted launch finds it again
    key: str = field(default_factory=lambda: f"seedvote-{secrets.token_hex(8)}")
    public_url: str
    pairs: str  # SHA-256 of pairs.jsonl
    reward: str
    currency: str
    places: int
    study: str = ""  # Prolific's id of the study
    screen_out: str = "0"  # fixed pay of a screened-out person; 0: they are approved like everybody
    screen_outs: int = 0  # how many of them Prolific pays before it pauses the study
    quota: bool = False  # Prolific runs such a study as several, one a group, with names of their own
    parts: tuple[str, ...] = ()  # the names of those that were met so far
    vat_share: str = ""  # of what places cost, once Prolific has said it


@dataclass(frozen=True, slots=True)
class Submission:
    """A visit as Prolific lists it."""

    submission: str
    participant: str
    status: str
    study: str  # of a study with quotas, the part that the person took
    bonuses: tuple[int, ...] | None = None  # in cents; None where the list does not say


# Launch


def prolific_price(sittings: int, reward: Decimal, currency: str, fee_percent: Decimal) -> Price:
    """Reward and Prolific's service fee; the rate depends on the account."""
    return Price(sittings, reward, reward * fee_percent / 100, currency)


def fee_percent(client: httpx.Client, reward: Decimal) -> Decimal:
    """What this account pays on top of rewards, with VAT, by Prolific's own calculator."""
    places = 1000  # so many that rounding to a cent does not show
    body = {"reward": cents(reward), "total_available_places": places}
    total = call(client, "POST", "/study-cost-calculator/", lambda reply: Decimal(str(reply["total_cost"])), json=body)
    share: Decimal = total / (cents(reward) * places) - 1
    return (share * HUNDRED).quantize(FEE_PRECISION, ROUND_HALF_UP)


def cents(amount: Decimal) -> int:
    """An amount in the unit of Prolific's interface."""
    return int((amount * HUNDRED).to_integral_exact())


def create_draft(client: httpx.Client, launch: ProlificLaunch, body: dict[str, Any]) -> ProlificLaunch:
    """Create the draft, unless it exists already; it spends nothing."""
    if launch.study:
        return launch
    if name := _draft_named(client, launch.key):
        return replace(launch, study=name)
    try:
        return replace(launch, study=call(client, "POST", "/studies/", _read_id, json=body))
    except Unsure:
        if name := _draft_named(client, launch.key):  # the reply was lost, the draft was made
            return replace(launch, study=name)
        raise


def _draft_named(client: httpx.Client, key: str) -> str:
    drafts = _read_pages(client, "/studies/", lambda reply: reply["results"], {"state": "UNPUBLISHED"})
    return next((str(draft["id"]) for draft in drafts if draft.get("internal_name") == key), "")


def _read_id(reply: Any) -> str:
    return str(reply["id"])


def _read_pages(
    client: httpx.Client, path: str, rows: Callable[[Any], Sequence[Any]], query: Mapping[str, Any]
) -> Iterator[Any]:
    """Every row of a list, page by page."""
    following: str | None = path
    while following:
        page, following = call(
            client,
            "GET",
            following,
            lambda reply: (rows(reply), _next_page(reply)),
            params=query if following == path else None,
        )
        yield from page
        # The token goes with every request, so a link that leads elsewhere is not followed.
        if following and origin_of(following) != origin_of(str(client.base_url)):
            return


def _next_page(reply: Any) -> str | None:
    """Where the next page is."""
    return ((reply.get("_links") or {}).get("next") or {}).get("href")


# While the study runs


def submissions(client: httpx.Client, study: str) -> Iterator[Submission]:
    """Every visit that Prolific lists."""
    path = f"/studies/{study}/submissions/"
    return _read_pages(
        client, path, lambda reply: [_read_submission(row, study) for row in reply["results"]], {"limit": PAGE}
    )


def _read_submission(row: dict[str, Any], study: str) -> Submission:
    paid = row.get("bonus_payments")
    bonuses = None if paid is None else tuple(cents_of(amount) for amount in paid)
    return Submission(
        str(row["id"]), str(row["participant_id"]), _read_status(row), row.get("study_id") or study, bonuses
    )


def cents_of(amount: Any) -> int:
    """An amount in cents, as Prolific says it, as a whole number."""
    return round(Decimal(str(amount)))


def _read_status(row: dict[str, Any]) -> str:
    return str(row["status"]).replace("_", " ").replace("TIMED OUT", "TIMED-OUT")


def parts_of(client: httpx.Client, submission: str) -> tuple[str, str]:
    """The study of one submission, and the study that it is a part of; the latter may be nothing."""

    def read_parts(reply: Any) -> tuple[str, str]:
        return str(reply["study_id"]), str(reply.get("parent_study_id") or "")

    answer: tuple[str, str] = call(client, "GET", f"/submissions/{submission}/", read_parts)
    return answer


def submission_status(client: httpx.Client, submission: str) -> str:
    """What became of one submission."""
    return str(call(client, "GET", f"/submissions/{submission}/", _read_status))


def bonuses_of(client: httpx.Client, submission: str) -> list[int]:
    """The bonuses that one submission has had, in cents."""

    def read_bonuses(reply: Any) -> list[int]:
        return [cents_of(amount) for amount in reply["bonus_payments"] or []]

    return list(call(client, "GET", f"/submissions/{submission}/", read_bonuses))


REJECTION_CATEGORIES = (
    "TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT",
    "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER",
)  # fmt: skip
SHORTEST_REJECTION = 100  # letters of the message, by Prolific's documentation


def study_at_prolific(client: httpx.Client, launch: ProlificLaunch) -> dict[str, Any]:
    """The study as Prolific has it: its status is UNPUBLISHED, ACTIVE, PAUSED, AWAITING REVIEW or COMPLETED."""
    reply: dict[str, Any] = call(
        client, "GET", f"/studies/{launch.study}/", lambda reply: {**reply, **_read_places(reply)}
    )
    return reply


def _read_places(reply: Any) -> dict[str, int]:
    return {"total_available_places": int(reply["total_available_places"])}


def transition(client: httpx.Client, launch: ProlificLaunch, action: str) -> None:
    """PAUSE or START the recruiting."""
    call(client, "POST", f"/studies/{launch.study}/transition/", json={"action": action})


def set_places(client: httpx.Client, launch: ProlificLaunch, places: int) -> None:
    """So many places in all: said twice it is the same. It spends money once the study is published."""
    reply = call(client, "PATCH", f"/studies/{launch.study}/", _read_places, json={"total_available_places": places})
    if reply["total_available_places"] < places:
        raise Unsure(f"Prolific was asked for {places} places and shows {reply['total_available_places']}.")


def approve_all(client: httpx.Client, submissions: Sequence[str]) -> None:
    """Approve these submissions, some time later. Prolific ignores those that are approved."""
    call(client, "POST", "/submissions/bulk-approve/", json={"submission_ids": list(submissions)})


def reject(client: httpx.Client, submission: str, category: str, message: str) -> str:
    """Reject one submission, which is never undone; gives its status."""
    body = {"action": "REJECT", "rejection_category": category, "message": message}
    return str(call(client, "POST", f"/submissions/{submission}/transition/", _read_status, json=body))


def request_return(client: httpx.Client, submission: str, reason: str) -> None:
    """Ask a participant to return a submission."""
    call(client, "POST", f"/submissions/{submission}/request-return/", json={"request_return_reasons": [reason]})


def return_requested(client: httpx.Client, submission: str) -> bool:
    """Whether this submission was asked back, or is returned."""

    def is_requested(reply: Any) -> bool:
        return bool(reply.get("return_requested")) or _read_status(reply) == "RETURNED"

    return bool(call(client, "GET", f"/submissions/{submission}/", is_requested))


@dataclass(frozen=True, slots=True)
class BonusPlan:
    """Bonuses that are set up and not paid: the name by which they are paid, and what Prolific adds, in cents."""

    name: str
    amount: int | None  # None where Prolific does not say what it understood
    fees: int
    vat: int


def set_up_bonuses(client: httpx.Client, study: str, amounts: Mapping[str, Decimal]) -> BonusPlan:
    """Set bonuses up, one for each submission of this study, which pays nothing yet."""
    lines = "\n".join(f"{submission},{amount:.2f}" for submission, amount in amounts.items())

    def read_plan(reply: Any) -> BonusPlan:
        amount = reply.get("amount")
        fees, vat = (cents_of(reply.get(name) or 0) for name in ("fees", "vat"))
        return BonusPlan(_read_id(reply), None if amount is None else cents_of(amount), fees, vat)

    body = {"study_id": study, "csv_bonuses": lines}
    plan: BonusPlan = call(client, "POST", "/submissions/bonus-payments/", read_plan, json=body)
    return plan


def pay_bonuses(client: httpx.Client, plan: str) -> None:
    """Pay what was set up. Each call pays again, and the money moves some minutes later: call it once."""
    call(client, "POST", f"/bulk-bonus-payments/{plan}/pay/")


@dataclass(frozen=True, slots=True)
class StudyCost:
    """What a study has cost so far, in cents, by Prolific's own books: places and bonuses."""

    rewards: int
    fees: int
    vat: int

    @property
    def total(self) -> int:
        """All of it."""
        return self.rewards + self.fees + self.vat


def places_cost(client: httpx.Client, launch: ProlificLaunch) -> StudyCost:
    """What the places of the study have cost so far, without bonuses."""

    def read_cost(reply: Any) -> StudyCost:
        return StudyCost(*(cents_of(reply["rewards"][name]["amount"]) for name in ("rewards", "fees", "tax")))

    answer: StudyCost = call(client, "GET", f"/studies/{launch.study}/cost/", read_cost)
    return answer


def workspace_balance(client: httpx.Client, workspace: str) -> tuple[Decimal, str] | None:
    """What the workspace may still spend, and its currency; None where the token sees several and none was named."""

    def workspace_ids(reply: Any) -> list[str]:
        return [_read_id(row) for row in reply["results"]]

    if not workspace:
        known = call(client, "GET", "/workspaces/", workspace_ids)
        if len(known) != 1:
            return None
        workspace = known[0]

    def read_balance(reply: Any) -> tuple[Decimal, str]:
        return Decimal(int(reply["available_balance"])) / HUNDRED, str(reply["currency_code"])

    answer: tuple[Decimal, str] = call(client, "GET", f"/workspaces/{workspace}/balance/", read_balance)
    return answer
