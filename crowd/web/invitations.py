"""Invitations: an address for one person, signed with the store's secret.

Whoever opens it is that person, however often and from whatever browser; a guessed or altered one is nobody. So the
links are given out one by one and not posted. A link names the person and, where it has one, its end: sittings follow
one another.
"""

from __future__ import annotations

import hmac
import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

from seedvote.crowd.rating.desk import Desk
from seedvote.crowd.rating.leasing import Step
from seedvote.crowd.store.identity import expiring_proof, invitation_proof, invited_id
from seedvote.crowd.web.entrance import Arrival, WayOut
from seedvote.dialogue.records import Source

PARAMETER = "invite"


@dataclass(frozen=True, slots=True)
class InvitationEntrance:
    """People who come by a link of `crowd invite`."""

    desk: Desk
    source: ClassVar[Source] = "local"

    def read_arrival(self, query: Mapping[str, str]) -> Arrival | None:
        """Who the link names, if the study has signed it; one that was altered or cut off names nobody."""
        keys, name_and_end = self.desk.keys, _signed_name(self.desk.secret, query.get(PARAMETER, ""))
        if name_and_end is None:
            return None
        name, until = name_and_end
        worker = invited_id(keys.people, name)
        lapsed = until <= self.desk.clock() or keys.is_revoked(worker)
        return Arrival("local", worker=worker, sitting="", task="", proven=True, lapsed=lapsed)

    def find_way_out(self, visit: Mapping[str, Any], step: Step) -> WayOut | None:
        """Nobody sends them, so nobody takes them back."""
        del visit, step
        return None

    def find_refusal_way(self, visit: Mapping[str, Any]) -> WayOut | None:
        """Nor here."""
        del visit
        return None


def invitation_link(secret: str, url: str, name: str, until: float | None = None) -> str:
    """The address that lets this person in, for ever or until a time.

    >>> invitation_link("k", "https://x.org", "ann", until=86_400).rpartition(".")[0]
    'https://x.org/?invite=ann.86400'
    """
    end = "" if until is None else str(int(until))
    signed = f"{name}.{end}.{expiring_proof(secret, name, end)}" if end else invited_id(secret, name)
    return f"{url.rstrip('/')}/?{PARAMETER}={quote(signed, safe='')}"


def _signed_name(secret: str, link: str) -> tuple[str, float] | None:
    """The name in a link and the end of it, if this study has signed them."""
    signed, _, proof = link.rpartition(".")
    name, _, end = signed.rpartition(".")
    if _is_proof(proof, invitation_proof(secret, signed)):
        return signed, math.inf
    return (name, float(end)) if _is_proof(proof, expiring_proof(secret, name, end)) else None


def _is_proof(text: str, right: str) -> bool:
    return hmac.compare_digest(text.encode("utf-8", "replace"), right.encode())


def fresh_names(number: int) -> list[str]:
    """Names for people who have none here: random, so that they say nothing and never come twice."""
    return [f"guest-{secrets.token_hex(5)}" for _ in range(number)]
