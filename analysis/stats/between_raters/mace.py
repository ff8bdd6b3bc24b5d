"""MACE: each vote either tells the item's true label or is spam.

Source: Hovy, Berg-Kirkpatrick, Vaswani and Hovy 2013, "Learning Whom to Trust with MACE", NAACL-HLT, 1120-1130. The
paper's are the model (a rater spams with a chance of his own, and then chooses labels by a habit of his own that does
not look at the item), variational Bayes, and both priors: Beta(.5, .5) for spamming, which its program has as
--alpha .5 --beta .5, and Dirichlet(10) for the habit.
Ours are the start (the votes' own shares in place of the best of many random starts, so that no seed changes the
answer), the end (when no posterior moves, in place of 50 steps), and the learned shares of the true labels (`even`
holds them equal, as the paper does).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import digamma

from seedvote.analysis.stats.between_raters.coincidences import count_table

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]
SPAM, HABIT = 0.5, 10.0  # of Beta(SPAM, SPAM) and Dirichlet(HABIT), Hovy et al. 2013


@dataclass(frozen=True, slots=True)
class Mace:
    """The fitted model; `spamming[r]` is the expected share of spam among rater r's votes, past and future."""

    posterior: Floats  # items x categories: chance of each truth, items without a vote hold the prior
    prior: Floats  # categories
    spamming: Floats  # raters
    spam: Floats  # votes: the chance that each is spam
    steps: int
    converged: bool


def mace(
    item: Ints,
    rater: Ints,
    label: Ints,
    categories: int,
    *,
    even: bool = False,
    tolerance: float = 1e-4,
    max_steps: int = 300,
) -> Mace:
    """Fit until no posterior moves by more than `tolerance`.

    `even` holds all true labels equally frequent, as the paper does; otherwise their shares are learned, which is
    better where ties are most of the votes.
    """
    counts = count_table(item, label, categories).astype(np.float64)
    voted = counts.sum(1) > 0
    prior = np.full(categories, 1 / categories)
    posterior = np.where(voted[:, None], counts / np.maximum(counts.sum(1, keepdims=True), 1), prior)
    spam = 1 - posterior[item, label]
    steps, moved = 0, np.inf
    while steps < max_steps and moved > tolerance:
        odds = _weigh_labels(rater, label, spam, categories)
        known = np.bincount(item * categories + label, np.log1p(odds), posterior.size).reshape(posterior.shape)
        joint = np.exp(known - known.max(1, keepdims=True)) * prior
        fitted = joint / joint.sum(1, keepdims=True)
        if not even:
            prior = fitted[voted].mean(0)
        spam = 1 - fitted[item, label] * odds / (1 + odds)
        moved, posterior, steps = float(np.abs(fitted - posterior).max()), fitted, steps + 1
    votes, spams = np.bincount(rater), np.bincount(rater, spam)
    return Mace(posterior, prior, (spams + SPAM) / (votes + 2 * SPAM), spam, steps, moved <= tolerance)


def _weigh_labels(rater: Ints, label: Ints, spam: Floats, categories: int) -> Floats:
    """For each vote, where its label is the true one: the odds that it was known rather than hit upon by spam.

    The expectations of logarithms that variational Bayes puts in place of the parameters.
    """
    votes = np.bincount(rater)
    by_label = np.bincount(rater * categories + label, spam, len(votes) * categories).reshape(-1, categories)
    spams = by_label.sum(1)
    habit = digamma(by_label + HABIT) - digamma(spams + categories * HABIT)[:, None]
    knows, guesses = digamma(votes - spams + SPAM), digamma(spams + SPAM)
    return np.asarray(np.exp(knows[rater] - guesses[rater] - habit[rater, label]))
