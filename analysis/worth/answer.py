"""What every evaluator is worth in votes of people, one by one and together, computed once.

All comparisons of systems count, each about its own means: knowing which system is liked better on the whole tells
nothing of single pairs, and an evaluator that knows no more than that saves no vote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis.showing.words import count
from analysis.stats.gain import Gain, ceiling, gain_of, pair_correlation, rater_part
from analysis.stats.paired.order_agreement import OrderAgreement, order_agreement
from analysis.stats.powered import Sample
from analysis.votes.clusters import clusters_of
from analysis.votes.scores.paired import Differences, signed_ranks
from analysis.votes.systems import Matches, key_of, system_names
from analysis.votes.verdicts import NET, TIE, Bench, Outcome, cluster_name, clusters_by_name, contrast_of
from analysis.votes.voters import Voters, judges_in_recipe, voters
from analysis.votes.votes import net_scores
from dialogue.errors import InputError
from dialogue.records import Pair
from dialogue.seeds import child_seed
from dialogue.signature import signature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scores = Mapping[Outcome, Mapping[str, float]]  # outcome -> pair -> what an evaluator says of it
OUTCOMES = (NET, TIE)
TOGETHER = "all together"
FOLDS = 5
RIDGE = 1.0  # of predictors that are scaled to a variance of 1, beside so many pairs
LEAST_PAIRS = 10


@dataclass(frozen=True, slots=True)
class Worth:
    """One evaluator for one outcome."""

    name: str
    outcome: Outcome
    pairs: int
    others: int  # pairs that it scored and nobody voted on
    votes: int
    correlation: float  # with pairs' mean votes, within comparisons
    now: Gain  # with the pairs without votes that there are
    endless: Gain  # with pairs without end
    ceiling: float
    varied: bool  # whether its pairs' votes differ within comparisons; else nothing can be said of it
    signs: tuple[int, int]  # pairs on which it and people lean to one side, of those where both lean
    order: OrderAgreement | None  # of the systems, by it and by people; None for ties and for fewer than four systems


@dataclass(frozen=True, eq=False)
class WorthAnswer:
    """Every evaluator, all of them together, and what could not be used."""

    rows: tuple[Worth, ...]
    together: tuple[Worth, ...]  # empty where there is only one evaluator
    votes: int
    clusters: str
    voters: Voters
    warnings: tuple[str, ...]
    signature: str


@dataclass(frozen=True, eq=False)
class _Table:
    """Votes of all comparisons with the pairs behind them."""

    y: Mapping[Outcome, Floats]  # (votes,) turned to the first system
    by: Mapping[str, Ints]
    pair: Ints  # (votes,) code of its pair
    voted: tuple[Pair, ...]
    others: tuple[Pair, ...]
    wide: Ints  # of the voted pairs, then of the others
    comparison: Ints  # likewise
    turn: Floats  # 1 where a is the first system, -1 where it is b; likewise


@dataclass(frozen=True, eq=False)
class _Predictor:
    """What an evaluator says of every pair, voted ones first; 0 where it says nothing."""

    there: NDArray[np.bool_]
    values: Floats


def answer(
    matches: Matches,
    pairs: Mapping[str, Pair],
    evaluators: Sequence[Differences],
    benches: Sequence[Bench] = (),
    *,
    clusters: str = "auto",
    seed: int = 0,
) -> WorthAnswer:
    """Every evaluator that scored both sides of ten voted pairs or more, and all of them together."""
    table = _table(matches, pairs, clusters)
    generator = np.random.default_rng(child_seed(seed, "worth"))
    scored = [*((one.name, _of_differences(one)) for one in evaluators), *_of_benches(benches)]
    if not scored:
        raise InputError("No evaluator scored both sides of a pair.")
    enough = {name: sum(pair.pair in each[NET] for pair in table.voted) for name, each in scored}
    kept = {name: each for name, each in scored if enough[name] >= LEAST_PAIRS}
    if not kept:
        raise InputError(
            f"No evaluator scored both sides of {LEAST_PAIRS} pairs with votes; {max(enough, key=lambda n: enough[n])} "
            f"scored {max(enough.values())}."
        )
    rows = [_worth(name, way, table, _predictor(way, table, each[way]), generator)
            for name, each in kept.items() for way in OUTCOMES]  # fmt: skip
    summed = [_together(way, table, [each[way] for each in kept.values()], generator)
              for way in OUTCOMES if len(kept) > 1]  # fmt: skip
    cast = voters(matches.votes)
    recipe = signature(
        votes=len(matches.votes), pairs=len(table.voted), evaluators=len(kept), clusters=clusters, seed=seed,
        **judges_in_recipe(cast),
    )  # fmt: skip
    left = [f"{name} scored both sides of {count(number, 'pair')} with votes, and {LEAST_PAIRS} are needed."
            for name, number in enough.items() if name not in kept]  # fmt: skip
    warnings = (*matches.votes.warnings, *left)
    by = "+".join(table.by) or "vote"
    return WorthAnswer(tuple(rows), tuple(summed), len(matches.votes), by, cast, warnings, recipe)


def _of_differences(one: Differences) -> Scores:
    """Signed ranks for the preference; for ties how near the two sides are."""
    values = signed_ranks(list(one.by_pair.values()))
    return {way: dict(zip(one.by_pair, (values if way == NET else -np.abs(values)).tolist(), strict=True))
            for way in OUTCOMES}  # fmt: skip


def _of_benches(benches: Sequence[Bench]) -> list[tuple[str, Scores]]:
    """Judges, named with the prompt where one name has several."""
    names = [bench.judge for bench in benches]
    return [
        (
            f"judge {bench.judge}" + (f" (prompt {bench.prompt[:8]})" if names.count(bench.judge) > 1 else ""),
            {way: {name: value for name in bench.verdicts if (value := bench.value(name, way)) is not None}
             for way in OUTCOMES},
        )
        for bench in benches
    ]  # fmt: skip


def _table(matches: Matches, pairs: Mapping[str, Pair], clusters: str) -> _Table:
    votes, names = matches.votes, system_names(pairs.values())
    codes, place = np.unique(votes.pair, return_inverse=True)
    voted = [pairs[votes.pairs[code]] for code in codes]
    compared = {contrast_of(pair, names)[:2] for pair in voted}
    asked = {pair.pair for pair in voted}
    others = [
        pair for name, pair in pairs.items()
        if name not in asked and pair.kind == "real" and key_of(pair.a) != key_of(pair.b)
        and contrast_of(pair, names)[:2] in compared
    ]  # fmt: skip
    ways = clusters_of(votes, clusters)
    wide = next((name for name in ways if name != "rater"), "pair")
    named = [*clusters_by_name(votes, voted, place, wide), *(cluster_name(pair, wide) for pair in others)]
    met = [contrast_of(pair, names) for pair in (*voted, *others)]
    comparison = np.unique([f"{one}\n{other}" for one, other, _ in met], return_inverse=True)[1]
    turn = np.array([1.0 if straight else -1.0 for *_, straight in met])
    y: dict[Outcome, Floats] = {NET: net_scores(votes.choice) * turn[place], TIE: votes.tie.astype(float)}
    numbered = np.unique(named, return_inverse=True)[1]
    return _Table(y, ways, place, tuple(voted), tuple(others), numbered, comparison, turn)


def _centred(values: Floats, codes: Ints) -> Floats:
    """Values about the mean of their code."""
    if not len(values):
        return values
    place = np.unique(codes, return_inverse=True)[1]
    return np.asarray(values - (np.bincount(place, weights=values) / np.bincount(place))[place])


def _predictor(outcome: Outcome, table: _Table, scores: Mapping[str, float]) -> _Predictor:
    """The scores, turned to the first system of each pair's comparison."""
    every = (*table.voted, *table.others)
    there = np.array([pair.pair in scores for pair in every])
    values = np.array([scores.get(pair.pair, 0.0) for pair in every])
    return _Predictor(there, values * table.turn if outcome == NET else values)


def _sample(outcome: Outcome, table: _Table, found: _Predictor) -> Sample:
    """Votes and scores of the pairs that have both, each comparison about its own means."""
    known = len(table.voted)
    kept = found.there[:known][table.pair]
    pair = table.pair[kept]
    outside = found.there.copy()
    outside[:known] = False
    of_vote = table.comparison[:known][pair]
    return Sample(
        _centred(table.y[outcome][kept], of_vote), _centred(found.values[:known][pair], of_vote),
        {name: np.unique(codes[kept], return_inverse=True)[1] for name, codes in table.by.items()},
        np.unique(pair, return_inverse=True)[1], table.wide[:known][pair],
        _centred(found.values[outside], table.comparison[outside]), table.wide[outside],
    )  # fmt: skip


def _worth(name: str, outcome: Outcome, table: _Table, found: _Predictor, generator: np.random.Generator) -> Worth:
    sample = _sample(outcome, table, found)
    rho = pair_correlation(sample)
    return Worth(
        name=name,
        outcome=outcome,
        pairs=sample.pairs,
        others=len(sample.other),
        votes=len(sample.y),
        correlation=rho,
        now=gain_of(sample, generator),
        endless=gain_of(sample, generator, endless=True),
        ceiling=ceiling(rho, rater_part(sample)),
        varied=bool(np.ptp(sample.y) > 1e-12),
        signs=_signs(table, found, outcome),
        order=_order(table, found, outcome),
    )


def _signs(table: _Table, found: _Predictor, outcome: Outcome) -> tuple[int, int]:
    """Not about the means: which side people and the evaluator lean to, as they said it."""
    if outcome == TIE:
        return 0, 0
    means = np.bincount(table.pair, weights=table.y[outcome]) / np.bincount(table.pair)
    f = np.where(found.there, found.values, 0.0)[: len(table.voted)]
    both = (np.abs(means) > 1e-12) & (np.abs(f) > 1e-12)
    return int((np.sign(means[both]) == np.sign(f[both])).sum()), int(both.sum())


def _order(table: _Table, found: _Predictor, outcome: Outcome) -> OrderAgreement | None:
    """The systems by people and by the evaluator, on the pairs that have both."""
    if outcome == TIE:
        return None
    known = len(table.voted)
    kept = np.flatnonzero(found.there[:known])
    sides = [[key_of(side) for side in (table.voted[n].a, table.voted[n].b)] for n in kept]
    codes = {key: n for n, key in enumerate(sorted({key for both in sides for key in both}, key=str))}
    first, second = np.array([[codes[key] for key in both] for both in sides], dtype=np.int64).reshape(-1, 2).T
    means = np.bincount(table.pair, weights=table.y[outcome]) / np.bincount(table.pair)
    turn = table.turn[kept]
    return order_agreement(first, second, means[kept] * turn, found.values[kept] * turn)


def _together(
    outcome: Outcome, table: _Table, each: Sequence[Mapping[str, float]], generator: np.random.Generator
) -> Worth:
    """A ridge of all evaluators; every voted pair is predicted by a fit on other clusters than its own."""
    found = [_predictor(outcome, table, scores) for scores in each]
    columns = np.column_stack([_within(one, table.comparison) for one in found])
    scale = columns.std(axis=0)
    columns = columns[:, scale > 1e-12] / scale[scale > 1e-12]
    known = len(table.voted)
    means = np.bincount(table.pair, weights=table.y[outcome]) / np.bincount(table.pair)
    means = _centred(means, table.comparison[:known])
    groups, place = np.unique(table.wide[:known], return_inverse=True)
    fold = generator.permutation(np.arange(len(groups)) % FOLDS)[place]
    values, fits = np.zeros(len(columns)), []
    for one in np.unique(fold):
        inside, rest = np.flatnonzero(fold == one), np.flatnonzero(fold != one)
        fits.append(_ridge(columns[rest], means[rest]))
        values[inside] = columns[inside] @ fits[-1]
    values[known:] = columns[known:] @ np.mean(fits, axis=0)
    there = np.any([one.there for one in found], axis=0)
    made = _worth(TOGETHER, outcome, table, _Predictor(there, values), generator)
    # Its predictions are about the mean of each comparison, so they order no systems.
    return replace(made, now=_upwards(made.now), endless=_upwards(made.endless), order=None)


def _within(found: _Predictor, comparison: Ints) -> Floats:
    """Scores about the mean of their comparison; 0 where there is none."""
    values = np.zeros(len(found.values))
    values[found.there] = _centred(found.values[found.there], comparison[found.there])
    return values


def _ridge(x: Floats, y: Floats) -> Floats:
    return np.asarray(np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ (y - y.mean())))


def _upwards(gain: Gain) -> Gain:
    """The gain of predictions that were fitted: votes that go against them show a fit to chance, and no worth."""
    if gain.correlation > 0 and gain.correlation_low > 0:
        return gain
    value = gain.value if gain.correlation > 0 else 1.0
    high = 1 / (1 - gain.correlation_high**2) if gain.correlation_high > 0 else 1.0
    return Gain(value, 1.0, high, gain.correlation, min(gain.correlation_low, 0.0), max(gain.correlation_high, 0.0))
