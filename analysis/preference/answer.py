"""Which system is preferred: net preference, exact tests, position bias, change over rounds, the calibrated tie index.

Ties stay ties: they count in the net preference's denominator as zero and are left out, by name, of the sign test.
Standard errors come from analysis.stats.intervals (clustered by pair and rater), not from here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from analysis.reading.systems import Contrast
from analysis.reading.votes import Votes, net_scores, ways
from analysis.stats.equivalence import Equivalence, tost, unanimous
from analysis.stats.intervals import Interval, mean_interval
from analysis.stats.sign_tests import TIE, CochranQ, SignTest, cochran_q, position_test, sign_test
from dialogue.errors import InputError


@dataclass(frozen=True, slots=True)
class Preference:
    """What the votes on two systems say."""

    first: str
    second: str
    net: Interval
    sign: SignTest
    equivalence: Equivalence | None


@dataclass(frozen=True, slots=True)
class Position:
    """Left against right over all votes; `share` (of the left, with a clustered interval) is None for too few votes."""

    test: SignTest  # `a` counts the left
    share: Interval | None


def prefer(contrast: Contrast, *, margin: float | None, alpha: float = 0.05) -> Preference:
    """Every test on one contrast; the equivalence test only against a margin that was stated."""
    if margin is not None and margin >= 1:
        raise InputError(f"The margin must be under 1, the largest net preference there is. Got {margin:g}.")
    votes = contrast.votes
    net = mean_interval(net_scores(votes.choice), by=ways(votes), level=1 - alpha)
    if net.se == 0:
        low, high = unanimous(net.value, net.df + 1, alpha / 2)
        net = replace(net, low=low, high=high)
    net = replace(net, low=max(net.low, -1.0), high=min(net.high, 1.0))  # no net preference lies beyond
    alike = None if margin is None else tost(net.value, net.se, margin, freedom=net.df, alpha=alpha)
    return Preference(contrast.first, contrast.second, net, sign_test(votes.choice), alike)


def position(votes: Votes) -> Position | None:
    """Whether raters favour one side of the page; None where the votes do not say what stood left."""
    if votes.left is None:
        return None
    decisive = votes.select((votes.left >= 0) & (votes.choice != TIE))
    test = position_test(votes.choice, votes.left)
    if len(decisive) < 2:
        return Position(test, None)
    return Position(test, mean_interval(decisive.choice == decisive.left, by=ways(decisive), share=True))


def change_over_rounds(votes: Votes) -> CochranQ | None:
    """Cochran's Q on ties over the rounds (HumanExp-k); None for fewer than two rounds."""
    if votes.round is None or len(votes.rounds) < 2:
        return None
    return cochran_q(votes.pair, votes.round, votes.tie)
