"""The two penalised likelihoods of logistic regression, as gradients of many problems at once.

The labels enter a gradient only through X'Y, which is computed once; a pass over the data is then one product X W, one
sigmoid (or softmax) and one product X'P, in blocks of rows that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch.nn.functional import softplus

ROWS = 2048


class Likelihood:
    """Training features (n x (d + 1)), labels (n x L, 0 or 1) and the weight `c` of the data against the penalty."""

    def __init__(self, features: Tensor, variance: Tensor, targets: Tensor, c: float) -> None:
        self.features, self.targets, self.c = features, targets, c
        self.share = targets.sum(0, dtype=torch.float64) / len(targets)
        self.penalty = torch.ones(features.shape[1], device=features.device)
        self.penalty[-1] = 0
        self.spread = torch.cat([variance, variance.new_ones(1)])
        self.attained = torch.zeros(features.shape[1], targets.shape[1], device=features.device)
        for rows in self._blocks():
            self.attained.addmm_(features[rows].T, targets[rows].to(features.dtype))

    def _blocks(self) -> Iterator[slice]:
        return (slice(at, at + ROWS) for at in range(0, len(self.features), ROWS))

    def _gradient(self, weights: Tensor, attained: Tensor, activate: Callable[[Tensor], Tensor]) -> Tensor:
        """The gradient ((d + 1) x L') for these weights; `activate` turns a block of logits into probabilities."""
        expected = torch.zeros_like(weights)
        for rows in self._blocks():
            block = self.features[rows]
            expected.addmm_(block.T, activate(block @ weights))
        return self.c * (expected - attained) + self.penalty[:, None] * weights

    def _hessian_diagonal(self) -> Tensor:
        """The diagonal ((d + 1) x L) at the null model, in which every example has the same probabilities."""
        varies = self.c * len(self.targets) * self.share * (1 - self.share)
        return self.spread[:, None] * varies.float() + self.penalty[:, None]

    def _ridge(self, weights: Tensor) -> Tensor:
        return (weights.double().square() * self.penalty[:, None]).sum(0) / 2


class ManyLabels(Likelihood):
    """One label against the rest, a problem for each label: points are L x (d + 1)."""

    def start(self) -> Tensor:
        """Weights of zero and the log-odds of each label."""
        start = torch.zeros_like(self.attained)
        start[-1] = self.share.logit().float()
        return start.T.contiguous()

    def scale(self) -> Tensor:
        """Diagonal guess of the inverse Hessian."""
        return (1 / self._hessian_diagonal()).T.contiguous()

    def gradients(self, points: Tensor, problems: Tensor) -> Tensor:
        """The gradients at these points (P x (d + 1)) of these problems."""
        return self._gradient(points.T.contiguous(), self.attained[:, problems], torch.Tensor.sigmoid_).T

    def values(self, points: Tensor, problems: Tensor) -> Tensor:
        """The objective of these problems, summed in double precision."""
        weights = points.T.contiguous()
        loss = torch.zeros(len(points), dtype=torch.float64, device=points.device)
        for rows in self._blocks():
            against = 1 - 2 * self.targets[rows][:, problems].to(weights.dtype)
            loss += softplus(self.features[rows] @ weights * against).sum(0, dtype=torch.float64)
        return self.c * loss + self._ridge(weights)

    def weights(self, points: Tensor) -> Tensor:
        """Points as a weight matrix ((d + 1) x L)."""
        return points.T


class OneLabel(Likelihood):
    """One softmax over all labels, a single problem: its point is 1 x ((d + 1) L)."""

    def start(self) -> Tensor:
        """Weights of zero and the log-probability of each label."""
        start = torch.zeros_like(self.attained)
        start[-1] = self.share.log().float()
        return start.reshape(1, -1)

    def scale(self) -> Tensor:
        """Diagonal guess of the inverse Hessian."""
        return (1 / self._hessian_diagonal()).reshape(1, -1)

    def gradients(self, points: Tensor, problems: Tensor) -> Tensor:
        """The gradient at this point; `problems` is the only one there is."""
        del problems
        return self._gradient(self.weights(points), self.attained, lambda logits: logits.softmax(1)).reshape(1, -1)

    def values(self, points: Tensor, problems: Tensor) -> Tensor:
        """The objective, summed in double precision."""
        del problems
        weights = self.weights(points)
        loss = torch.zeros((), dtype=torch.float64, device=points.device)
        for rows in self._blocks():
            logits = self.features[rows] @ weights
            loss -= (logits.log_softmax(1) * self.targets[rows]).sum(dtype=torch.float64)
        return (self.c * loss + self._ridge(weights).sum()).reshape(1)

    def weights(self, points: Tensor) -> Tensor:
        """The point as a weight matrix ((d + 1) x L)."""
        return points.reshape(self.attained.shape)
