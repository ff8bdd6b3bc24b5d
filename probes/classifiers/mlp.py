"""The papers' second classifier: one hidden layer of ReLU units on the same features.

The papers state neither its size nor its training, so ours are chosen and written here: 128 hidden units, Adam at
1e-3, batches of 128, weight decay 1e-4, at most 30 epochs; the epoch with the best micro-F1 on the split to choose on
is kept, and training ends when 5 epochs brought no better one. Where there is no split to choose on: 20 epochs.
Its seed draws the first weights and the order of the examples.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from seedvote.dialogue.adam import Adam
from seedvote.dialogue.seeds import child_seed
from seedvote.probes.classifiers.logistic import decide_labels
from seedvote.probes.scoring import count_hits
from seedvote.probes.tasks.labels import Labels

HIDDEN, RATE, BATCH, DECAY = 128, 1e-3, 128, 1e-4
EPOCHS, PATIENCE, EPOCHS_UNSEEN = 30, 5, 20


@dataclass(frozen=True, slots=True)
class Mlp:
    """Weights of both layers; each takes its intercept from a last feature of ones."""

    many: bool
    inner: Tensor
    outer: Tensor
    epochs: int

    def logits(self, features: Tensor) -> Tensor:
        """The logits (n x labels) of features (n x (d + 1), the last one being 1)."""
        hidden = (features @ self.inner).relu()
        return hidden @ self.outer[:-1] + self.outer[-1]

    @torch.no_grad()
    def predict(self, features: Tensor) -> np.ndarray:
        """A boolean matrix, as of the logistic regression."""
        return decide_labels(self.logits(features).cpu().numpy(), many=self.many)


def fit_mlp(features: Tensor, labels: Labels, valid: tuple[Tensor, Labels] | None, *, seed: int) -> Mlp:
    """Train on features and labels; `valid` holds those to choose the epoch on, where there are any."""
    # A generator of its own: with the global one a score would depend on what was fitted before.
    draw = torch.Generator(features.device).manual_seed(child_seed(seed, "mlp", labels.task))
    inner, outer = (_first_weights(*shape, draw) for shape in _layer_shapes(features, labels))
    adam = Adam([inner, outer], RATE, decay=DECAY)
    targets = torch.from_numpy(labels.dense()).to(features.device)
    best, best_f1 = Mlp(labels.many, inner.detach().clone(), outer.detach().clone(), 0), -1.0
    for epoch in range(1, (EPOCHS if valid else EPOCHS_UNSEEN) + 1):
        order = torch.randperm(len(features), generator=draw, device=features.device)
        for start in range(0, len(order), BATCH):
            rows = order[start : start + BATCH]
            loss = _batch_loss(Mlp(labels.many, inner, outer, epoch).logits(features[rows]), targets[rows], labels.many)
            # Assigned, where backward() would add to the last gradients.
            inner.grad, outer.grad = torch.autograd.grad(loss, (inner, outer))
            adam.step()
        now = Mlp(labels.many, inner.detach().clone(), outer.detach().clone(), epoch)
        f1 = count_hits(now.predict(valid[0]), valid[1]).micro_f1 if valid else 0.0
        if f1 > best_f1 or not valid:
            best, best_f1 = now, f1
        elif epoch - best.epochs >= PATIENCE:
            break
    return best


def _layer_shapes(features: Tensor, labels: Labels) -> tuple[tuple[int, int], tuple[int, int]]:
    return (features.shape[1], HIDDEN), (HIDDEN + 1, len(labels.classes))


def _first_weights(inputs: int, outputs: int, draw: torch.Generator) -> Tensor:
    """Uniform within 1 / sqrt(inputs), as is usual for linear layers."""
    start: Tensor = torch.rand(inputs, outputs, generator=draw, device=draw.device) * 2 - 1
    return (start / math.sqrt(inputs)).requires_grad_()


def _batch_loss(logits: Tensor, targets: Tensor, many: bool) -> Tensor:
    """Cross-entropy of an example, averaged over the batch; over labels it is summed."""
    summed = binary_cross_entropy_with_logits if many else cross_entropy
    return torch.div(summed(logits, targets.float(), reduction="sum"), len(logits))
