"""One link, many people: raters whose pairs were answered again and differently, which one person hardly does.

A link is one rater, so the first answer to a pair is stored and the others are dropped, although their givers read
"saved already". A double click or a lost reply repeats the same answer; another answer comes from somebody else.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import sqlalchemy as sa

from seedvote.crowd.store.event_log import read_events

FEWEST = 3  # answers that differ from the stored one; fewer come from one person with an old tab


@dataclass(frozen=True, slots=True)
class SharedLink:
    """A rater who seems to be several people."""

    rater: str
    differing: int
    """Answers that differed from the one that was stored."""
    dropped: int
    """Those, and repeated ones: nothing of them was stored."""

    def says(self) -> str:
        """A sentence for the researcher."""
        return (
            f"One link, several people: {self.dropped} answers of rater {self.rater[:8]} came to pairs that were "
            f"answered already, {self.differing} of them with another choice. None was stored. Give each person a link "
            "of their own."
        )


def shared_links(connection: sa.Connection) -> tuple[SharedLink, ...]:
    """Most answers first."""
    counts: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for event in read_events(connection, "repeated"):
        if event.rater:
            counts[event.rater][0] += bool(event.data.get("differs"))
            counts[event.rater][1] += 1
    links = [SharedLink(rater, *numbers) for rater, numbers in counts.items() if numbers[0] >= FEWEST]
    return tuple(sorted(links, key=lambda link: -link.dropped))
