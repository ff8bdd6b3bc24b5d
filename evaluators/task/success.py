"""Inform and Success of one dialogue, by the rule of MultiWOZ_Evaluation (Nekvinda and Dusek 2021).

Inform: whatever the system last offered in each domain of the goal fits that goal. Success: it fits, and the system
told everything that the user was to ask for. What was offered is the set of rows that match the predicted state when a
name or a train's number is spoken.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seedvote.dialogue.domains.database import DomainTable, Rows
from seedvote.evaluators.task.goals import DomainGoal, Wanted
from seedvote.evaluators.task.predictions import Answer

BY_ITSELF = ("taxi", "police", "hospital")  # domains in which nothing is chosen from a database
TOLD = frozenset({"PHONE", "ADDRESS", "POST", "REFERENCE", "TRAINID"})
Tables = Mapping[str, DomainTable]
Domains = Sequence[frozenset[str]]


@dataclass(frozen=True, slots=True)
class Reached:
    """Whether a dialogue's goal was met, as a whole and by domain."""

    inform: bool
    success: bool
    informed: Mapping[str, bool]
    succeeded: Mapping[str, bool]


def goal_reached(
    wanted: Wanted, answers: Sequence[Answer], active: Domains, tables: Tables, draw: random.Random | None = None
) -> Reached:
    """Inform and Success; with `draw`, one of the offered rows is drawn instead of all (the older rule)."""
    informed = {}
    succeeded = {}
    for domain, goal in wanted.domains.items():
        offered, requested = _said(domain, wanted, answers, active, tables, draw)
        informed[domain] = _fits(domain, goal, offered, tables)
        succeeded[domain] = goal.asked <= requested
    inform = all(informed.values())
    return Reached(inform, inform and all(succeeded.values()), informed, succeeded)


def _said(
    domain: str,
    wanted: Wanted,
    answers: Sequence[Answer],
    active: Domains,
    tables: Tables,
    draw: random.Random | None,
) -> tuple[Rows, frozenset[str]]:
    """The rows offered at the end, and what was told of this domain."""
    table = tables.get(domain)
    offered: Rows = 0
    requested: set[str] = set()
    for answer, domains, booked in zip(answers, active, wanted.booked, strict=False):
        if domain not in domains:
            continue
        if table is not None and table.offers and table.offers in answer.kinds:
            matching = table.matching((answer.state or {}).get(domain, {})) if domain in (answer.state or {}) else 0
            offered = _replaced(offered, matching, draw)
        requested |= {kind for kind in answer.kinds & TOLD if kind != "REFERENCE" or domain in booked}
    return offered, frozenset(requested)


def _replaced(offered: Rows, matching: Rows, draw: random.Random | None) -> Rows:
    """An offer stands as long as all of it still matches; a new one is all that matches, or one row drawn of it."""
    if offered and not offered & ~matching:
        return offered
    if draw is None or not matching:
        return matching
    return 1 << draw.choice([n for n in range(matching.bit_length()) if matching >> n & 1])


def _fits(domain: str, goal: DomainGoal, offered: Rows, tables: Tables) -> bool:
    """A place that the goal names needs no offer; nor does a train whose number nobody asked for."""
    table = tables.get(domain)
    if domain in BY_ITSELF or table is None or not table.offers or "name" in goal.wanted:
        return True
    if not offered:
        return table.offers == "TRAINID" and "TRAINID" not in goal.asked
    return not offered & ~table.matching(goal.wanted)
