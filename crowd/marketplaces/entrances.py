"""The doors as the server sees them: who arrives by which address, and how they go back when they are done.

A marketplace announces people in the query of the page's address. Nobody can check there whether that is true, so what
is paid is settled later against the marketplace's own list (`crowd pay`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import quote, urlsplit

from crowd.hit import Hit
from crowd.marketplaces.launch import LOOPBACK, Arrival, identifier, origin
from crowd.rating.leasing import Place
from crowd.web.page import WayOut
from dialogue.errors import InputError

MTURK_ENDPOINT = "AWS_ENDPOINT_URL_MTURK"
MTURK_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"
MTURK_SITES = {
    "live": ("https://www.mturk.com", "https://worker.mturk.com"),
    "sandbox": ("https://workersandbox.mturk.com",),
}
PROLIFIC_COMPLETE = "https://app.prolific.com/submissions/complete"
PROLIFIC_IDS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
OVER = ("done", "no_more", "closed")


class Entrance(Protocol):
    """One door."""

    def arrive(self, query: Mapping[str, str]) -> Arrival | None:
        """Who comes through this door, or None for anybody else; InputError for an address that cannot be."""

    def leave(self, visit: Mapping[str, Any], place: Place) -> WayOut | None:
        """The way back for a visit (worker, sitting, source) of this door that is over, else None."""


def mturk_sites(place: str) -> tuple[str, ...]:
    """The marketplace's origins: the first takes finished forms, all may frame the page.

    An endpoint on this machine that stands in for MTurk stands in for these too.
    """
    endpoint = os.environ.get(MTURK_ENDPOINT, "")
    return (origin(endpoint),) if urlsplit(endpoint).hostname in LOOPBACK else MTURK_SITES[place]


@dataclass(frozen=True, slots=True)
class MTurk:
    """Assignments of Mechanical Turk; `submit_to` is the one origin that finished forms may go to."""

    submit_to: str

    def arrive(self, query: Mapping[str, str]) -> Arrival | None:
        """By assignmentId, hitId, workerId; a preview has no worker."""
        if "assignmentId" not in query:
            return None
        if query["assignmentId"] == MTURK_PREVIEW:
            return Arrival("mturk", worker="", sitting="", task="", preview=True)
        if not self.submit_to or origin(query.get("turkSubmitTo", "")) != self.submit_to:
            raise InputError("turkSubmitTo is not the marketplace of this study. Open the task from the marketplace.")
        worker, sitting, task = (identifier(name, query) for name in ("workerId", "assignmentId", "hitId"))
        return Arrival("mturk", worker=worker, sitting=sitting, task=task)

    def leave(self, visit: Mapping[str, Any], place: Place) -> WayOut | None:
        """A form that hands the assignment in, if anything was done in it."""
        if visit["source"] != "mturk" or place.stage not in OVER:
            return None
        if not place.done:
            return WayOut("Nothing was asked of you in this HIT, so please return it; that does not harm your record.")
        url = f"{self.submit_to}/mturk/externalSubmit"
        fields = {"assignmentId": visit["sitting"], "answers": str(place.done)}
        return WayOut("Hand the HIT in now, so that you are paid.", "Submit the HIT", url, fields)


@dataclass(frozen=True, slots=True)
class Prolific:
    """Submissions of Prolific; the codes are those of hit.toml."""

    completed: str
    screened_out: str

    def arrive(self, query: Mapping[str, str]) -> Arrival | None:
        """By PROLIFIC_PID, STUDY_ID, SESSION_ID."""
        if not any(name in query for name in PROLIFIC_IDS):
            return None
        worker, task, sitting = (identifier(name, query) for name in PROLIFIC_IDS)
        return Arrival("prolific", worker=worker, sitting=sitting, task=task)

    def leave(self, visit: Mapping[str, Any], place: Place) -> WayOut | None:
        """Prolific's own page, with the code for finished or for screened out."""
        if visit["source"] != "prolific" or place.stage not in OVER:
            return None
        code = self.completed if place.stage == "done" and place.done else self.screened_out
        url = f"{PROLIFIC_COMPLETE}?cc={quote(code, safe='')}"
        return WayOut("Go back to Prolific now, so that your submission is complete.", "Back to Prolific", url)


def usual(hit: Hit, submit_to: str) -> tuple[Entrance, ...]:
    """The doors that every server of a study keeps open."""
    return (MTurk(submit_to), Prolific(hit.completion_code, hit.screened_out_code))
