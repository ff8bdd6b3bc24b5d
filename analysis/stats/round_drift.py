"""Does the share of ties drift from round to round within raters? A clustered test of the rounds, given who voted.

A round holds the k-th vote of every pair, so it also says who came when: if early raters like ties, the first round has
many, and Cochran's Q (1950) finds a change where none was. So each rater is held against himself: votes and rounds are
centred on the rater's means, and the product of both is his score, one for each round but the first. Under no drift the
scores of different raters are independent with mean zero. W = S' (sum of s s')^-1 S, with S their sum, has no fitted
drift in its variance; for G equal normal scores W/G is Beta(q/2, (G - q)/2), which is F. G is the effective number of
raters by what they know of rounds (Kish): those who voted in one round alone know nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import fdtrc

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
LEAST_RATERS = 5.0  # effective raters beyond the rounds' own number of parameters, below which there is no test


@dataclass(frozen=True, slots=True)
class RoundDrift:
    """Shares over the pairs with one vote in every round, and the test; `p` is None where raters tell too little.

    `raters` voted in two rounds or more, `effective` is the number of equally telling ones, `everybody` all of them.
    """

    shares: tuple[float, ...]  # of each round
    pairs: int
    raters: int
    everybody: int
    effective: float
    statistic: float | None  # F
    freedom: tuple[float, float] | None
    p: float | None


def round_drift(pair: Ints, round: Ints, rater: Ints | None, yes: NDArray[np.bool_]) -> RoundDrift:
    """One yes/no outcome over the rounds, on the pairs that have exactly one vote in every round."""
    rounds, place = np.unique(round, return_inverse=True)
    votes_in_round = np.zeros((int(pair.max()) + 1, len(rounds)))
    np.add.at(votes_in_round, (pair, place), 1)
    is_complete = (votes_in_round == 1).all(1)[pair]  # a pair judged twice in a round would count double
    place, outcome = place[is_complete], yes[is_complete].astype(np.float64)
    pairs = len(place) // len(rounds)
    shares = tuple((np.bincount(place, outcome, len(rounds)) / max(pairs, 1)).tolist())
    if rater is None or not pairs:
        return RoundDrift(shares, pairs, 0, 0, 0.0, None, None, None)
    codes = np.unique(rater[is_complete], return_inverse=True)[1]
    scores, information = _score_raters(codes, place, outcome, len(rounds))
    telling = information > 1e-9
    effective = float(information.sum() ** 2 / (information @ information)) if telling.any() else 0.0
    counts = pairs, int(telling.sum()), len(information), effective
    if effective < LEAST_RATERS + scores.shape[1] - 1:
        return RoundDrift(shares, *counts, None, None, None)
    return RoundDrift(shares, *counts, *_test_scores(scores, effective))


def _score_raters(rater: Ints, round: Ints, outcome: Floats, rounds: int) -> tuple[Floats, Floats]:
    """Every rater's score (raters, rounds - 1) for no drift, and what the rater knows of rounds (raters,)."""
    votes = np.bincount(rater)

    def centre_by_rater(values: Floats) -> Floats:
        return values - (np.bincount(rater, values) / votes)[rater]

    among = np.stack([centre_by_rater((round == k).astype(np.float64)) for k in range(1, rounds)], -1)
    own = centre_by_rater(outcome)[:, None] * among
    scores = np.stack([np.bincount(rater, column) for column in own.T], -1)
    return np.asarray(scores, np.float64), np.asarray(np.bincount(rater, (among**2).sum(1)), np.float64)


def _test_scores(scores: Floats, raters: float) -> tuple[float, tuple[float, float], float]:
    """F, its degrees of freedom and p; 1 where no rater ever answered differently."""
    square, total = scores.T @ scores, scores.sum(0)
    freedom = int(np.linalg.matrix_rank(square))
    if not freedom:
        return 0.0, (scores.shape[1], raters - scores.shape[1]), 1.0
    w = min(float(total @ np.linalg.pinv(square, hermitian=True) @ total), raters * (1 - 1e-12))
    statistic = w / (raters - w) * (raters - freedom) / freedom
    return statistic, (freedom, raters - freedom), float(fdtrc(freedom, raters - freedom, statistic))
