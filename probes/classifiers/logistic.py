"""Logistic regression on frozen states: every label of a task, for several checkpoints and controls, in one batched
solve, in float32, on CPU or CUDA.

The objective is scikit-learn's, on standardised features x, with an intercept that is not penalised:

    many labels   |w|^2 / 2 + C sum_i log(1 + exp(-y_i (w.x_i + b)))       for each label on its own, y = +-1
    one label     |W|^2 / 2 + C sum_i -log softmax(W x_i + b)[y_i]         one problem for the whole task
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from probes.classifiers.features import Features
from probes.classifiers.lbfgs import Minimum
from probes.classifiers.likelihood import ManyLabels, OneLabel
from probes.classifiers.together import minimise_all
from probes.tasks.labels import Labels

FIT_PASSES = 400
STOP = 1e-7  # a problem is closed when it expects to fall by less than this share of its value ...
CONVERGED = 1e-5  # ... and called converged if the exact check afterwards expects less than this share
LARGEST = 50_000  # weights in one solve: more gain nothing, and some fifty copies of them leave the cache
CERTAIN_LOGIT = 1e4  # the logit of a label that every training example has, or none


@dataclass(frozen=True, slots=True)
class LogisticFit:
    """The solution of one task: weights ((d + 1) x labels, intercept last) and how near the optimum each problem is.

    `gradient` is the Euclidean norm of the objective's gradient, `gap` the fall still expected as a share of the
    objective. A many-label task is a problem a label, a one-label task one problem.
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
        return decide(self.logits(features).cpu().numpy(), many=self.many)

    def logits(self, features: Tensor) -> Tensor:
        """One column a label."""
        return features @ self.weights


def decide(logits: np.ndarray, *, many: bool) -> np.ndarray:
    """Logits (n x L) to predictions: all that are positive, or the largest one."""
    return logits > 0 if many else np.arange(logits.shape[1]) == logits.argmax(1)[:, None]


class Given(NamedTuple):
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
    return fit_all([Given(features, axes, labels)], c=c, passes=passes)[0]


def fit_all(tasks: Sequence[Given], *, c: float = 1.0, passes: int = FIT_PASSES) -> list[LogisticFit]:
    """Fit each as if alone; those whose problems are of one length share a solve."""
    fits: dict[int, LogisticFit] = {}
    for group in _solves(tasks):
        parts = [
            (ManyLabels if one.labels.many else OneLabel)(
                one.features, one.axes.variance, one.labels.sparse()[:, one.varied()], c
            )
            for one in (tasks[number] for number in group)
        ]
        found = minimise_all(parts, tolerance=STOP, passes=passes)
        for number, part, minimum in zip(group, parts, found, strict=True):
            fits[number] = _fit(tasks[number], part.weights(minimum.points), minimum)
    return [fits[number] for number in range(len(tasks))]


def _solves(tasks: Sequence[Given]) -> list[list[int]]:
    """Which tasks go together: their points have one length, and LARGEST weights in all unless one alone has more."""
    solves: list[list[int]] = []
    newest: dict[int, list[int]] = {}
    room: dict[int, int] = {}
    for number, one in enumerate(tasks):
        width, labels = one.features.shape[1], len(one.varied())
        length, weights = width if one.labels.many else width * labels, width * labels
        if weights > room.get(length, -1):
            newest[length], room[length] = [], LARGEST
            solves.append(newest[length])
        newest[length].append(number)
        room[length] -= weights
    return solves


def _fit(task: Given, solution: Tensor, found: Minimum) -> LogisticFit:
    features, _, labels = task
    varied, seen = task.varied(), labels.counts() > 0
    weights = torch.zeros(features.shape[1], len(seen), device=features.device)
    weights[-1] = torch.from_numpy(np.where(seen, CERTAIN_LOGIT, -CERTAIN_LOGIT)).to(features.device)
    weights[:, torch.from_numpy(varied).to(features.device)] = solution.T
    return LogisticFit(
        labels.many,
        weights,
        tuple(labels.classes[column] for column in varied) if labels.many else (labels.task,),
        found.values.cpu().numpy(),
        found.gradient.double().cpu().numpy(),
        (found.expected_fall.double() / found.values.clamp_min(1e-30)).cpu().numpy(),
        found.passes.numpy(),
    )
