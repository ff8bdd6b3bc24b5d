"""A corpus as token numbers, ready to be handed to training processes (no torch here).

The data depend on the corpus and the options, never on a training seed; `recipe` holds their hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from seedvote.dialogue.corpora.examples import Example, iterate_examples
from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.corpora.sources import SPLITS
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Dialogue
from seedvote.dialogue.seeds import child_random
from seedvote.generation.speaking.speech import REPLY, Speech, check_speaks
from seedvote.generation.vocabulary import PieceVocabulary, Vocabulary, read_vocabulary, vocabulary_of, write_vocabulary

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Numbered:
    """One example as token numbers; `unscored`: the span of the target that the model is given, no part of the loss."""

    item: str
    context: Sequence[int]
    target: Sequence[int]
    unscored: tuple[int, int] = (0, 0)


@dataclass(frozen=True)
class Data:
    """What training reads: numbered examples, the vocabulary they are numbered by, their source, and what is spoken."""

    train: Sequence[Numbered]
    valid: Sequence[Numbered]
    vocabulary: Vocabulary
    recipe: str
    speech: Speech = REPLY


def number_examples(chosen: Iterable[Example], vocabulary: Vocabulary, speech: Speech = REPLY) -> list[Numbered]:
    """Turn examples into token numbers."""
    return [Numbered(e.item, *speech.number(e, vocabulary)) for e in chosen]


def training_data(
    corpus: Corpus,
    vocabulary: Vocabulary,
    *,
    dialogues: int | None,
    valid: int,
    speech: Speech = REPLY,
    split: str = "train",
) -> Data:
    """Training data: all training dialogues or so many of them, and so many validation contexts.

    Both choices are the same for every training seed, so that models differ in nothing else.
    """
    chosen, validating = _split_validation(corpus, split)
    if dialogues is not None and dialogues < len(chosen):
        chosen = child_random(0, "training dialogues").sample(chosen, dialogues)
    train = number_examples(iterate_examples(chosen), vocabulary, speech)
    if not train:
        raise InputError("The training split holds no example (an utterance that answers another). Check the corpus.")
    held_out = evenly_spread(list(iterate_examples(validating)), valid)
    valid_rows = number_examples(held_out, vocabulary, speech)
    where = "" if split == "train" else f"of {split}, "
    recipe = (
        f"{corpus.name} {corpus.version}, {where}{len(chosen)} dialogues, {len(train)} examples, {len(held_out)} "
        f"valid, hash {examples_hash([*train, *valid_rows])}"
    )
    return Data(train, valid_rows, vocabulary, recipe, speech)


def examples_hash(rows: Iterable[Numbered]) -> str:
    """The first 12 digits of a SHA-256 over numbered examples, to tell two sets of data apart."""
    hasher = hashlib.sha256()
    for row in rows:
        span = f" {row.unscored}" if any(row.unscored) else ""
        hasher.update(f"{row.item} {row.context} {row.target}{span}\n".encode())
    return hasher.hexdigest()[:12]


def evenly_spread(chosen: Sequence[T], limit: int | None) -> list[T]:
    """At most `limit` of them, evenly spread over the list and in its order."""
    if limit is None or limit >= len(chosen):
        return list(chosen)
    return [chosen[i * len(chosen) // limit] for i in range(limit)]


def spread_over(corpus: Corpus, splits: Sequence[str], limit: int | None) -> list[Example]:
    """All examples of these splits, or so many of each."""
    if contexts := [e for split in splits for e in evenly_spread(list(iterate_examples(corpus.split(split))), limit)]:
        return contexts
    raise InputError(f"The splits {','.join(splits)} hold no context. Name others: --splits train,valid,test")


def contexts_of(corpus: Corpus, split: str, limit: int | None, dialogues: int | None = None) -> list[Example]:
    """At most `limit` contexts of a split, or those of so many `dialogues`, evenly spread; none at all is refused."""
    material = evenly_spread(corpus.split(split), dialogues)
    if contexts := evenly_spread(list(iterate_examples(material)), limit):
        return contexts
    sizes = {name: len(corpus.split(name)) for name in ("train", "valid", "test")}
    listing = ", ".join(f"{name} {number}" for name, number in sizes.items() if number)
    raise InputError(
        f"The corpus has no contexts in its split {split} (dialogues: {listing}). Name another one: --split."
    )


def study_vocabulary(
    study: Path, corpus: Corpus, *, largest: int, at_least: int, speech: Speech = REPLY, split: str = "train"
) -> Vocabulary:
    """The study's vocabulary: read, or built from the training dialogues and written."""
    path = study / "vocabulary.json"
    if path.exists():
        vocabulary = read_vocabulary(path)
        check_speaks(vocabulary, speech, path)
        return vocabulary
    words = speech.words_of(_split_validation(corpus, split)[0])
    vocabulary = vocabulary_of(words, largest=largest, at_least=at_least, own=speech.own_words())
    write_vocabulary(path, vocabulary)
    return vocabulary


def keep_pieces(study: Path, pieces: PieceVocabulary) -> Vocabulary:
    """The pieces of a base as the study's vocabulary; a study that speaks otherwise is refused."""
    path = study / "vocabulary.json"
    if path.exists() and read_vocabulary(path).hash != pieces.hash:
        raise InputError(
            f"{path} holds the words of other models, or another template. Fine-tune in another study folder."
        )
    if not path.exists():
        write_vocabulary(path, pieces)
    return pieces


def _split_validation(corpus: Corpus, split: str) -> tuple[list[Dialogue], list[Dialogue]]:
    """Dialogues to train on, and those to validate on.

    Where training is on a split that was meant for something else, every tenth dialogue of it validates.
    """
    dialogues = list(corpus.split(split))
    if not dialogues:
        elsewhere = ", ".join(f"{len(corpus.split(name)):,} of {name}" for name in SPLITS if name != split)
        what = "training" if split == "train" else split
        raise InputError(
            f"This corpus has no {what} dialogues, only {elsewhere}. Give --corpus one that has, or name a split that "
            "is not reported on: --train-on valid"
        )
    if split == "train":
        return dialogues, list(corpus.split("valid"))
    return [dialogue for n, dialogue in enumerate(dialogues) if n % 10], dialogues[::10]
