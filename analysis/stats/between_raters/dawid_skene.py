"""Dawid and Skene's model (1979): each item has one true category, each rater a table of how he reports it.

EM exactly as in the paper (equations 2.3 to 2.5), started from the items' vote shares (3.1). Votes are held as a sparse
matrix of items x (rater, reported label), so that either step is one sparse product: linear in the votes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class DawidSkene:
    """The fitted model; `confusion[r, t, l]` is the chance that rater r reports l where t is true."""

    posterior: Floats  # items x categories: chance of each truth, items without a vote hold the prior
    prior: Floats  # categories
    confusion: Floats  # raters x truth x label
    log_likelihood: float
    steps: int
    converged: bool


def dawid_skene(
    item: Ints,
    rater: Ints,
    label: Ints,
    categories: int,
    *,
    smoothing: float = 0.0,
    tolerance: float = 1e-7,
    max_steps: int = 1000,
) -> DawidSkene:
    """Fit by EM until the log-likelihood a vote gains less than `tolerance`.

    `smoothing` adds so many imaginary votes to every rater's table for each true label, half of them right and half
    spread evenly over all labels (0: the paper's maximum likelihood, which overfits a dozen votes a rater). One vote
    in every cell, the usual remedy, says that raters guess, and drowns a dozen votes: docs/method-agreement.md.
    """
    items, raters = int(item.max()) + 1, int(rater.max()) + 1
    shape = (items, raters * categories)
    column = rater.astype(np.int64) * categories + label
    votes = sparse.csr_matrix((np.ones(len(item)), (item, column)), shape=shape)
    by_label = votes.T.tocsr()
    total = np.bincount(item.astype(np.int64) * categories + label, minlength=items * categories)
    posterior = total.reshape(items, categories) / np.maximum(total.reshape(items, categories).sum(1), 1)[:, None]
    voted = votes.getnnz(axis=1) > 0
    before, steps, gain = -np.inf, 0, np.inf
    while steps < max_steps and gain > tolerance:
        prior = posterior[voted].mean(0)  # an item without a vote has no share in it
        confusion = _m_step(by_label, posterior, smoothing, categories)
        posterior, likelihood = _e_step(votes, prior, confusion)
        gain, before, steps = (likelihood - before) / len(item), likelihood, steps + 1
    return DawidSkene(posterior, prior, confusion.transpose(0, 2, 1), before, steps, gain <= tolerance)


def _m_step(by_label: sparse.csr_matrix, posterior: Floats, smoothing: float, categories: int) -> Floats:
    """Raters x label x truth: each rater's reports, shared out over the truths by the posterior (2.3)."""
    imagined = smoothing / 2 * (np.eye(categories) + 1 / categories)
    reports = (by_label @ posterior).reshape(-1, categories, categories) + imagined
    return np.asarray(reports / np.maximum(reports.sum(1, keepdims=True), np.finfo(float).tiny))


def _e_step(votes: sparse.csr_matrix, prior: Floats, confusion: Floats) -> tuple[Floats, float]:
    """The posterior of every item's truth (2.5) and the log-likelihood of all votes (2.7)."""
    tiny = np.finfo(float).tiny
    logs = np.log(np.maximum(confusion, tiny)).reshape(-1, len(prior))
    joint = votes @ logs + np.log(np.maximum(prior, tiny))
    top = joint.max(1, keepdims=True)  # taken out before exp: a product of many small chances underflows
    scaled = np.exp(joint - top)
    sums = scaled.sum(1, keepdims=True)
    return scaled / sums, float((top + np.log(sums)).sum())
