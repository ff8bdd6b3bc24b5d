"""Additive content attention (Bahdanau et al. 2015) and the decoder that uses it; seq2seq with that decoder.

At each step the decoder's last top state s asks every encoder state h_j with score v . tanh(W s + U h_j); the
weighted mean of the h_j joins the embedded token, one linear map brings both back to the embedding's width, and the
LSTM goes on.
Scores are masked on padding and computed row by row: no row of a batch sees another. They are computed as
2 v . sigmoid(2 W s + 2 U h_j), which is larger by the sum of v for every j, so that the weights are the same: on CPU a
sigmoid takes a sixth of a tanh.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seedvote.generation.batches import Contexts
from seedvote.generation.models.interface import DecoderState, DialogueModel, Encoded
from seedvote.generation.models.recurrent import batch_first, run_masked


@dataclass(frozen=True)
class AttentionSizes:
    """The papers' sizes; `attention` (they give none) makes the parameter count equal to that of their code."""

    embedding: int = 128
    hidden: int = 256
    layers: int = 2
    attention: int = 78
    dropout: float = 0.0


class AttentionDecoder(nn.Module):
    """An LSTM decoder that looks back at the encoder's states at every step."""

    def __init__(self, vocabulary: int, sizes: AttentionSizes) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, sizes.embedding)
        self.query = nn.Linear(sizes.hidden, sizes.attention)
        self.key = nn.Linear(sizes.hidden, sizes.attention, bias=False)
        self.score = nn.Linear(sizes.attention, 1, bias=False)
        self.combine = nn.Linear(sizes.embedding + sizes.hidden, sizes.embedding)
        widths = [sizes.embedding] + [sizes.hidden] * (sizes.layers - 1)
        self.cells = nn.ModuleList(nn.LSTMCell(width, sizes.hidden) for width in widths)
        self.dropout = nn.Dropout(sizes.dropout)

    def forced(self, encoded: Encoded, inputs: Tensor) -> Tensor:
        """Hidden states under teacher forcing (batch x time x hidden)."""
        keys, embedded = self._keys(encoded), self.embedding(inputs)
        h, c = (list(part.unbind(1)) for part in encoded.state)
        outputs = []
        for token in embedded.unbind(1):
            h, c = self._advance(encoded, keys, token, h, c)
            outputs.append(h[-1])
        return torch.stack(outputs, 1)

    def start(self, encoded: Encoded) -> DecoderState:
        """The state before the first step: h, c and the keys, which stay the same."""
        return (*encoded.state, self._keys(encoded))

    def step(self, encoded: Encoded, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """One step of free running."""
        h, c = (list(part.unbind(1)) for part in state[:2])
        h, c = self._advance(encoded, state[2], self.embedding(tokens), h, c)
        return h[-1], (torch.stack(h, 1), torch.stack(c, 1), state[2])

    def _advance(
        self, encoded: Encoded, keys: Tensor, token: Tensor, h: list[Tensor], c: list[Tensor]
    ) -> tuple[list[Tensor], list[Tensor]]:
        below = self.combine(torch.cat([token, self._look(encoded, keys, h[-1])], 1))
        after_h, after_c = [], []
        for cell, old_h, old_c in zip(self.cells, h, c, strict=True):
            new_h, new_c = cell(below, (old_h, old_c))
            after_h.append(new_h)
            after_c.append(new_c)
            below = self.dropout(new_h)
        return after_h, after_c

    def _keys(self, encoded: Encoded) -> Tensor:
        return 2 * torch.as_tensor(self.key(encoded.memory))

    def _look(self, encoded: Encoded, keys: Tensor, state: Tensor) -> Tensor:
        scores = 2 * self.score(torch.sigmoid(2 * self.query(state)[:, None] + keys))[:, :, 0]
        weights = scores.masked_fill(~encoded.mask, -torch.inf).softmax(1)
        return torch.bmm(weights[:, None], encoded.memory)[:, 0]


class Attentive(DialogueModel):
    """Any encoder with the attention decoder."""

    pooling = "last"

    def __init__(self, vocabulary: int, sizes: AttentionSizes) -> None:
        super().__init__(vocabulary, sizes.hidden)
        self.source = nn.Embedding(vocabulary, sizes.embedding)
        self.decoder = AttentionDecoder(vocabulary, sizes)

    def forced(self, encoded: Encoded, inputs: Tensor) -> Tensor:
        """Hidden states under teacher forcing."""
        return self.decoder.forced(encoded, inputs)

    def start(self, encoded: Encoded) -> DecoderState:
        """The decoder's state before the first step."""
        return self.decoder.start(encoded)

    def step(self, encoded: Encoded, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """One step of free running."""
        return self.decoder.step(encoded, state, tokens)


class Seq2SeqAttention(Attentive):
    """A forward LSTM encoder and the attention decoder."""

    def __init__(self, vocabulary: int, sizes: AttentionSizes) -> None:
        super().__init__(vocabulary, sizes)
        widths = (sizes.embedding, sizes.hidden, sizes.layers)
        self.encoder = nn.LSTM(*widths, batch_first=True, dropout=sizes.dropout)

    def encode(self, contexts: Contexts) -> Encoded:
        """Read the contexts; padding is never read."""
        mask = contexts.mask
        outputs, state = run_masked(self.encoder, self.source(contexts.tokens), mask)
        return Encoded(outputs, mask, batch_first(state), state[0].transpose(0, 1))
