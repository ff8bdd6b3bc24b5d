"""The ranking: every system's strength by a model with ties, with the uncertainty of its rank."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from analysis.reading.clusters import clusters_of
from analysis.reading.systems import Matches
from analysis.stats.davidson import Fit, Model, clustered, fit, games, normal_draws
from dialogue.errors import InputError


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter on the log scale with its clustered error and 95 % interval."""

    value: float
    se: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Ranked:
    """One system: its strength, its rank with 95 % of the drawn ranks, and p of being truly below the next."""

    system: str
    strength: Parameter
    rank: int
    rank_low: int
    rank_high: int
    below_next: float | None  # None for the last


@dataclass(frozen=True, slots=True)
class Ranking:
    """The systems from the best down, with the model's parameters for ties and for the left side."""

    model: Model
    systems: tuple[Ranked, ...]
    tie: Parameter | None
    position: Parameter | None
    sets: int
    unbounded: int  # sets in which a system won or lost everything


def ranking_of(
    matches: Matches, model: Model, clusters: str, sets: int, generator: np.random.Generator
) -> tuple[Ranking | None, str]:
    """The ranking, or the reason why there is none.

    The ranks come from the normal law of the estimates, because no bootstrap of votes keeps two ways of clustering.
    """
    votes = matches.votes
    played = games(matches.systems, matches.a, matches.b, votes.choice, votes.left)
    try:
        found = clustered(played, fit(played, model), clusters_of(votes, clusters))
    except InputError as error:
        return None, str(error)
    return _ranking(normal_draws(found, sets=sets, generator=generator)), ""


def _ranking(found: Fit) -> Ranking:
    order = np.argsort(-found.strengths, kind="stable")
    low, high = np.quantile(found.ranks, [0.025, 0.975], axis=0, method="inverted_cdf")
    below: list[float | None] = [float(found.wrong_order[i, j]) for i, j in pairwise(order)]
    systems = tuple(
        Ranked(found.systems[k], _parameter(found, int(k)), place, int(low[k]), int(high[k]), p)
        for place, (k, p) in enumerate(zip(order, [*below, None], strict=True), 1)
    )
    tie, position = (None if at is None else _parameter(found, at) for at in (found.tie, found.position))
    return Ranking(found.model, systems, tie, position, len(found.draws), found.unbounded)


def _parameter(found: Fit, place: int) -> Parameter:
    return Parameter(float(found.parameters[place]), float(found.errors[place]), *found.interval(place))
