"""Logistic regression on frozen states: two penalised likelihoods, and many fits in one solve.

The labels enter value and gradient only through Y'X, which is computed once; a pass over the data is then one product
W X', one sigmoid (or softmax) and one product P X, in blocks of examples that stay in the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn.functional import softplus

from seedvote.probes.classifiers.lbfgs import Minimum, Start, Until, minimise_rows
from seedvote.probes.tasks.labels import Labels

_CPU_BLOCK = 1024  # examples a thread whose logits stay in a core's cache; a CUDA device wants more at once
_CUDA_BLOCK = 16_384
_SLOPE_SAMPLE = 4096  # examples that tell how far to go along a direction, where that is no more than an eighth of all
_FEWEST = 256  # of fewer examples than eight times this, the sample is a larger share
_FEW_ROWS = 8  # rows of weights that are few, see _compute_logits
_SAMPLED_TOGETHER = 128  # problems whose sample stays in the cache


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
        every = max(1, min(8, len(features) // _FEWEST), len(features) // _SLOPE_SAMPLE)
        # Every n-th example, not a random draw: it reaches every dialogue and needs no seed.
        self.sample = features[::every].contiguous()
        self.spread = c * len(features) * torch.cat([variance, torch.ones_like(variance[:1])])

    def _cut_blocks(self) -> Iterator[Tensor]:
        size = _CPU_BLOCK * torch.get_num_threads() if self.features.device.type == "cpu" else _CUDA_BLOCK
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
        return self._bend_sample(points, directions, torch.sigmoid, _SAMPLED_TOGETHER)

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
    for rows in _cut_slices(len(of_examples), _CPU_BLOCK):
        total += has[rows].T @ of_examples[rows].astype(np.float64)
    return total


def _compute_logits(weights: Tensor, block: Tensor) -> Tensor:
    """W X'. For two rows MKL takes 1.7 times as long as for the transposed product, from eight on it takes less."""
    return (block @ weights.T).T if len(weights) < _FEW_ROWS else weights @ block.T


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


# How raw states become features: centred, divided by their SD, rotated to the principal axes of the training states.
#
# The rotation changes no objective that penalises |w|^2, and makes its Hessian nearly diagonal.


@dataclass(frozen=True, slots=True)
class Features:
    """The map from states to features, with the variance of each (all d of them, smallest first)."""

    mean: Tensor
    rotation: Tensor
    variance: Tensor

    def apply(self, states: np.ndarray) -> Tensor:
        """The features (n x (d + 1)); the last column is one, for the intercept."""
        centred = _to_tensor(states, self.mean.device) - self.mean
        return torch.cat([centred @ self.rotation, torch.ones(len(centred), 1, device=centred.device)], 1)


def fit_features(states: np.ndarray, *, device: str = "cpu") -> Features:
    """Mean, SD and principal axes of the training states; a feature that does not vary counts for nothing."""
    centred = _to_tensor(states, torch.device(device))
    mean = centred.mean(0)
    centred -= mean
    mean += (drift := centred.mean(0))  # what single precision left the first time
    covariance = (centred.T @ centred).double() / len(centred) - torch.outer(drift, drift)
    deviation = covariance.diagonal().clamp_min(0).sqrt()
    # A deviation this small is rounding error of the mean; to divide by it would make noise a feature.
    shrink = torch.where(deviation > 1e-6 * mean.abs(), 1 / deviation, 0.0)
    variance, axes = torch.linalg.eigh(covariance * torch.outer(shrink, shrink))
    return Features(mean, (shrink[:, None] * axes).float(), variance.clamp_min(0).float())


def _to_tensor(states: np.ndarray, device: torch.device) -> Tensor:
    return torch.from_numpy(np.array(states, np.float32)).to(device)


# Several likelihoods in one solve: the checkpoints of a model, true labels and shuffled ones, the blocks of a code.
#
# Each has features of its own, hence matrix products of its own, which no batch makes faster. All else is done for all
# at once, and that is a third of the time where data are few. Every problem goes the way that it would go alone, to
# the bit. So a part gets copies of its rows: on some processors the last bits of a product hang on where in memory a
# row begins.

AnyLikelihood = ManyLabels | OneLabel


def minimise_all(parts: Sequence[AnyLikelihood], *, until: Until, passes: int) -> list[Minimum]:
    """The minima of likelihoods whose points are of one length."""
    starts = [part.start() for part in parts]
    counts = [len(start.points) for start in starts]
    begin = Start(*(torch.cat([getattr(start, field.name) for start in starts]) for field in fields(Start)))
    minimum = minimise_rows(Together(parts, counts), begin, until=until, passes=passes)
    splits = (getattr(minimum, field.name).split(counts) for field in fields(Minimum))
    return [Minimum(*rows) for rows in zip(*splits, strict=True)]


class Together:
    """The problems of all parts, one part's rows after the other's; those asked for come in ascending order."""

    def __init__(self, parts: Sequence[AnyLikelihood], counts: Sequence[int]) -> None:
        self.parts = parts
        self.ends = torch.tensor(counts, device=parts[0].features.device).cumsum(0)
        self.starts = [0, *self.ends.tolist()[:-1]]

    def _iterate_parts(self, which: Tensor) -> Iterator[tuple[AnyLikelihood, slice, Tensor]]:
        """Every part that is asked for: its rows of what is given, and their numbers within the part."""
        bounds = pairwise([0, *torch.searchsorted(which, self.ends).tolist()])
        for part, start, (first, end) in zip(self.parts, self.starts, bounds, strict=True):
            if first < end:
                yield part, slice(first, end), which[first:end] - start

    def gradients(self, points: Tensor, which: Tensor) -> Tensor:
        """The gradients at these points."""
        return torch.cat(
            [part.gradients(points[rows].clone(), numbers) for part, rows, numbers in self._iterate_parts(which)]
        )

    def values(self, points: Tensor, which: Tensor) -> Tensor:
        """The objectives at these points."""
        return torch.cat(
            [part.values(points[rows].clone(), numbers) for part, rows, numbers in self._iterate_parts(which)]
        )

    def precondition(self, vectors: Tensor, which: Tensor) -> Tensor:
        """These vectors times a guess of the inverse Hessian."""
        return torch.cat(
            [part.precondition(vectors[rows], numbers) for part, rows, numbers in self._iterate_parts(which)]
        )

    def bend(self, points: Tensor, directions: Tensor, which: Tensor) -> Callable[[Tensor], Tensor]:
        """How the slopes change."""
        bends = [
            (rows, part.bend(points[rows].clone(), directions[rows].clone(), numbers))
            for part, rows, numbers in self._iterate_parts(which)
        ]
        return lambda length: torch.cat([bend(length[rows]) for rows, bend in bends])


# Logistic regression on frozen states: every label of a task, for several checkpoints and controls, in one batched
# solve, in float32, on CPU or CUDA.
#
# The objective is scikit-learn's, on standardised features x, with an intercept that is not penalised:
#
# many labels   |w|^2 / 2 + C sum_i log(1 + exp(-y_i (w.x_i + b)))       for each label on its own, y = +-1
# one label     |W|^2 / 2 + C sum_i -log softmax(W x_i + b)[y_i]         one problem for the whole task
#
# What single precision cannot bring to the optimum, as much C or data that can be separated, is ended in double.

SINGLE_PASSES = 150  # of what takes longer, rounding is the cause, and double precision the cure
FIT_PASSES = 400  # in double precision
CONVERGED = 1e-5  # of its value a problem may lie above its minimum to be called converged; the bound is proven
NEAR = Until(fall=1e-7, bound=CONVERGED / 2)  # the proof then moves the intercepts, and may so end above this
NEARER = Until(fall=1e-7, bound=CONVERGED / 20)  # in double precision, where nothing comes after it
LARGEST = 50_000  # weights in one solve: more gain nothing, and some fifty copies of them leave the cache
CERTAIN_LOGIT = 1e4  # the logit of a label that every training example has, or none


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """The solution of one task: weights ((d + 1) x labels, intercept last) and how near the optimum each problem is.

    `gradient` is the Euclidean norm of the objective's gradient; `gap` the share of itself that the objective
    is proven to lie above its minimum at most. A many-label task is a problem a label, a one-label task one problem.
    """

    many: bool
    weights: Tensor
    problems: tuple[str, ...]
    objective: np.ndarray
    gradient: np.ndarray
    gap: np.ndarray
    passes: np.ndarray

    @property
    def converged(self) -> np.ndarray:
        """Which problems are within the tolerance of the optimum."""
        return self.gap <= CONVERGED

    def predict(self, features: Tensor) -> np.ndarray:
        """A boolean matrix: the labels with p > 1/2, or the most probable label of a one-label task."""
        return decide_labels(self.logits(features).cpu().numpy(), many=self.many)

    def logits(self, features: Tensor) -> Tensor:
        """One column a label."""
        return features.to(self.weights.dtype) @ self.weights


def decide_labels(logits: np.ndarray, *, many: bool) -> np.ndarray:
    """Logits (n x L) to predictions: all that are positive, or the largest one."""
    return logits > 0 if many else np.arange(logits.shape[1]) == logits.argmax(1)[:, None]


class FitTask(NamedTuple):
    """Training features, the axes that made them, and the labels."""

    features: Tensor
    axes: Features
    labels: Labels

    def varied(self) -> np.ndarray:
        """The labels to fit: those that tell examples apart, or of a one-label task those that occur."""
        counts = self.labels.counts()  # a label that never varies is predicted as it is
        return np.flatnonzero((counts > 0) & (counts < len(self.features)) if self.labels.many else counts > 0)


def fit_logistic(
    features: Tensor, axes: Features, labels: Labels, *, c: float = 1.0, passes: int = FIT_PASSES
) -> LogisticFit:
    """Fit one task on training features and labels."""
    return fit_all([FitTask(features, axes, labels)], c=c, passes=passes)[0]


def fit_all(
    tasks: Sequence[FitTask], *, c: float = 1.0, passes: int = FIT_PASSES, double: bool = True
) -> list[LogisticFit]:
    """Fit each as if alone; those whose problems are of one length share a solve.

    `double` ends in double precision what single precision did not bring to its optimum.
    """
    fits: dict[int, LogisticFit] = {}
    for group in _group_tasks(tasks):
        group_tasks = [tasks[number] for number in group]
        parts = [_make_likelihood(task, task.varied(), c) for task in group_tasks]
        minima = minimise_all(parts, until=NEAR, passes=min(passes, SINGLE_PASSES))
        for number, part, minimum in zip(group, parts, minima, strict=True):
            task, points = tasks[number], minimum.points
            # Rounding errors of a gradient grow with C: above 1 they could pass for a proof.
            end = part.certify(points) if c <= 1 else _make_exact(task, task.varied(), c).certify(points.double())
            end, taken = _finish_in_double(task, end, c, passes) if double else (end, 0)
            fits[number] = _make_fit(task, part.weights(end.points), end, minimum.passes + taken)
    return [fits[number] for number in range(len(tasks))]


def _make_likelihood(task: FitTask, columns: np.ndarray, c: float) -> AnyLikelihood:
    kind = ManyLabels if task.labels.many else OneLabel
    return kind(task.features, task.axes.variance, task.labels.sparse()[:, columns], c)


def _make_exact(task: FitTask, columns: np.ndarray, c: float) -> AnyLikelihood:
    return _make_likelihood(task._replace(features=task.features.double()), columns, c)


def _finish_in_double(task: FitTask, end: Certificate, c: float, passes: int) -> tuple[Certificate, Tensor]:
    """Minimise further, in double precision, what is not proven to have converged; the passes that it took."""
    short, taken = (
        torch.nonzero(end.bound > CONVERGED * end.values)[:, 0],
        torch.zeros(len(end.values), dtype=torch.int),
    )
    if not len(short):
        return end, taken
    columns = task.varied()[short.cpu().numpy()] if task.labels.many else task.varied()
    exact = _make_exact(task, columns, c)
    points, everyone = end.points[short].double(), torch.arange(len(short), device=short.device)
    start = Start(points, exact.gradients(points, everyone), exact.values(points, everyone))
    # Every length is guessed: what comes here is hard, and a third fewer passes suffice.
    minimum = minimise_rows(exact, start, until=NEARER, passes=passes, guessed=passes)
    taken[short.cpu()] = minimum.passes.int()
    better = exact.certify(minimum.points)
    pairs = ((getattr(end, field.name), getattr(better, field.name)) for field in fields(Certificate))
    # Double from here on: where C is large, weights rounded to single lie further from the optimum than is allowed.
    return Certificate(*(old.double().index_copy(0, short, new) for old, new in pairs)), taken


def _group_tasks(tasks: Sequence[FitTask]) -> list[list[int]]:
    """Which tasks go together: their points have one length, and LARGEST weights in all unless one alone has more."""
    solves: list[list[int]] = []
    newest: dict[int, list[int]] = {}
    room: dict[int, int] = {}
    for number, task in enumerate(tasks):
        width, labels = task.features.shape[1], len(task.varied())
        length, weights = width if task.labels.many else width * labels, width * labels
        if weights > room.get(length, -1):
            newest[length], room[length] = [], LARGEST
            solves.append(newest[length])
        newest[length].append(number)
        room[length] -= weights
    return solves


def _make_fit(task: FitTask, solution: Tensor, end: Certificate, passes: Tensor) -> LogisticFit:
    features, _, labels = task
    varied, present = task.varied(), labels.counts() > 0
    weights = solution.new_zeros(features.shape[1], len(present))
    weights[-1] = torch.from_numpy(np.where(present, CERTAIN_LOGIT, -CERTAIN_LOGIT)).to(weights)
    weights[:, torch.from_numpy(varied).to(features.device)] = solution.T
    return LogisticFit(
        labels.many,
        weights,
        tuple(labels.classes[column] for column in varied) if labels.many else (labels.task,),
        end.values.cpu().numpy(),
        end.gradient.cpu().numpy(),
        (end.bound / end.values.clamp_min(1e-30)).clamp_max(1).cpu().numpy(),  # no objective is below zero
        passes.numpy(),
    )
