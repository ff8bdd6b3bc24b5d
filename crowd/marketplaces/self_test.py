"""The self-test: before anything is created, somebody really arrives through the public address, and leaves.

The visitor comes by the address that the marketplace would make, with a proof that only this study's store can make, so
that they are let in before the door is open. They see the first page, which stores nothing, and the last one, with the
way back to the marketplace.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape

import httpx

from seedvote.crowd.store.identity import self_test_proof
from seedvote.crowd.web.entrance import LAST_PAGE, SELF_TEST
from seedvote.dialogue.errors import InputError


@dataclass(frozen=True, slots=True)
class Visitor:
    """How somebody from a marketplace arrives and leaves."""

    query: Mapping[str, str]  # of the page's address
    leaves_for: str  # the address of the form or link on the last page
    serve: str  # the option of `crowd serve` that lets them in
    frame: str = ""  # the site that shows the page in a frame


def arrive_and_leave(public_url: str, visitor: Visitor, secret: str) -> str:
    """Do it; a sentence of what was seen, or InputError for what would stop a worker."""
    proof = {SELF_TEST: self_test_proof(secret)}
    first = _check_page(public_url, {**visitor.query, **proof}, visitor)
    if "/consent" not in first.text:
        raise InputError(
            f"{public_url} answers, but it shows no first page of this study. Is another one served there?"
        )
    _check_headers(public_url, first, visitor)
    last = _check_page(public_url, {**visitor.query, **proof, LAST_PAGE: "1"}, visitor)
    if visitor.leaves_for not in unescape(last.text):
        raise InputError(
            f"{public_url} shows a last page without the way back to {visitor.leaves_for}. Serve the study with "
            f"{visitor.serve}, and with the hit.toml of this folder."
        )
    _check_strangers(public_url, visitor)
    framed = f", shown in a frame of {visitor.frame}" if visitor.frame else ""
    return f"a test worker arrived at {public_url}{framed}, saw the first page and found the way back"


def _ask_page(public_url: str, query: Mapping[str, str], visitor: Visitor) -> httpx.Response:
    try:
        return httpx.get(f"{public_url}/", params=query, timeout=15, trust_env=False, follow_redirects=False)
    except httpx.HTTPError as error:
        raise InputError(
            f"{public_url} does not answer ({type(error).__name__}). Start `python -m crowd serve` there first, with "
            f"{visitor.serve}."
        ) from error


def _check_page(public_url: str, query: Mapping[str, str], visitor: Visitor) -> httpx.Response:
    reply = _ask_page(public_url, query, visitor)
    if "Content-Security-Policy" not in reply.headers:
        raise InputError(f"{public_url} answers, but it is not our server. Is the path prefix missing?")
    if reply.status_code != 200:
        raise InputError(
            f"{public_url} turns the test worker away ({reply.status_code}). Serve this very study there, with "
            f"{visitor.serve}."
        )
    return reply


def _check_strangers(public_url: str, visitor: Visitor) -> None:
    """Somebody without proof, who would take the places of those that the launch pays."""
    reply = _ask_page(public_url, {"rater": "stranger"}, visitor)
    if reply.status_code != 403:
        raise InputError(
            f"{public_url} lets in whoever comes, under any name. Serve the study without --walk-in, then launch it."
        )


def _check_headers(public_url: str, page: httpx.Response, visitor: Visitor) -> None:
    if visitor.frame and visitor.frame not in page.headers["Content-Security-Policy"]:
        raise InputError(
            f"{public_url} does not let {visitor.frame} frame it, so workers would see an empty box. Serve the study "
            f"with {visitor.serve}."
        )
    if visitor.frame and "X-Frame-Options" in page.headers:
        raise InputError(
            f"A proxy in front of {public_url} sends X-Frame-Options, so workers would see an empty box. Remove it."
        )
