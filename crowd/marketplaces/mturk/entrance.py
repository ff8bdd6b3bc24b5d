"""How workers of Mechanical Turk arrive and leave: the addresses MTurk makes, and the form that hands a HIT in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from seedvote.crowd.marketplaces.launch import stands_in
from seedvote.crowd.rating.leasing import Step
from seedvote.crowd.web.entrance import Arrival, WayOut, origin_of, read_identifier
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Source

MTURK_ENDPOINT = "AWS_ENDPOINT_URL_MTURK"
MTURK_PREVIEW = "ASSIGNMENT_ID_NOT_AVAILABLE"  # what MTurk writes for the assignment before a worker has accepted it
MTURK_SITES = {
    "live": ("https://www.mturk.com", "https://worker.mturk.com"),
    "sandbox": ("https://workersandbox.mturk.com",),
}


def mturk_sites(place: str) -> tuple[str, ...]:
    """MTurk's origins, live or sandbox: the first takes finished forms, all of them may frame the page.

    An endpoint on this machine that stands in for MTurk stands in for these too. One elsewhere does not: an environment
    variable must not be enough to send workers' forms to a stranger.
    """
    return (origin_of(os.environ[MTURK_ENDPOINT]),) if stands_in(MTURK_ENDPOINT) else MTURK_SITES[place]


@dataclass(frozen=True, slots=True)
class MTurkEntrance:
    """Assignments of Mechanical Turk; `submit_to` is the one origin that finished forms may go to."""

    submit_to: str
    source: ClassVar[Source] = "mturk"

    def read_arrival(self, query: Mapping[str, str]) -> Arrival | None:
        """By assignmentId, hitId, workerId; a preview has no worker."""
        if "assignmentId" not in query:
            return None
        if query["assignmentId"] == MTURK_PREVIEW:
            return Arrival(self.source, worker="", sitting="", task="", preview=True)
        # The worker's browser names the site it came from. Sending forms there unchecked would let any page collect
        # submissions, and would let sandbox workers into a live study.
        if not self.submit_to or origin_of(query.get("turkSubmitTo", "")) != self.submit_to:
            raise InputError("turkSubmitTo is not the marketplace of this study. Open the task from the marketplace.")
        worker, sitting, task = (read_identifier(name, query) for name in ("workerId", "assignmentId", "hitId"))
        return Arrival(self.source, worker=worker, sitting=sitting, task=task)

    def find_way_out(self, visit: Mapping[str, Any], step: Step) -> WayOut | None:
        """A form that hands the assignment in, if what was done in it is paid."""
        if not step.is_paid:
            # Submitting it would ask for pay without work; returning it costs a worker nothing.
            if step.done:
                return WayOut("Please return this HIT; that does not harm your record.")
            return WayOut("Nothing was asked of you in this HIT, so please return it; that does not harm your record.")
        url = f"{self.submit_to}/mturk/externalSubmit"
        # MTurk wants at least one field beside the assignment, or it refuses the form.
        fields = {"assignmentId": visit["sitting"], "answers": str(step.done)}
        return WayOut("Hand the HIT in now, so that you are paid.", "Submit the HIT", url, fields)

    def find_refusal_way(self, visit: Mapping[str, Any]) -> WayOut | None:
        """They close the HIT, which returns it."""
        del visit
        return None
