"""Cross-entropy of a large vocabulary in chunks of tokens: the logits of a whole batch are never stored.

Each chunk's logits give its loss and, at once, the gradients of hidden states, weight and bias; then they are dropped.
The result equals `cross_entropy(hidden @ weight.T + bias, targets, reduction="sum")` up to rounding.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK = 512  # tokens: 27 MB of logits at 13,000 words


def summed_cross_entropy(hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Sum over tokens of -log p(target): hidden (tokens x width), weight (words x width), bias, targets (tokens)."""
    return cast(Tensor, _ChunkedCrossEntropy.apply(hidden, weight, bias, targets))  # type: ignore[no-untyped-call]


class _ChunkedCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
        total = hidden.new_zeros(())
        by_hidden, by_weight, by_bias = (torch.zeros_like(part) for part in (hidden, weight, bias))
        for start in range(0, len(targets), CHUNK):
            part = slice(start, start + CHUNK)
            logits = torch.addmm(bias, hidden[part], weight.T)
            wanted = targets[part, None]
            norm = logits.logsumexp(1, keepdim=True)
            total += (norm - logits.gather(1, wanted)).sum()
            slope = logits.sub_(norm).exp_()
            slope.scatter_add_(1, wanted, slope.new_full(wanted.shape, -1.0))
            by_hidden[part] = slope @ weight
            by_weight.addmm_(slope.T, hidden[part])
            by_bias += slope.sum(0)
        ctx.save_for_backward(by_hidden, by_weight, by_bias)
        return total

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, slope: Tensor) -> tuple[Tensor | None, ...]:
        by_hidden, by_weight, by_bias = ctx.saved_tensors
        return by_hidden * slope, by_weight * slope, by_bias * slope, None
