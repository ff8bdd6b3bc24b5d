"""Invitations: an address for one person, signed with the store's secret.

Whoever opens it is that person, however often and from whatever browser; a guessed or altered one is nobody. So the
links are given out one by one and not posted. A link names the person and nothing else: sittings follow one another.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from crowd.rating.leasing import Step
from crowd.store.identity import invitation_proof, invited_id
from crowd.web.entrance import Arrival, WayOut

PARAMETER = "invite"


@dataclass(frozen=True, slots=True)
class InvitationEntrance:
    """People who come by a link of `crowd invite`."""

    secret: str

    def arrive(self, query: Mapping[str, str]) -> Arrival | None:
        """Who the link names, if the study has signed it; one that was altered or cut off names nobody."""
        worker, _, proof = query.get(PARAMETER, "").rpartition(".")
        if not hmac.compare_digest(proof.encode(), invitation_proof(self.secret, worker).encode()):
            return None
        return Arrival("local", worker=invited_id(self.secret, worker), sitting="", task="", proven=True)

    def leave(self, visit: Mapping[str, Any], step: Step) -> WayOut | None:
        """Nobody sends them, so nobody takes them back."""
        del visit, step
        return None


def invitation(secret: str, url: str, worker: str) -> str:
    """The address that lets this person in."""
    return f"{url.rstrip('/')}/?{PARAMETER}={quote(invited_id(secret, worker), safe='')}"


def fresh_names(number: int) -> list[str]:
    """Names for people who have none here: random, so that they say nothing and never come twice."""
    return [f"guest-{secrets.token_hex(5)}" for _ in range(number)]
