"""What is perturbed: the user turns of a split, and the values in them that nothing may touch."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue, Turn
from seedvote.dialogue.seeds import child_seed

# What a perturbation may not touch: the values that a turn's annotation rests on, to the letter.
#
# Protected are the values of the turn's own acts and state, and those of the corpus's databases and states, that stand
# in the turn as whole words, the longest first; and whatever holds a digit. A value that the user put into other words
# does not stand there, so nothing can protect it; how many do is counted by the command.

WORD = re.compile(r"\w+")
DIGITS = re.compile(r"[£$]?\w*\d(?:\w|[:.,/-](?=\w))*")
NO_VALUES = frozenset({"", "?", "none", "not mentioned", "dontcare", "do not care", "dont care", "don't care"})
COMMON = frozenset({"yes", "no", "free"})  # values of every day: protected where a turn's own annotation has them
NUMBERS = frozenset(
    ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
)
LONGEST_VALUE = 60  # letters; what is longer in a database is prose


class Span(NamedTuple):
    """A part of a turn, which may be changed or not."""

    text: str
    held: bool


class Protector:
    """Finds protected values; values are indexed by their first word, so a turn costs a few look-ups."""

    def __init__(self, values: Iterable[str]) -> None:
        self._by_first: dict[str, list[str]] = {}
        self.words: set[str] = set(NUMBERS)  # of values: no perturbation may write one of them
        for value in sorted({*values, *NUMBERS}, key=len, reverse=True):
            words = WORD.findall(value)
            if words and value not in NO_VALUES | COMMON and value.startswith(words[0]):
                self._by_first.setdefault(words[0], []).append(value)
                self.words.update(words)

    def find_spans(self, text: str, own: Iterable[str] = ()) -> list[tuple[int, int]]:
        """Places of everything protected, in order, none overlapping; `own` are the turn's own annotated values."""
        low = text.lower()
        if len(low) != len(text):  # a letter whose small form is longer; places would not fit
            low = text
        places = [match.span() for match in DIGITS.finditer(low)] if any(map(str.isdigit, low)) else []
        for value in own:
            places += whole_places(low, value)
        for match in WORD.finditer(low):
            for value in self._by_first.get(match[0], ()):
                if low.startswith(value, match.start()) and _ends_word(low, match.start() + len(value)):
                    places.append((match.start(), match.start() + len(value)))
                    break
        return _merge_places(places)

    def cut_pieces(self, text: str, own: Iterable[str] = ()) -> list[Span]:
        """The turn cut at its protected values."""
        spans, at = [], 0
        for start, end in self.find_spans(text, own):
            spans += [Span(text[at:start], False), Span(text[start:end], True)]
            at = end
        spans.append(Span(text[at:], False))
        return [piece for piece in spans if piece.text]


def whole_places(low: str, value: str) -> list[tuple[int, int]]:
    """Where a value stands in a text as whole words."""
    at, places = low.find(value), []
    while at >= 0:
        if (at == 0 or not _is_inner(low[at - 1])) and _ends_word(low, at + len(value)):
            places.append((at, at + len(value)))
        at = low.find(value, at + 1)
    return places


def _ends_word(low: str, at: int) -> bool:
    return at == len(low) or not _is_inner(low[at])


def _is_inner(sign: str) -> bool:
    return sign.isalnum() or sign == "_"


def _merge_places(places: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(places):
        if merged and start < merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged


def known_values(dialogues: Iterable[Dialogue], databases: Mapping[str, Any]) -> set[str]:
    """Every value of states and databases, in small letters; those of acts, which may be any words, a turn has itself.

    A state's value that stands in one dialogue only is taken for a slip of the annotator.
    """
    stated: Counter[str] = Counter()
    for dialogue in dialogues:
        stated.update({value for turn in dialogue.turns for value in (turn.belief or {}).values()})
    values = {value for value, times in stated.items() if times > 1}
    rows = (row for table in databases.values() if isinstance(table, list) for row in table if isinstance(row, dict))
    values.update(value for row in rows for value in row.values() if isinstance(value, str))
    return {value.strip().lower() for value in values if len(value) <= LONGEST_VALUE}


def own_values(turn: Turn, before: Mapping[str, str]) -> list[str]:
    """What this turn's state and acts hold; of what was in the state before it, no words of every day."""
    states = (turn.belief or {}).items()
    new = [value for slot, value in states if before.get(slot) != value or value.lower() not in COMMON]
    acts = [value for pairs in (turn.acts or {}).values() for _, value in pairs]
    return [value for raw in dict.fromkeys([*new, *acts]) if (value := raw.strip().lower()) not in NO_VALUES]


def is_intact(pieces: Sequence[Span], text: str) -> bool:
    """Whether every protected value still stands in the text, letter by letter, and as often as before."""
    values = [piece.text for piece in pieces if piece.held]
    return all(len(whole_places(text, value)) >= values.count(value) for value in set(values))


# What is perturbed: the user turns of one split, each with its protected values and the number that chooses it.
#
# A turn is chosen at every dose above its number. The number follows from seed, dialogue and turn alone, so the turns
# at a dose of .1 are among those at .5, and they are the same for every kind.


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
        return [turn for dialogue in self.dialogues for turn in self._turns_of(dialogue)]

    def _turns_of(self, dialogue: Dialogue) -> Iterator[UserTurn]:
        before: dict[str, str] = {}
        for n, turn in enumerate(dialogue.turns):
            if turn.speaker != "user":
                continue
            whole_text = [Span(turn.text, False)]
            pieces = self.protector.cut_pieces(turn.text, own_values(turn, before)) if self.protected else whole_text
            yield UserTurn(dialogue.dialogue, n, turn, pieces, self.draw_number(dialogue.dialogue, n))
            before = dict(turn.belief or {})

    def draw_number(self, *names: object) -> float:
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
