"""How a simulated rater fills in a page with several questions, knowing nothing of them but what the page shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

COMMENTS = 0.2  # of the texts that need not be written
WROTE = "This one fits what was just said."


def groups_asked(radios: Mapping[str, Sequence[str]]) -> list[str]:
    """The names of the questions behind groups of radio buttons.

    >>> groups_asked({"q-better": ["left"], "q-fluency-left": ["1"], "q-fluency-right": ["1"]})
    ['better', 'fluency']
    """
    return list(dict.fromkeys(group.split("-")[1] for group in radios))


def filled(
    radios: Mapping[str, Sequence[str]], texts: Mapping[str, bool], votes_said: Mapping[str, str], generator: Random
) -> dict[str, str]:
    """Every group and text of the page, so that each question says which side is better as `said` has it."""
    fields: dict[str, str] = {}
    for question, side in votes_said.items():
        groups = {group: values for group, values in radios.items() if group.split("-")[1] == question}
        fields |= _pressed(groups, side, generator) if len(groups) == 1 else _rated(groups, side, generator)
    return fields | {name: WROTE for name, must in texts.items() if must or generator.random() < COMMENTS}


def _pressed(groups: Mapping[str, Sequence[str]], side: str, generator: Random) -> dict[str, str]:
    ((group, values),) = groups.items()
    sides = [value for value in values if value.startswith(("left", "right"))]
    ties = [value for value in values if value not in sides]
    fits = ties if side == "tie" else [value for value in sides if value.startswith(side)]
    return {group: generator.choice(fits or sides)}


def _rated(groups: Mapping[str, Sequence[str]], side: str, generator: Random) -> dict[str, str]:
    values = next(iter(groups.values()))
    low, high = sorted(generator.sample(range(len(values)), 2))
    worse, better = values[low], values[high]
    if side == "tie":
        return dict.fromkeys(groups, better)
    return {group: better if group.endswith(f"-{side}") else worse for group in groups}
