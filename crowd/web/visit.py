"""Whose page it is: a signed token in every address and every form of ours.

It names the marketplace, the person, the task and the visit, and only this study's store can sign it. Once the visit is
in the store, the person stands in it as their keyed hash, so that an address that is passed on names nobody. It has a
version and an end. Each tab carries its own, so two tabs are two visits, and a browser that refuses cookies loses
nothing. A cookie holds the last token, for who opens the bare address again; no form is believed for a cookie's sake,
so no other site can send one.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import json
import math
import secrets
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from functools import lru_cache
from typing import Any, cast, get_args

from itsdangerous import BadData, URLSafeSerializer

from seedvote.crowd.rating.seating import Seat
from seedvote.crowd.store.identity import seat_proof
from seedvote.dialogue.records import Source

TOKEN = "seat"  # its name in addresses and forms
VERSION = "2"
DAY = 86_400
LIFE = 14 * DAY  # seconds after its page was made, to the end of the day
COOKIE_LIFE = 365 * DAY  # of the one in a cookie, which nobody passes on: its owner is to come back as who they were
_KINDS = (str, str, str, str, int, str, str, bool, str)
_OLDER = (_KINDS[:8], _KINDS[:7], _KINDS[:6])  # what a token held before it had a version


@dataclass(frozen=True, slots=True)
class PageVisit:
    """One person in one visit, in one tab."""

    source: Source
    worker: str  # as the marketplace names the person; empty once `rater` stands for it
    sitting: str  # as the marketplace names the visit; empty likewise
    task: str = ""
    number: int = 0  # of the sitting in the store; 0: nothing is stored before they consent
    tab: str = field(default_factory=lambda: secrets.token_hex(4))
    language: str = ""  # that they chose; empty while they have not
    own: bool = False  # whether it comes from where they agreed, not from an address that anyone may type
    rater: str = ""  # the keyed hash of who sits there; empty before the visit is in the store

    def seated(self, seat: Seat) -> PageVisit:
        """The same visit, whose sitting is in the store by now."""
        return replace(self, worker="", sitting="", number=seat.sitting, rater=seat.rater)

    def facts(self) -> Mapping[str, Any]:
        """What an entrance hears of it; `seat` once there is one."""
        known = {"source": self.source, "worker": self.worker, "sitting": self.sitting, "task": self.task}
        return {**known, "seat": (self.rater, self.number)} if self.number else known

    def token(self, secret: str, now: float) -> str:
        """Letters, digits, -, _ and full stops; the same one for a whole day."""
        until = (int(now) // DAY + 1) * DAY + LIFE
        return f"{VERSION}.{_serializer(secret).dumps([until, *astuple(self)])}"


def visit_of(secret: str, token: object, now: float, older_until: float = math.inf) -> PageVisit | None:
    """The visit of a token that this study has signed and that has not ended; None for anything else.

    `older_until` is the end of all tokens from before they had a version.

    >>> visit = PageVisit("prolific", "p1", "s1", "t1")
    >>> token = visit.token("k", now=0)
    >>> visit_of("k", token, now=0) == visit, visit_of("other", token, now=0), visit_of("k", token, now=16 * DAY)
    (True, None, None)
    """
    if not isinstance(token, str):
        return None
    if token.startswith(f"{VERSION}."):
        until, *values = _signed_values(secret, token.removeprefix(f"{VERSION}.")) or [0]
        fits = type(until) is int and tuple(map(type, values)) == _KINDS
    else:
        until, values = older_until, _older_values(secret, token)
        fits = tuple(map(type, values)) in _OLDER
    fits = fits and now < until and values[0] in get_args(Source)
    return PageVisit(cast(Source, values[0]), *values[1:]) if fits else None


@lru_cache(16)
def _serializer(secret: str) -> URLSafeSerializer:
    return URLSafeSerializer(secret, salt=f"seat {VERSION}", signer_kwargs={"digest_method": hashlib.sha256})


def _signed_values(secret: str, body: str) -> list[Any]:
    try:
        values = _serializer(secret).loads(body)
    except BadData:
        return []
    return values if isinstance(values, list) else []


def _older_values(secret: str, token: str) -> list[Any]:
    body, _, proof = token.rpartition(".")
    if not body or not hmac.compare_digest(proof.encode("utf-8", "replace"), seat_proof(secret, body).encode()):
        return []
    try:
        values = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (ValueError, binascii.Error):
        return []
    return values if isinstance(values, list) else []
