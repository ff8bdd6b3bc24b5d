"""Responses from any endpoint that speaks the chat-completions protocol: concurrent, patient, and resumable.

Each answer is appended to a journal as soon as it is there, so that a run that was broken off asks for the rest only.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from dialogue.corpora.examples import Example
from dialogue.errors import InputError
from dialogue.seeds import child_seed
from generation.imports.tables import messages_of

TRY_AGAIN = {408, 409, 425, 429, 500, 502, 503, 504}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where to ask, for what, and how patiently."""

    url: str
    model: str
    key: str = ""
    system: str = ""
    temperature: float = 0.0
    seed: int = 0
    longest: int = 80
    concurrency: int = 4
    retries: int = 5
    first_wait: float = 1.0
    timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class EndpointReply:
    """One answer with what it was charged for."""

    item: str
    text: str
    tokens_in: int
    tokens_out: int


def ask_all(
    endpoint: Endpoint, examples: Sequence[Example], journal: Path, tell: Callable[[], object]
) -> list[EndpointReply]:
    """Replies to all contexts, in their order; those in the journal are not asked for again."""
    known = _read_journal(journal)
    missing = [example for example in examples if example.item not in known]
    journal.parent.mkdir(parents=True, exist_ok=True)
    headers = {"Authorization": f"Bearer {endpoint.key}"} if endpoint.key else {}
    pool = ThreadPoolExecutor(endpoint.concurrency)
    with httpx.Client(headers=headers, timeout=endpoint.timeout) as client, journal.open("a", encoding="utf-8") as file:
        try:
            for future in as_completed([pool.submit(_ask, client, endpoint, example) for example in missing]):
                reply = future.result()
                known[reply.item] = reply
                file.write(json.dumps([reply.item, reply.text, reply.tokens_in, reply.tokens_out]) + "\n")
                # At every reply: a run that is killed pays for none of them twice.
                file.flush()
                tell()
        finally:
            pool.shutdown(cancel_futures=True)
    return [known[example.item] for example in examples]


def _read_journal(path: Path) -> dict[str, EndpointReply]:
    """Replies of earlier runs; a last line that was cut off counts as not there."""
    if not path.exists():
        return {}
    whole, _, cut = path.read_text(encoding="utf-8").rpartition("\n")
    if cut:
        path.write_text(whole + "\n" if whole else "", encoding="utf-8")
    return {reply.item: reply for reply in (EndpointReply(*json.loads(line)) for line in whole.splitlines())}


def _ask(client: httpx.Client, endpoint: Endpoint, example: Example) -> EndpointReply:
    # Many endpoints take a seed of 31 bits at most.
    seed = child_seed(endpoint.seed, "endpoint", example.item) % 2**31
    system = [{"role": "system", "content": endpoint.system}] if endpoint.system else []
    body = {
        "model": endpoint.model, "messages": [*system, *messages_of(example)], "seed": seed,
        "temperature": endpoint.temperature, "max_tokens": endpoint.longest,
    }  # fmt: skip
    answer = _post(client, endpoint, body, random.Random(seed))
    try:
        text, usage = answer["choices"][0]["message"]["content"], answer.get("usage") or {}
        counts = [int(usage.get(name, 0)) for name in ("prompt_tokens", "completion_tokens")]
        return EndpointReply(example.item, str(text).strip(), *counts)
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise InputError(f"{endpoint.url} answered without choices[0].message.content: {str(answer)[:80]}.") from error


def _post(client: httpx.Client, endpoint: Endpoint, body: dict[str, Any], rng: random.Random) -> Any:
    """Ask, and after an error that may pass ask again, each time after twice the wait (and up to as much by chance)."""
    for attempt in range(endpoint.retries + 1):
        wait = endpoint.first_wait * 2**attempt * (1 + rng.random())
        try:
            answer = client.post(f"{endpoint.url.rstrip('/')}/chat/completions", json=body)
        except httpx.TransportError as error:
            trouble = f"cannot be reached ({error})"
        else:
            if answer.status_code == 200:
                return _json(answer, endpoint)
            trouble = f"answered {answer.status_code} ({answer.text[:80]!r})"
            if answer.status_code not in TRY_AGAIN:
                raise InputError(
                    f"{endpoint.url} {trouble}. Check the address, the model name and the key; answers so far are kept."
                )
            asked_wait = answer.headers.get("retry-after", "")
            wait = max(wait, float(asked_wait)) if asked_wait.replace(".", "", 1).isdigit() else wait
        if attempt < endpoint.retries:
            time.sleep(wait)
    raise InputError(
        f"{endpoint.url} {trouble}, {endpoint.retries + 1} times. Answers so far are kept; run again later."
    )


def _json(answer: httpx.Response, endpoint: Endpoint) -> Any:
    try:
        return answer.json()
    except ValueError as error:
        raise InputError(f"{endpoint.url} did not answer with JSON: {answer.text[:80]!r}.") from error
