"""Intent accuracy and act accuracy: what a system took the user to want, and what it did, against annotated acts.

An intent is the name of one of the user's annotated acts, such as `Hotel-Request`; an act is that of one of the
system's. A turn is right if exactly the annotated names are given. With one name a turn this is the usual accuracy of a
classifier; F1 forgives a name that is missing or too many in part. Turns without an annotated act are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from seedvote.dialogue.records import Dialogue
from seedvote.evaluators.task.predictions import comparable_id

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
