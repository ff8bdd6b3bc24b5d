"""The discriminator: an LSTM reads the context and the reply; its last state says how likely a person wrote the reply.

The same seed gives the same bits: one thread, its own stream of numbers, batches in an order that follows from both.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from seedvote.dialogue.adam import Adam
from seedvote.dialogue.devices import use_threads
from seedvote.dialogue.jobs import JOB_THREADS
from seedvote.evaluators.detection.material import SELF, Occasion, Showing, Tokens

WIDTH = 64
BATCH = 64
EPOCHS = 30
PATIENCE_EPOCHS = 3  # epochs without a better loss on dialogues that were put aside
RATE = 3e-3
DROPOUT = 0.2
WIDE = 0.1  # first weights, evenly drawn from this far on both sides of 0

Row = tuple[Occasion, Tokens]


@dataclass(frozen=True, slots=True)
class Fitted:
    """A trained discriminator and how it came to an end."""

    network: Discriminator
    epochs: int
    loss: float  # on the dialogues put aside, in nats


class Discriminator(nn.Module):
    """Context, then reply, through one LSTM."""

    def __init__(self, words: int, seed: int) -> None:
        super().__init__()
        self.stream = torch.Generator().manual_seed(seed)
        self.embedding = nn.Embedding(words, WIDTH, padding_idx=0)
        self.lstm = nn.LSTM(WIDTH, WIDTH, batch_first=True)
        self.out = nn.Linear(WIDTH, 1)
        for part in self.parameters():
            nn.init.uniform_(part, -WIDE, WIDE, generator=self.stream)
        with torch.no_grad():
            self.embedding.weight[0] = 0

    def forward(self, rows: Sequence[Row]) -> Tensor:
        """The log-odds that a person wrote each reply."""
        # A context is read once, however many replies to it stand in the batch.
        contexts = list({occasion.item: occasion.context or (SELF,) for occasion, _ in rows}.items())
        place = {item: n for n, (item, _) in enumerate(contexts)}
        hidden, cell = self._read_texts([tokens for _, tokens in contexts], None)
        of = torch.tensor([place[occasion.item] for occasion, _ in rows])
        start = (hidden[:, of].contiguous(), cell[:, of].contiguous())
        last, _ = self._read_texts([(SELF, *tokens) for _, tokens in rows], start)
        out: Tensor = self.out(self._apply_dropout(last[0]))
        return out[:, 0]

    def _apply_dropout(self, values: Tensor) -> Tensor:
        """Dropout from this network's own stream: the global one is not ours to seed."""
        if not self.training:
            return values
        mask = torch.bernoulli(torch.full_like(values, 1 - DROPOUT), generator=self.stream)
        return values * mask / (1 - DROPOUT)

    def _read_texts(self, texts: Sequence[Tokens], start: tuple[Tensor, Tensor] | None) -> tuple[Tensor, Tensor]:
        lengths = torch.tensor([len(text) for text in texts])
        padded = torch.zeros(len(texts), int(lengths.max()), dtype=torch.long)
        for n, text in enumerate(texts):
            padded[n, : len(text)] = torch.tensor(text)
        packed = pack_padded_sequence(
            self._apply_dropout(self.embedding(padded)), lengths, batch_first=True, enforce_sorted=False
        )
        _, (hidden, cell) = self.lstm(packed, start)
        return hidden, cell


def fit_discriminator(fit: Sequence[Showing], choose: Sequence[Showing], words: int, seed: int) -> Fitted:
    """Train until the loss on the dialogues put aside gets no better, and keep the best epoch."""
    with use_threads(JOB_THREADS), torch.random.fork_rng(devices=[]):
        network = Discriminator(words, seed)
        optimizer = Adam(network.parameters(), RATE)
        groups = _by_context(fit)
        order = np.random.default_rng(seed)
        best, best_state, when = float("inf"), copy.deepcopy(network.state_dict()), 0
        for epoch in range(1, EPOCHS + 1):
            network.train()
            for batch in _group_batches([groups[n] for n in order.permutation(len(groups))]):
                optimizer.forget_gradients()
                _batch_loss(network, batch).backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(network.parameters(), 1.0)
                optimizer.step()
            network.eval()
            with torch.no_grad():
                loss = _mean_loss(network, choose)
            if loss < best:
                best, best_state, when = loss, copy.deepcopy(network.state_dict()), epoch
            elif epoch - when >= PATIENCE_EPOCHS:
                break
        network.load_state_dict(best_state)
        return Fitted(network.eval(), when, best)


def chance_of_a_person(network: Discriminator, rows: Sequence[Row]) -> NDArray[np.float64]:
    """P(a person wrote it) of each reply."""
    chances = np.empty(len(rows))
    # Near lengths together; the result goes back to its place.
    order = sorted(range(len(rows)), key=lambda n: (len(rows[n][1]), len(rows[n][0].context), n))
    with use_threads(JOB_THREADS), torch.no_grad():
        for start in range(0, len(rows), 4 * BATCH):
            places = order[start : start + 4 * BATCH]
            chances[places] = torch.sigmoid(network([rows[n] for n in places]).double()).numpy()
    return chances


def _batch_loss(network: Discriminator, batch: Sequence[Showing]) -> Tensor:
    odds = network([(showing.occasion, showing.reply) for showing in batch])
    labels = torch.tensor([float(showing.human) for showing in batch])
    weights = torch.tensor([showing.weight for showing in batch])
    losses = nn.functional.binary_cross_entropy_with_logits(odds, labels, weights, reduction="sum")
    return losses / weights.sum()


def _mean_loss(network: Discriminator, showings: Sequence[Showing]) -> float:
    total = weight = 0.0
    for batch in _group_batches(_by_context(showings)):
        share = sum(showing.weight for showing in batch)
        total, weight = total + float(_batch_loss(network, batch)) * share, weight + share
    return total / weight


def _by_context(showings: Sequence[Showing]) -> list[list[Showing]]:
    groups: dict[str, list[Showing]] = {}
    for showing in showings:
        groups.setdefault(showing.occasion.item, []).append(showing)
    return list(groups.values())


def _group_batches(groups: Sequence[Sequence[Showing]]) -> Iterator[list[Showing]]:
    for start in range(0, len(groups), BATCH):
        yield [showing for group in groups[start : start + BATCH] for showing in group]
