"""Which system is rated higher on a scale.

Where one rater rated both systems on one item, the two ratings belong together: the difference is that of pairs, and
its interval allows for items and raters as that of votes does. Where raters or items differ from system to system, a
linear mixed model compares all ratings, and an ordinal one gives their odds. Means take the steps of a scale as equal;
the odds ratio does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from seedvote.analysis.questions.ratings.mixed import MixedDifference, Spread, mixed_ratings
from seedvote.analysis.stats.bounded_mean import bounded_interval, p_of_zero
from seedvote.analysis.stats.intervals import Interval
from seedvote.analysis.stats.net_preference import net_interval
from seedvote.analysis.stats.ordinal import ProportionalOdds, proportional_odds
from seedvote.analysis.votes.cautions import list_cautions
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.ratings import Rated, RatingsTable
from seedvote.analysis.votes.votes import Votes, net_scores
from seedvote.dialogue.formulas.uncertainty import adjust_by_holm
from seedvote.dialogue.signature import signature


@dataclass(frozen=True, slots=True)
class Pairs:
    """How often the first of two systems was rated higher, lower or the same by one rater on one item."""

    higher: int
    lower: int
    equal: int
    net: Interval  # (higher - lower) / all: the net preference that the ratings imply


@dataclass(frozen=True, slots=True)
class RatingDifference:
    """Two systems; their difference is the first minus the second, in steps of the scale."""

    first: str
    second: str
    means: tuple[float, float]
    difference: Interval
    p: float
    p_holm: float
    pairs: Pairs | None  # None in a mixed model
    odds: ProportionalOdds | None  # of a mixed model: those of an ordinal one

    @property
    def lead(self) -> float:
        """Above 0 where the first is rated higher."""
        return self.difference.value


@dataclass(frozen=True, eq=False)
class RatingsAnswer:
    """Every two systems, with what to know before quoting a number."""

    noun, verb = "rating", "rated"
    contrasts: tuple[RatingDifference, ...]
    scale: tuple[float, float]
    steps: int  # how many different ratings there are
    spreads: tuple[Spread, ...]  # of a mixed model: what ratings share; empty where ratings come in pairs
    warnings: tuple[str, ...]
    signature: str

    @property
    def is_mixed(self) -> bool:
        """Whether a mixed model compares the systems."""
        return bool(self.spreads)

    @property
    def clusters(self) -> tuple[str, ...]:
        """What the intervals draw anew."""
        return tuple(self.contrasts[0].difference.clusters or ("rating",))


def compare_ratings(table: RatingsTable, *, clusters: str = "auto", mixed: bool = False) -> RatingsAnswer:
    """Compare every two systems of the table; `mixed` asks for the mixed model where ratings come in pairs too."""
    model = mixed_ratings(table, clusters) if mixed or not table.paired else None
    low, high = table.scale
    if model is None:
        rows = [_compare_pairs(rated, clusters, high - low) for rated in table.contrasts]
    else:
        rows = [_take_from_model(difference) for difference in model.differences]
    adjusted = adjust_by_holm(np.array([row["p"] for row in rows])).tolist()
    contrasts = tuple(RatingDifference(**row, p_holm=p) for row, p in zip(rows, adjusted, strict=True))
    recipe = signature(
        ratings=table.compared,
        scale=[low, high],
        clusters=contrasts[0].difference.unit,
        **({"model": "mixed"} if model else {}),
    )
    return RatingsAnswer(
        contrasts=contrasts,
        scale=table.scale,
        steps=len(np.unique(table.rows.score)),
        spreads=model.spreads if model else (),
        warnings=_list_cautions(table, mixed=model is not None),
        signature=recipe,
    )


def _list_cautions(table: RatingsTable, *, mixed: bool) -> tuple[str, ...]:
    """What to know; one rater may rate several systems on one item, which is no vote given twice."""
    parts: list[Votes] = [rated.contrast.votes for rated in table.contrasts]
    if mixed and not parts:
        sheet = np.unique(table.rows.sheet, return_index=True)[1]
        parts = [table.rows.votes.select(sheet)]
    texts = dict.fromkeys(text for votes in parts for text in list_cautions(votes))
    return tuple(text for text in texts if not text.startswith("The votes have no round column"))


def _compare_pairs(rated: Rated, clusters: str, reach: float) -> dict[str, Any]:
    """Two systems; no difference is larger than the `reach` of the scale."""
    votes = rated.contrast.votes
    by = clusters_of(votes, clusters, part=True)
    gap = bounded_interval(rated.first - rated.second, low=-reach, high=reach, by=by)
    higher, lower, equal = np.bincount(votes.choice, minlength=3).tolist()
    return {
        "first": rated.contrast.first,
        "second": rated.contrast.second,
        "means": (float(rated.first.mean()), float(rated.second.mean())),
        "difference": gap,
        "p": p_of_zero(gap, reach),
        "odds": proportional_odds(rated.first, rated.second, by),
        "pairs": Pairs(higher, lower, equal, net_interval(net_scores(votes.choice), by=by)),
    }


def _take_from_model(row: MixedDifference) -> dict[str, Any]:
    return {
        "first": row.first,
        "second": row.second,
        "means": row.means,
        "difference": row.difference,
        "p": row.chance,
        "odds": row.odds,
        "pairs": None,
    }
