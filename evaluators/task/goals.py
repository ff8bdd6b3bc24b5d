"""What each dialogue's user wanted: the goal as annotated, and in which turns a booking could be told of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seedvote.dialogue.domains.spelling import slot, value
from seedvote.dialogue.records import Dialogue
from seedvote.evaluators.task.predictions import comparable_id

TOLD = {"phone": "PHONE", "address": "ADDRESS", "postcode": "POST", "trainid": "TRAINID", "busid": "TRAINID"}


@dataclass(frozen=True, slots=True)
class DomainGoal:
    """One domain of a goal: what the place must be like, and what the user must be told."""

    wanted: Mapping[str, str]
    asked: frozenset[str]  # such as PHONE, REFERENCE


@dataclass(frozen=True, slots=True)
class Wanted:
    """The goal of one dialogue, domain by domain, and the domains booked by each system turn."""

    domains: Mapping[str, DomainGoal]
    booked: Sequence[frozenset[str]]


def goals(dialogues: Iterable[Dialogue]) -> dict[str, Wanted]:
    """Dialogue -> what its user wanted; dialogues without an annotated goal are left out."""
    return {
        comparable_id(dialogue.dialogue): Wanted(
            {domain: _goal(domain, wish) for domain, wish in dialogue.goal.items()},
            [frozenset(turn.booked or ()) for turn in dialogue.turns if turn.speaker != "user"],
        )
        for dialogue in dialogues
        if dialogue.goal
    }


def _goal(domain: str, wish: Mapping[str, Any]) -> DomainGoal:
    """A booking that was wanted is a reference number to be told; of a train no phone or address is asked."""
    requests = {TOLD[name] for raw in wish.get("reqt") or () if (name := slot(str(raw))) in TOLD}
    if domain in ("train", "bus"):
        requests &= {"TRAINID"}
    if wish.get("book"):
        requests.add("REFERENCE")
    wanted = {slot(name): value(slot(name), str(text)) for name, text in wish["info"].items() if text}
    return DomainGoal(wanted, frozenset(requests))
