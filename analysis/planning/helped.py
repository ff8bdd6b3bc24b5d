"""Votes that a study can spare because a judge, or any score of both sides, rules on further pairs as well.

With L pairs voted on, N more with the judge alone, and a correlation c of the judge with people's pair means, the tuned
estimate leaves r + (1 - r)(1 - c^2 N / (N + L)) of the variance: r is the part that raters make, which nothing lowers.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass

import numpy as np

from analysis.stats.gain import ceiling, least_correlation
from analysis.stats.power import Assumptions


@dataclass(frozen=True, slots=True)
class Helper:
    """What is assumed of a judge."""

    correlation: float  # with the mean votes of pairs
    unlabelled: int  # pairs that it rules on and nobody votes on
    rater_share: float  # of the variance of the estimate; what the judge cannot lower
    price: float | None = None  # of its verdicts on one pair, in every order

    def gain(self, pairs: float) -> float:
        """Variance of the votes alone, divided by that with the judge, where so many pairs have votes."""
        known = self.unlabelled / (self.unlabelled + pairs)
        return ceiling(self.correlation * float(np.sqrt(known)), self.rater_share)

    def cost(self, pairs: float) -> float | None:
        """What its verdicts cost, on so many pairs with votes and on all those without; None without a price."""
        return None if self.price is None else self.price * (pairs + self.unlabelled)


@dataclass(frozen=True, slots=True)
class HelpedRow:
    """Votes for one statement, without the judge and with it."""

    shows: str  # difference or margin
    value: float
    votes: int
    with_judge: int
    gain: float
    least: float  # the correlation under which a judge costs more than it brings, at so many pairs
    verdicts: float | None  # what the judge costs


def helper_for(
    crowd: Assumptions, correlation: float, unlabelled: int, rater_share: float | None, price: float | None = None
) -> Helper:
    """The rater's share that is given, or that of this crowd."""
    return Helper(correlation, unlabelled, crowd.rater_share if rater_share is None else rater_share, price)


def with_help(shows: str, value: float, votes: int, crowd: Assumptions, helper: Helper) -> HelpedRow:
    """The fewest votes whose error with the judge is no larger than that of `votes` without."""

    def enough(some: int) -> bool:
        return some * helper.gain(some / crowd.per_pair) >= votes

    fewest = 1 + bisect_left(range(1, votes), True, key=enough)
    pairs = fewest / crowd.per_pair
    least = float(least_correlation(int(pairs)))
    return HelpedRow(shows, value, votes, fewest, helper.gain(pairs), least, helper.cost(pairs))
