"""The same probes by scikit-learn: the oracle of `--solver sklearn`, and the papers' own way, `--protocol paper`.

`fit_exactly` minimises what `logistic` minimises; `fit_as_the_papers` keeps their defaults, warts and all.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from seedvote.probes.tasks.labels import Labels

PAPER_PASSES = 250
EXACT_PASSES = 100_000


@dataclass(frozen=True, slots=True)
class ReferenceFit:
    """Predictions of scikit-learn, and which of its problems it called converged."""

    predicted: np.ndarray
    problems: tuple[str, ...]
    converged: np.ndarray
    passes: np.ndarray


def fit_exactly(train: np.ndarray, labels: Labels, report: np.ndarray, *, c: float = 1.0) -> ReferenceFit:
    """The objective of `probes.classifiers.logistic`, by scikit-learn in double precision, to a gradient of 1e-6."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(train.astype(np.float64))
    train, report = scaler.transform(train), scaler.transform(report)
    model = LogisticRegression(C=c, tol=1e-6, max_iter=EXACT_PASSES)
    if labels.many:
        return _one_by_one(model, train, labels, report)
    target = labels.columns
    model.fit(train, target)
    predicted = np.arange(len(labels.classes)) == model.predict(report)[:, None]
    return ReferenceFit(predicted, (labels.task,), model.n_iter_ < EXACT_PASSES, model.n_iter_)


def fit_as_the_papers(train: np.ndarray, labels: Labels, report: np.ndarray) -> ReferenceFit:
    """Every task one against the rest at 1/2, features as they come, defaults but for 250 iterations."""
    from sklearn.linear_model import LogisticRegression

    return _one_by_one(LogisticRegression(max_iter=PAPER_PASSES), train, labels, report)


def _one_by_one(model: Any, train: np.ndarray, labels: Labels, report: np.ndarray) -> ReferenceFit:
    from sklearn.exceptions import ConvergenceWarning

    targets = labels.dense()
    predicted = np.zeros((len(report), len(labels.classes)), bool)
    varied = [column for column in range(targets.shape[1]) if targets[:, column].min() != targets[:, column].max()]
    predicted[:, targets.all(0)] = True
    passes = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for column in varied:
            model.fit(train, targets[:, column])
            predicted[:, column] = model.predict(report)
            passes.append(int(model.n_iter_[0]))
    taken = np.array(passes, int)
    return ReferenceFit(predicted, tuple(labels.classes[c] for c in varied), taken < model.max_iter, taken)
