"""Which domains a system turn is about: as predicted, from the placeholders' names, or from changes of the state.

Inform and Success look only at the domains that are active. Published predictions say it in three ways, and the way
moves the numbers (SOLOIST's Success by five points), so the rule in force is named with every result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from seedvote.dialogue.domains.states import State
from seedvote.dialogue.errors import InputError
from seedvote.evaluators.task.predictions import Answer, Predictions

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
    by = {"predicted": _as_predicted, "slots": _named, "state": _from_changes}[rule]
    return {name: by(answers) for name, answers in predictions.dialogues.items()}


def _as_predicted(answers: Sequence[Answer]) -> Domains:
    return [answer.domains or frozenset() for answer in answers]


def _named(answers: Sequence[Answer]) -> Domains:
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
