"""What is perturbed: the user turns of one split, each with its protected values and the number that chooses it.

A turn is chosen at every dose above its number. The number follows from seed, dialogue and turn alone, so the turns at
a dose of .1 are among those at .5, and they are the same for every kind.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue, Turn
from seedvote.dialogue.seeds import child_seed
from seedvote.evaluators.perturbing.protecting import Protector, Span, known_values, own_values


@dataclass(frozen=True, slots=True)
class UserTurn:
    """One turn that may be told otherwise."""

    dialogue: str
    n: int
    turn: Turn
    pieces: Sequence[Span] = field(repr=False)
    number: float

    @property
    def item(self) -> str:
        """The id of the context that ends with it."""
        return f"{self.dialogue}:{self.n + 1}"


@dataclass(frozen=True)
class UserTurns:
    """One split of a corpus, ready to be perturbed."""

    corpus: Corpus
    split: str
    seed: int
    protected: bool = True

    @cached_property
    def dialogues(self) -> tuple[Dialogue, ...]:
        """The split; refused where it is empty or holds no user."""
        of_split = self.corpus.split(self.split)
        if not any(turn.speaker == "user" for dialogue in of_split for turn in dialogue.turns):
            raise InputError(
                f"The {self.split} split of this corpus has no user turn. Perturbations are for task-oriented "
                "dialogues, in which users talk to a system."
            )
        return of_split

    @cached_property
    def learning(self) -> tuple[Dialogue, ...]:
        """What wording and vocabulary are learnt from: the training split, else whatever is not perturbed, else it."""
        training = tuple(dialogue for dialogue in self.corpus.dialogues if dialogue.split != self.split)
        return self.corpus.split("train") or training or self.dialogues

    @cached_property
    def protector(self) -> Protector:
        """Knows every value of annotations and databases."""
        return Protector(known_values(self.corpus.dialogues, self.corpus.databases))

    @cached_property
    def turns(self) -> list[UserTurn]:
        """Every user turn of the split."""
        return [turn for dialogue in self.dialogues for turn in self._of(dialogue)]

    def _of(self, dialogue: Dialogue) -> Iterator[UserTurn]:
        before: dict[str, str] = {}
        for n, turn in enumerate(dialogue.turns):
            if turn.speaker != "user":
                continue
            whole_text = [Span(turn.text, False)]
            pieces = self.protector.pieces(turn.text, own_values(turn, before)) if self.protected else whole_text
            yield UserTurn(dialogue.dialogue, n, turn, pieces, self.number(dialogue.dialogue, n))
            before = dict(turn.belief or {})

    def number(self, *names: object) -> float:
        """The uniform number of a turn, or of a dialogue."""
        return child_seed(self.seed, "dose", *names) / 2**63

    @cached_property
    def words(self) -> Counter[str]:
        """How often each word is said in what is learnt from."""
        texts = (turn.text.lower() for dialogue in self.learning for turn in dialogue.turns)
        return Counter(word for text in texts for word in re.findall(r"(?<!\w)[a-z']+(?!\w)", text))

    def verbatim(self) -> tuple[int, int]:
        """Newly believed values that stand verbatim in the user's turn, and how many there are."""
        matches = stands = 0
        for dialogue in self.dialogues:
            before: dict[str, str] = {}
            for turn in dialogue.turns:
                if turn.speaker == "user":
                    new = [value for slot, value in (turn.belief or {}).items() if before.get(slot) != value]
                    before = dict(turn.belief or {})
                    matches += len(new)
                    low = turn.text.lower()
                    stands += sum(bool(re.search(rf"(?<!\w){re.escape(value.lower())}(?!\w)", low)) for value in new)
        return stands, matches
