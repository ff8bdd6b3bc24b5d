"""What training, decoding and encoding ask of an architecture, and the loss of a large vocabulary."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from seedvote.generation.batches import Contexts

# What training, decoding and encoding ask of an architecture. All tensors are batch first, so that rows can be picked.
#
# An architecture reads contexts (`encode`), gives hidden states for known targets (`decode_targets`) or for one more
# token (`decode_step`), and projects hidden states to the vocabulary (`output`), which training does in chunks.

DecoderState = tuple[Tensor, ...]


@dataclass(frozen=True, slots=True)
class Encoded:
    """A read context: what can be attended to, where it is real, where the decoder starts, and the context vector."""

    memory: Tensor  # batch x time x hidden
    mask: Tensor  # batch x time, True where real
    state: DecoderState  # each batch x ...
    vectors: (
        Tensor  # batch x layers x width: each layer's last state, or its mean over real tokens; the last is the top
    )

    def rows(self, chosen: Tensor) -> Encoded:
        """Some rows of the batch (an index tensor)."""
        return replace(
            self,
            memory=self.memory[chosen],
            mask=self.mask[chosen],
            state=tuple(part[chosen] for part in self.state),
            vectors=self.vectors[chosen],
        )


class DialogueModel(nn.Module):
    """One architecture: words in, words out."""

    pooling: str
    has_lstms = True
    is_erasable = True  # whether what its decoder sees are vectors of a context
    attends = True  # whether the decoder looks at `memory` as well as the state that it starts from

    def __init__(self, vocabulary: int, hidden: int) -> None:
        super().__init__()
        self.output = nn.Linear(hidden, vocabulary)

    def word_vectors(self) -> Tensor:
        """The vector of every word at the input."""
        return cast(Tensor, self.state_dict()["source.weight"])

    def encode(self, contexts: Contexts) -> Encoded:
        """Read a batch of contexts."""
        raise NotImplementedError

    def decode_targets(self, encoded: Encoded, inputs: Tensor) -> Tensor:
        """Hidden states before the output layer for known decoder inputs (batch x time x hidden)."""
        raise NotImplementedError

    def start_state(self, encoded: Encoded) -> DecoderState:
        """The decoder's state before the first step."""
        return encoded.state

    def decode_step(self, encoded: Encoded, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """Hidden states (batch x hidden) and the new state after one more token a row."""
        raise NotImplementedError


# Cross-entropy of a large vocabulary in chunks of tokens: the logits of a whole batch are never stored.
#
# Each chunk's logits give its loss and, at once, the gradients of hidden states, weight and bias; then they are
# dropped. The result equals `cross_entropy(hidden @ weight.T + bias, targets, reduction="sum")` up to rounding. Under
# autocast the products are taken in its precision; sums and the weight's gradient stay in that of the weight.

CHUNK = 256  # tokens: 13 MB of logits at 13,000 words, which a processor's cache may hold


def summed_cross_entropy(hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Sum over tokens of -log p(target): hidden (tokens x width), weight (words x width), bias, targets (tokens)."""
    device = hidden.device.type
    if torch.is_autocast_enabled(device):
        hidden = hidden.to(torch.get_autocast_dtype(device))
    with torch.autocast(device, enabled=False):
        return cast(Tensor, _ChunkedCrossEntropy.apply(hidden, weight, bias, targets))  # type: ignore[no-untyped-call]


class _ChunkedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        total = weight.new_zeros(())
        by_hidden, by_weight, by_bias = (torch.zeros_like(part) for part in (hidden, weight, bias))
        low, low_bias = weight.to(hidden.dtype), bias.to(hidden.dtype)
        for start in range(0, len(targets), CHUNK):
            part = slice(start, start + CHUNK)
            logits = torch.addmm(low_bias, hidden[part], low.T).to(weight.dtype)
            wanted = targets[part, None]
            # The largest logit is subtracted before exp, which would overflow.
            top, right = logits.amax(1, keepdim=True), logits.gather(1, wanted)
            slope = logits.sub_(top).exp_()
            norm = slope.sum(1, keepdim=True)
            total += (norm.log() + top - right).sum()
            slope.div_(norm).scatter_add_(1, wanted, slope.new_full(wanted.shape, -1.0))
            by_bias += slope.sum(0)
            slope = slope.to(hidden.dtype)
            by_hidden[part] = slope @ low
            if low is weight:
                by_weight.addmm_(slope.T, hidden[part])
            else:
                by_weight += slope.T @ hidden[part]
        ctx.save_for_backward(by_hidden, by_weight, by_bias)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        by_hidden, by_weight, by_bias = ctx.saved_tensors
        return by_hidden * slope, by_weight * slope, by_bias * slope, None
