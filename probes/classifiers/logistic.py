"""Logistic regression on frozen states, many fits in one solve."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seedvote.probes.classifiers.lbfgs import Minimum, Start, Until, minimise_rows
from seedvote.probes.classifiers.likelihood import Certificate, ManyLabels, OneLabel
from seedvote.probes.tasks.labels import Labels

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
    minimum = minimise_rows(exact, start, until=NEARER, passes=passes)
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
