"""Replies while something is erased from the decoder's view, and what these replies do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from scipy.sparse import csr_array

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.devices import use_threads
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, clear_halves, digest, read_json
from seedvote.dialogue.jobs import JOB_THREADS, content_key
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature
from seedvote.dialogue.tables.frames import is_written
from seedvote.dialogue.tokens import tokenize
from seedvote.generation.checkpoints import TrainedModel, load_model, weights_hash
from seedvote.generation.decoding import Decoding, write_responses
from seedvote.generation.erasing import read_eraser, with_eraser
from seedvote.generation.metrics.overlap import bleu2, bleu_counts
from seedvote.generation.metrics.scoring import forced_rows
from seedvote.generation.models.interface import DialogueModel
from seedvote.generation.numbering import Numbered, examples_hash
from seedvote.generation.vocabulary import Vocabulary

# What a reply does, read from its words: the dialogue acts of the most similar training reply.
#
# Similarity is the cosine of word counts (log(1 + count) times the inverse document frequency); of equals, the first
# counts. It is no understanding: `accuracy` on references says how far it may be trusted.

ROWS_AT_ONCE = 256


class ActReader:
    """Training replies with their acts; `read` gives the acts of others."""

    def __init__(self, train: Sequence[Example]) -> None:
        known = {example.target.text: acts_named(example) for example in reversed(train)}
        texts = [tokenize(text) for text in known]
        self._acts = list(known.values())
        self._column = {word: n for n, word in enumerate(dict.fromkeys(word for text in texts for word in text))}
        self._rarity = np.ones(len(self._column))
        frequency = np.maximum(np.bincount(self._count_words(texts).indices, minlength=len(self._column)), 1)
        self._rarity = np.log1p(len(texts) / frequency)
        self._known = self._count_words(texts)

    def read(self, texts: Sequence[str]) -> list[str]:
        """The acts of each text, by name and comma-separated."""
        acts: list[str] = []
        for start in range(0, len(texts), ROWS_AT_ONCE):
            counts = self._count_words([tokenize(text) for text in texts[start : start + ROWS_AT_ONCE]])
            acts += [self._acts[place] for place in (counts @ self._known.T).toarray().argmax(1)]
        return acts

    def accuracy(self, held_out: Sequence[Example]) -> float:
        """The share of other replies where it reads exactly the annotated acts."""
        acts = self.read([example.target.text for example in held_out])
        return float(np.mean([act == acts_named(example) for act, example in zip(acts, held_out, strict=True)]))

    def _count_words(self, texts: Sequence[Sequence[str]]) -> csr_array:
        """One row a text, of length one."""
        rows, columns, values = [], [], []
        for row, text in enumerate(texts):
            places, counts = np.unique(
                [self._column[word] for word in text if word in self._column], return_counts=True
            )
            weights = np.log1p(counts) * self._rarity[places.astype(int)]
            rows += [row] * len(places)
            columns += places.astype(int).tolist()
            values += (weights / max(float(np.linalg.norm(weights)), 1e-12)).tolist()
        return csr_array((values, (rows, columns)), (len(texts), len(self._column)))


def acts_named(example: Example) -> str:
    """The annotated acts of the target, sorted by name."""
    return ",".join(sorted(example.target.acts or ()))


def act_reader(train: Sequence[Example]) -> ActReader | None:
    """A reader taught by the training replies that have acts; None where none has."""
    annotated = [example for example in train if example.target.acts is not None]
    return ActReader(annotated) if annotated else None


# Replies and likelihoods of one model while something is erased from all that its decoder sees.
#
# One file an eraser, `none` where nothing is erased; a row a context: the reply, how similar it is to the reply without
# erasure, its acts as read from its words, and what the reference costs. The same uniform numbers stand behind both
# replies where they are drawn.

NONE = "none"
ERASED_SCHEMA = pa.schema(
    [
        ("item", pa.string()),
        ("cluster", pa.string()),
        ("text", pa.string()),
        ("changed", pa.bool_()),  # another reply than without erasure
        ("bleu2", pa.float64()),  # against that reply, 0-100
        ("acts", pa.string()),
        ("nll", pa.float64()),  # of the reference, summed over its tokens
        ("tokens", pa.int64()),
    ]
)


@dataclass(frozen=True, slots=True)
class Redecoding:
    """What is the same for every model; `acts` is None where the corpus has none."""

    contexts: Sequence[Numbered]
    how: Decoding
    seed: int
    vocabulary: Vocabulary
    acts: ActReader | None
    split: str


@dataclass(frozen=True, slots=True)
class ErasedPart:
    """One eraser (or none) of one checkpoint: where its rows go, and the key of what they follow from."""

    trained: TrainedModel
    checkpoint: str
    eraser: Path | None
    path: Path
    key: str

    @property
    def done(self) -> bool:
        """A whole file with this very key is there."""
        return is_written(self.path, self.key)


def erased_parts(study: Path, models: Sequence[TrainedModel], shared: Redecoding) -> list[ErasedPart]:
    """Every eraser of every checkpoint, the one without erasure first."""
    same = (
        examples_hash(shared.contexts),
        shared.how.name,
        shared.seed if shared.how.sampled else None,
        shared.vocabulary.hash,
        JOB_THREADS,
    )
    by_name = {trained.folder.name: trained for trained in models}
    parts = []
    for summary in sorted((study / "erasers").glob("*/erasers.json")):
        about = read_json(summary)
        name, checkpoint = f"{about['model']}-{about['seed']}", str(about["checkpoint"])
        if name in by_name:
            weights = _check_weights(summary, about, by_name[name], shared.split)
            for file in (None, *(summary.parent / eraser["file"] for eraser in about["erasers"] if "file" in eraser)):
                key = content_key(weights, *same, digest(file) if file else None)
                path = study / "erased" / summary.parent.name / f"{file.stem if file else NONE}.parquet"
                parts.append(ErasedPart(by_name[name], checkpoint, file, path, key))
    if not parts:
        raise InputError(f"{study}/erasers holds no eraser of these models. Make some: python -m probes erase {study}")
    return parts


def _check_weights(summary: Path, about: Mapping[str, Any], trained: TrainedModel, split: str) -> str:
    weights = weights_hash(trained, about["checkpoint"])
    if about["weights"] != weights:
        raise InputError(
            f"{summary.parent} was made for other weights than {trained.folder} has now. Make erasers again."
        )
    if about["fit"] == split:
        raise InputError(
            f"{summary.parent} was fitted on {split}, so nothing may be reported on it. Name another split: --split."
        )
    return weights


def redecode_checkpoint(shared: Redecoding, parts: Sequence[ErasedPart], device: torch.device) -> None:
    """Write what is not there of one checkpoint; the part without erasure is the first of `parts`."""
    first = parts[0]
    model = load_model(first.trained, first.checkpoint, shared.vocabulary)
    with use_threads(JOB_THREADS):
        for part in parts:
            if not part.done:
                plain = None if part.eraser is None else pq.read_table(first.path, columns=["text"])["text"].to_pylist()
                behind = (
                    model if part.eraser is None else with_eraser(model, read_eraser(part.eraser), str(part.eraser))
                )
                _write_part(part, _decoded_rows(behind, shared, part.trained, plain, device), shared)


def _decoded_rows(
    model: DialogueModel, shared: Redecoding, trained: TrainedModel, plain: Sequence[str] | None, device: torch.device
) -> dict[str, list[Any]]:
    rows, items = shared.contexts, [row.item for row in shared.contexts]
    seed = child_seed(shared.seed, "sample", trained.model, trained.seed, 0)  # the first draw of `sample`
    replies = write_responses(
        model, [row.context for row in rows], how=shared.how, seed=seed, items=items, device=device
    )
    texts = [shared.vocabulary.decode(reply.tokens) for reply in replies]
    plain = plain or texts
    nll = {
        score.item: score.stats
        for score in forced_rows(model, rows, shared.vocabulary, name=trained.model, seed=trained.seed, checkpoint="")
        if score.task == "perplexity"
    }
    return {
        "item": items,
        "cluster": [item.rpartition(":")[0] for item in items],
        "text": texts,
        "changed": [text != before for text, before in zip(texts, plain, strict=True)],
        "bleu2": [
            bleu2(bleu_counts(tokenize(text), tokenize(before)), smooth="exp")
            for text, before in zip(texts, plain, strict=True)
        ],
        "acts": shared.acts.read(texts) if shared.acts else [None] * len(texts),
        "nll": [nll[item]["nll"] for item in items],
        "tokens": [int(nll[item]["tokens"]) for item in items],
    }


def _write_part(part: ErasedPart, columns: Mapping[str, list[Any]], shared: Redecoding) -> None:
    clear_halves(part.path)
    recipe = signature(
        model=part.trained.model,
        seed=part.trained.seed,
        checkpoint=part.checkpoint,
        contexts=len(shared.contexts),
        split=shared.split,
        decoding=shared.how.name,
        eraser=part.path.stem,
        threads=JOB_THREADS,
    )
    metadata = {"format": "erased", "key": part.key, "signature": recipe}
    if part.eraser:
        metadata["eraser"] = digest(part.eraser)
    with atomic(part.path, "wb") as handle:
        table = pa.table(dict(columns), schema=ERASED_SCHEMA.with_metadata(metadata))
        pq.write_table(table, handle, compression="zstd")
