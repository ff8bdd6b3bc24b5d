"""Does a state tell that the user's last turn has foreign talk in it?

`probe`: logistic regression on standardised states (scikit-learn, C = 1), fitted on dialogues of which a share of user
turns was given foreign talk. `distance`: Mahalanobis' distance of a state from the clean training states (covariance
shrunk by Ledoit and Wolf), which needs no example of foreign talk; above the 95th percentile of the training states'
own distances a turn is called foreign.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedvote.dialogue.conditions import OUTSIDE
from seedvote.dialogue.corpora.examples import Example

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
CALLED = 0.95  # of the clean training states, so many are not called foreign
DRAWS = 1000  # of dialogues, for the intervals


@dataclass(frozen=True)
class ForeignCalls:
    """What one detector says of every reported context: how foreign, and whether it calls it so."""

    scores: Floats
    called: Bools


@dataclass(frozen=True, slots=True)
class DetectionRates:
    """Rates with 95 % intervals for other dialogues, each (value, low, high), as shares."""

    f1: tuple[float, float, float]
    precision: tuple[float, float, float]
    recall: tuple[float, float, float]
    auroc: tuple[float, float, float]


def foreign_turns(examples: Sequence[Example]) -> Bools:
    """Whether the user's turn before each system turn has foreign talk in it."""
    return np.array([OUTSIDE in (example.context[-1].acts or {}) for example in examples], bool)


def by_probe(fit: Floats, truth: Bools, report: Floats) -> ForeignCalls:
    """A logistic probe with labels."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(fit)
    model = LogisticRegression(max_iter=1000).fit(scaler.transform(fit), truth)
    scores = np.asarray(model.decision_function(scaler.transform(report)), np.float64)
    return ForeignCalls(scores, scores > 0)


def by_distance(clean: Floats, report: Floats) -> ForeignCalls:
    """The distance from clean states, without labels."""
    from sklearn.covariance import LedoitWolf

    # A number that never varies tells nothing, and has no scale.
    varied = clean.std(0) > 1e-9 * np.maximum(1.0, np.abs(clean.mean(0)))
    covariance = LedoitWolf().fit(clean[:, varied])
    scores = np.sqrt(covariance.mahalanobis(report[:, varied]))
    return ForeignCalls(scores, scores > np.quantile(np.sqrt(covariance.mahalanobis(clean[:, varied])), CALLED))


def detection_rates(
    detectors: Sequence[ForeignCalls], truth: Bools, clusters: Sequence[str], *, generator: np.random.Generator
) -> DetectionRates:
    """Means over detectors (training seeds); dialogues are drawn anew, the same for all of them."""
    names, place = np.unique(np.asarray(clusters), return_inverse=True)
    counts = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=DRAWS)
    weights = np.vstack([np.ones(len(truth)), counts[:, place]]).astype(np.float64)
    rates = np.mean([_weigh_rates(detector, truth, weights) for detector in detectors], axis=0)
    return DetectionRates(*(_add_interval(float(row[0]), row[1:]) for row in rates))


def _add_interval(value: float, draws: Floats) -> tuple[float, float, float]:
    """A value with the middle 95 % of its draws; draws in which it is not defined do not count."""
    finite_draws = draws[np.isfinite(draws)]
    low, high = np.quantile(finite_draws, (0.025, 0.975)) if len(finite_draws) else (np.nan, np.nan)
    return value, float(low), float(high)


def _weigh_rates(calls: ForeignCalls, truth: Bools, weights: Floats) -> Floats:
    """F1, precision, recall and AUROC (4, weights): F1 is 0 where nothing is called and nothing foreign."""
    tp = weights @ (calls.called & truth)
    called, positive = weights @ calls.called, weights @ truth
    with np.errstate(invalid="ignore", divide="ignore"):
        f1 = np.where(called + positive > 0, 2 * tp / (called + positive), 0.0)
        precision = np.where(called > 0, tp / called, np.nan)
        recall = np.where(positive > 0, tp / positive, np.nan)
    return np.stack([f1, precision, recall, auroc(calls.scores, truth, weights)])


def auroc(scores: Floats, truth: Bools, weights: Floats) -> Floats:
    """The share of (foreign, other) pairs in which the foreign one scores higher, equals as halves (one a weight row).

    NaN where there are not both.
    """
    levels, level = np.unique(scores, return_inverse=True)
    positive, negative = (np.zeros((len(weights), len(levels))) for _ in range(2))
    for matrix, mask in ((positive, truth), (negative, ~truth)):
        np.add.at(matrix.T, level[mask], weights[:, mask].T)
    below = np.cumsum(negative, axis=1) - negative / 2
    pairs = positive.sum(1) * negative.sum(1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(pairs > 0, (positive * below).sum(1) / pairs, np.nan))
