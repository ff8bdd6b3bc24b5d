"""Prolific: a draft study through its REST interface, people who arrive with three ids, and their submissions.

The draft is published by hand on Prolific's own page, which shows the final price; so nothing here can spend money but
`approve_submissions` and `pay_bonuses`. Prolific has no request tokens, so a random internal name in our record tells
whether the draft of an interrupted launch exists already. Interface: https://docs.prolific.com/api-reference.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any
from urllib.parse import urlsplit

import httpx

from crowd.marketplaces.launch import LOOPBACK
from crowd.marketplaces.money import Price
from crowd.marketplaces.prolific.entrance import PROLIFIC_IDS
from crowd.web.entrance import origin
from dialogue.errors import InputError

API = "https://api.prolific.com/api/v1"
TOKEN, ENDPOINT = "PROLIFIC_TOKEN", "PROLIFIC_API_URL"
CURRENCIES = ("USD", "GBP")
APPROVED_AT_ONCE = 100  # submissions that Prolific approves at once


@dataclass(frozen=True, slots=True)
class ProlificLaunch:
    """What a launch created (`STUDY/prolific.json`)."""

    key: str  # random; the study's internal name at Prolific, by which an interrupted launch finds it again
    public_url: str
    pairs: str  # SHA-256 of pairs.jsonl
    reward: str
    currency: str
    places: int
    study: str = ""  # Prolific's id of the study


@dataclass(frozen=True, slots=True)
class ProlificTerms:
    """What the researcher decides beside hit.toml."""

    title: str
    description: str
    minutes: int  # an honest guess of one sitting; Prolific holds the pay against it
    completed: str  # completion code of a finished sitting
    screened_out: str  # completion code of a rater for whom there is no more work


@dataclass(frozen=True, slots=True)
class Submission:
    """A visit as Prolific lists it."""

    submission: str
    participant: str
    status: str
    bonus: bool  # whether one was paid


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


def call(client: httpx.Client, method: str, path: str, **options: Any) -> Any:
    """One request. Reading is tried three times; writing once, because a lost reply may hide that it was done."""
    for attempt in (1, 2, 3):
        with contextlib.suppress(httpx.TransportError):
            reply = client.request(method, path, **options)
            if reply.status_code < 400:
                return reply.json() if reply.content else None
            if reply.status_code < 500 and reply.status_code != 429:
                raise InputError(_sentence(reply))
        if method != "GET" or attempt == 3:
            break
    raise InputError("Prolific could not be reached. Run the same command again; what was done is not done twice.")


def _sentence(reply: httpx.Response) -> str:
    if reply.status_code in (401, 403):
        return f"Prolific does not accept the token in {TOKEN}. Make a new one on Prolific (Settings, API tokens)."
    if reply.status_code == 404:
        return "Prolific does not have this study any more; was it deleted by hand? Its votes are kept."
    with contextlib.suppress(ValueError, AttributeError, KeyError):
        error = reply.json()["error"]
        return f"Prolific refused: {str(error.get('title') or error.get('detail'))[:200]}. Nothing else was done."
    return f"Prolific refused the request (HTTP {reply.status_code}). Nothing else was done."


# Launch


def prolific_price(sittings: int, reward: Decimal, currency: str, fee_percent: Decimal) -> Price:
    """Reward and Prolific's service fee; the rate depends on the account and is shown there."""
    return Price(sittings, reward, reward * fee_percent / 100, currency)


def check_codes(completed: str, screened_out: str) -> None:
    """Two codes, not one: Prolific's rules treat a finished and a screened-out person differently."""
    if not completed or not screened_out or completed == screened_out:
        raise InputError(
            "hit.toml: Prolific needs completion_code and screened_out_code, two different texts. "
            'Choose any, e.g. completion_code = "C7Q2M0XK".'
        )


def new_prolific_launch(*, public_url: str, pairs: str, reward: Decimal, currency: str, places: int) -> ProlificLaunch:
    """The record of a launch in which nothing exists yet."""
    return ProlificLaunch(f"seedvote-{secrets.token_hex(8)}", public_url, pairs, f"{reward:.2f}", currency, places)


def draft(launch: ProlificLaunch, terms: ProlificTerms) -> dict[str, Any]:
    """The draft study as Prolific wants it: money in cents, time in minutes, both codes reviewed by us, not at once."""
    ids = "&".join(f"{name}={{{{%{name}%}}}}" for name in PROLIFIC_IDS)
    codes = (("COMPLETED", terms.completed), ("OTHER", terms.screened_out))
    return {
        "name": terms.title,
        "internal_name": launch.key,
        "description": terms.description,
        "external_study_url": f"{launch.public_url}/?{ids}",
        "prolific_id_option": "url_parameters",
        "completion_codes": [
            {"code": code, "code_type": kind, "actions": [{"action": "MANUALLY_REVIEW"}]} for kind, code in codes
        ],
        "total_available_places": launch.places,
        "estimated_completion_time": terms.minutes,
        "reward": int(Decimal(launch.reward) * 100),
        "device_compatibility": ["desktop", "tablet", "mobile"],
    }


def create_draft(client: httpx.Client, launch: ProlificLaunch, terms: ProlificTerms) -> ProlificLaunch:
    """Create the draft, unless it exists already."""
    if launch.study:
        return launch
    drafts = call(client, "GET", "/studies/", params={"state": "UNPUBLISHED"})["results"]
    for study in drafts:
        if study.get("internal_name") == launch.key:
            return replace(launch, study=str(study["id"]))
    return replace(launch, study=str(call(client, "POST", "/studies/", json=draft(launch, terms))["id"]))


# While the study runs


def submissions(client: httpx.Client, launch: ProlificLaunch) -> Iterator[Submission]:
    """Every visit that Prolific lists, page by page."""
    path: str | None = f"/studies/{launch.study}/submissions/"
    while path:
        found = call(client, "GET", path)
        for row in found["results"]:
            status = str(row["status"]).replace("_", " ")
            yield Submission(str(row["id"]), str(row["participant_id"]), status, bool(row.get("bonus_payments")))
        following = ((found.get("_links") or {}).get("next") or {}).get("href")
        # The token goes with every request, so a link that leads elsewhere is not followed.
        path = following if following and origin(following) == origin(str(client.base_url)) else None


def study_status(client: httpx.Client, launch: ProlificLaunch) -> str:
    """UNPUBLISHED, ACTIVE, PAUSED, AWAITING REVIEW or COMPLETED."""
    return str(call(client, "GET", f"/studies/{launch.study}/")["status"])


def transition(client: httpx.Client, launch: ProlificLaunch, action: str) -> None:
    """PAUSE or START the recruiting."""
    call(client, "POST", f"/studies/{launch.study}/transition/", json={"action": action})


def add_places(client: httpx.Client, launch: ProlificLaunch, places: int) -> ProlificLaunch:
    """Raise the number of places; this spends money once the study is published."""
    wanted = launch.places + places
    call(client, "PATCH", f"/studies/{launch.study}/", json={"total_available_places": wanted})
    return replace(launch, places=wanted)


def approve_submissions(client: httpx.Client, ids: list[str]) -> None:
    """Approve submissions, a hundred at a time."""
    for start in range(0, len(ids), APPROVED_AT_ONCE):
        body = {"submission_ids": ids[start : start + APPROVED_AT_ONCE]}
        call(client, "POST", "/submissions/bulk-approve/", json=body)


def pay_bonuses(client: httpx.Client, launch: ProlificLaunch, ids: list[str], amount: Decimal) -> None:
    """Set a bonus up for these submissions, then pay it."""
    lines = "\n".join(f"{name},{amount:.2f}" for name in ids)
    made = call(client, "POST", "/submissions/bonus-payments/", json={"study_id": launch.study, "csv_bonuses": lines})
    call(client, "POST", f"/bulk-bonus-payments/{made['id']}/pay/")
