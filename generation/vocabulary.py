"""Words and their numbers: the special tokens and the one vocabulary file that all seeds share.

How a text is cut into tokens stands in `dialogue/tokens.py`. An utterance becomes

    <other> tokens ... <eou>      said by the one who is answered
    <self>  tokens ... <eou>      said earlier by the one who answers

and a context is the newest `LONGEST_CONTEXT` tokens of its utterances in a row.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_json, write_json
from seedvote.dialogue.records import Turn
from seedvote.dialogue.signature import signature
from seedvote.dialogue.tokens import LONGEST_CONTEXT, detokenize, newest_words, tokenize

SPECIAL = ("<pad>", "<unk>", "<bos>", "<eos>", "<eou>", "<other>", "<self>")
PAD, UNK, BOS, EOS, EOU, OTHER, SELF = range(len(SPECIAL))
LONGEST_TARGET = 100


@dataclass(frozen=True)
class Vocabulary:
    """The words of a study in order of number; the first ones are `SPECIAL`."""

    words: tuple[str, ...]

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Word -> number."""
        return {word: number for number, word in enumerate(self.words)}

    @cached_property
    def hash(self) -> str:
        """SHA-256 over the words, to tell two vocabularies apart."""
        return hashlib.sha256("\n".join(self.words).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.words)

    def encode(self, text: str) -> list[int]:
        """Token numbers of one text, without special tokens around it."""
        return [self.numbers.get(token, UNK) for token in tokenize(text)]

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of a response; what stands for no word is left out."""
        return detokenize(self.words[number] for number in numbers if number >= len(SPECIAL))

    def context(self, turns: Sequence[Turn], speaker: str, longest: int = LONGEST_CONTEXT) -> list[int]:
        """The newest tokens of a history, seen by `speaker`, who is about to answer."""
        return [self.numbers.get(word, UNK) for word in newest_words(turns, speaker, longest)]

    def target(self, turn: Turn) -> list[int]:
        """The tokens of a reference, closed by <eos>."""
        return [*self.encode(turn.text)[: LONGEST_TARGET - 1], EOS]


def build_vocabulary(texts: Iterable[str], *, largest: int, at_least: int) -> Vocabulary:
    """The most frequent words of the texts."""
    return vocabulary_of((token for text in texts for token in tokenize(text)), largest=largest, at_least=at_least)


def vocabulary_of(words: Iterable[str], *, largest: int, at_least: int, own: Sequence[str] = ()) -> Vocabulary:
    """The most frequent words, ties in alphabetical order: `largest` with the special tokens and `own` before them."""
    counts = Counter(words)
    if not counts:
        raise InputError("The training split holds no words, so there is no vocabulary. Give a corpus with text.")
    ranked = sorted((word for word, n in counts.items() if n >= at_least), key=lambda word: (-counts[word], word))
    if not ranked:
        word, most = counts.most_common(1)[0]
        raise InputError(
            f"No word occurs {at_least} times in the training split; "
            f"the most frequent word, {word!r}, occurs {most} times."
        )
    always = (*SPECIAL, *own)
    return Vocabulary((*always, *[word for word in ranked if word not in own][: largest - len(always)]))


def write_vocabulary(path: str | Path, vocabulary: Vocabulary) -> None:
    """Write `vocabulary.json`."""
    recipe = signature(words=len(vocabulary), tokens="lower-case words, numbers, marks", hash=vocabulary.hash[:12])
    write_json(path, {"signature": recipe, "words": list(vocabulary.words)})


def read_vocabulary(path: str | Path) -> Vocabulary:
    """Read `vocabulary.json` and check that its special tokens are ours."""
    words = read_json(path).get("words", [])
    if tuple(words[: len(SPECIAL)]) != SPECIAL:
        raise InputError(f"{path}: the first words must be {' '.join(SPECIAL)}. Remove the file and train again.")
    return Vocabulary(tuple(words))
