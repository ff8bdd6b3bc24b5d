"""A corpus as token numbers, ready to be handed to training processes (no torch here).

The data depend on the corpus and the options, never on a training seed; `recipe` holds their hash.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from dialogue.corpora.examples import Example, examples
from dialogue.corpora.reading import Corpus
from dialogue.errors import InputError
from dialogue.records import Dialogue
from dialogue.seeds import child_random
from generation.vocabulary import Vocabulary, build_vocabulary, read_vocabulary, write_vocabulary


@dataclass(frozen=True, slots=True)
class Numbered:
    """One example as token numbers."""

    item: str
    context: Sequence[int]
    target: Sequence[int]


@dataclass(frozen=True)
class Data:
    """What training reads: numbered examples, the vocabulary they are numbered by, and where they come from."""

    train: Sequence[Numbered]
    valid: Sequence[Numbered]
    vocabulary: Vocabulary
    recipe: str


def number_examples(chosen: Iterable[Example], vocabulary: Vocabulary) -> list[Numbered]:
    """Turn examples into token numbers."""
    return [
        Numbered(e.item, vocabulary.context(e.context, e.target.speaker), vocabulary.target(e.target)) for e in chosen
    ]


def training_data(corpus: Corpus, vocabulary: Vocabulary, *, dialogues: int | None, valid: int) -> Data:
    """Training data: all training dialogues or so many of them, and so many validation contexts.

    Both choices are the same for every training seed, so that models differ in nothing else.
    """
    kept = _training_dialogues(corpus)
    if dialogues is not None and dialogues < len(kept):
        kept = child_random(0, "training dialogues").sample(kept, dialogues)
    train = number_examples(examples(kept), vocabulary)
    if not train:
        raise InputError("The training split holds no example (an utterance that answers another). Check the corpus.")
    held_out = evenly_spread(list(examples(corpus.split("valid"))), valid)
    valid_rows = number_examples(held_out, vocabulary)
    recipe = (
        f"{corpus.name} {corpus.version}, {len(kept)} dialogues, {len(train)} examples, {len(held_out)} valid, "
        f"hash {examples_hash([*train, *valid_rows])}"
    )
    return Data(train, valid_rows, vocabulary, recipe)


def examples_hash(rows: Iterable[Numbered]) -> str:
    """The first 12 digits of a SHA-256 over numbered examples, to tell two sets of data apart."""
    found = hashlib.sha256()
    for row in rows:
        found.update(f"{row.item} {row.context} {row.target}\n".encode())
    return found.hexdigest()[:12]


def evenly_spread(chosen: list[Example], limit: int | None) -> list[Example]:
    """At most `limit` examples, evenly spread over the list and in its order."""
    if limit is None or limit >= len(chosen):
        return chosen
    return [chosen[i * len(chosen) // limit] for i in range(limit)]


def contexts_of(corpus: Corpus, split: str, limit: int | None) -> list[Example]:
    """At most `limit` contexts of a split, evenly spread; a split without any is refused."""
    if found := evenly_spread(list(examples(corpus.split(split))), limit):
        return found
    held = {name: len(corpus.split(name)) for name in ("train", "valid", "test")}
    told = ", ".join(f"{name} {number}" for name, number in held.items() if number)
    raise InputError(f"The corpus has no contexts in its split {split} (dialogues: {told}). Name another one: --split.")


def study_vocabulary(study: Path, corpus: Corpus, *, largest: int, at_least: int) -> Vocabulary:
    """The study's vocabulary: read, or built from the training split and written."""
    path = study / "vocabulary.json"
    if path.exists():
        return read_vocabulary(path)
    texts = (turn.text for dialogue in _training_dialogues(corpus) for turn in dialogue.turns)
    vocabulary = build_vocabulary(texts, largest=largest, at_least=at_least)
    write_vocabulary(path, vocabulary)
    return vocabulary


def _training_dialogues(corpus: Corpus) -> list[Dialogue]:
    if found := list(corpus.split("train")):
        return found
    there = ", ".join(f"{len(corpus.split(name)):,} of {name}" for name in ("valid", "test"))
    raise InputError(f"This corpus has no training dialogues, only {there}. Give --corpus one that has a train split.")
