"""The state of a dialogue: what the user wants by now, domain -> slot -> value, spelt as the database spells."""

from __future__ import annotations

from collections.abc import Mapping

from seedvote.dialogue.domains.spelling import spell_slot, spell_value

State = Mapping[str, Mapping[str, str]]


def state_of(belief: Mapping[str, str]) -> State:
    """A belief as a corpus has it, `domain-section-slot` -> value, as domain -> slot -> value."""
    state: dict[str, dict[str, str]] = {}
    for key, meant in belief.items():
        domain, _, tail = key.partition("-")
        name = spell_slot(tail)
        state.setdefault(domain, {})[name] = spell_value(name, meant)
    return state
