"""Repeats: which kinds of information (a day, an area) have been given for two domains or more."""

from __future__ import annotations

from collections import Counter

from seedvote.dialogue.corpora.examples import Example
from seedvote.probes.tasks.beliefs import domain, leaf, state
from seedvote.probes.tasks.task import ProbeTask, fixed, or_none


def repeated(example: Example) -> list[str]:
    """Leaf slot names filled in two or more domains."""
    pairs = {(leaf(path), domain(path)) for path in state(example)}
    counts = Counter(name for name, _ in pairs)
    return sorted(name for name, domains in counts.items() if domains > 1)


def repeated_or_none(example: Example) -> list[str]:
    """The repeated leaf names, or none."""
    return or_none(repeated(example))


def how_many_repeated(example: Example) -> list[str]:
    """How many leaf names are repeated."""
    return [str(len(repeated(example)))]


REPEAT_TASKS = (
    ProbeTask("RepeatInfo", True, fixed(repeated_or_none), "slot names given for two domains or more"),
    ProbeTask("NumRepeatInfo", False, fixed(how_many_repeated), "how many slot names are repeated"),
)
