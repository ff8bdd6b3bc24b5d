"""What is told without reading: by the length of a reply alone, and by its words and pairs of words.

The weights of the bag say what a model does too often or too seldom; they are the list of artefacts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit

from seedvote.evaluators.detection.material import LONGEST_REPLY, Tokens
from seedvote.evaluators.detection.trials import Showing

Floats = NDArray[np.float64]
AT_LEAST = 3  # times that a word or a pair of words occurs in what is fitted
PENALTIES = (0.3, 1.0, 3.0, 10.0)  # the best on the dialogues put aside is kept
HEAVIEST = 20
SPREADS = (0.5, 1.0, 2.0)  # tokens by which counts of lengths are smoothed; the best one is kept

Predict = Callable[[Sequence[Tokens]], Floats]
Gram = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Artefact:
    """One word or pair of words that tells a model's reply from a person's."""

    words: str
    weight: float  # of the log-odds that a person wrote it
    human: int  # replies in the fitted part that hold it
    model: int


def fit_length(fit: Sequence[Showing], choose: Sequence[Showing]) -> Predict:
    """P(person | length): counts of each length, smoothed over its neighbours."""
    places = np.arange(LONGEST_REPLY + 1)
    counts = {label: np.zeros(len(places)) for label in (True, False)}
    for showing in fit:
        counts[showing.human][len(showing.reply)] += showing.weight
    prior = sum(counts[True]) / (sum(counts[True]) + sum(counts[False]))

    def with_spread(spread: float) -> Predict:
        kernel = np.exp(-0.5 * ((places[:, None] - places[None]) / spread) ** 2)
        human, model = kernel @ counts[True], kernel @ counts[False]
        table = (human + 2 * prior) / (human + model + 2)
        return lambda replies: np.asarray(table[[len(reply) for reply in replies]], dtype=np.float64)

    return min((with_spread(spread) for spread in SPREADS), key=lambda showing: log_loss(showing, choose))


def log_loss(predict: Predict, showings: Sequence[Showing]) -> float:
    """Mean negative log-likelihood of the labels, in nats."""
    return _loss_of(predict([showing.reply for showing in showings]), showings)


def _loss_of(chances: Floats, showings: Sequence[Showing]) -> float:
    chance = np.clip(chances, 1e-12, 1 - 1e-12)
    labels = np.array([showing.human for showing in showings])
    weights = np.array([showing.weight for showing in showings])
    return float(-(weights * np.log(np.where(labels, chance, 1 - chance))).sum() / weights.sum())


def grams(reply: Tokens) -> set[Gram]:
    """The words and neighbouring pairs of a reply; its two ends count as words."""
    marked_reply = (-1, *reply, -2)
    return {(word,) for word in reply} | set(pairwise(marked_reply))


def fit_bag(
    fit: Sequence[Showing], choose: Sequence[Showing], spelt: Callable[[Gram], str]
) -> tuple[Predict, list[Artefact]]:
    """A logistic regression on which words and pairs a reply holds, and its heaviest weights."""
    gram_sets = [grams(showing.reply) for showing in fit]
    often = Counter(gram for fitted in gram_sets for gram in fitted)
    column = {gram: n for n, gram in enumerate(sorted(gram for gram, times in often.items() if times >= AT_LEAST))}
    x = _matrix(gram_sets, column)
    labels = np.array([float(showing.human) for showing in fit])
    shares = np.array([showing.weight for showing in fit])
    put_aside = _matrix([grams(showing.reply) for showing in choose], column)  # once for all penalties

    def chances(matrix: sparse.csr_matrix, weights: Floats) -> Floats:
        return np.asarray(expit(matrix @ weights[:-1] + weights[-1]))

    def predict(replies: Sequence[Tokens]) -> Floats:
        return chances(_matrix([grams(reply) for reply in replies], column), fitted)

    fits = (_logistic(x, labels, shares / shares.mean(), penalty) for penalty in PENALTIES)
    fitted = min(fits, key=lambda showing: _loss_of(chances(put_aside, showing), choose))
    human = np.asarray(x[labels == 1].sum(0)).ravel()
    model = np.asarray(x[labels == 0].sum(0)).ravel()
    grams_in_order = list(column)
    heaviest = sorted(range(len(column)), key=lambda n: (-abs(fitted[n]), grams_in_order[n]))[:HEAVIEST]
    return predict, [
        Artefact(spelt(grams_in_order[n]), round(float(fitted[n]), 4), int(human[n]), int(model[n])) for n in heaviest
    ]


def _matrix(gram_sets: Sequence[set[Gram]], column: dict[Gram, int]) -> sparse.csr_matrix:
    rows = [sorted(column[gram] for gram in grams_of_text if gram in column) for grams_of_text in gram_sets]
    ends = np.cumsum([0, *map(len, rows)])
    columns = np.array([column_number for row in rows for column_number in row], dtype=np.int64)
    return sparse.csr_matrix((np.ones(len(columns)), columns, ends), shape=(len(rows), len(column)))


def _logistic(x: sparse.csr_matrix, labels: Floats, weights: Floats, penalty: float) -> Floats:
    """Weights and intercept that maximise the penalised likelihood; the intercept bears no penalty."""
    across = x.T

    def loss(beta: Floats) -> tuple[float, Floats]:
        odds = x @ beta[:-1] + beta[-1]
        value = (weights * (np.logaddexp(0, odds) - labels * odds)).sum() + penalty / 2 * (beta[:-1] ** 2).sum()
        residual = weights * (expit(odds) - labels)
        return float(value), np.append(across @ residual + penalty * beta[:-1], residual.sum())

    fit = minimize(loss, np.zeros(x.shape[1] + 1), jac=True, method="L-BFGS-B", options={"maxiter": 500})
    return np.asarray(fit.x, dtype=np.float64)
