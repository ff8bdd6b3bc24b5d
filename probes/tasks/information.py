"""Information: the slots and values that the user has given, in all and in the last turn."""

from __future__ import annotations

from seedvote.dialogue.corpora.examples import Example
from seedvote.probes.tasks.beliefs import recent, state
from seedvote.probes.tasks.task import ProbeTask, fixed, or_none


def recent_slots(example: Example) -> list[str]:
    """The slot paths first filled this turn, or none."""
    return or_none(recent(example))


def how_many_recent(example: Example) -> list[str]:
    """How many slots were first filled this turn."""
    return [str(len(recent(example)))]


def recent_values(example: Example) -> list[str]:
    """The values of the slots first filled this turn, or none."""
    return or_none(dict.fromkeys(recent(example).values()))


def all_slots(example: Example) -> list[str]:
    """All filled slot paths, or none."""
    return or_none(state(example))


def how_many_slots(example: Example) -> list[str]:
    """How many slots are filled."""
    return [str(len(state(example)))]


def all_values(example: Example) -> list[str]:
    """The values of all filled slots, or none."""
    return or_none(dict.fromkeys(state(example).values()))


INFORMATION_TASKS = (
    ProbeTask("RecentSlots", True, fixed(recent_slots), "the slots first filled this turn"),
    ProbeTask("NumRecentInfo", False, fixed(how_many_recent), "how many slots were first filled this turn"),
    ProbeTask("RecentValues", True, fixed(recent_values), "the values of the slots first filled this turn"),
    ProbeTask("AllSlots", True, fixed(all_slots), "all slots so far"),
    ProbeTask("NumAllInfo", False, fixed(how_many_slots), "how many slots so far"),
    ProbeTask("AllValues", True, fixed(all_values), "all values so far"),
)
