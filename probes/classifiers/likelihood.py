"""The two penalised likelihoods of logistic regression, as gradients of many problems at once.

The labels enter value and gradient only through Y'X, which is computed once; a pass over the data is then one product
W X', one sigmoid (or softmax) and one product P X, in blocks of examples that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import softplus

from probes.classifiers.lbfgs import Start

CPU_BLOCK = 1024  # examples a thread whose logits stay in a core's cache; a CUDA device wants more at once
CUDA_BLOCK = 16_384
SLOPE_SAMPLE = 4096  # examples that tell how far to go along a direction, where that is no more than an eighth of all
FEWEST = 256  # of fewer examples than eight times this, the sample is a larger share
FEW_ROWS = 48  # rows of weights that are few, see _logits
SAMPLED_TOGETHER = 128  # problems whose sample stays in the cache


class Likelihood:
    """Training features (n x (d + 1)), labels (n x L, 0 or 1) and the weight `c` of the data against the penalty."""

    def __init__(self, features: Tensor, variance: Tensor, targets: csr_array, c: float) -> None:
        self.features, self.c = features, c
        self.share = torch.from_numpy(targets.sum(0) / len(features)).to(features.device)
        self.penalty = torch.ones_like(features[0])
        # The intercept is not penalised, as in scikit-learn.
        self.penalty[-1] = 0
        self.attained = torch.from_numpy(_attained(targets, features)).to(features.device)
        every = max(1, min(8, len(features) // FEWEST), len(features) // SLOPE_SAMPLE)
        # Every n-th example, not a random draw: it reaches every dialogue and needs no seed.
        self.sample = features[::every].contiguous()
        self.spread = c * len(features) * torch.cat([variance, torch.ones_like(variance[:1])])

    def _blocks(self) -> Iterator[Tensor]:
        size = CPU_BLOCK * torch.get_num_threads() if self.features.device.type == "cpu" else CUDA_BLOCK
        return (self.features[rows] for rows in _slices(len(self.features), size))

    def _null(self, intercept: Tensor, entropy: Tensor, total: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Weights of zero, where every example has the same probabilities: points, gradients and values.

        `total` is the sum of the features.
        """
        points = torch.zeros_like(self.attained, dtype=torch.float32)
        points[:, -1] = intercept.float()
        expected = self.share[:, None] * total
        return points, (self.c * (expected - self.attained)).float(), self.c * len(self.features) * entropy

    def _gradient(self, weights: Tensor, attained: Tensor, activate: Callable[[Tensor], Tensor]) -> Tensor:
        """The gradient (L' x (d + 1)) for these weights; `activate` turns a block of logits into probabilities."""
        expected = torch.zeros_like(weights)
        for block in self._blocks():
            expected.addmm_(activate(_logits(weights, block)), block)
        return self.c * (expected - attained.float()) + self.penalty * weights

    def _loss(self, weights: Tensor, loss: Callable[[Tensor], Tensor]) -> Tensor:
        """What the data cost if no example had any label; `loss` sums a block of logits over its examples."""
        blocks = [loss(_logits(weights, block)) for block in self._blocks()]
        # In double: single precision would lose the digits that the stopping rule compares.
        return self.c * torch.stack(blocks).sum(0, dtype=torch.float64)

    def _rest(self, weights: Tensor, attained: Tensor) -> Tensor:
        """The rest of each label's objective: what the labels give back, and the penalty."""
        exact = weights.double()
        return (exact.square() * self.penalty / 2 - self.c * exact * attained).sum(1)

    def _bend(
        self, weights: Tensor, along: Tensor, activate: Callable[[Tensor], Tensor], together: int
    ) -> Callable[[Tensor], Tensor]:
        """How each label's slope along its direction changes with the length of the step, on the sample."""
        ratio = self.c * len(self.features) / len(self.sample)
        ridge = (along.square() * self.penalty).sum(1)
        groups = _slices(len(weights), together)
        here = [weights[rows] @ self.sample.T for rows in groups]
        rise = [along[rows] @ self.sample.T for rows in groups]
        before = [activate(logits) for logits in here]

        def bend(length: Tensor) -> Tensor:
            change = [
                ((activate(torch.addcmul(z, length[rows, None], dz)) - old) * dz).sum(1)
                for rows, z, dz, old in zip(groups, here, rise, before, strict=True)
            ]
            return ratio * torch.cat(change) + length * ridge

        return bend


class ManyLabels(Likelihood):
    """One label against the rest, a problem for each label: points are L x (d + 1)."""

    def start(self) -> Start:
        """Weights of zero and the log-odds of each label."""
        total = torch.stack([block.sum(0) for block in self._blocks()]).sum(0, dtype=torch.float64)
        entropy = _entropy(self.share) + _entropy(1 - self.share)
        points, gradients, values = self._null(self.share.logit(), entropy, total)
        return Start(points, gradients, values)

    def precondition(self, vectors: Tensor, which: Tensor) -> Tensor:
        """Times the inverse Hessian at the null model, which is diagonal: the features do not correlate."""
        share = self.share[which, None].float()
        return vectors / (share * (1 - share) * self.spread + self.penalty)

    def gradients(self, points: Tensor, which: Tensor) -> Tensor:
        """The gradients at these points of these problems."""
        return self._gradient(points, self.attained[which], torch.sigmoid_)

    def values(self, points: Tensor, which: Tensor) -> Tensor:
        """The objective of these problems, summed in double precision."""
        return self._loss(points, lambda logits: softplus(logits).sum(1)) + self._rest(points, self.attained[which])

    def bend(self, points: Tensor, directions: Tensor, which: Tensor) -> Callable[[Tensor], Tensor]:
        """The change of slope of these problems."""
        del which
        return self._bend(points, directions, torch.sigmoid, SAMPLED_TOGETHER)

    def weights(self, points: Tensor) -> Tensor:
        """Points as weights (L x (d + 1))."""
        return points


class OneLabel(Likelihood):
    """One softmax over all labels, a single problem: its point is 1 x (L (d + 1))."""

    def start(self) -> Start:
        """Weights of zero and the log-probability of each label."""
        total = self.attained.sum(0)  # every example has one of the labels
        points, gradients, values = self._null(self.share.log(), _entropy(self.share), total)
        return Start(points.reshape(1, -1), gradients.reshape(1, -1), values.sum()[None])

    def precondition(self, vectors: Tensor, which: Tensor) -> Tensor:
        """Times the inverse Hessian at the null model: for each feature a diagonal less a matrix of rank one."""
        del which
        share, gradient = self.share[:, None].float(), self.weights(vectors)
        inverse = 1 / (share * self.spread + self.penalty)
        toward = share * inverse
        weight = self.penalty * self.spread / toward.sum(0)  # none for the intercept: a shift of all of them is free
        return (inverse * gradient + toward * weight * (toward * gradient).sum(0)).reshape(1, -1)

    def gradients(self, points: Tensor, which: Tensor) -> Tensor:
        """The gradient at this point; `which` is the only problem there is."""
        del which
        return self._gradient(self.weights(points), self.attained, _softmax).reshape(1, -1)

    def values(self, points: Tensor, which: Tensor) -> Tensor:
        """The objective, summed in double precision."""
        del which
        weights = self.weights(points)
        loss = self._loss(weights, lambda logits: logits.logsumexp(0).sum())
        return (loss + self._rest(weights, self.attained).sum())[None]

    def bend(self, points: Tensor, directions: Tensor, which: Tensor) -> Callable[[Tensor], Tensor]:
        """The change of slope."""
        del which
        labels = len(self.attained)
        each = self._bend(self.weights(points), self.weights(directions), _softmax, labels)
        return lambda length: each(length.expand(labels)).sum()[None]

    def weights(self, points: Tensor) -> Tensor:
        """The point as weights (L x (d + 1))."""
        return points.reshape(self.attained.shape)


def _attained(targets: csr_array, features: Tensor) -> np.ndarray:
    """The sum of the features over the examples that have each label: single in a block, double over the blocks."""
    total = np.zeros((targets.shape[1], features.shape[1]))
    of_examples, single = features.cpu().numpy(), targets.astype(np.float32)
    for rows in _slices(len(of_examples), CPU_BLOCK):
        total += single[rows].T @ of_examples[rows]
    return total


def _logits(weights: Tensor, block: Tensor) -> Tensor:
    """W X'. Few rows times many take two threads twice as long as many times few (MKL)."""
    return (block @ weights.T).T if len(weights) < FEW_ROWS else weights @ block.T


def _slices(count: int, size: int) -> list[slice]:
    return [slice(at, at + size) for at in range(0, count, size)]


def _softmax(logits: Tensor) -> Tensor:
    return logits.softmax(0)


def _entropy(share: Tensor) -> Tensor:
    return -share * share.log()
