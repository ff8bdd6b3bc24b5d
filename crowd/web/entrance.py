"""The contract for how raters arrive and how they leave.

A marketplace announces people in the query of the page's address. Each marketplace brings an `Entrance` that reads its
own addresses and gives the way back; the pages know nothing else about it. Nobody can check an address when it is
opened, so payment is held against the marketplace's own list later (`crowd pay`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, get_args
from urllib.parse import urlsplit

from seedvote.crowd.rating.leasing import Ending, Step
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Source

OVER: tuple[Ending, ...] = get_args(Ending)  # stages after which a rater may go back
SELF_TEST, LAST_PAGE = "selftest", "last"  # in the query of a launch's test worker: its proof, and which page
_ID = re.compile(r"[A-Za-z0-9_.:-]{1,64}")


@dataclass(frozen=True, slots=True)
class Arrival:
    """A person who arrives, as the marketplace announces them in the address of the page."""

    source: Source
    worker: str  # the marketplace's id of the person; hashed before it is stored beside a vote
    sitting: str  # its id of this visit: assignment (MTurk), submission (Prolific), agent (Mephisto)
    task: str  # its id of the task: HIT, study or unit
    preview: bool = False  # someone looks at the task before accepting it: no work is given out
    turned_away: bool = False  # the marketplace has nothing for them here
    proven: bool = False  # the address holds a secret that only they were sent
    lapsed: bool = False  # their invitation has ended or was taken back


@dataclass(frozen=True, slots=True)
class WayOut:
    """How a rater goes back to the marketplace: a sentence, and where there is one a form (or a link, no fields).

    `words`, `then` and `label` are said in the rater's language; %(name)s in them stands for `name`.
    """

    words: str
    label: str = ""
    url: str = ""
    fields: Mapping[str, str] = field(default_factory=dict)
    then: str = ""  # what is said after the words
    name: str = ""  # of the marketplace, where it has one of its own
    code: str = ""  # what they give there by hand, where there is no address


class Entrance(Protocol):
    """How the people of one marketplace arrive and leave."""

    source: ClassVar[Source]

    def read_arrival(self, query: Mapping[str, str]) -> Arrival | None:
        """Who this marketplace sends, or None for anybody else; InputError for an address that it cannot have sent."""

    def find_way_out(self, visit: Mapping[str, Any], step: Step) -> WayOut | None:
        """The way back for a visit (worker, sitting) of this marketplace that is over, where there is one."""

    def find_refusal_way(self, visit: Mapping[str, Any]) -> WayOut | None:
        """The way back of somebody who does not consent, where there is one."""


def way_back(entrances: Iterable[Entrance], visit: Mapping[str, Any], step: Step) -> WayOut | None:
    """The way back by the entrance that they came by, once the visit is over."""
    if step.stage not in OVER:
        return None
    ways = (entrance.find_way_out(visit, step) for entrance in entrances if entrance.source == visit["source"])
    return next((way for way in ways if way), None)


def way_to_decline(entrances: Iterable[Entrance], visit: Mapping[str, Any]) -> WayOut | None:
    """The way back of somebody who does not consent, by the entrance that they came by."""
    ways = (entrance.find_refusal_way(visit) for entrance in entrances if entrance.source == visit["source"])
    return next((way for way in ways if way), None)


def read_identifier(name: str, query: Mapping[str, str]) -> str:
    """One id from the query string; what cannot be an id of a marketplace is refused before it goes anywhere."""
    value = query.get(name, "")
    if not _ID.fullmatch(value):
        raise InputError(f"{name} is missing from the address or is not an id. Open the task from the marketplace.")
    return value


def origin_of(url: str) -> str:
    """Scheme, host and port of an address.

    >>> origin_of("https://www.mturk.com/mturk/externalSubmit?x=1")
    'https://www.mturk.com'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
