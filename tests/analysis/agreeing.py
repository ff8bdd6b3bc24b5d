"""What the coefficients of agreement estimate in a simulated crowd, over all its dialogues, pairs and raters."""

import numpy as np
from scipy.special import expit

from seedvote.analysis.stats.between_raters.agreement import cohen_kappa

VALUES = (-1.0, 0.0, 1.0)  # b, tie, a


def coded(votes):
    """The choice of every vote of `Crowd.study`, as a code of `VALUES`."""
    return np.asarray(votes["score"], dtype=np.int64) + 1


def agreement_truth(crowd):
    """The coefficients under their names in `Agreement`, and the share of ties: two raters who judge one pair.

    Integrated by Gauss and Hermite's rule over pairs (utility, threshold) and raters (lean, habit).
    """
    one, other, weight = _nodes()
    b, a = (chance @ weight for chance in _chances(crowd, crowd.sd_rater * one, crowd.sd_habit * other))
    chances = np.stack([b, 1 - a - b, a], axis=1)
    return _coefficients(chances.T @ (weight[:, None] * chances))


def cohen_truth(crowd, leans, habits):
    """Cohen's kappa of two raters of these leans and habits, over all pairs and dialogues."""
    _, _, weight = _nodes()
    b, a = _chances(crowd, np.asarray(leans), np.asarray(habits))
    first, second = (np.stack([b[:, rater], 1 - a[:, rater] - b[:, rater], a[:, rater]], axis=1) for rater in (0, 1))
    return float(cohen_kappa(first.T @ (weight[:, None] * second)))


def _nodes():
    """Two independent standard normal numbers, and the weight of both."""
    points, mass = np.polynomial.hermite_e.hermegauss(25)
    one, other = (grid.ravel() for grid in np.meshgrid(points, points))
    return one, other, np.outer(mass, mass).ravel() / mass.sum() ** 2


def _chances(crowd, leans, habits):
    """The chances (pairs, raters) of a vote for b and for a."""
    one, other, _ = _nodes()
    place, cut = np.hypot(crowd.sd_dialogue, crowd.sd_pair), np.hypot(0.6 * crowd.sd_dialogue, 0.36 * crowd.sd_pair)
    utility = (crowd.centre + place * one)[:, None] + leans
    threshold = crowd.threshold * np.exp((cut * other)[:, None] + habits)
    return expit(-utility - threshold), expit(utility - threshold)


def _coefficients(together):
    share = together.sum(0)
    middle = np.cumsum(share) - share / 2
    distances = {
        "alpha_nominal": 1 - np.eye(3),
        "alpha_ordinal": (middle[:, None] - middle) ** 2,
        "alpha_interval": np.subtract.outer(VALUES, VALUES) ** 2,
    }
    alphas = {name: 1 - (together * d).sum() / (share @ d @ share) for name, d in distances.items()}
    agree, chance = np.trace(together), (share * (1 - share)).sum() / 2
    kappa = {"fleiss_kappa": alphas["alpha_nominal"], "gwet_ac1": (agree - chance) / (1 - chance)}
    return {"observed": agree, **kappa, **alphas}, share[1]
