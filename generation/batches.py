"""From numbered examples to tensors: batches of like lengths, padding with a mask.

A batch holds examples of like length, so that little of it is padding. Which examples share a batch and in which order
batches come follows from (seed, epoch) alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.seeds import child_seed
from seedvote.generation.numbering import Numbered
from seedvote.generation.vocabulary import BOS, PAD


@dataclass(frozen=True, slots=True)
class Contexts:
    """Padded contexts: `tokens` (batch x time), `lengths` (batch)."""

    tokens: Tensor
    lengths: Tensor

    @property
    def mask(self) -> Tensor:
        """True where there is a token (batch x time)."""
        return torch.arange(self.tokens.shape[1], device=self.tokens.device) < self.lengths[:, None]


@dataclass(frozen=True, slots=True)
class Batch:
    """Contexts with the decoder's inputs (<bos> first) and targets (<eos> last), both batch x time, PAD behind.

    Targets are PAD too where the model is given what stands there.
    """

    contexts: Contexts
    inputs: Tensor
    targets: Tensor


def plan_batches(examples: Sequence[Numbered], size: int, *, seed: int, epoch: int) -> list[list[int]]:
    """Row numbers of each batch of one epoch: neighbours in (target, context) length, batches in random order."""
    if not examples:
        raise InputError("No examples to train on: the training split is empty. Check the corpus.")
    random = np.random.default_rng(child_seed(seed, "batches", epoch))
    tie = random.random(len(examples))
    # Targets in steps of three, so that contexts of like length can meet; a random fraction orders equals anew.
    lengths = [(len(e.target) // 3, len(e.context) + t) for e, t in zip(examples, tie, strict=True)]
    order = sorted(range(len(examples)), key=lengths.__getitem__)
    # The first batch has a random size, else the same neighbours would share a batch in every epoch.
    first = int(random.integers(size))
    cuts = [0, *range(first or size, len(order), size), len(order)]
    batches = [order[a:b] for a, b in itertools.pairwise(cuts) if b > a]
    return [batches[i] for i in random.permutation(len(batches))]


def pad_rows(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Rows of unlike length as one matrix with PAD behind."""
    # NumPy, not pad_sequence: that would make a tensor of every row first.
    matrix = np.full((len(rows), max(map(len, rows), default=0)), PAD, dtype=np.int64)
    for row, values in zip(matrix, rows, strict=True):
        row[: len(values)] = values
    return torch.from_numpy(matrix).to(device)


def stack_contexts(rows: Sequence[Sequence[int]], device: torch.device) -> Contexts:
    """Contexts as one padded matrix; an empty one is a mistake."""
    if not rows or not all(rows):
        raise InputError("A batch is empty or holds an empty context: every context needs at least one utterance.")
    return Contexts(pad_rows(rows, device), torch.tensor([len(row) for row in rows], device=device))


def stack_batch(examples: Sequence[Numbered], device: torch.device) -> Batch:
    """One training batch."""
    return Batch(
        stack_contexts([e.context for e in examples], device),
        pad_rows([[BOS, *e.target[:-1]] for e in examples], device),
        pad_rows([_scored_target(e) for e in examples], device),
    )


def _scored_target(example: Numbered) -> Sequence[int]:
    """The target, blank where it is given to the model."""
    start, stop = example.unscored
    return [*example.target[:start], *[PAD] * (stop - start), *example.target[stop:]] if stop else example.target
