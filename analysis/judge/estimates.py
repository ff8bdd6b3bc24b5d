"""People's preference and ties with a judge's help: what the votes say, with verdicts on pairs that have no votes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from analysis.judge.labelling import Drift, Labelling, drift_of
from analysis.stats import gain as gains
from analysis.stats import powered as ppi
from analysis.stats.intervals import Interval, mean_interval
from analysis.votes.systems import Contrast
from analysis.votes.verdicts import Bench, Outcome, Scored, scored_votes
from dialogue.records import Pair

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
NAMES: Mapping[Outcome, str] = {"net": "net preference", "tie": "tie share"}


@dataclass(frozen=True, slots=True)
class HelpedEstimate:
    """One number on two systems: people's, and with the judge in several ways."""

    first: str
    second: str
    outcome: Outcome
    votes: int
    voted: int  # pairs
    others: int  # pairs with verdicts and no votes
    people: Interval
    whole: ppi.Powered  # the weight 1
    tuned: ppi.Powered
    strata: ppi.Powered
    judge: float  # the judge alone, over all its pairs
    bias: Interval  # the judge's minus people's, on the pairs with votes
    independent: ppi.Independent | None  # what tools compute that know neither pairs nor raters
    gain: gains.Gain
    correlation: float  # with the pairs' mean votes
    least: float  # the correlation that can help
    raters: float  # part of the variance that raters make
    ceiling: float
    folds: bool  # whether the weight was fitted on other votes than it weighs
    joined: bool  # whether small strata were joined
    drift: Drift | None
    left_out: int

    @property
    def helps(self) -> bool:
        """Whether the votes show that the judge lowers the error: its correlation is beyond none and the least."""
        return self.gain.shown and abs(self.correlation) >= self.least

    @property
    def win(self) -> tuple[Interval, Interval] | None:
        """The win rate, a tie half a win, of people alone and with the judge; of the net preference only."""
        if self.outcome != "net":
            return None
        return _as_rate(self.people), _as_rate(self.tuned.interval)


def scores_of(bench: Bench, outcome: Outcome) -> dict[str, float]:
    """What the judge says of every pair that it ruled on."""
    return {name: value for name in bench.verdicts if (value := bench.value(name, outcome)) is not None}


def _as_rate(net: Interval) -> Interval:
    value, low, high = ((1 + part) / 2 for part in (net.value, net.low, net.high))
    return replace(net, value=value, se=net.se / 2, low=low, high=high)


def estimate(
    bench: Bench, contrast: Contrast, scores: Mapping[str, float], outcome: Outcome, labels: Labelling, clusters: str,
    generator: np.random.Generator,
) -> HelpedEstimate | None:  # fmt: skip
    """One judge on one contrast, `scores` its values of all pairs; None without two votes of two clusters on them."""
    met = scored_votes(contrast, bench.pairs, scores, outcome, clusters)
    if met is None or any(len(np.unique(codes)) < 2 for codes in met.sample.by.values()):
        return None
    sample, share = met.sample, outcome == "tie"
    tuned = labels.estimate(met, generator, share)
    known = _strata(bench, met)
    stratum, other_stratum, joined = ppi.joined_strata(known[0], sample.pair, known[1])
    strata = tuned if labels.stated else ppi.stratified(sample, stratum, other_stratum, share)
    rho, part = gains.pair_correlation(sample), gains.rater_part(sample)
    first = np.unique(sample.pair, return_index=True)[1]
    return HelpedEstimate(
        first=contrast.first,
        second=contrast.second,
        outcome=outcome,
        votes=len(sample.y),
        voted=sample.pairs,
        others=len(sample.other),
        people=labels.people(met, share),
        whole=ppi.powered(sample, 1.0, share),
        tuned=tuned,
        strata=strata,
        judge=float(np.concatenate([sample.f[first], sample.other]).mean()),
        bias=mean_interval(sample.f - sample.y, by=sample.by),
        independent=_as_others(sample),
        gain=gains.gain_of(sample, generator),
        correlation=rho,
        least=gains.least_correlation(sample.pairs),
        raters=part,
        ceiling=gains.ceiling(rho, part),
        folds=sample.pairs < ppi.FEW,
        joined=joined,
        drift=drift_of(bench, met),
        left_out=met.left_out,
    )


def _as_others(sample: ppi.Sample) -> ppi.Independent | None:
    """Each pair's mean vote as one independent label."""
    if len(sample.other) < 2 or sample.pairs < 2:
        return None
    _, first, code = np.unique(sample.pair, return_index=True, return_inverse=True)
    return ppi.as_if_independent(np.bincount(code, weights=sample.y) / np.bincount(code), sample.f[first], sample.other)


def _strata(bench: Bench, met: Scored) -> tuple[Ints, Ints]:
    """Pairs by verdict: for the first system, for the second, a tie, orders that contradict each other, unusable."""
    first, others = (
        np.array([_kind(bench, pair, one) for pair, one in zip(some, straight, strict=True)], dtype=np.int64)
        for some, straight in zip((met.first, met.others), met.straight, strict=True)
    )
    return first[met.sample.pair], others


def _kind(bench: Bench, pair: Pair, straight: bool) -> int:
    choices = {one.choice for one in bench.verdicts[pair.pair] if one.choice != "unusable"}
    if not choices:
        return 4
    if len(choices) > 1:
        return 3
    return {"a": 0 if straight else 1, "b": 1 if straight else 0, "tie": 2}[choices.pop()]
