"""BiLSTM with attention: the encoder reads both ways, and the two directions are added (outputs and last states).

Added, not joined, so that the decoder and the states are as wide as those of the other recurrent models.
"""

from __future__ import annotations

from torch import Tensor, nn

from seedvote.generation.batches import Contexts
from seedvote.generation.models.attention import AttentionSizes, Attentive
from seedvote.generation.models.interface import Encoded
from seedvote.generation.models.recurrent import batch_first, run_masked


class BiLSTMAttention(Attentive):
    """A bidirectional LSTM encoder and the attention decoder."""

    def __init__(self, vocabulary: int, sizes: AttentionSizes) -> None:
        super().__init__(vocabulary, sizes)
        widths = (sizes.embedding, sizes.hidden, sizes.layers)
        self.encoder = nn.LSTM(*widths, batch_first=True, dropout=sizes.dropout, bidirectional=True)

    def encode(self, contexts: Contexts) -> Encoded:
        """Read the contexts both ways; the backward pass starts at the last real token."""
        mask = contexts.mask
        outputs, (h, c) = run_masked(self.encoder, self.source(contexts.tokens), mask)
        forward, backward = outputs.chunk(2, dim=2)
        state = (_sum_directions(h), _sum_directions(c))
        return Encoded(forward + backward, mask, batch_first(state), state[0].transpose(0, 1))


def _sum_directions(state: Tensor) -> Tensor:
    """(2 layers x batch x hidden, directions interleaved) -> (layers x batch x hidden)."""
    return state[0::2] + state[1::2]
