"""Proportional odds for two systems rated on one scale: the odds of a higher rating (McCullagh 1980).

The model is fit by statsmodels' `OrderedModel`. Its error is the sandwich with every way of clustering added and their
crossing taken away, as in `intervals.py` (Cameron, Gelbach and Miller 2011), each part times G/(G-1), with a t quantile
of (smallest effective number of clusters - 1) degrees of freedom.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from seedvote.analysis.stats.intervals import cross_codes, kish

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
MOST_STEPS = 11  # 0 to 10; a finer scale is a slider
FARTHEST = 12.0  # log odds; beyond it a fit has only not gone further


@dataclass(frozen=True, slots=True)
class ProportionalOdds:
    """The odds of a higher rating for the first system, as a multiple of the second's."""

    ratio: float
    low: float
    high: float
    p: float


def proportional_odds(first: Floats, second: Floats, by: Mapping[str, Ints]) -> ProportionalOdds | None:
    """Fit to ratings in pairs (n,); None where the odds have no finite estimate.

    That is so where all ratings are the same, where no rating of one system is below any of the other (the likelihood
    then grows with the odds for ever), and on scales of more than `MOST_STEPS` steps, which are numbers.
    """
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    score, which = np.concatenate([first, second]), np.repeat([1.0, 0.0], len(first))
    levels, code = np.unique(score, return_inverse=True)
    if not 2 <= len(levels) <= MOST_STEPS or first.min() >= second.max() or second.min() >= first.max():
        return None
    model = OrderedModel(code, which[:, None], distr="logit")
    fit = model.fit(method="bfgs", disp=0, maxiter=200)
    scores = np.asarray(model.score_obs(fit.params))
    bread = np.linalg.pinv(-np.asarray(model.hessian(fit.params)))
    twice = {name: np.concatenate([codes, codes]) for name, codes in by.items()} or {
        "pair": np.tile(np.arange(len(first)), 2)
    }
    variance = float((bread @ _sum_score_products(scores, twice) @ bread)[0, 0])
    one_way = max(float((bread @ _sum_score_products(scores, {n: c}) @ bread)[0, 0]) for n, c in twice.items())
    df = max(min(kish(codes) for codes in (by or twice).values()) - 1, 1.0)
    return odds_of(float(fit.params[0]), float(np.sqrt(max(variance, one_way))), df)


def odds_of(level: float, se: float, df: float) -> ProportionalOdds | None:
    """The odds ratio of log odds with their error; None where they have no finite estimate."""
    if not np.isfinite([level, se]).all() or se == 0 or abs(level) > FARTHEST:
        return None
    reach = float(stdtrit(df, 0.975)) * se
    ratio, low, high = (float(np.exp(x)) for x in (level, level - reach, level + reach))
    return ProportionalOdds(ratio, low, high, 2 * float(stdtr(df, -abs(level) / se)))


def _sum_score_products(scores: Floats, by: Mapping[str, Ints]) -> Floats:
    """Sum over sets of ways, with alternating sign, of the outer products of the clusters' scores."""
    total = np.zeros((scores.shape[1], scores.shape[1]))
    for size in range(1, len(by) + 1):
        for ways in combinations(by.values(), size):
            _, codes = np.unique(cross_codes(list(ways)), return_inverse=True)
            sums = np.zeros((codes.max() + 1, scores.shape[1]))
            np.add.at(sums, codes, scores)
            total += (-1) ** (size + 1) * len(sums) / max(len(sums) - 1, 1) * sums.T @ sums
    return total
