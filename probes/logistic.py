"""Logistic regression on frozen states: every label of a task in one batched solve, in float32, on CPU or CUDA.

The objective is scikit-learn's, on standardised features x, with an intercept that is not penalised:

    many labels   |w|^2 / 2 + C sum_i log(1 + exp(-y_i (w.x_i + b)))       for each label on its own, y = +-1
    one label     |W|^2 / 2 + C sum_i -log softmax(W x_i + b)[y_i]         one problem for the whole task
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from probes.features import Features
from probes.lbfgs import minimise
from probes.likelihood import ManyLabels, OneLabel
from probes.tasks.labels import Labels

PASSES = 400
STOP = 1e-7  # a problem is closed when it expects to fall by less than this share of its value ...
CONVERGED = 1e-5  # ... and called converged if the exact check afterwards expects less than this share
NEVER = 1e4  # the logit of a label that every training example has, or none


@dataclass(frozen=True, slots=True)
class Fit:
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


def fit(features: Tensor, axes: Features, labels: Labels, *, c: float = 1.0, passes: int = PASSES) -> Fit:
    """Fit one task on training features and labels; a label that never varies is left out and predicted as it is."""
    counts = labels.counts()
    varied = np.flatnonzero((counts > 0) & (counts < len(features)) if labels.many else counts > 0)
    targets = labels.sparse()[:, varied]
    likelihood = (ManyLabels if labels.many else OneLabel)(features, axes.variance, targets, c)
    found = minimise(likelihood, likelihood.start(), tolerance=STOP, passes=passes)
    weights = torch.zeros(features.shape[1], len(counts), device=features.device)
    weights[-1] = torch.from_numpy(np.where(counts > 0, NEVER, -NEVER)).to(features.device)
    weights[:, torch.from_numpy(varied).to(features.device)] = likelihood.weights(found.points).T
    return Fit(
        labels.many,
        weights,
        tuple(labels.classes[column] for column in varied) if labels.many else (labels.task,),
        found.values.cpu().numpy(),
        found.gradient.double().cpu().numpy(),
        (found.expected_fall.double() / found.values.clamp_min(1e-30)).cpu().numpy(),
        found.passes.numpy(),
    )
