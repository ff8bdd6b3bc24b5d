"""Cross-entropy of a large vocabulary in chunks of tokens: the logits of a whole batch are never stored.

Each chunk's logits give its loss and, at once, the gradients of hidden states, weight and bias; then they are dropped.
The result equals `cross_entropy(hidden @ weight.T + bias, targets, reduction="sum")` up to rounding. Under autocast the
products are taken in its precision; sums and the weight's gradient stay in that of the weight.
"""

from __future__ import annotations

from typing import Any, cast

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

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
