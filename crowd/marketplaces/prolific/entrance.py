"""How participants of Prolific arrive and leave: three ids in the address, and a completion code on the way back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from crowd.rating.leasing import Step
from crowd.web.entrance import OVER, Arrival, WayOut, identifier

PROLIFIC_COMPLETE = "https://app.prolific.com/submissions/complete"
PROLIFIC_IDS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")


@dataclass(frozen=True, slots=True)
class ProlificEntrance:
    """Submissions of Prolific; the codes are those of hit.toml."""

    completed: str
    screened_out: str

    def arrive(self, query: Mapping[str, str]) -> Arrival | None:
        """By PROLIFIC_PID, STUDY_ID, SESSION_ID."""
        if not any(name in query for name in PROLIFIC_IDS):
            return None
        worker, task, sitting = (identifier(name, query) for name in PROLIFIC_IDS)
        return Arrival("prolific", worker=worker, sitting=sitting, task=task)

    def leave(self, visit: Mapping[str, Any], step: Step) -> WayOut | None:
        """Prolific's own page, with the code for finished or for screened out."""
        if visit["source"] != "prolific" or step.stage not in OVER:
            return None
        code = self.completed if step.done and step.stage != "no_more" else self.screened_out
        url = f"{PROLIFIC_COMPLETE}?cc={quote(code, safe='')}"
        return WayOut("Go back to Prolific now, so that your submission is complete.", "Back to Prolific", url)
