"""Which system is rated higher: the one place where it is computed.

The two ratings of one rater on one item belong together, so the difference is that of pairs, and its interval allows
for items and raters as that of votes does. Means take the steps of a scale as equal; the odds ratio does not.
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
from analysis.stats.ordinal import ProportionalOdds, proportional_odds
from analysis.stats.sign_tests import holm
from dialogue.signature import signature


@dataclass(frozen=True, slots=True)
class RatingDifference:
    """Two systems rated by the same people on the same items."""

    first: str
    second: str
    means: tuple[float, float]
    difference: Interval  # first minus second, in steps of the scale
    p: float
    p_holm: float
    higher: int  # how often the first was rated higher, lower, equal
    lower: int
    equal: int
    net: Interval  # (higher - lower) / all: the net preference that the ratings imply
    odds: ProportionalOdds | None


@dataclass(frozen=True, eq=False)
class RatingsAnswer:
    """Every two systems, with what to know before quoting a number."""

    differences: tuple[RatingDifference, ...]
    scale: tuple[float, float]
    warnings: tuple[str, ...]
    signature: str


def answer(table: RatingsTable, *, clusters: str = "auto") -> RatingsAnswer:
    """Compare every two systems of the table."""
    found = [_compared(one, clusters) for one in table.contrasts]
    adjusted = holm(np.array([one["p"] for one in found])).tolist()
    made = tuple(RatingDifference(**one, p_holm=p) for one, p in zip(found, adjusted, strict=True))
    said = dict.fromkeys(text for one in table.contrasts for text in cautions(one.contrast.votes))
    doubts = [text for text in said if not text.startswith("The votes have no round column")]
    low, high = table.scale
    recipe = signature(ratings=table.compared, scale=[low, high],
                       clusters=made[0].difference.unit)  # fmt: skip
    return RatingsAnswer(made, table.scale, tuple(doubts), recipe)


def _compared(one: Rated, clusters: str) -> dict[str, Any]:
    votes = one.contrast.votes
    by = clusters_of(votes, clusters, part=True)
    gap = mean_interval(one.first - one.second, by=by)
    p = 2 * float(stdtr(gap.df, -abs(gap.value) / gap.se)) if gap.se else 1.0 if gap.value == 0 else math.nan
    counts = np.bincount(votes.choice, minlength=3).tolist()
    return {
        "first": one.contrast.first, "second": one.contrast.second,
        "means": (float(one.first.mean()), float(one.second.mean())), "difference": gap, "p": p,
        "higher": counts[0], "lower": counts[1], "equal": counts[2],
        "net": mean_interval(net_scores(votes.choice), by=by), "odds": proportional_odds(one.first, one.second, by),
    }  # fmt: skip
