"""seq2seq: a forward LSTM reads the context, a second one answers from its last state (Sutskever et al. 2014)."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from seedvote.generation.batches import Contexts
from seedvote.generation.models.interface import DecoderState, DialogueModel, Encoded
from seedvote.generation.models.recurrent import batch_first, layers_first, run_masked


@dataclass(frozen=True)
class Seq2SeqSizes:
    """The papers' sizes."""

    embedding: int = 128
    hidden: int = 256
    layers: int = 2
    dropout: float = 0.0


class Seq2Seq(DialogueModel):
    """Encoder LSTM, decoder LSTM, no attention."""

    pooling = "last"
    attends = False

    def __init__(self, vocabulary: int, sizes: Seq2SeqSizes) -> None:
        super().__init__(vocabulary, sizes.hidden)
        widths = (sizes.embedding, sizes.hidden, sizes.layers)
        self.source = nn.Embedding(vocabulary, sizes.embedding)
        self.target = nn.Embedding(vocabulary, sizes.embedding)
        self.encoder = nn.LSTM(*widths, batch_first=True, dropout=sizes.dropout)
        self.decoder = nn.LSTM(*widths, batch_first=True, dropout=sizes.dropout)

    def encode(self, contexts: Contexts) -> Encoded:
        """Read the contexts; padding is never read."""
        mask = contexts.mask
        outputs, state = run_masked(self.encoder, self.source(contexts.tokens), mask)
        return Encoded(outputs, mask, batch_first(state), state[0].transpose(0, 1))

    def forced(self, encoded: Encoded, inputs: Tensor) -> Tensor:
        """Hidden states under teacher forcing (batch x time x hidden)."""
        outputs, _ = self.decoder(self.target(inputs), layers_first(encoded.state))
        return torch.as_tensor(outputs)

    def step(self, encoded: Encoded, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """One step of free running."""
        del encoded
        outputs, after = self.decoder(self.target(tokens[:, None]), layers_first(state))
        return outputs[:, 0], batch_first(after)
