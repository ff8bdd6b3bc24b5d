"""Calls to Prolific: the token, what is tried again and after how long, and what an answer means for money."""

from __future__ import annotations

import contextlib
import math
import os
import random
import time
from collections.abc import Callable
from email.utils import parsedate_to_datetime
from typing import Any

import httpx

from seedvote.crowd.marketplaces.launch import check_endpoint
from seedvote.crowd.marketplaces.ledger import NotDone, NotReached, Unsure
from seedvote.dialogue.errors import InputError

API = "https://api.prolific.com/api/v1"
ATTEMPTS = 5  # of a call that did nothing, or only reads: about 15 seconds in all
LONGEST_WAIT = 120.0  # seconds that a command waits where Prolific asks it to
TOKEN, ENDPOINT = "PROLIFIC_TOKEN", "PROLIFIC_API_URL"


def connect_to_prolific() -> httpx.Client:
    """A client with the token of the environment; the token goes to Prolific (or this machine) and nowhere else."""
    token, url = os.environ.get(TOKEN, ""), os.environ.get(ENDPOINT) or API
    if not token:
        raise InputError(
            f"{TOKEN} is not set. Make a token on Prolific (Settings, API tokens) and export it; see docs/prolific.md. "
            "Nothing was created."
        )
    check_endpoint(ENDPOINT, "Prolific", "api.prolific.com")
    nothing_kept = httpx.Limits(max_keepalive_connections=0)  # a command makes a few calls and ends
    return httpx.Client(base_url=url, headers={"Authorization": f"Token {token}"}, timeout=30, limits=nothing_kept)


def _keep_whole(reply: Any) -> Any:
    return reply


def call(
    client: httpx.Client, method: str, path: str, parse: Callable[[Any], Any] = _keep_whole, **options: Any
) -> Any:
    """One request, and what `read` takes from the answer. What was certainly not done, and reading, is tried again.

    NotDone: it was not done. Unsure: nobody knows, also where the answer says done and is not what it should be.
    """
    for attempt in range(ATTEMPTS):
        asked_wait = 0.0
        try:
            return _read_reply(client.request(method, path, **options), parse)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:  # nothing has left this machine
            problem: InputError = NotReached(f"Prolific could not be reached ({type(error).__name__}).")
        except httpx.TransportError as error:
            problem = Unsure(f"Prolific has not answered ({type(error).__name__}).")
        except Unsure as error:
            problem = error
        except Busy as error:
            problem, asked_wait = error, error.wait
        if attempt == ATTEMPTS - 1 or asked_wait > LONGEST_WAIT or (isinstance(problem, Unsure) and method != "GET"):
            break
        time.sleep(wait_before(attempt, asked_wait, random.SystemRandom()))
    raise problem


def wait_before(attempt: int, least: float, draw: random.Random) -> float:
    """Seconds before the next attempt: twice as long each time, at random, and never less than Prolific asks for.

    >>> [round(wait_before(attempt, 0.0, random.Random(1)), 2) for attempt in range(4)]
    [0.57, 1.13, 2.27, 4.54]
    """
    return max(least, 2.0**attempt * (0.5 + 0.5 * draw.random()))


class Busy(NotReached):
    """Prolific asks for patience; it has done nothing."""

    def __init__(self, wait: float) -> None:
        when = f"in {math.ceil(wait / 60)} min" if wait > LONGEST_WAIT else "in a minute"
        super().__init__(f"Prolific is busy (429). Run the same command again {when}.")
        self.wait = wait


def _asked_wait(reply: httpx.Response) -> float:
    """The seconds of Retry-After, which may also be a date."""
    text = reply.headers.get("Retry-After", "")
    if text.isdecimal():
        return float(text)
    with contextlib.suppress(ValueError, TypeError):
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    return 0.0


def _read_reply(reply: httpx.Response, parse: Callable[[Any], Any]) -> Any:
    if reply.status_code == 429:
        raise Busy(_asked_wait(reply))
    if reply.status_code >= 500:
        raise Unsure(f"Prolific has stumbled (HTTP {reply.status_code}).")
    if reply.status_code >= 400:
        raise NotDone(_explain_refusal(reply))
    try:
        answer = reply.json() if reply.content else None
    except ValueError as error:
        raise Unsure("Prolific's answer was cut off.") from error
    if isinstance(answer, dict) and answer.get("error"):
        raise Unsure(f"Prolific says {reply.status_code} and an error in one.")
    try:
        return parse(answer)
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise Unsure("Prolific's answer was not what it should be.") from error


def _explain_refusal(reply: httpx.Response) -> str:
    if reply.status_code in (401, 403):
        return f"Prolific does not accept the token in {TOKEN}. Make a new one on Prolific (Settings, API tokens)."
    if reply.status_code == 404:
        what = "study" if "/studies/" in reply.request.url.path else "submission"
        return f"Prolific does not have this {what} any more; was it deleted by hand? Its votes are kept."
    with contextlib.suppress(ValueError, AttributeError, KeyError, TypeError):
        error = reply.json()["error"]
        parts = [str(text)[:200] for text in (error.get("title"), *_detail_texts(error.get("detail"))) if text]
        return f"Prolific refused: {'; '.join(parts)}."
    return f"Prolific refused the request (HTTP {reply.status_code})."


def _detail_texts(detail: Any) -> list[str]:
    """The texts of an error, which may be one, a list, or lists by field."""
    if isinstance(detail, dict):
        return [f"{name}: {text}" for name, part in detail.items() for text in _detail_texts(part)]
    if isinstance(detail, list):
        return [text for part in detail for text in _detail_texts(part)]
    return [] if detail is None else [str(detail)]
