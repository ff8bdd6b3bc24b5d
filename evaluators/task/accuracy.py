"""What was predicted of every turn against its annotation: states by joint goal accuracy and its relatives, and names.

Joint: every slot of the state right and none too many. Slot accuracy counts the slots that both leave empty, so it is
near 100 for a tracker that does nothing; average goal accuracy looks at the annotated slots alone and forgives what is
too much. Micro-F1 of slots forgives neither.

Names are intents, those of the user's annotated acts such as `Hotel-Request`, and acts, those of the system's. A turn
is right if exactly the annotated names are given. With one name a turn this is the usual accuracy of a classifier; F1
forgives a name that is missing or too many in part. Turns without an annotated act are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from seedvote.dialogue.domains.database import match_names
from seedvote.dialogue.domains.spelling import NO_MATTER, State, state_of
from seedvote.dialogue.records import Dialogue
from seedvote.evaluators.task.predictions import comparable_id

_BOOKING = frozenset({"people", "stay", "day", "time"})
_BOOKED_IN = frozenset({"hotel", "restaurant"})  # a train's day is searched for, only its people are booked
Slots = Mapping[tuple[str, str], str]  # (domain, slot) -> value


@dataclass(frozen=True, slots=True)
class Tracked:
    """One turn: is it right by each rule, and the counts of its slots."""

    joint: bool
    fuzzy: bool
    dontcare_as_none: bool
    without_booking: bool
    tp: int
    fp: int
    fn: int
    wrong: int  # slots of the corpus that differ, each once
    wanted: int
    by_domain: Mapping[str, bool] = field(default_factory=dict)  # annotated domain -> are its slots right
    by_slot: Mapping[str, bool] = field(default_factory=dict)  # annotated slot, as `hotel-area` -> is its value right
    too_many: Sequence[str] = ()  # slots that the system fills and the corpus does not

    @property
    def goal_accuracy(self) -> float | None:
        """The share of annotated slots that are right; nothing where none is annotated."""
        return self.tp / self.wanted if self.wanted else None


def compare_states(gold: State, predicted: State) -> Tracked:
    """One turn's predicted state against the annotated one."""
    right, predicted_slots = _filled_slots(gold), _filled_slots(predicted)
    same = sum(predicted_slots.get(name) == meant for name, meant in right.items())
    differing = {name for name in right.keys() | predicted_slots.keys() if right.get(name) != predicted_slots.get(name)}
    return Tracked(
        right == predicted_slots,
        right.keys() == predicted_slots.keys()
        and all(_match_values(right[name], predicted_slots[name]) for name in right),
        _keep_slots(right, _cared_for) == _keep_slots(predicted_slots, _cared_for),
        _keep_slots(right, _searched_for) == _keep_slots(predicted_slots, _searched_for),
        same,
        len(predicted_slots) - same,
        len(right) - same,
        len(differing),
        len(right),
        {domain: not any(rival_domain == domain for rival_domain, _ in differing) for domain, _ in right},
        {f"{domain}-{name}": (domain, name) not in differing for domain, name in right},
        tuple(f"{domain}-{name}" for domain, name in predicted_slots if (domain, name) not in right),
    )


def _filled_slots(state: State) -> dict[tuple[str, str], str]:
    """The filled slots of a state."""
    return {(domain, name): text for domain, slots in state.items() for name, text in slots.items() if text}


def _match_values(first: str, second: str) -> bool:
    return first == second or match_names(first, second)


def _keep_slots(slots: Slots, keep: Callable[[str, str, str], bool]) -> dict[tuple[str, str], str]:
    return {(domain, name): text for (domain, name), text in slots.items() if keep(domain, name, text)}


def _cared_for(_domain: str, _name: str, text: str) -> bool:
    return text not in NO_MATTER


def _searched_for(domain: str, name: str, _found: str) -> bool:
    return not ((domain in _BOOKED_IN and name in _BOOKING) or name == "people")


def gold_states(dialogues: Iterable[Dialogue]) -> dict[str, Sequence[State]]:
    """Dialogue -> the annotated state behind each system turn; dialogues without states are left out."""
    states: dict[str, Sequence[State]] = {}
    for dialogue in dialogues:
        beliefs = [turn.belief for turn in dialogue.turns[:-1] if turn.speaker == "user"]
        if any(beliefs):
            states[comparable_id(dialogue.dialogue)] = [state_of(belief or {}) for belief in beliefs]
    return states


Names = frozenset[str]


@dataclass(frozen=True, slots=True)
class NameMatch:
    """One turn: how many of the annotated names were given, and how many others."""

    tp: int
    fp: int
    fn: int

    @property
    def is_right(self) -> bool:
        """Whether exactly the annotated names were given."""
        return not self.fp and not self.fn


def compare_names(annotated: Sequence[Names], predicted: Sequence[Names | None]) -> dict[int, NameMatch]:
    """Turn -> its match; turns without an annotated name, or without a prediction, are left out.

    >>> compare_names([frozenset({"taxi-inform"}), frozenset()], [frozenset({"taxi-request"}), frozenset()])
    {0: NameMatch(tp=0, fp=1, fn=1)}
    """
    return {
        n: NameMatch(len(gold & given), len(given - gold), len(gold - given))
        for n, (gold, given) in enumerate(zip(annotated, predicted, strict=False))
        if gold and given is not None
    }


def gold_names(dialogues: Iterable[Dialogue], *, of_user: bool) -> Mapping[str, Sequence[Names]]:
    """Dialogue -> the names of the acts in each turn of one side; dialogues without any are left out."""
    names = {
        comparable_id(dialogue.dialogue): [
            frozenset(name.lower() for name in turn.acts or ())
            for turn in dialogue.turns
            if (turn.speaker == "user") == of_user
        ]
        for dialogue in dialogues
    }
    return {dialogue: turns for dialogue, turns in names.items() if any(turns)}
