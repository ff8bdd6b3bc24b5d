"""Prolific: a draft study through its REST interface, and the people who take part in it.

The draft is published by hand on Prolific's own page, which shows the final price; from then on places, approvals and
bonuses spend money, each through the ledger. Prolific has no request tokens, so a random internal name in our record
tells whether the draft of an interrupted launch exists already. Interface: https://docs.prolific.com/api-reference.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import httpx

from crowd.marketplaces.launch import LOOPBACK
from crowd.marketplaces.ledger import NotDone, Unsure
from crowd.marketplaces.money import Price
from crowd.web.entrance import origin
from dialogue.errors import InputError

API = "https://api.prolific.com/api/v1"
TOKEN, ENDPOINT = "PROLIFIC_TOKEN", "PROLIFIC_API_URL"
CURRENCIES = ("USD", "GBP")
HUNDRED = Decimal(100)


@dataclass(frozen=True, slots=True)
class ProlificLaunch:
    """What a launch created."""

    key: str  # random; the study's internal name at Prolific, by which an interrupted launch finds it again
    public_url: str
    pairs: str  # SHA-256 of pairs.jsonl
    reward: str
    currency: str
    places: int
    study: str = ""  # Prolific's id of the study
    screen_out: str = "0"  # fixed pay of a screened-out person; 0: they are approved like everybody
    screen_outs: int = 0  # how many of them Prolific pays before it pauses the study


@dataclass(frozen=True, slots=True)
class Submission:
    """A visit as Prolific lists it."""

    submission: str
    participant: str
    status: str


def connect_to_prolific() -> httpx.Client:
    """A client with the token of the environment; the token goes to Prolific (or this machine) and nowhere else."""
    token, url = os.environ.get(TOKEN, ""), os.environ.get(ENDPOINT) or API
    if not token:
        raise InputError(
            f"{TOKEN} is not set. Make a token on Prolific (Settings, API tokens) and export it; see docs/prolific.md. "
            "Nothing was created."
        )
    if urlsplit(url).hostname not in LOOPBACK | {urlsplit(API).hostname}:
        raise InputError(f"{ENDPOINT} is neither Prolific nor this machine. Unset it.")
    nothing_kept = httpx.Limits(max_keepalive_connections=0)  # a command makes a few calls and ends
    return httpx.Client(base_url=url, headers={"Authorization": f"Token {token}"}, timeout=30, limits=nothing_kept)


def prolific_stands_in() -> bool:
    """Whether something on this machine stands in for Prolific."""
    return urlsplit(os.environ.get(ENDPOINT, "")).hostname in LOOPBACK


def _whole(reply: Any) -> Any:
    return reply


def call(client: httpx.Client, method: str, path: str, read: Callable[[Any], Any] = _whole, **options: Any) -> Any:
    """One request, and what `read` takes from the answer; reading is tried three times, writing once.

    NotDone: it was not done. Unsure: nobody knows, also where the answer says done and is not what it should be.
    """
    for _ in range(3 if method == "GET" else 1):
        try:
            return _answered(client.request(method, path, **options), read)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:  # nothing has left this machine
            problem: InputError = NotDone(f"Prolific could not be reached ({type(error).__name__}).")
        except httpx.TransportError as error:
            problem = Unsure(f"Prolific has not answered ({type(error).__name__}).")
        except Unsure as error:
            problem = error
        except Busy as error:
            problem = NotDone(str(error))
    raise problem


class Busy(Exception):
    """Prolific asks for patience; it has done nothing."""


def _answered(reply: httpx.Response, read: Callable[[Any], Any]) -> Any:
    if reply.status_code == 429:
        raise Busy("Prolific is busy (429). Run the same command again in a minute.")
    if reply.status_code >= 500:
        raise Unsure(f"Prolific has stumbled (HTTP {reply.status_code}).")
    if reply.status_code >= 400:
        raise NotDone(_sentence(reply))
    try:
        answer = reply.json() if reply.content else None
    except ValueError as error:
        raise Unsure("Prolific's answer was cut off.") from error
    if isinstance(answer, dict) and answer.get("error"):
        raise Unsure(f"Prolific says {reply.status_code} and an error in one.")
    try:
        return read(answer)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise Unsure("Prolific's answer was not what it should be.") from error


def _sentence(reply: httpx.Response) -> str:
    if reply.status_code in (401, 403):
        return f"Prolific does not accept the token in {TOKEN}. Make a new one on Prolific (Settings, API tokens)."
    if reply.status_code == 404:
        what = "study" if "/studies/" in reply.request.url.path else "submission"
        return f"Prolific does not have this {what} any more; was it deleted by hand? Its votes are kept."
    with contextlib.suppress(ValueError, AttributeError, KeyError, TypeError):
        error = reply.json()["error"]
        said = error.get("detail") if isinstance(error.get("detail"), str) else None
        return f"Prolific refused: {'; '.join(str(text)[:200] for text in (error.get('title'), said) if text)}."
    return f"Prolific refused the request (HTTP {reply.status_code})."


# Launch


def prolific_price(sittings: int, reward: Decimal, currency: str, fee_percent: Decimal) -> Price:
    """Reward and Prolific's service fee; the rate depends on the account."""
    return Price(sittings, reward, reward * fee_percent / 100, currency)


def fee_percent(client: httpx.Client, reward: Decimal) -> Decimal:
    """What this account pays on top of rewards, with VAT, by Prolific's own calculator."""
    places = 1000  # so many that rounding to a cent does not show
    body = {"reward": cents(reward), "total_available_places": places}
    total = call(client, "POST", "/study-cost-calculator/", lambda found: Decimal(str(found["total_cost"])), json=body)
    return Decimal(total / (cents(reward) * places) - 1) * HUNDRED


def cents(amount: Decimal) -> int:
    """An amount in the unit of Prolific's interface."""
    return int((amount * HUNDRED).to_integral_exact())


def new_prolific_launch(
    *,
    public_url: str,
    pairs: str,
    reward: Decimal,
    currency: str,
    places: int,
    screen_out: Decimal = Decimal(0),
    screen_outs: int = 0,
) -> ProlificLaunch:
    """The record of a launch in which nothing exists yet."""
    return ProlificLaunch(
        f"seedvote-{secrets.token_hex(8)}",
        public_url,
        pairs,
        f"{reward:.2f}",
        currency,
        places,
        screen_out=f"{screen_out:.2f}",
        screen_outs=screen_outs,
    )


def create_draft(client: httpx.Client, launch: ProlificLaunch, body: dict[str, Any]) -> ProlificLaunch:
    """Create the draft, unless it exists already; it spends nothing."""
    if launch.study:
        return launch
    if there := _draft_named(client, launch.key):
        return replace(launch, study=there)
    try:
        return replace(launch, study=call(client, "POST", "/studies/", _id, json=body))
    except Unsure:
        if there := _draft_named(client, launch.key):  # the reply was lost, the draft was made
            return replace(launch, study=there)
        raise


def _draft_named(client: httpx.Client, key: str) -> str:
    def named(found: Any) -> str:
        return next((str(study["id"]) for study in found["results"] if study.get("internal_name") == key), "")

    return str(call(client, "GET", "/studies/", named, params={"state": "UNPUBLISHED"}))


def _id(found: Any) -> str:
    return str(found["id"])


# While the study runs


def submissions(client: httpx.Client, launch: ProlificLaunch) -> Iterator[Submission]:
    """Every visit that Prolific lists, page by page."""
    path: str | None = f"/studies/{launch.study}/submissions/"
    while path:
        rows, following = call(client, "GET", path, _page)
        yield from rows
        # The token goes with every request, so a link that leads elsewhere is not followed.
        path = following if following and origin(following) == origin(str(client.base_url)) else None


def _page(found: Any) -> tuple[list[Submission], str | None]:
    """The submissions of one page, and where the next one is."""
    rows = [Submission(str(row["id"]), str(row["participant_id"]), _status(row)) for row in found["results"]]
    return rows, ((found.get("_links") or {}).get("next") or {}).get("href")


def _status(row: dict[str, Any]) -> str:
    return str(row["status"]).replace("_", " ").replace("TIMED OUT", "TIMED-OUT")


def submission_status(client: httpx.Client, submission: str) -> str:
    """What became of one submission."""
    return str(call(client, "GET", f"/submissions/{submission}/", _status))


def bonuses_of(client: httpx.Client, submission: str) -> list[int]:
    """The bonuses that one submission has had, in cents."""

    def paid(found: Any) -> list[int]:
        return [round(Decimal(str(amount))) for amount in found["bonus_payments"] or []]

    return list(call(client, "GET", f"/submissions/{submission}/", paid))


def study_at_prolific(client: httpx.Client, launch: ProlificLaunch) -> dict[str, Any]:
    """The study as Prolific has it: its status is UNPUBLISHED, ACTIVE, PAUSED, AWAITING REVIEW or COMPLETED."""
    found: dict[str, Any] = call(client, "GET", f"/studies/{launch.study}/", lambda found: {**found, **_places(found)})
    return found


def _places(found: Any) -> dict[str, int]:
    return {"total_available_places": int(found["total_available_places"])}


def transition(client: httpx.Client, launch: ProlificLaunch, action: str) -> None:
    """PAUSE or START the recruiting."""
    call(client, "POST", f"/studies/{launch.study}/transition/", json={"action": action})


def set_places(client: httpx.Client, launch: ProlificLaunch, places: int) -> None:
    """So many places in all: said twice it is the same. It spends money once the study is published."""
    said = call(client, "PATCH", f"/studies/{launch.study}/", _places, json={"total_available_places": places})
    if said["total_available_places"] < places:
        raise Unsure(f"Prolific was asked for {places} places and shows {said['total_available_places']}.")


def approve(client: httpx.Client, submission: str) -> str:
    """Approve one submission; gives its status. Prolific ignores it for one that is approved."""
    return str(call(client, "POST", f"/submissions/{submission}/transition/", _status, json={"action": "APPROVE"}))


def request_return(client: httpx.Client, submission: str, reason: str) -> None:
    """Ask a participant to return a submission."""
    call(client, "POST", f"/submissions/{submission}/request-return/", json={"request_return_reasons": [reason]})


def return_requested(client: httpx.Client, submission: str) -> bool:
    """Whether this submission was asked back, or is returned."""

    def requested(found: Any) -> bool:
        return bool(found.get("return_requested")) or _status(found) == "RETURNED"

    return bool(call(client, "GET", f"/submissions/{submission}/", requested))


def set_up_bonus(client: httpx.Client, launch: ProlificLaunch, submission: str, amount: Decimal) -> str:
    """Set a bonus up, which pays nothing yet; gives the name by which it is paid."""
    body = {"study_id": launch.study, "csv_bonuses": f"{submission},{amount:.2f}"}
    return str(call(client, "POST", "/submissions/bonus-payments/", _id, json=body))


def pay_bonus(client: httpx.Client, bulk: str) -> None:
    """Pay what was set up. Each call pays again, and the money moves some minutes later: call it once."""
    call(client, "POST", f"/bulk-bonus-payments/{bulk}/pay/")
