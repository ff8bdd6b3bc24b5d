"""Strengths of many systems from votes on some pairs and a predictor of all of them: prediction-powered Davidson.

A predictor (a judge's verdicts, the mere length) says of every pair how far a is ahead of b. Its own strengths of the
systems are fitted to all pairs by least squares; what is left of a pair, e, is what the predictor sees in these two
responses and not in their systems. Where the voted pairs have favoured a system by chance, their e say so:

    strengths = Davidson's of the votes - weight x (inverse information) (sum over votes of x e)

with x the two systems of a vote. This is PPI++ (Angelopoulos, Duchi and Zrnic 2023) for a generalized linear model in
one step from its maximum, with the predictor taken about its own model: over all pairs the sum of x e is zero, so
whatever the predictor prefers, the strengths are those of people as long as the voted pairs are a random part of all
pairs. The errors are those of davidson_errors.py, crossed by dialogues and raters; a dialogue counts with its votes and
with all of its pairs.

Where pairs had known unequal chances of being voted on, each vote counts by the inverse of its pair's chance: in the
fit, in the sum of x e and in the errors. Where the pairs were drawn within strata, a stratum's number of pairs is
known, so a vote adds to the error by how its score differs from the mean of its stratum, and each pair of the stratum,
voted on or not, adds that mean.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seedvote.analysis.stats.gain import MOST, Gain, bound_by_correlation
from seedvote.analysis.stats.intervals import cross_codes, kish
from seedvote.analysis.stats.paired.davidson import Fit, Floats, Games
from seedvote.analysis.stats.paired.davidson_errors import TIE, CellScores, find_steps, score_cells, with_clusters

Ints = NDArray[np.int64]
FEW = 30  # pairs with votes; below, a fitted weight costs more than it brings
LEAST_IN_STRATUM = 5  # pairs with votes; fewer say too little of the mean of their stratum
NO_GAIN = Gain(1.0, 1.0, 1.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class PredictedPairs:
    """A predictor's values of all pairs that it scored, with votes and without; a has the lower code of the systems."""

    a: Ints  # (pairs,) code of system a, in the numbering of the votes
    b: Ints
    value: Floats  # (pairs,) how far a is ahead of b: 1 where it is certain, 0 where both are alike
    wide: Ints  # (pairs,) the widest cluster but the rater, in the numbering of the votes'
    of_vote: Ints  # (votes,) the pair of each vote; -1 where the predictor did not score it

    @property
    def voted(self) -> int:
        """How many of the pairs have votes."""
        return len(np.unique(self.of_vote[self.of_vote >= 0]))


@dataclass(frozen=True, eq=False)
class DrawnStrata:
    """Strata within which pairs were drawn for votes, of the votes and of all pairs, whether scored or not."""

    of_vote: Ints  # (votes,)
    of_pair: Ints  # (pairs,)
    wide: Ints  # (pairs,) the widest cluster but the rater, in the numbering of the votes'
    voted: Ints  # (strata,) how many pairs have votes

    def tabulate_votes(self, codes: Ints, size: int) -> sparse.csr_array:
        """(size, strata): how many votes of each code are of each stratum."""
        return _tabulate(codes, self.of_vote, (size, len(self.voted)))

    def tabulate_pairs(self, size: int) -> sparse.csr_array:
        """(size, strata): how many pairs of each cluster are of each stratum."""
        return _tabulate(self.wide, self.of_pair, (size, len(self.voted)))


@dataclass(frozen=True, eq=False)
class PoweredFit:
    """The strengths with the predictor's help, its weight beside a vote's, and what it is worth.

    `people` are the strengths by the votes alone, by the same way of drawing.
    """

    fit: Fit
    people: Fit
    weight: float
    gain: Gain  # of the variance of all strengths at once, measured by the votes' information


def fit_with_predictor(
    played: Games,
    alone: Fit,
    by: Mapping[str, Ints],
    wide: Ints,
    predicted: PredictedPairs,
    strata: DrawnStrata | None = None,
) -> PoweredFit:
    """Move the fit of the votes, whose covariance is that of independent votes, by what the predictor says of them.

    `by` are the ways of clustering the votes, and `wide` the widest of them but the rater, or the pairs. `played` has
    what each vote counts where chances were unequal.
    """
    cells = score_cells(played, alone)
    design = sparse.csr_array(cells.design.weights[played.code // 3])  # (votes, P)
    scores = _score_rows(played, cells, design)
    moves = _measure_moves(played, predicted, design, _count_clusters(wide, predicted, strata))
    sums = _sum_by_entry(alone, by.get("rater"), wide, scores, moves, strata)
    weight = sums.tune() if _can_help(played, predicted, moves) else 0.0

    def move(weight: float) -> Fit:
        return _move_fit(played, alone, cells, by, wide, scores, moves, weight, strata)

    people = move(0.0)
    helped = move(weight) if weight else people
    freedom = max(min(kish(codes, played.weights**2) for codes in by.values()) - 1, 1.0)
    return PoweredFit(helped, people, weight, sums.measure_gain(freedom) if weight else NO_GAIN)


def _count_clusters(wide: Ints, predicted: PredictedPairs, strata: DrawnStrata | None) -> int:
    codes = [wide, predicted.wide] if strata is None else [wide, predicted.wide, strata.wide]
    return 1 + max(int(some.max(initial=0)) for some in codes)


def _move_fit(
    played: Games,
    alone: Fit,
    cells: CellScores,
    by: Mapping[str, Ints],
    wide: Ints,
    scores: sparse.csr_array,
    moves: _Moves,
    weight: float,
    strata: DrawnStrata | None,
) -> Fit:
    """The fit moved by the predictor with this weight, and its covariance by all ways of clustering."""
    widest = next((codes for name, codes in by.items() if name != "rater"), next(iter(by.values())))
    means = None
    pairs = weight * moves.by_wide
    if strata is not None:
        means = _average_strata(scores - weight * moves.of_vote, strata)
        pairs = pairs + strata.tabulate_pairs(len(pairs)) @ means.of_pair

    def estimate_covariance(codes: Ints) -> Floats:
        votes = find_steps(played, cells, codes, -weight * moves.in_d)
        if strata is not None and means is not None:
            table = strata.tabulate_votes(codes, int(codes.max()) + 1)
            votes = replace(votes, steps=votes.steps - (table @ means.of_vote)[votes.codes] @ votes.scale)
        if codes is not widest or not pairs.any():
            return votes.covariance
        # A dialogue counts with its votes and with all of its pairs; where votes are not clustered by it, both apart.
        shift = 0 if codes is wide else int(codes.max()) + 1
        clusters, place = np.unique([*votes.codes, *(np.arange(len(pairs)) + shift)], return_inverse=True)
        steps = np.zeros((len(clusters), votes.steps.shape[1]))
        np.add.at(steps, place, np.concatenate([votes.steps, pairs @ votes.scale]))
        return replace(votes, codes=clusters, steps=steps).covariance

    moved = replace(alone, parameters=alone.parameters - weight * (alone.covariance @ moves.total))
    decisive = (played.code % 3 != TIE).astype(float)
    return with_clusters(moved, by, decisive, estimate_covariance, played.weights)


@dataclass(frozen=True, eq=False)
class _StratumMeans:
    """What the votes of a stratum have in common: their mean score, and the sum of their scores for each pair."""

    of_vote: Floats  # (strata, P)
    of_pair: Floats  # (strata, P)


def _average_strata(scores: sparse.csr_array, strata: DrawnStrata) -> _StratumMeans:
    size = len(strata.voted)
    sums = (_sum_rows(strata.of_vote, size) @ scores).toarray()
    sums[strata.voted < LEAST_IN_STRATUM] = 0.0
    votes, pairs = (np.bincount(codes, minlength=size)[:, None] for codes in (strata.of_vote, strata.of_pair))
    return _StratumMeans(sums / np.maximum(votes, 1), sums / np.maximum(pairs, 1))


def _score_rows(played: Games, cells: CellScores, design: sparse.csr_array) -> sparse.csr_array:
    """(votes, P): what each vote adds to the slope of the log-likelihood."""
    scores = cells.scores[played.code // 3, played.code % 3] * played.weights[:, None]
    rows = sparse.csr_array(sparse.diags_array(scores[:, 0]) @ design)
    if cells.design.tie is None:
        return rows
    places = np.arange(len(scores)), np.full(len(scores), cells.design.tie)
    return rows + sparse.csr_array((scores[:, 1], places), shape=rows.shape)


def _can_help(played: Games, predicted: PredictedPairs, moves: _Moves) -> bool:
    has_others = len(predicted.value) > predicted.voted
    scored = predicted.of_vote >= 0
    if not has_others or not scored.any():
        return False
    voted = kish(predicted.of_vote[scored], played.weights[scored] ** 2)
    return voted >= FEW and bool(np.ptp(moves.in_d) > 1e-12)


@dataclass(frozen=True, eq=False)
class _Moves:
    """What the predictor says of each vote's pair beyond its systems, as a score in d."""

    in_d: Floats  # (votes,) e, by what the vote counts
    of_vote: sparse.csr_array  # (votes, P) x e
    total: Floats  # (P,) their sum
    by_wide: (
        Floats  # (clusters, P) how much of the total hangs on each cluster's pairs, through the predictor's strengths
    )


def _measure_moves(played: Games, predicted: PredictedPairs, votes: sparse.csr_array, clusters: int) -> _Moves:
    number, width = len(predicted.value), votes.shape[1]
    rows = np.concatenate([np.arange(number)] * 2)
    ends = np.concatenate([np.ones(number), -np.ones(number)])
    pairs = sparse.csr_array((ends, (rows, np.concatenate([predicted.a, predicted.b]))), shape=(number, width))
    inverse = np.linalg.pinv((pairs.T @ pairs).toarray(), hermitian=True)
    values = predicted.value / 2  # a vote for a has a slope of up to 1/2 in d
    rest = values - pairs @ (inverse @ (pairs.T @ values))
    scored = predicted.of_vote >= 0
    in_d = played.weights * np.where(scored, rest[predicted.of_vote], 0.0)
    of_vote = sparse.csr_array(sparse.diags_array(in_d) @ votes)
    counted = sparse.csr_array(sparse.diags_array(played.weights[scored]) @ votes[scored])
    shared = (counted.T @ pairs[predicted.of_vote[scored]]).toarray()  # (P, P)
    gather = _sum_rows(predicted.wide, clusters)
    by_wide = (gather @ (sparse.diags_array(rest) @ pairs)).toarray() @ (shared @ inverse).T
    return _Moves(in_d, of_vote, np.asarray(of_vote.sum(axis=0)), by_wide)


def _sum_rows(codes: Ints, size: int) -> sparse.csr_array:
    """A matrix that adds the rows of each code."""
    return sparse.csr_array((np.ones(len(codes)), (codes, np.arange(len(codes)))), shape=(size, len(codes)))


def _tabulate(rows: Ints, columns: Ints, shape: tuple[int, int]) -> sparse.csr_array:
    """How often each two codes stand together."""
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


@dataclass(frozen=True, eq=False)
class _Sums:
    """Steps of the strengths by the votes of one rater on one cluster, in a metric in which their information is 1.

    Nothing is refitted without a cluster: all that follows is sums of squares and products, and each of them without
    one cluster, rater or both is known at once.
    """

    wide: Ints  # (entries,)
    rater: Ints  # (entries,)
    y: Floats  # (entries, K) of votes
    f: Floats  # (entries, K) of moves
    y_pairs: Floats  # (clusters, K) of all pairs, voted on or not, through the means of their strata
    f_pairs: Floats  # (clusters, K) the same of moves, and through the predictor's own strengths
    has_raters: bool

    def tune(self) -> float:
        """The weight that makes the sum of the variances smallest, by clusters: of raters a predictor knows nothing."""
        y, f = self._sum_by_wide()
        squares = float((f * f).sum())
        return float((y * f).sum()) / squares if squares > 0 else 0.0

    def measure_gain(self, freedom: float) -> Gain:
        """The gain by the correlation of both errors, with a jackknife that is crossed by clusters and raters."""
        y, f = self._sum_by_wide()
        people = np.zeros((int(self.rater.max()) + 1, self.y.shape[1]))
        np.add.at(people, self.rater, self.y)
        own = {  # without each entry: how much the sums by cluster, by rater and by entry lose
            "product": _dot(y[self.wide], self.f) + _dot(f[self.wide], self.y) - _dot(self.y, self.f),
            "moves": 2 * _dot(f[self.wide], self.f) - _dot(self.f, self.f),
            "wide": 2 * _dot(y[self.wide], self.y) - _dot(self.y, self.y),
            "rater": 2 * _dot(people[self.rater], self.y) - _dot(self.y, self.y),
            "single": _dot(self.y, self.y),
        }
        whole = {"product": _dot(y, f), "moves": _dot(f, f), "wide": _dot(y, y), "rater": _dot(people, people)}
        total = {name: float(values.sum()) for name, values in whole.items()} | {"single": float(own["single"].sum())}
        correlation = float(self._correlate(total))
        by_wide = {name: whole[name] for name in ("product", "moves", "wide")}
        by_wide |= {name: _sum_of(own[name], self.wide, len(y)) for name in ("rater", "single")}
        by_rater = {
            name: _sum_of(own[name], self.rater, len(people)) for name in ("product", "moves", "wide", "single")
        }
        by_rater["rater"] = whole["rater"]
        variance = self._jackknife(total, by_wide)
        if self.has_raters:
            of_raters = self._jackknife(total, by_rater)
            variance = max(variance + of_raters - self._jackknife(total, own), variance, of_raters)
        return bound_by_correlation(correlation, float(np.sqrt(variance)), freedom)

    def _sum_by_wide(self) -> tuple[Floats, Floats]:
        y, f = self.y_pairs.copy(), self.f_pairs.copy()
        np.add.at(y, self.wide, self.y)
        np.add.at(f, self.wide, self.f)
        return y, f

    def _correlate(self, sums: Mapping[str, Floats | float]) -> Floats:
        variance = sums["wide"]
        if self.has_raters:
            crossed = np.asarray(sums["wide"]) + sums["rater"] - sums["single"]
            variance = np.maximum(crossed, np.maximum(sums["wide"], sums["rater"]))
        scale = np.sqrt(np.asarray(variance) * np.asarray(sums["moves"]))
        ratio = np.divide(sums["product"], scale, out=np.zeros_like(scale), where=scale > 0)
        return np.asarray(np.clip(ratio, -MOST, MOST))

    def _jackknife(self, total: Mapping[str, float], lost: Mapping[str, Floats]) -> float:
        moved = np.arctanh(self._correlate({name: total[name] - lost[name] for name in total}))
        return float((len(moved) - 1) / len(moved) * ((moved - moved.mean()) ** 2).sum())


def _sum_of(values: Floats, codes: Ints, size: int) -> Floats:
    return np.asarray(np.bincount(codes, weights=values, minlength=size), dtype=np.float64)


def _dot(first: Floats, second: Floats) -> Floats:
    return np.asarray((first * second).sum(axis=1))


def _sum_by_entry(
    alone: Fit,
    rater: Ints | None,
    wide: Ints,
    scores: sparse.csr_array,
    moves: _Moves,
    strata: DrawnStrata | None,
) -> _Sums:
    systems = len(alone.systems)
    entry = wide if rater is None else cross_codes([wide, rater])
    _, first, code = np.unique(entry, return_index=True, return_inverse=True)
    of_strengths = alone.covariance[:systems]
    values, vectors = np.linalg.eigh(of_strengths[:, :systems])
    is_free = values > 1e-10 * values.max()
    root = (vectors[:, is_free] / np.sqrt(values[is_free])) @ vectors[:, is_free].T
    bring = (root @ of_strengths).T  # (P, K)

    def sum_up(rows: sparse.csr_array) -> tuple[Floats, Floats]:
        """Of the votes of each entry, and of the pairs of each cluster."""
        sums = (_sum_rows(code, len(first)) @ rows).toarray()
        if strata is None:
            return sums @ bring, np.zeros((len(moves.by_wide), bring.shape[1]))
        means = _average_strata(rows, strata)
        own = sums - strata.tabulate_votes(code, len(first)) @ means.of_vote
        return own @ bring, strata.tabulate_pairs(len(moves.by_wide)) @ means.of_pair @ bring

    (y, y_pairs), (f, f_pairs) = sum_up(scores), sum_up(moves.of_vote)
    return _Sums(
        wide[first],
        np.zeros(len(first), np.int64) if rater is None else np.unique(rater[first], return_inverse=True)[1],
        y,
        f,
        y_pairs,
        f_pairs - moves.by_wide @ bring,
        rater is not None,
    )
