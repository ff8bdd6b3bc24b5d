"""Actions: what the system does next (the annotation of the target)."""

from __future__ import annotations

from seedvote.dialogue.corpora.examples import Example
from seedvote.probes.tasks.task import NONE, ProbeTask, fixed, or_none


def first_act(example: Example) -> list[str]:
    """The target's first act in the annotation's order (half of the turns have two or more), or none."""
    return [next(iter(example.target.acts or ()), NONE)]


def entity_slots(example: Example) -> list[str]:
    """Slot names in the target's acts, or none; the annotation itself writes `none` for an act without slots."""
    return _entities(example, 0)


def entity_values(example: Example) -> list[str]:
    """Slot values in the target's acts (`?` where a slot is asked for), or none."""
    return _entities(example, 1)


def _entities(example: Example, part: int) -> list[str]:
    acts = (example.target.acts or {}).values()
    return or_none(dict.fromkeys(pair[part] for pairs in acts for pair in pairs))


ACTION_TASKS = (
    ProbeTask("ActionSelect", False, fixed(first_act), "the system's next act (the first annotated)"),
    ProbeTask("EntitySlots", True, fixed(entity_slots), "slot names in the system's acts"),
    ProbeTask("EntityValues", True, fixed(entity_values), "slot values in the system's acts"),
)
