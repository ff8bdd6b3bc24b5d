"""What a probe task is: a name and a rule that reads the labels of one example from the corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from seedvote.dialogue.corpora.examples import Example

LabelRule = Callable[[Example], Iterable[str]]

NONE = "none"


@dataclass(frozen=True, slots=True)
class ProbeTask:
    """One property of the text to be probed for, named as in the papers.

    `many` says whether an example has a set of labels or one. `rule_from` gives the rule that labels an example, from
    the training examples: only the mid-frequency words depend on them, the other rules are `fixed`.
    """

    name: str
    many: bool
    rule_from: Callable[[Sequence[Example]], LabelRule]
    about: str
    corpora: tuple[str, ...] = ("multiwoz",)


def fixed(rule: LabelRule) -> Callable[[Sequence[Example]], LabelRule]:
    """A rule that does not depend on the training examples."""
    return lambda train: rule  # noqa: ARG005


def or_none(labels: Iterable[str]) -> list[str]:
    """The labels, or the label `none` where there is not one.

    >>> or_none([])
    ['none']
    """
    return list(labels) or [NONE]
