"""Whose page this is: a signed token in every address and every form of ours.

It names the marketplace, the person, the task and the visit, and only this study's store can sign it. Each tab carries
its own, so two tabs are two visits, and a browser that refuses cookies loses nothing. A cookie holds the last token
beside it, for who opens the bare address again; no form is believed for a cookie's sake, so no other site can send one.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import json
import secrets
from collections.abc import Mapping
from dataclasses import astuple, dataclass, field, replace
from typing import Any, cast, get_args

from crowd.store.identity import seat_proof
from dialogue.records import Source

TOKEN = "seat"  # its name in addresses and forms
_KINDS = (str, str, str, str, int, str, str, bool)


@dataclass(frozen=True, slots=True)
class PageVisit:
    """One person in one visit, in one tab."""

    source: Source
    worker: str
    sitting: str  # as the marketplace names it
    task: str = ""
    number: int = 0  # of the sitting in the store; 0: nothing is stored before they consent
    tab: str = field(default_factory=lambda: secrets.token_hex(4))
    language: str = ""  # that they chose; empty while they have not
    own: bool = False  # whether it comes from where they agreed, not from an address that anyone may type

    def seated(self, number: int) -> PageVisit:
        """The same visit, whose sitting is in the store by now."""
        return replace(self, number=number)

    def told(self, rater: str) -> Mapping[str, Any]:
        """What an entrance is told of it; `seat` once there is one."""
        known = {"source": self.source, "worker": self.worker, "sitting": self.sitting, "task": self.task}
        return {**known, "seat": (rater, self.number)} if self.number else known

    def token(self, secret: str) -> str:
        """Letters, digits, - and _ , with the proof after a full stop."""
        text = json.dumps(astuple(self), separators=(",", ":"), ensure_ascii=False)
        body = base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")
        return f"{body}.{seat_proof(secret, body)}"


def visit_of(secret: str, token: str) -> PageVisit | None:
    """The visit of a token that this study has signed; None for any other text.

    >>> visit = PageVisit("prolific", "p1", "s1", "t1")
    >>> visit_of("k", visit.token("k")) == visit, visit_of("other", visit.token("k"))
    (True, None)
    """
    body, _, proof = token.rpartition(".")
    if not body or not hmac.compare_digest(proof.encode("utf-8", "replace"), seat_proof(secret, body).encode()):
        return None
    try:  # signed by us, so by this version or by another one
        values = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    except (ValueError, binascii.Error):
        return None
    kinds = tuple(map(type, values)) if isinstance(values, list) else ()
    fits = kinds in (_KINDS, _KINDS[:-1], _KINDS[:-2]) and values[0] in get_args(Source)
    return PageVisit(cast(Source, values[0]), *values[1:]) if fits else None
