"""Why a rater gets no further pair: one true word for each case, read from the store whenever somebody looks.

Of an ending nothing is stored but that the sitting is over. So a page opened again says what is true by then: a study
that was "complete" is open again when a block gave pairs back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import sqlalchemy as sa
from sqlalchemy import bindparam as param

from seedvote.crowd.rating.assignment import AssignmentRules, Fewest, verdict
from seedvote.crowd.rating.next_pair import NEXT_PAIR
from seedvote.crowd.store.statements import due_by
from seedvote.crowd.store.store import fetch
from seedvote.crowd.store.tables import pairs, study_settings, votes

Ending = Literal["done", "handed_in", "complete", "stopped", "cap", "time", "none_left", "no_more"]

_OPEN = sa.select(sa.exists().where(pairs.c.open == 1).label("open"))
_ROOM = sa.select(sa.exists().where(pairs.c.open == 1, pairs.c.live < param("k")).label("room"))
_STATE = sa.select(study_settings.c.value).where(study_settings.c.key == "state")


@dataclass(frozen=True, slots=True)
class Outlook:
    """What there is still to do in a study."""

    somebody: bool
    """Some pair is short of votes, for whomever."""
    rater: bool
    """This rater has not judged all of those, though others may hold them at present."""
    now: bool
    """One of them may be shown to this rater at once."""
    at_cap: bool
    """The rater has given all the answers that one person may give."""


def outlook(connection: sa.Connection, rater: str, assignment: AssignmentRules) -> Outlook:
    """Ask the store."""
    open_pairs, fewest = fetch(connection, (_OPEN, {}), (NEXT_PAIR, {"rater": rater}))
    row = fewest[0] if fewest else None
    decision = verdict(row and Fewest(row.pair, row.votes, row.live - row.votes), assignment)
    capped = at_cap(connection, rater, assignment)
    return Outlook(bool(open_pairs[0].open), row is not None, decision == "show" and not capped, capped)


def over_for_all(connection: sa.Connection) -> Literal["complete", "stopped"] | None:
    """Why a newcomer would find nothing to do: what would be true of anybody, whoever it is."""
    if connection.scalar(_STATE) == "stopped":
        return "stopped"
    return None if connection.scalar(_OPEN) else "complete"


def closed_to_newcomers(
    connection: sa.Connection, votes_per_pair: int, now: float
) -> Literal["complete", "stopped", "paused", "wait"] | None:
    """Why somebody new would not be given a pair at once, if that is so."""
    if over := over_for_all(connection):
        return over
    if connection.scalar(_STATE) == "paused":
        return "paused"
    room, due = fetch(connection, (_ROOM, {"k": votes_per_pair}), due_by(now))
    return None if room[0].room or due else "wait"


def at_cap(connection: sa.Connection, rater: str, assignment: AssignmentRules) -> bool:
    """Whether this rater has given as many judgements as `max_votes_per_rater` allows."""
    if assignment.max_votes_per_rater is None:
        return False
    is_judgement = sa.and_(votes.c.rater == rater, votes.c.failed.is_(None))
    number = connection.scalar(sa.select(sa.func.count()).select_from(votes).where(is_judgement)) or 0
    return number >= assignment.max_votes_per_rater


def ending(prospects: Outlook, *, is_full: bool, stopped: bool, timed: bool = False) -> Ending:
    """The word for it; what was promised and done comes first, then what holds for everybody, then for this rater.

    >>> ending(Outlook(somebody=True, rater=True, now=True, at_cap=False), is_full=False, stopped=False)
    'handed_in'
    """
    if is_full:
        return "done"
    if stopped:
        return "stopped"
    if not prospects.somebody:
        return "complete"
    if prospects.at_cap:
        return "cap"
    if not prospects.rater:
        return "none_left"
    return "time" if timed else "handed_in"
