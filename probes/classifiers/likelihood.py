"""The two penalised likelihoods of logistic regression, as gradients of many problems at once.

The labels enter value and gradient only through Y'X, which is computed once; a pass over the data is then one product
W X', one sigmoid (or softmax) and one product P X, in blocks of examples that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import softplus

from seedvote.probes.classifiers.lbfgs import Start

CPU_BLOCK = 1024  # examples a thread whose logits stay in a core's cache; a CUDA device wants more at once
CUDA_BLOCK = 16_384
SLOPE_SAMPLE = 4096  # examples that tell how far to go along a direction, where that is no more than an eighth of all
FEWEST = 256  # of fewer examples than eight times this, the sample is a larger share
FEW_ROWS = 48  # rows of weights that are few, see _logits
SAMPLED_TOGETHER = 128  # problems whose sample stays in the cache


@dataclass(frozen=True, slots=True)
class Certificate:
    """Points (P x S) with the best intercepts, their values and gradient norms, and what they can still fall at most.

    The bound is proven: over the intercepts minimised, the objective less |w|^2 / 2 is convex, so it lies at most half
    of its squared gradient above its minimum. That is the duality gap of the probabilities at hand.
    """

    points: Tensor
    values: Tensor
    gradient: Tensor
    bound: Tensor


class Likelihood:
    """Training features (n x (d + 1)), labels (n x L, 0 or 1) and the weight `c` of the data against the penalty."""

    def __init__(self, features: Tensor, variance: Tensor, targets: csr_array, c: float) -> None:
        self.features, self.c = features, c
        self.share = torch.from_numpy(targets.sum(0) / len(features)).to(features.device)
        self.penalty = torch.ones_like(features[0])
        # The intercept is not penalised, as in scikit-learn.
        self.penalty[-1] = 0
        self.attained = torch.from_numpy(_sum_attained(targets, features)).to(features.device)
        every = max(1, min(8, len(features) // FEWEST), len(features) // SLOPE_SAMPLE)
        # Every n-th example, not a random draw: it reaches every dialogue and needs no seed.
        self.sample = features[::every].contiguous()
        self.spread = c * len(features) * torch.cat([variance, torch.ones_like(variance[:1])])

    def _cut_blocks(self) -> Iterator[Tensor]:
        size = CPU_BLOCK * torch.get_num_threads() if self.features.device.type == "cpu" else CUDA_BLOCK
        return (self.features[rows] for rows in _cut_slices(len(self.features), size))

    def _null_weights(self, intercept: Tensor, entropy: Tensor, total: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Weights of zero, where every example has the same probabilities: points, gradients and values.

        `total` is the sum of the features.
        """
        points = torch.zeros_like(self.attained, dtype=self.features.dtype)
        points[:, -1] = intercept.to(points)
        expected = self.share[:, None] * total
        return points, (self.c * (expected - self.attained)).to(points), self.c * len(self.features) * entropy

    def _sum_gradient(self, weights: Tensor, attained: Tensor, activate: Callable[[Tensor], Tensor]) -> Tensor:
        """The gradient (L' x (d + 1)) for these weights; `activate` turns a block of logits into probabilities."""
        expected = torch.zeros_like(weights)
        for block in self._cut_blocks():
            expected.addmm_(activate(_compute_logits(weights, block)), block)
        return self.c * (expected - attained.to(weights)) + self.penalty * weights

    def _summed_gradient(self, weights: Tensor, activate: Callable[[Tensor], Tensor]) -> Tensor:
        """The same for all labels, blocks added up in double precision: slower, and almost without noise."""
        expected = torch.zeros_like(weights, dtype=torch.float64)
        for block in self._cut_blocks():
            expected += activate(_compute_logits(weights, block)) @ block
        return self.c * (expected - self.attained) + self.penalty * weights

    def _sum_loss(self, weights: Tensor, loss: Callable[[Tensor], Tensor]) -> Tensor:
        """What the data cost if no example had any label; `loss` sums a block of logits over its examples."""
        blocks = [loss(_compute_logits(weights, block)) for block in self._cut_blocks()]
        # In double: single precision would lose the digits that the stopping rule compares.
        return self.c * torch.stack(blocks).sum(0, dtype=torch.float64)

    def _finish_objective(self, weights: Tensor, attained: Tensor) -> Tensor:
        """The rest of each label's objective: what the labels give back, and the penalty."""
        exact = weights.double()
        return (exact.square() * self.penalty / 2 - self.c * exact * attained).sum(1)

    def _bend_sample(
        self, weights: Tensor, along: Tensor, activate: Callable[[Tensor], Tensor], together: int
    ) -> Callable[[Tensor], Tensor]:
        """How each label's slope along its direction changes with the length of the step, on the sample."""
        ratio = self.c * len(self.features) / len(self.sample)
        ridge = (along.square() * self.penalty).sum(1)
        groups = _cut_slices(len(weights), together)
        start_logits = [weights[rows] @ self.sample.T for rows in groups]
        rise = [along[rows] @ self.sample.T for rows in groups]
        before = [activate(logits) for logits in start_logits]

        def bend(length: Tensor) -> Tensor:
            change = [
                ((activate(torch.addcmul(z, length[rows, None], dz)) - old) * dz).sum(1)
                for rows, z, dz, old in zip(groups, start_logits, rise, before, strict=True)
            ]
            return ratio * torch.cat(change) + length * ridge

        return bend


class ManyLabels(Likelihood):
    """One label against the rest, a problem for each label: points are L x (d + 1)."""

    def start(self) -> Start:
        """Weights of zero and the log-odds of each label."""
        total = torch.stack([block.sum(0) for block in self._cut_blocks()]).sum(0, dtype=torch.float64)
        entropy = _entropy_of(self.share) + _entropy_of(1 - self.share)
        points, gradients, values = self._null_weights(self.share.logit(), entropy, total)
        return Start(points, gradients, values)

    def precondition(self, vectors: Tensor, which: Tensor) -> Tensor:
        """Times the inverse Hessian at the null model, which is diagonal: the features do not correlate."""
        share = self.share[which, None].to(vectors)
        return vectors / (share * (1 - share) * self.spread + self.penalty)

    def gradients(self, points: Tensor, which: Tensor) -> Tensor:
        """The gradients at these points of these problems."""
        return self._sum_gradient(points, self.attained[which], torch.sigmoid_)

    def values(self, points: Tensor, which: Tensor) -> Tensor:
        """The objective of these problems, summed in double precision."""
        return self._sum_loss(points, lambda logits: softplus(logits).sum(1)) + self._finish_objective(
            points, self.attained[which]
        )

    def bend(self, points: Tensor, directions: Tensor, which: Tensor) -> Callable[[Tensor], Tensor]:
        """The change of slope of these problems."""
        del which
        return self._bend_sample(points, directions, torch.sigmoid, SAMPLED_TOGETHER)

    def weights(self, points: Tensor) -> Tensor:
        """Points as weights (L x (d + 1))."""
        return points

    def certify(self, points: Tensor) -> Certificate:
        """How near its minimum each problem is."""
        everyone, points = torch.arange(len(points), device=points.device), points.clone()
        expected, curvature = self._sum_loss(points, _sum_moments)
        points[:, -1] -= ((expected - self.c * self.attained[:, -1]) / curvature).nan_to_num().clamp(-1, 1).to(points)
        gradients = self._summed_gradient(points, torch.sigmoid_)
        bound = gradients[:, :-1].square().sum(1) / 2 + gradients[:, -1].square() / curvature
        return Certificate(points, self.values(points, everyone), gradients.norm(dim=1), bound.nan_to_num(torch.inf))


class OneLabel(Likelihood):
    """One softmax over all labels, a single problem: its point is 1 x (L (d + 1))."""

    def start(self) -> Start:
        """Weights of zero and the log-probability of each label."""
        total = self.attained.sum(0)  # every example has one of the labels
        points, gradients, values = self._null_weights(self.share.log(), _entropy_of(self.share), total)
        return Start(points.reshape(1, -1), gradients.reshape(1, -1), values.sum()[None])

    def precondition(self, vectors: Tensor, which: Tensor) -> Tensor:
        """Times the inverse Hessian at the null model: for each feature a diagonal less a matrix of rank one."""
        del which
        share, gradient = self.share[:, None].to(vectors), self.weights(vectors)
        inverse = 1 / (share * self.spread + self.penalty)
        toward = share * inverse
        weight = self.penalty * self.spread / toward.sum(0)  # none for the intercept: a shift of all of them is free
        return (inverse * gradient + toward * weight * (toward * gradient).sum(0)).reshape(1, -1)

    def gradients(self, points: Tensor, which: Tensor) -> Tensor:
        """The gradient at this point; `which` is the only problem there is."""
        del which
        return self._sum_gradient(self.weights(points), self.attained, _take_softmax).reshape(1, -1)

    def values(self, points: Tensor, which: Tensor) -> Tensor:
        """The objective, summed in double precision."""
        del which
        weights = self.weights(points)
        loss = self._sum_loss(weights, lambda logits: logits.logsumexp(0).sum())
        return (loss + self._finish_objective(weights, self.attained).sum())[None]

    def bend(self, points: Tensor, directions: Tensor, which: Tensor) -> Callable[[Tensor], Tensor]:
        """The change of slope."""
        del which
        labels = len(self.attained)
        slope_change = self._bend_sample(self.weights(points), self.weights(directions), _take_softmax, labels)
        return lambda length: slope_change(length.expand(labels)).sum()[None]

    def weights(self, points: Tensor) -> Tensor:
        """The point as weights (L x (d + 1))."""
        return points.reshape(self.attained.shape)

    def certify(self, points: Tensor) -> Certificate:
        """How near its minimum the problem is."""
        weights, problem = self.weights(points).clone(), torch.zeros(1, dtype=torch.long, device=points.device)
        sums = self._sum_loss(weights, _joint_moments)
        expected, joint = sums[:, 0], sums[:, 1:]
        # Without the last intercept: a shift of all of them changes nothing.
        inverse = torch.linalg.pinv((expected.diag() - joint)[:-1, :-1], hermitian=True)
        step = inverse @ (expected - self.c * self.attained[:, -1])[:-1]
        weights[:-1, -1] -= step.clamp(-1, 1).to(points)
        points = weights.reshape(1, -1)
        gradients = self._summed_gradient(weights, _take_softmax)
        of_intercepts = gradients[:-1, -1]
        bound = gradients[:, :-1].square().sum() / 2 + of_intercepts @ inverse @ of_intercepts
        return Certificate(points, self.values(points, problem), gradients.norm()[None], bound[None])


def _sum_attained(targets: csr_array, features: Tensor) -> np.ndarray:
    """The sum of the features over the examples that have each label, in double precision: a bound rests on it."""
    total = np.zeros((targets.shape[1], features.shape[1]))
    of_examples, has = features.cpu().numpy(), targets.astype(np.float64)
    for rows in _cut_slices(len(of_examples), CPU_BLOCK):
        total += has[rows].T @ of_examples[rows].astype(np.float64)
    return total


def _compute_logits(weights: Tensor, block: Tensor) -> Tensor:
    """W X'. Few rows times many take two threads twice as long as many times few (MKL)."""
    return (block @ weights.T).T if len(weights) < FEW_ROWS else weights @ block.T


def _cut_slices(count: int, size: int) -> list[slice]:
    return [slice(at, at + size) for at in range(0, count, size)]


def _take_softmax(logits: Tensor) -> Tensor:
    return logits.softmax(0)


def _sum_moments(logits: Tensor) -> Tensor:
    """Sums over examples of each label's probability, and of its variance (2 x L)."""
    chance = logits.sigmoid()
    return torch.stack([chance.sum(1), (chance * (1 - chance)).sum(1)])


def _joint_moments(logits: Tensor) -> Tensor:
    """Sums over examples of each label's probability, and of the products of two (L x (1 + L))."""
    chance = _take_softmax(logits)
    return torch.cat([chance.sum(1, keepdim=True), chance @ chance.T], 1)


def _entropy_of(share: Tensor) -> Tensor:
    return -share * share.log()
