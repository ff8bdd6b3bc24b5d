"""How participants of Prolific arrive and leave: three ids in the address, and a completion code on the way back."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar
from urllib.parse import quote

from seedvote.crowd.rating.leasing import Step
from seedvote.crowd.web.entrance import Arrival, WayOut, read_identifier
from seedvote.dialogue.records import Source

PROLIFIC_COMPLETE = "https://app.prolific.com/submissions/complete"
PROLIFIC_IDS = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
LAUNCH = "LAUNCH"  # in the address of the draft: a study with quotas sends people by names of parts, which come later
BACK = "Back to Prolific"


def code_for(what: str, completed: str) -> str:
    """A further completion code, which server and launch both make of completion_code; it pays nobody."""
    return "N" + hashlib.sha256(f"{what} {completed}".encode()).hexdigest()[:7].upper()


def way_back(code: str, words: str) -> WayOut:
    """Prolific's own page, with a code."""
    return WayOut(words, BACK, f"{PROLIFIC_COMPLETE}?cc={quote(code, safe='')}")


@dataclass(frozen=True, slots=True)
class ProlificEntrance:
    """Submissions of Prolific; the codes are those of hit.toml."""

    completed: str
    screened_out: str
    source: ClassVar[Source] = "prolific"

    def read_arrival(self, query: Mapping[str, str]) -> Arrival | None:
        """By PROLIFIC_PID, STUDY_ID, SESSION_ID, and the launch whose draft sends them."""
        if not any(name in query for name in PROLIFIC_IDS):
            return None
        worker, task, sitting = (read_identifier(name, query) for name in PROLIFIC_IDS)
        # drafts of earlier versions do not name the launch
        launch = read_identifier(LAUNCH, query) if LAUNCH in query else task
        return Arrival(self.source, worker=worker, sitting=sitting, task=launch)

    def find_way_out(self, visit: Mapping[str, Any], step: Step) -> WayOut | None:
        """Prolific's own page, with the code for finished, for screened out, or for a study without a pair left."""
        del visit
        if not step.is_paid:
            words = "Go back to Prolific now. It will ask you to return your place, which does not harm your record."
            return way_back(code_for("full", self.completed), words)
        code = self.screened_out if step.stage == "no_more" else self.completed
        return way_back(code, "Go back to Prolific now, so that your submission is complete.")

    def find_refusal_way(self, visit: Mapping[str, Any]) -> WayOut | None:
        """For who does not consent."""
        del visit
        return way_back(code_for("no consent", self.completed), "If you do not agree, go back to Prolific.")
