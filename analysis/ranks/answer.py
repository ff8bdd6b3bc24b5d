"""Which system is ranked higher: the one place where it is computed.

The ranks of one ranking hang together: of n responses they add to n(n + 1)/2, and the n(n - 1)/2 comparisons that they
imply are one answer of one rater to one item. So a comparison is the difference of two ranks of the same ranking, and
its interval draws items and raters anew, never comparisons.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtr

from analysis.reading.cautions import cautions
from analysis.reading.clusters import clusters_of
from analysis.reading.rated import Rated, RatingsTable
from analysis.reading.votes import net_scores
from analysis.stats.intervals import Interval, mean_interval
from analysis.stats.sign_tests import holm
from dialogue.signature import signature


@dataclass(frozen=True, slots=True)
class SystemRank:
    """One system over all rankings that it stands in."""

    system: str
    mean: Interval  # mean rank, 1 the best; equals share the mean of their ranks


@dataclass(frozen=True, slots=True)
class RankedPair:
    """Two systems in the rankings that hold both."""

    first: str
    second: str
    difference: Interval  # rank of the second minus that of the first: above 0, the first stands higher
    p: float
    p_holm: float
    above: int
    below: int
    equal: int
    net: Interval  # (above - below) / all: the net preference that the rankings imply


@dataclass(frozen=True, eq=False)
class RanksAnswer:
    """Every system and every two systems, with what to know before quoting a number."""

    systems: tuple[SystemRank, ...]  # the best first
    pairs: tuple[RankedPair, ...]
    rankings: int
    warnings: tuple[str, ...]
    signature: str


def answer(table: RatingsTable, *, clusters: str = "auto") -> RanksAnswer:
    """Mean ranks and every comparison of a table whose scores are ranks."""
    systems = [SystemRank(name, _mean(one, clusters)) for name, one in table.alone.items() if len(one.first) > 1]
    found = [_compared(one, clusters) for one in table.contrasts]
    adjusted = holm(np.array([one["p"] for one in found])).tolist()
    pairs = tuple(RankedPair(**one, p_holm=p) for one, p in zip(found, adjusted, strict=True))
    said = dict.fromkeys(text for one in table.contrasts for text in cautions(one.contrast.votes))
    doubts = tuple(text for text in said if not text.startswith("The votes have no round column"))
    rankings = _rankings(table)
    recipe = signature(ranks=table.compared, rankings=rankings, clusters=pairs[0].difference.unit)
    return RanksAnswer(tuple(sorted(systems, key=lambda one: one.mean.value)), pairs, rankings, doubts, recipe)


def _mean(one: Rated, clusters: str) -> Interval:
    return mean_interval(one.first, by=clusters_of(one.contrast.votes, clusters, part=True))


def _rankings(table: RatingsTable) -> int:
    """Answers: one rater, one item."""
    told = set()
    for one in table.alone.values():
        votes = one.contrast.votes
        raters = [votes.raters[code] for code in votes.rater] if votes.rater is not None else [""] * len(votes)
        told |= set(zip((votes.pairs[code] for code in votes.pair), raters, strict=True))
    return len(told)


def _compared(one: Rated, clusters: str) -> dict[str, Any]:
    votes = one.contrast.votes  # choice 0: the first has the larger rank
    by = clusters_of(votes, clusters, part=True)
    gap = mean_interval(one.second - one.first, by=by)
    p = 2 * float(stdtr(gap.df, -abs(gap.value) / gap.se)) if gap.se else 1.0 if gap.value == 0 else math.nan
    below, above, equal = np.bincount(votes.choice, minlength=3).tolist()
    net = mean_interval(-net_scores(votes.choice), by=by)
    return {
        "first": one.contrast.first, "second": one.contrast.second, "difference": gap, "p": p,
        "above": above, "below": below, "equal": equal, "net": net,
    }  # fmt: skip
