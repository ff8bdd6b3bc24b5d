"""Inform and Success: what the user wanted, which domains a turn is about, and what the system reached."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from seedvote.dialogue.domains.database import DomainTable, Rows
from seedvote.dialogue.domains.spelling import State, spell_slot, spell_value
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue
from seedvote.evaluators.task.predictions import Answer, Predictions, comparable_id

# What each dialogue's user wanted: the goal as annotated, and in which turns a booking could be told of.

PLACEHOLDER_OF_REQUEST = {
    "phone": "PHONE",
    "address": "ADDRESS",
    "postcode": "POST",
    "trainid": "TRAINID",
    "busid": "TRAINID",
}


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


def read_goals(dialogues: Iterable[Dialogue]) -> dict[str, Wanted]:
    """Dialogue -> what its user wanted; dialogues without an annotated goal are left out."""
    return {
        comparable_id(dialogue.dialogue): Wanted(
            {domain: _read_goal(domain, wish) for domain, wish in dialogue.goal.items()},
            [frozenset(turn.booked or ()) for turn in dialogue.turns if turn.speaker != "user"],
        )
        for dialogue in dialogues
        if dialogue.goal
    }


def _read_goal(domain: str, wish: Mapping[str, Any]) -> DomainGoal:
    """A booking that was wanted is a reference number to be told; of a train no phone or address is asked."""
    requests = {
        PLACEHOLDER_OF_REQUEST[name]
        for raw in wish.get("reqt") or ()
        if (name := spell_slot(str(raw))) in PLACEHOLDER_OF_REQUEST
    }
    if domain in ("train", "bus"):
        requests &= {"TRAINID"}
    if wish.get("book"):
        requests.add("REFERENCE")
    wanted = {spell_slot(name): spell_value(spell_slot(name), str(text)) for name, text in wish["info"].items() if text}
    return DomainGoal(wanted, frozenset(requests))


# Which domains a system turn is about: as predicted, from the placeholders' names, or from changes of the state.
#
# Inform and Success look only at the domains that are active. Published predictions say it in three ways, and the way
# moves the numbers (SOLOIST's Success by five points), so the rule in force is named with every result.

Rule = Literal["predicted", "slots", "state"]
RULES: tuple[Rule, ...] = ("predicted", "slots", "state")
Domains = list[frozenset[str]]  # one set a turn
NEEDS = {
    "predicted": "active_domains in every turn",
    "slots": "placeholders that name their domain, such as [hotel_phone]",
    "state": "a state in every turn",
}


def possible_rules(predictions: Predictions) -> tuple[Rule, ...]:
    """The rules that these predictions allow, the one to take first."""
    turns = list(predictions.turns)
    fits: Mapping[Rule, bool] = {
        "predicted": all(turn.domains is not None for turn in turns),
        # A seed of an agent that writes no placeholder is asked as its other seeds are, or it would be another system.
        "slots": (predictions.agent or any(turn.named for turn in turns)) and not any(turn.bare for turn in turns),
        "state": all(turn.state is not None for turn in turns),
    }
    return tuple(rule for rule in RULES if fits[rule])


def active_domains(predictions: Predictions, rule: Rule) -> dict[str, Domains]:
    """Dialogue -> the active domains of each turn."""
    if rule not in possible_rules(predictions):
        raise InputError(
            f"{predictions.system}: --domains {rule} needs {NEEDS[rule]}, and some turn is without. "
            f"These predictions allow: {', '.join(possible_rules(predictions)) or 'none'}."
        )
    by = {"predicted": _as_predicted, "slots": _named_domains, "state": _from_changes}[rule]
    return {name: by(answers) for name, answers in predictions.dialogues.items()}


def _as_predicted(answers: Sequence[Answer]) -> Domains:
    return [answer.domains or frozenset() for answer in answers]


def _named_domains(answers: Sequence[Answer]) -> Domains:
    return [answer.named for answer in answers]


def _from_changes(answers: Sequence[Answer]) -> Domains:
    """The domain whose state changed last.

    Where several change at once, the one spoken of before stays if it is among them, else that with most slots comes.
    Where nothing changes after such a turn, the talk goes on with another of those that had changed.
    """
    active: Domains = []
    current = ""
    before: State = {}
    changed_before: list[str] = []
    for answer in answers:
        state = answer.state or {}
        changed = [domain for domain in state if state[domain].items() - before.get(domain, {}).items()]
        if not changed and not current:
            active.append(frozenset())
            continue
        if not changed and len(changed_before) > 1:
            changed_before = [domain for domain in changed_before if domain in state and domain != current]
            current = changed_before[0] if changed_before else current
        elif changed and current not in changed:
            current = max(changed, key=lambda domain: len(state[domain]))
        before, changed_before = state, changed
        active.append(frozenset({current}))
    return active


# Inform and Success of one dialogue, by the rule of MultiWOZ_Evaluation (Nekvinda and Dusek 2021).
#
# Inform: whatever the system last offered in each domain of the goal fits that goal. Success: it fits, and the system
# told everything that the user was to ask for. What was offered is the set of rows that match the predicted state when
# a name or a train's number is spoken.

BY_ITSELF = ("taxi", "police", "hospital")  # domains in which nothing is chosen from a database
REQUESTABLE = frozenset({"PHONE", "ADDRESS", "POST", "REFERENCE", "TRAINID"})
Tables = Mapping[str, DomainTable]
DomainsByTurn = Sequence[frozenset[str]]


@dataclass(frozen=True, slots=True)
class Reached:
    """Whether a dialogue's goal was met, as a whole and by domain."""

    inform: bool
    success: bool
    informed: Mapping[str, bool]
    succeeded: Mapping[str, bool]


def goal_reached(
    wanted: Wanted, answers: Sequence[Answer], active: DomainsByTurn, tables: Tables, draw: random.Random | None = None
) -> Reached:
    """Inform and Success; with `draw`, one of the offered rows is drawn instead of all (the older rule)."""
    informed = {}
    succeeded = {}
    for domain, goal in wanted.domains.items():
        offered, requested = _told_of_domain(domain, wanted, answers, active, tables, draw)
        informed[domain] = _fits_goal(domain, goal, offered, tables)
        succeeded[domain] = goal.asked <= requested
    inform = all(informed.values())
    return Reached(inform, inform and all(succeeded.values()), informed, succeeded)


def _told_of_domain(
    domain: str,
    wanted: Wanted,
    answers: Sequence[Answer],
    active: DomainsByTurn,
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
            offered = _keep_or_draw(offered, matching, draw)
        requested |= {kind for kind in answer.kinds & REQUESTABLE if kind != "REFERENCE" or domain in booked}
    return offered, frozenset(requested)


def _keep_or_draw(offered: Rows, matching: Rows, draw: random.Random | None) -> Rows:
    """An offer stands as long as all of it still matches; a new one is all that matches, or one row drawn of it."""
    if offered and not offered & ~matching:
        return offered
    if draw is None or not matching:
        return matching
    return 1 << draw.choice([n for n in range(matching.bit_length()) if matching >> n & 1])


def _fits_goal(domain: str, goal: DomainGoal, offered: Rows, tables: Tables) -> bool:
    """A place that the goal names needs no offer; nor does a train whose number nobody asked for."""
    table = tables.get(domain)
    if domain in BY_ITSELF or table is None or not table.offers or "name" in goal.wanted:
        return True
    if not offered:
        return table.offers == "TRAINID" and "TRAINID" not in goal.asked
    return not offered & ~table.matching(goal.wanted)
