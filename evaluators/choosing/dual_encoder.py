"""A dual encoder from scratch (Lowe et al. 2015): one LSTM reads context and reply, c' M r says how well they fit.

`PAPER` has their sizes: 300 units, binary cross-entropy with one false reply for each true one, Adam at 1e-3, the
newest 160 tokens. `SMALL` learns faster from little text: 64 units, and each context is to find its reply among those
of its batch. The same seed gives the same bits: one thread, its own stream of numbers.
"""

from __future__ import annotations

import copy
import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from seedvote.dialogue.adam import Adam
from seedvote.dialogue.corpora.examples import iterate_examples
from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.devices import use_threads
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.jobs import JOB_THREADS
from seedvote.dialogue.records import Question
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.tokens import tokenize

PAD, UNK, EOU = range(3)
MARKS = 3
AT_LEAST = 2  # times that a word occurs in training
EPOCHS, PATIENCE_EPOCHS = 20, 2
FEWEST, MOST_VALID = 16, 1000  # examples of a split
WIDE = 0.1

Tokens = tuple[int, ...]
Pair = tuple[Tokens, Tokens, int]  # context, reply, number of the reply's text


@dataclass(frozen=True, slots=True)
class DualSettings:
    """How it is trained."""

    hidden: int
    longest: int
    batch: int
    rate: float
    in_batch: bool  # else one false reply a true one


PAPER = DualSettings(hidden=300, longest=160, batch=256, rate=1e-3, in_batch=False)
SMALL = DualSettings(hidden=64, longest=60, batch=64, rate=3e-3, in_batch=True)


@dataclass(frozen=True)
class DualMaterial:
    """Numbered pairs of training and validation, and the questions."""

    train: Sequence[Pair]
    valid: Sequence[Pair]
    contexts: Sequence[Tokens]
    options: Sequence[Tokens]  # one question after the other
    sizes: Sequence[int]
    words: int
    digest: str


def dual_material(corpus: Corpus, questions: Sequence[Question], how: DualSettings) -> DualMaterial:
    """The corpus and the questions by one vocabulary, that of the training split."""
    often = Counter(
        word for question in corpus.split("train") for turn in question.turns for word in tokenize(turn.text)
    )
    numbers = {word: n for n, word in enumerate((w for w in sorted(often) if often[w] >= AT_LEAST), MARKS)}

    def read(texts: Sequence[str]) -> Tokens:
        tokens = [token for text in texts for token in (*(numbers.get(word, UNK) for word in tokenize(text)), EOU)]
        return tuple(tokens[-how.longest :])

    texts: dict[str, int] = {}
    pairs: dict[str, list[Pair]] = {}
    for split in ("train", "valid"):
        pairs[split] = [
            (
                read([turn.text for turn in question.context]),
                read([question.target.text]),
                texts.setdefault(question.target.text, len(texts)),
            )
            for question in iterate_examples(corpus.split(split))
        ]
        if len(pairs[split]) < FEWEST:
            raise InputError(f"The {split} split has {len(pairs[split])} examples; a dual encoder needs {FEWEST}.")
    options = [read([option.text]) for question in questions for option in question.options]
    contexts = [read([turn.text for turn in question.context]) for question in questions]
    digest = hashlib.sha256(f"{corpus.digest} {contexts} {options}".encode()).hexdigest()
    return DualMaterial(
        pairs["train"],
        pairs["valid"][:MOST_VALID],
        contexts,
        options,
        [len(question.options) for question in questions],
        len(numbers) + MARKS,
        digest,
    )


class DualEncoder(nn.Module):
    """One LSTM for both, and the matrix between them."""

    def __init__(self, words: int, how: DualSettings, stream: torch.Generator) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, how.hidden, padding_idx=PAD)
        self.lstm = nn.LSTM(how.hidden, how.hidden, batch_first=True)
        self.matrix = nn.Parameter(torch.empty(how.hidden, how.hidden))
        for part in self.parameters():
            nn.init.uniform_(part, -WIDE, WIDE, generator=stream)
        with torch.no_grad():
            self.embedding.weight[PAD] = 0
            self.matrix.add_(torch.eye(how.hidden))

    def read(self, rows: Sequence[Tokens]) -> Tensor:
        """The last state of each row."""
        lengths = torch.tensor([len(row) for row in rows])
        padded = nn.utils.rnn.pad_sequence([torch.tensor(row) for row in rows], batch_first=True, padding_value=PAD)
        packed = pack_padded_sequence(self.embedding(padded), lengths, batch_first=True, enforce_sorted=False)
        _, (last, _) = self.lstm(packed)
        return torch.as_tensor(last[0])

    def forward(self, contexts: Tensor, replies: Tensor) -> Tensor:
        """Scores of every context with every reply."""
        return contexts @ self.matrix @ replies.T


def train_and_score(material: DualMaterial, how: DualSettings, seed: int) -> NDArray[np.float64]:
    """The scores of all options under a dual encoder of this seed."""
    with use_threads(JOB_THREADS):
        network = train_dual(material, how, seed)
        with torch.no_grad():
            contexts = _in_parts(network, material.contexts)
            options = _in_parts(network, material.options)
            context_rows = torch.repeat_interleave(torch.arange(len(contexts)), torch.tensor(material.sizes))
            return np.asarray(((contexts @ network.matrix)[context_rows] * options).sum(1).double().numpy())


def train_dual(material: DualMaterial, how: DualSettings, seed: int) -> DualEncoder:
    """Train until the loss on validation pairs has not fallen for two epochs; the best weights are kept."""
    stream = torch.Generator().manual_seed(child_seed(seed, "dual encoder"))
    network = DualEncoder(material.words, how, stream)
    adam = Adam(network.parameters(), how.rate)
    best, when, weights = float("inf"), 0, copy.deepcopy(network.state_dict())
    for epoch in range(1, EPOCHS + 1):
        order = torch.randperm(len(material.train), generator=stream).tolist()
        for rows in _cut_batches(order, how.batch):
            adam.forget_gradients()
            loss = compute_loss(network, [material.train[row] for row in rows], how, stream)
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(network.parameters(), 5.0)
            adam.step()
        with torch.no_grad():
            generator = torch.Generator().manual_seed(0)  # the same false replies in every epoch
            parts = [
                (len(rows), float(compute_loss(network, [material.valid[row] for row in rows], how, generator)))
                for rows in _cut_batches(range(len(material.valid)), how.batch)
            ]
        loss_valid = sum(n * value for n, value in parts) / sum(n for n, _ in parts)
        if loss_valid < best:
            best, when, weights = loss_valid, epoch, copy.deepcopy(network.state_dict())
        elif epoch - when >= PATIENCE_EPOCHS:
            break
    network.load_state_dict(weights)
    return network.eval()


def _cut_batches(order: Sequence[int], size: int) -> Iterator[Sequence[int]]:
    for start in range(0, len(order), size):
        if len(order[start : start + size]) > 1:
            yield order[start : start + size]


def compute_loss(network: DualEncoder, pairs: Sequence[Pair], how: DualSettings, stream: torch.Generator) -> Tensor:
    """The mean loss of a batch; `stream` draws the false replies."""
    contexts, replies = network.read([pair[0] for pair in pairs]), network.read([pair[1] for pair in pairs])
    if how.in_batch:
        scores = network(contexts, replies)
        text = torch.tensor([pair[2] for pair in pairs])
        twin = (text[:, None] == text[None]) & ~torch.eye(len(pairs), dtype=torch.bool)
        return nn.functional.cross_entropy(scores.masked_fill(twin, -torch.inf), torch.arange(len(pairs)))
    false = (torch.arange(len(pairs)) + torch.randint(1, len(pairs), (1,), generator=stream)) % len(pairs)
    queries = contexts @ network.matrix
    odds = torch.cat([(queries * replies).sum(1), (queries * replies[false]).sum(1)])
    labels = torch.cat([torch.ones(len(pairs)), torch.zeros(len(pairs))])
    return nn.functional.binary_cross_entropy_with_logits(odds, labels)


def _in_parts(network: DualEncoder, rows: Sequence[Tokens]) -> Tensor:
    return torch.cat([network.read(rows[start : start + 256]) for start in range(0, len(rows), 256)])
