"""Which system is rated higher on a scale.

Where one rater rated both systems on one item, the two ratings belong together: the difference is that of pairs, and
its interval allows for items and raters as that of votes does. Where raters or items differ from system to system, a
linear mixed model compares all ratings, and an ordinal one gives their odds. Means take the steps of a scale as equal;
the odds ratio does not.

Fixed effects are the systems. What ratings share is random, as far as the table can tell it: dialogue, item and rater,
what each of them adds to one system, what one rater thinks of one item, and the seeds of a system.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.stats.crossed_design import cheapest_factors
from seedvote.analysis.stats.crossed_linear import CrossedLinear, fits_of, widest_contrast
from seedvote.analysis.stats.crossed_ordinal import LOGISTIC, CrossedOrdinal, crossed_ordinal
from seedvote.analysis.stats.intervals import Interval, count_groups, cross_codes
from seedvote.analysis.stats.net_preference import bounded_interval, net_interval, p_of_zero
from seedvote.analysis.stats.ordinal import MOST_STEPS, ProportionalOdds, odds_of, proportional_odds
from seedvote.analysis.votes.cautions import list_cautions
from seedvote.analysis.votes.clusters import Ways, clusters_of, ways_within
from seedvote.analysis.votes.ratings import Rated, RatingsTable, Rows
from seedvote.analysis.votes.votes import Votes, net_scores
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.formulas.uncertainty import adjust_by_holm
from seedvote.dialogue.signature import signature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SHOWN = {"pair": "item"}
MOST_RATINGS, MOST_LEVELS = 5_000, 700  # for the ordinal model: 4 s; with more levels that cross, FEW_RATINGS
FEW_RATINGS = 2_000
FEWEST = 0.1  # share of ratings that a factor must leave over, or it can hardly be separated from the rest


@dataclass(frozen=True, slots=True)
class Spread:
    """One random effect: how many levels it has, and the SD of what they add; 0 where its variance is below zero."""

    name: str
    levels: int
    sd: float


@dataclass(frozen=True, slots=True)
class MixedDifference:
    """Two systems in the model."""

    first: str
    second: str
    means: tuple[float, float]
    difference: Interval
    chance: float  # p
    odds: ProportionalOdds | None  # by the ordinal model; None where it is not fitted, or has no finite estimate


@dataclass(frozen=True, eq=False)
class MixedRatings:
    """Every two systems, and the spread of what ratings share."""

    differences: tuple[MixedDifference, ...]
    spreads: tuple[Spread, ...]


def mixed_ratings(table: RatingsTable, clusters: str) -> MixedRatings:
    """Fit one model to all ratings."""
    rows, systems = table.rows, len(table.systems)
    ways = ways_within(rows.votes, clusters)
    _refuse_confounded(rows, ways)
    factors = _list_factors(rows, ways)
    fits = fits_of(rows.score, np.eye(systems)[rows.system], factors)
    ordinal = _fit_ordinal(rows, factors, fits[-1])
    ordered = sorted(range(systems), key=lambda code: table.systems[code])
    differences = tuple(_contrast_systems(table, fits, ordinal, pair, tuple(ways)) for pair in combinations(ordered, 2))
    return MixedRatings(differences, _list_spreads(fits[0]))


def _fit_ordinal(rows: Rows, factors: Mapping[str, Ints], linear: CrossedLinear) -> CrossedOrdinal | None:
    """The ordinal model with the factors that the linear one has; None for sliders and for very many ratings."""
    steps, code = np.unique(rows.score, return_inverse=True)
    own = {name: factors[name] for name in linear.factors}
    if not own or not 2 <= len(steps) <= MOST_STEPS or len(code) > _most_ratings(own):
        return None
    start = dict(zip(linear.factors, LOGISTIC * linear.variances[:-1] / linear.variances[-1], strict=True))
    x = np.eye(len(linear.effects))[rows.system][:, 1:]
    return crossed_ordinal(code, x, own, start=start)


def _most_ratings(factors: Mapping[str, Ints]) -> int:
    """How many ratings the ordinal model takes in some seconds: levels that cross make a dense matrix."""
    within = cheapest_factors(factors)
    crossing = sum(count_groups(codes) for name, codes in factors.items() if name not in within)
    return MOST_RATINGS if crossing <= MOST_LEVELS else FEW_RATINGS


def _refuse_confounded(rows: Rows, ways: Ways) -> None:
    known = {**{SHOWN.get(name, name): codes for name, codes in ways.items()}, **_seed_codes(rows)}
    for name in ("rater", "seed"):
        if name in known and count_groups(cross_codes([known[name], rows.system])) == count_groups(rows.system):
            raise InputError(
                f"Each system has one {name}, so nothing tells how far another {name} would differ. Collect ratings of "
                f"two {name}s or more for each system."
            )


def _seed_codes(rows: Rows) -> dict[str, Ints]:
    return {} if rows.seed is None else {"seed": cross_codes([rows.system, rows.seed])}


def _list_factors(rows: Rows, ways: Ways) -> dict[str, Ints]:
    """What ratings share, as far as it can be separated from the systems, from each other and from single ratings."""
    candidates: dict[str, Ints] = {}
    for name, codes in ways.items():
        candidates |= {
            SHOWN.get(name, name): codes,
            f"{SHOWN.get(name, name)} by system": cross_codes([codes, rows.system]),
        }
    if rows.votes.rater is not None:
        candidates["rater and item"] = rows.sheet
    factors: dict[str, Ints] = {}
    for name, codes in {**candidates, **_seed_codes(rows)}.items():
        is_separable = 1 < count_groups(codes) <= (1 - FEWEST) * len(codes)
        if is_separable and not any(_same_parts(codes, taken) for taken in (rows.system, *factors.values())):
            factors[name] = codes
    return factors


def _same_parts(first: Ints, second: Ints) -> bool:
    """Whether two factors part the ratings in the same way."""
    return count_groups(first) == count_groups(second) == count_groups(cross_codes([first, second]))


def _contrast_systems(
    table: RatingsTable,
    fits: Sequence[CrossedLinear],
    ordinal: CrossedOrdinal | None,
    pair: tuple[int, int],
    ways: tuple[str, ...],
) -> MixedDifference:
    first, second = pair
    weights = np.zeros(len(table.systems))
    weights[[first, second]] = 1.0, -1.0
    contrast, reach = widest_contrast(fits, weights), table.scale[1] - table.scale[0]
    ratings = int(np.isin(table.rows.system, pair).sum())
    codes = {name: getattr(table.rows.votes, name) for name in ways}
    interval = Interval(
        contrast.value,
        contrast.se,
        max(contrast.low, -reach),
        min(contrast.high, reach),
        0.95,
        contrast.df,
        ratings,
        "+".join(ways) or "rating",
        {name: count_groups(part) for name, part in codes.items()},
        *[float("nan")] * 3,
    )
    means = float(fits[0].effects[first]), float(fits[0].effects[second])
    odds = None if ordinal is None else odds_of(*ordinal.contrast(first, second), contrast.df)
    return MixedDifference(table.systems[first], table.systems[second], means, interval, contrast.p, odds)


def _list_spreads(model: CrossedLinear) -> tuple[Spread, ...]:
    sds = np.sqrt(np.maximum(model.variances, 0.0)).tolist()
    names, levels = (*model.factors, "single ratings"), (*model.levels, model.ratings)
    return tuple(Spread(name, number, sd) for name, number, sd in zip(names, levels, sds, strict=True))


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
