"""The ranking: every system's strength by a model with ties, with the ranks that it may truly have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.stats.gain import Gain
from seedvote.analysis.stats.paired.davidson import (
    Fit,
    Games,
    Model,
    Parameter,
    count_games,
    find_linked_groups,
    fit_model,
    weigh_games,
)
from seedvote.analysis.stats.paired.davidson_errors import cluster_errors
from seedvote.analysis.stats.paired.powered_davidson import DrawnStrata, PredictedPairs, fit_with_predictor
from seedvote.analysis.stats.paired.rank_sets import RankSets, rank_sets
from seedvote.analysis.stats.paired.reversal import Reversal, reverse_leader
from seedvote.analysis.votes.clusters import Ways, clusters_of
from seedvote.analysis.votes.systems import Matches, key_of, system_names
from seedvote.analysis.votes.verdicts import cluster_name, clusters_by_name
from seedvote.analysis.votes.votes import Votes, design_weights
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Pair

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
ON = {"rater": "by"}  # where votes stand in a cluster, if it is not "on" it


@dataclass(frozen=True, slots=True)
class Ranked:
    """One system: its strength, its rank, the ranks it may truly have (by itself and with all others at once), and the
    chance that it is truly below the next (None for the last)."""

    system: str
    votes: int
    strength: Parameter
    rank: int
    rank_low: int
    rank_high: int
    all_low: int
    all_high: int
    below_next: float | None


@dataclass(frozen=True, slots=True)
class Unranked:
    """A system whose strength has no finite estimate, with the reason."""

    system: str
    votes: int
    reason: str


@dataclass(frozen=True, slots=True)
class Ranking:
    """The systems from the best down, with the model's parameters for ties and for the left side."""

    model: Model
    systems: tuple[Ranked, ...]
    unranked: tuple[Unranked, ...]
    tie: Parameter | None
    position: Parameter | None
    freedom: float  # the fewest degrees of freedom: the effective number of the rarer clusters less one
    sets: int  # draws behind the rank sets
    above: tuple[tuple[str, str], ...] = ()  # the first is shown to be above the second, all comparisons at once

    def compare(self, first: str, second: str) -> bool | None:
        """Whether a difference of two systems is shown, all comparisons at once; None where one of them has no rank."""
        names = {system.system for system in self.systems}
        if not {first, second} <= names:
            return None
        return (first, second) in self.above or (second, first) in self.above


@dataclass(frozen=True, eq=False)
class _Chosen:
    """The systems that can be ranked, and why the others cannot."""

    inside: Bools  # (systems,)
    reasons: dict[int, str]


def ranking_of(
    matches: Matches, model: Model, clusters: str, sets: int, generator: np.random.Generator
) -> tuple[Ranking | None, str]:
    """The ranking, or the reason why there is none.

    Systems that only won, only lost, never met the others, or were judged within one cluster are left out by name.
    """
    try:
        chosen = _choose_systems(matches, clusters_of(matches.votes, clusters))
        fit_result = _fit_strengths(matches, chosen.inside, model, clusters)
    except InputError as error:
        return None, str(error)
    return _rank_fit(fit_result, model, matches, chosen, sets, generator), ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """How pairs were drawn for votes where not all had the same chance.

    Each pair's own chance, or the stratum of every pair within which pairs were drawn at random; the other is empty.
    """

    chances: Mapping[str, float]
    strata: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HelpedRanking:
    """The ranking by the votes alone, and that with a score of every pair, voted on or not.

    Both are design-weighted where chances were unequal. `unvoted` are strata without votes, which neither covers.
    """

    people: Ranking
    helped: Ranking
    weight: float  # of a score beside a vote; 0 where it does not help
    gain: Gain
    votes: int
    voted: int  # pairs
    others: int  # pairs with a score and no votes
    unvoted: tuple[str, ...] = ()


def ranking_with_scores(
    matches: Matches,
    pairs: Mapping[str, Pair],
    scores: Mapping[str, float],
    clusters: str,
    sets: int,
    generator: np.random.Generator,
    drawing: Drawing | None = None,
) -> HelpedRanking | None:
    """The ranking with scores of pairs (how far a is ahead of b) where three systems or more can be ranked.

    The pairs with votes must be a random part of all, or drawn as `drawing` says. None where the votes alone give no
    ranking.
    """
    seed = int(generator.integers(2**63))
    try:
        chosen = _choose_systems(matches, clusters_of(matches.votes, clusters))
        if chosen.inside.sum() < 3:
            return None
        played, votes = games_between(matches, chosen.inside)
        ways = clusters_of(votes, clusters, part=True)
        if not ways:
            return None
        material = _pairs_between(played.systems, votes, pairs, drawing)
        ways, wide, numbers = _number_clusters(votes, ways, material)
        predicted = _predict_pairs(played.systems, material, numbers, scores)
        if not len(predicted.value):
            return None
        strata = None
        if drawing is not None:
            played, strata = _weigh_by_chance(played, material, numbers, drawing)
        powered = fit_with_predictor(played, fit_model(played), ways, wide, predicted, strata)
    except InputError:
        return None
    people, helped = (
        _rank_fit(fit_result, "davidson", matches, chosen, sets, np.random.default_rng(seed))
        for fit_result in (powered.people, powered.fit)
    )
    others = len(predicted.value) - predicted.voted
    return HelpedRanking(
        people, helped, powered.weight, powered.gain, len(votes), predicted.voted, others, material.unvoted
    )


@dataclass(frozen=True, eq=False)
class _PairsBetween:
    """All pairs of the ranked systems, those with votes first."""

    pairs: Sequence[Pair]
    voted: int
    place: Ints  # (votes,) the pair of each vote
    names: Mapping[tuple[str, int | None, str], str]  # key of a system -> its name, as the votes name it
    unvoted: tuple[str, ...]  # strata without votes, whose pairs are left out


def _pairs_between(
    systems: Sequence[str], votes: Votes, pairs: Mapping[str, Pair], drawing: Drawing | None
) -> _PairsBetween:
    names = system_names(pairs[name] for name in votes.pairs)
    codes, place = np.unique(votes.pair, return_inverse=True)
    voted = [pairs[votes.pairs[code]] for code in codes]
    voted_names = {pair.pair for pair in voted}
    others = [
        pair
        for name, pair in pairs.items()
        if name not in voted_names and pair.kind == "real" and key_of(pair.a) != key_of(pair.b)
    ]
    others = [pair for pair in others if {names.get(key_of(side)) for side in (pair.a, pair.b)} <= set(systems)]
    unvoted = set[str]()
    if drawing is not None and drawing.strata:
        unvoted = {drawing.strata[pair.pair] for pair in others} - {drawing.strata[pair.pair] for pair in voted}
        others = [pair for pair in others if drawing.strata[pair.pair] not in unvoted]
    return _PairsBetween([*voted, *others], len(voted), place, names, tuple(sorted(unvoted)))


def _number_clusters(votes: Votes, ways: Ways, material: _PairsBetween) -> tuple[dict[str, Ints], Ints, Ints]:
    """The votes' clusters, the widest of them but the rater, and that of all pairs in the same numbering."""
    way = next((name for name in ways if name != "rater"), "pair")
    voted, others = material.pairs[: material.voted], material.pairs[material.voted :]
    clusters = [
        *clusters_by_name(votes, voted, material.place, way),
        *(cluster_name(pair, way) for pair in others),
    ]
    numbers = np.unique(clusters, return_inverse=True)[1]
    wide = numbers[material.place]
    return {name: wide if name == way else by for name, by in ways.items()}, wide, numbers


def _predict_pairs(
    systems: Sequence[str], material: _PairsBetween, numbers: Ints, scores: Mapping[str, float]
) -> PredictedPairs:
    """The pairs that have a score."""
    codes = {name: code for code, name in enumerate(systems)}
    is_scored = np.array([pair.pair in scores for pair in material.pairs])
    scored = [pair for pair in material.pairs if pair.pair in scores]
    sides = [[codes[material.names[key_of(side)]] for side in (pair.a, pair.b)] for pair in scored]
    a, b = np.array(sides, dtype=np.int64).reshape(-1, 2).T
    rows = np.where(is_scored, np.cumsum(is_scored) - 1, -1)
    value = np.array([scores[pair.pair] for pair in scored])
    return PredictedPairs(
        np.minimum(a, b),
        np.maximum(a, b),
        np.where(a > b, -value, value),
        numbers[is_scored],
        rows[material.place],
    )


def _weigh_by_chance(
    played: Games, material: _PairsBetween, numbers: Ints, drawing: Drawing
) -> tuple[Games, DrawnStrata | None]:
    """The votes by the inverse of their pairs' chances, and the strata where pairs were drawn within them."""
    strata = None
    if drawing.strata:
        of_pair = np.unique([drawing.strata[pair.pair] for pair in material.pairs], return_inverse=True)[1]
        voted, total = np.bincount(of_pair[: material.voted]), np.bincount(of_pair)
        strata = DrawnStrata(of_pair[material.place], of_pair, numbers, voted)
        chance = (voted / total)[of_pair]
    else:
        chance = np.array([drawing.chances[pair.pair] for pair in material.pairs[: material.voted]])
    weight = 1 / chance[material.place]
    return weigh_games(played, weight / weight.mean()), strata


def _rank_fit(
    fit_result: Fit, model: Model, matches: Matches, chosen: _Chosen, sets: int, generator: np.random.Generator
) -> Ranking:
    strengths = slice(len(fit_result.systems))
    ranks = rank_sets(
        fit_result.strengths,
        fit_result.covariance[strengths, strengths],
        fit_result.apart,
        fit_result.ways_apart,
        sets=sets,
        generator=generator,
    )
    number = np.bincount(np.concatenate([matches.a, matches.b]), minlength=len(matches.systems))
    votes = dict(zip(matches.systems, number.tolist(), strict=True))
    left_out = [
        Unranked(name, votes[name], chosen.reasons[k]) for k, name in enumerate(matches.systems) if not chosen.inside[k]
    ]
    tie, position = (None if at is None else fit_result.parameter(at) for at in (fit_result.tie, fit_result.position))
    ranked = _rank_systems(fit_result, ranks, votes)
    above = tuple((fit_result.systems[i], fit_result.systems[j]) for i, j in np.argwhere(ranks.above))
    return Ranking(model, ranked, tuple(left_out), tie, position, fit_result.freedom, sets, above)


def reversals_of(matches: Matches, ranking: Ranking, clusters: str) -> tuple[Reversal, ...]:
    """How few votes, and how few of each cluster, decide which of the ranked systems has the highest strength."""
    names = {system.system for system in ranking.systems}
    inside = np.array([name in names for name in matches.systems])
    played, votes = games_between(matches, inside)
    return tuple(reverse_leader(played, ranking.model, removable_units(votes, clusters)))


def removable_units(votes: Votes, clusters: str) -> dict[str, Ints]:
    """The votes and their clusters by code; a tie that nobody gave is no vote and no rater's (-1)."""
    units = {"vote": np.arange(len(votes)), **clusters_of(votes, clusters, part=True)}
    if votes.auto is not None:
        units |= {name: np.where(votes.auto, -1, units[name]) for name in ("vote", "rater") if name in units}
    return units


def ranks_of_two(ranking: Ranking, p: float) -> Ranking:
    """Two systems with the ranks that their net preference leaves open: they have no other comparison."""
    differ = p < 0.05
    ends = ((1, 1), (2, 2)) if differ else ((1, 2), (1, 2))
    systems = tuple(
        replace(system, rank_low=low, rank_high=high, all_low=low, all_high=high, below_next=p / 2 if k == 0 else None)
        for k, (system, (low, high)) in enumerate(zip(ranking.systems, ends, strict=True))
    )
    return replace(ranking, systems=systems, above=((systems[0].system, systems[1].system),) if differ else ())


def _choose_systems(matches: Matches, ways: Ways) -> _Chosen:
    """Leave systems out until all that remain are linked by wins and losses and were judged in several clusters."""
    inside, reasons = np.ones(len(matches.systems), bool), dict[int, str]()
    while True:
        rows = inside[matches.a] & inside[matches.b]
        group = find_linked_groups(
            count_games(matches.systems, matches.a[rows], matches.b[rows], matches.votes.choice[rows], None)
        )
        largest = group == np.bincount(group[inside]).argmax()
        alone = _find_single_clusters(matches, rows, ways)
        fresh = {int(k): _why_unlinked(matches, int(k), largest) for k in np.flatnonzero(inside & ~largest)} | alone
        if len(fresh) > inside.sum() - 2:
            if not alone:  # the fit names the systems that are not linked
                return _Chosen(inside, reasons)
            reasons_text = "; ".join(f"{matches.systems[k]}: {reason}" for k, reason in sorted(fresh.items()))
            raise InputError(f"There are no two systems to rank. Left out would be {reasons_text}.")
        if not fresh:
            return _Chosen(inside, reasons)
        reasons |= fresh
        inside[list(fresh)] = False


def _find_single_clusters(matches: Matches, rows: Bools, ways: Ways) -> dict[int, str]:
    """The systems whose votes share one cluster, so that nothing tells how they would do in another."""
    excluded: dict[int, str] = {}
    for way, codes in ways.items():
        size = int(codes.max()) + 1
        system_clusters = np.unique(
            np.concatenate([side[rows] * size + codes[rows] for side in (matches.a, matches.b)])
        )
        number = np.bincount(system_clusters // size, minlength=len(matches.systems))
        excluded |= {int(k): f"all its votes are {ON.get(way, 'on')} one {way}" for k in np.flatnonzero(number == 1)}
    return excluded


def _why_unlinked(matches: Matches, system: int, ranked: Bools) -> str:
    """How a system stands to the ranked ones, with which it is not linked both ways."""
    first, second = (matches.a == system) & ranked[matches.b], (matches.b == system) & ranked[matches.a]
    if not (first | second).any():
        return "it never met the ranked systems"
    won = (first & (matches.votes.choice == 0)) | (second & (matches.votes.choice == 1))
    return f"it {'won' if won.any() else 'lost'} every vote against the ranked systems"


def _fit_strengths(matches: Matches, inside: Bools, model: Model, clusters: str) -> Fit:
    """The strengths of the chosen systems by the votes between them."""
    played, votes = games_between(matches, inside)
    return cluster_errors(played, fit_model(played, model), clusters_of(votes, clusters, part=True))


def games_between(
    matches: Matches, inside: Bools, *, rows: Bools | None = None, covariates: NDArray[np.float64] | None = None
) -> tuple[Games, Votes]:
    """The votes on two of the chosen systems, as they are and counted by cell; of `rows` alone where some are named."""
    chosen, code = inside[matches.a] & inside[matches.b], np.cumsum(inside) - 1
    if rows is not None:
        chosen &= rows
    votes = matches.votes.select(chosen)
    names = [name for name, ranked in zip(matches.systems, inside, strict=True) if ranked]
    a, b = code[matches.a[chosen]], code[matches.b[chosen]]
    weights = design_weights(votes, np.minimum(a, b) * len(names) + np.maximum(a, b))
    values = None if covariates is None else covariates[chosen]
    return count_games(names, a, b, votes.choice, votes.left, values, weights), votes


def _rank_systems(fit_result: Fit, ranks: RankSets, votes: Mapping[str, int]) -> tuple[Ranked, ...]:
    order = np.argsort(-fit_result.strengths, kind="stable")
    below: list[float | None] = [*fit_result.wrong_order(order[:-1], order[1:]).tolist(), None]
    return tuple(
        Ranked(
            system=fit_result.systems[k],
            votes=votes[fit_result.systems[k]],
            strength=fit_result.parameter(int(k)),
            rank=place,
            rank_low=int(ranks.low[k]),
            rank_high=int(ranks.high[k]),
            all_low=int(ranks.all_low[k]),
            all_high=int(ranks.all_high[k]),
            below_next=p,
        )
        for place, (k, p) in enumerate(zip(order, below, strict=True), 1)
    )
