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
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import read_json, write_json
from seedvote.dialogue.records import Turn
from seedvote.dialogue.signature import signature
from seedvote.dialogue.tokens import LONGEST_CONTEXT, detokenize, newest_words, tokenize
from seedvote.generation.imports.prompting import Prompter, Template

SPECIAL = ("<pad>", "<unk>", "<bos>", "<eos>", "<eou>", "<other>", "<self>")
PAD, UNK, BOS, EOS, EOU, OTHER, SELF = range(len(SPECIAL))
LONGEST_TARGET = 100
TOKENIZER = "tokenizer"  # folder of a study whose models speak pieces
PIECES = ("template", "jinja", "blank", "longest")


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

    def spell(self, numbers: Iterable[int]) -> list[str]:
        """The words that numbers stand for."""
        return [self.words[number] for number in numbers]

    def context(self, turns: Sequence[Turn], speaker: str, longest: int = LONGEST_CONTEXT) -> list[int]:
        """The newest tokens of a history, seen by `speaker`, who is about to answer."""
        return [self.numbers.get(word, UNK) for word in newest_words(turns, speaker, longest)]

    def target(self, turn: Turn) -> list[int]:
        """The tokens of a reference, closed by <eos>."""
        return [*self.encode(turn.text)[: LONGEST_TARGET - 1], EOS]


@dataclass(frozen=True)
class PieceVocabulary(Vocabulary):
    """The pieces of a pretrained model's tokenizer behind `SPECIAL`, and how contexts are written for it.

    `template` and `jinja` are those of `imports/prompting.py`, `blank` stands before a reply, and a context has
    `longest` pieces at most.
    """

    tokenizer: Any = field(repr=False)
    template: str
    jinja: str
    blank: str
    longest: int

    @cached_property
    def hash(self) -> str:
        """SHA-256 over the pieces, and over how a context is written."""
        form = self.jinja or str(getattr(self.tokenizer, "chat_template", None))
        parts = (*self.words, form, self.blank, str(self.longest))
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    @cached_property
    def prompter(self) -> Prompter:
        """Writes contexts."""
        pieces = len(self.words) - len(SPECIAL)
        template = Template(self.template, self.jinja or None, blank=self.blank)
        return Prompter(self.tokenizer, self.longest, words=pieces, template=template)

    def encode(self, text: str) -> list[int]:
        """Piece numbers of one text, without special tokens around it."""
        return [len(SPECIAL) + piece for piece in self.tokenizer(text, add_special_tokens=False)["input_ids"]]

    def decode(self, numbers: Iterable[int]) -> str:
        """The text of a response; what stands for no piece is left out."""
        pieces = [number - len(SPECIAL) for number in numbers if number >= len(SPECIAL)]
        return str(self.tokenizer.decode(pieces, skip_special_tokens=True)).strip()

    def spell(self, numbers: Iterable[int]) -> list[str]:
        """The words that pieces make."""
        return tokenize(self.decode(numbers))

    def context(self, turns: Sequence[Turn], speaker: str, longest: int = LONGEST_CONTEXT) -> list[int]:
        """The newest turns that fit, as the model reads them; their number does not follow from `longest` words."""
        del longest
        names = {True: "assistant", False: "user"}
        messages = [{"role": names[turn.speaker == speaker], "content": turn.text} for turn in turns]
        return [len(SPECIAL) + piece for piece in self.prompter.prompt(messages).tokens]

    def target(self, turn: Turn) -> list[int]:
        """The pieces of a reference, closed by <eos>; none of them is special to the tokenizer."""
        special = {len(SPECIAL) + piece for piece in self.tokenizer.all_special_ids}
        pieces = [number for number in self.encode(f"{self.blank}{turn.text.strip()}") if number not in special]
        return [*pieces[: LONGEST_TARGET - 1], EOS]


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
    """Write `vocabulary.json`, and the tokenizer of pieces next to it."""
    kind, more = "lower-case words, numbers, marks", {}
    if isinstance(vocabulary, PieceVocabulary):
        kind, more = "pieces", {"pieces": {name: getattr(vocabulary, name) for name in PIECES}}
        vocabulary.tokenizer.save_pretrained(Path(path).parent / TOKENIZER)
    recipe = signature(words=len(vocabulary), tokens=kind, hash=vocabulary.hash[:12])
    write_json(path, {"signature": recipe, "words": list(vocabulary.words), **more})


def read_vocabulary(path: str | Path) -> Vocabulary:
    """Read `vocabulary.json` and check that its special tokens are ours."""
    record = read_json(path)
    words = record.get("words", [])
    if tuple(words[: len(SPECIAL)]) != SPECIAL:
        raise InputError(f"{path}: the first words must be {' '.join(SPECIAL)}. Remove the file and train again.")
    if "pieces" not in record:
        return Vocabulary(tuple(words))
    from transformers import AutoTokenizer

    tokenizer: Any = AutoTokenizer.from_pretrained(Path(path).parent / TOKENIZER, local_files_only=True)
    return PieceVocabulary(tuple(words), tokenizer, **record["pieces"])
