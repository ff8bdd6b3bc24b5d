"""The examples of a corpus: a context and the utterance that answers it.

An example's id, `dialogue:n`, names the same utterance in every package, whatever the split or the order of reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from seedvote.dialogue.records import Dialogue, Turn


@dataclass(frozen=True, slots=True)
class Example:
    """One target utterance and everything said before it."""

    item: str
    dialogue: Dialogue
    n: int

    @property
    def context(self) -> Sequence[Turn]:
        """The turns before the target, oldest first."""
        return self.dialogue.turns[: self.n]

    @property
    def target(self) -> Turn:
        """The turn to be generated."""
        return self.dialogue.turns[self.n]


def iterate_examples(dialogues: Iterable[Dialogue]) -> Iterator[Example]:
    """Every system turn that answers a user (MultiWOZ), or every utterance but the first (PersonaChat), in order."""
    for dialogue in dialogues:
        for n in range(1, len(dialogue.turns)):
            if dialogue.turns[n].speaker != "user":
                yield Example(f"{dialogue.dialogue}:{n}", dialogue, n)
