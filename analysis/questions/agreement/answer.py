"""How far raters agree: coefficients with intervals that draw pairs (or dialogues) and raters anew.

The answer also holds each rater's habits, the crowd's, two models of the hidden truth, and the cautions without which
the numbers would mislead.

To add a coefficient: its formula and its field in stats/between_raters/agreement.py, and a row of
`AgreementAnswer.coefficients`; the command, `--json`, the figure and the report show that list.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from seedvote.analysis.showing.words import count
from seedvote.analysis.stats.between_raters.agreement import (
    FEWEST_REPEATED,
    Agreement,
    Coefficient,
    estimate_coefficients,
    label_order,
    two_raters,
)
from seedvote.analysis.stats.between_raters.dawid_skene import DawidSkene, dawid_skene
from seedvote.analysis.stats.between_raters.mace import Mace, mace
from seedvote.analysis.stats.between_raters.raters import RaterHabits, SplitHalf, list_raters, rater_table, split_half
from seedvote.analysis.stats.disparity import Disparity
from seedvote.analysis.stats.sign_tests import holm_where
from seedvote.analysis.votes.cautions import Voters, judges_in_recipe, voters
from seedvote.analysis.votes.clusters import Strata, Ways, clusters_of
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.shell.progress import step
from seedvote.dialogue.signature import signature

SMOOTHING = 6.0  # imaginary votes a true label: a crowd's raters have a dozen votes each (docs/method-agreement.md)
SURE = 0.95  # a pair whose posterior exceeds it counts as sure
NONE_TWICE = "No pair has two votes or more, so agreement cannot be measured."


@dataclass(frozen=True, slots=True)
class Habit:
    """One rate over all raters who have it, sorted, with its quartiles."""

    name: str
    rates: tuple[float, ...]
    low: float
    median: float
    high: float


@dataclass(frozen=True, slots=True)
class HiddenTruth:
    """Dawid and Skene's model in short."""

    prior: tuple[float, ...]  # of each label
    sure: float  # share of the pairs whose posterior exceeds SURE
    steps: int
    converged: bool


@dataclass(frozen=True, slots=True)
class Spamming:
    """MACE's model in short."""

    prior: tuple[float, ...]  # of each label
    sure: float  # share of the pairs whose posterior exceeds SURE
    spam: float  # share of the votes that do not look at the pair
    spammers: int  # raters whose votes are spam more often than not
    steps: int
    converged: bool


@dataclass(frozen=True, slots=True)
class NamedCoefficient:
    """A coefficient that is 0 as by chance and 1 at best, under its key of `--json` (`group.part` in a group)."""

    key: str
    name: str
    coefficient: Coefficient | None
    ordered: bool = False  # it needs an order of the labels, so the report leaves it out


@dataclass(frozen=True, eq=False)
class AgreementAnswer:
    """All numbers of the question; what needs raters or an order of the labels is None or empty without them."""

    labels: tuple[str, ...]  # of the votes, in the order of `truth.prior`
    statistics: Agreement
    cohen_kappa: Coefficient | None
    split_half: SplitHalf | None
    raters: tuple[RaterHabits, ...]  # most votes first
    crowd: tuple[Habit, ...]
    truth: HiddenTruth | None
    spamming: Spamming | None
    voters: Voters
    warnings: tuple[str, ...]
    signature: str

    @property
    def coefficients(self) -> tuple[NamedCoefficient, ...]:
        """Every coefficient of all raters, in the order in which it is shown."""
        statistics = self.statistics
        return (
            NamedCoefficient("fleiss_kappa", "Fleiss' kappa", statistics.fleiss_kappa),
            NamedCoefficient("krippendorff_alpha.nominal", "Krippendorff's alpha, nominal", statistics.alpha_nominal),
            NamedCoefficient(
                "krippendorff_alpha.ordinal", "Krippendorff's alpha, ordinal", statistics.alpha_ordinal, True
            ),
            NamedCoefficient(
                "krippendorff_alpha.interval", "Krippendorff's alpha, interval", statistics.alpha_interval, True
            ),
            NamedCoefficient("gwet_ac1", "Gwet's AC1", statistics.gwet_ac1),
        )

    @property
    def comparable(self) -> bool:
        """Whether any pair has two votes, without which there is no agreement to speak of."""
        return self.statistics.usable_items > 0

    @property
    def resampled(self) -> str:
        """What the intervals draw anew, e.g. `120 pairs and 30 raters`; empty where there are none."""
        return " and ".join(count(number, name) for name, number in self.statistics.clusters.items())


def answer(votes: Votes, *, labels: str = "tie", clusters: str = "auto", seed: int = 0) -> AgreementAnswer:
    """Every number on these votes; `labels` says how they are ordered, `clusters` what the intervals draw anew.

    Ties that were recorded for identical responses are left out: nobody gave them, so nobody agrees by them.
    """
    given_votes = votes.given()
    recorded, votes = len(votes) - len(given_votes), given_votes
    if not len(votes):
        raise InputError(f"Nobody gave these {recorded:,} votes: all were recorded for identical responses.")
    order, numbers = label_order(votes.labels, labels)
    place, names = np.argsort(order)[votes.choice], [votes.labels[code] for code in order]
    ways = _cluster_ways(votes, clusters)
    step("coefficients, with each rater left out in turn")
    statistics = estimate_coefficients(votes.pair, place, names, values=numbers, clusters=ways)
    generator = np.random.default_rng(child_seed(seed, "agreement"))
    halves = None if numbers is None else split_half(votes.pair, np.asarray(numbers)[place], generator=generator)
    cohen, truth, spamming = None, None, None
    raters: tuple[RaterHabits, ...] = ()
    if votes.rater is not None:
        step("MACE: who spams")
        fitted = spam_model(votes)
        spam = fitted.spamming if statistics.usable_items else np.full(len(fitted.spamming), np.nan)
        raters = _rater_habits(votes, spam, ties=labels == "tie")
        shared = next((codes for name, codes in ways.items() if name != "rater"), None)
        cohen = two_raters(votes.pair, votes.rater, votes.choice, len(names), cluster=shared)
        step("Dawid and Skene's model")
        if (
            statistics.usable_items
        ):  # single votes: nothing tells a true label from spam, but the models would be sure of it
            truth, spamming = _summarize_truth(hidden_truth(votes)), _summarize_spam(fitted, raters)
    recipe = signature(
        votes=len(votes),
        pairs=statistics.items,
        clusters=statistics.unit or "none",
        interval="jackknife",
        seed=seed,
        labels=labels,
        **judges_in_recipe(voter_counts := voters(votes)),
    )
    cautions = (*votes.warnings, *_recorded_ties(recorded), *_comparison_cautions(votes, statistics))
    return AgreementAnswer(
        votes.labels,
        statistics,
        cohen,
        halves,
        raters,
        _crowd_habits(raters),
        truth,
        spamming,
        voter_counts,
        cautions,
        recipe,
    )


def hidden_truth(votes: Votes) -> DawidSkene:
    """Dawid and Skene's model of these votes; needs raters."""
    rater = votes.need("rater", "--posteriors")
    return dawid_skene(votes.pair, rater, votes.choice, len(votes.labels), smoothing=SMOOTHING)


def spam_model(votes: Votes) -> Mace:
    """MACE's model of these votes; needs raters."""
    return mace(votes.pair, votes.need("rater", "--posteriors"), votes.choice, len(votes.labels))


def _cluster_ways(votes: Votes, clusters: str) -> Ways:
    """What hangs together. Agreement compares votes on one pair, so that pairs are the least it can draw."""
    return clusters_of(votes, clusters) or clusters_of(votes, "auto" if clusters == "auto" else "pair")


def _rater_habits(votes: Votes, spam: NDArray[np.float64], *, ties: bool) -> tuple[RaterHabits, ...]:
    """Without ties among the labels there are no two sides either: a left label has no meaning."""
    tie, left = (votes.labels.index("tie"), votes.left) if ties else (None, None)
    table = rater_table(votes.pair, np.asarray(votes.rater), votes.choice, len(votes.labels), tie=tie, left=left)
    return tuple(list_raters(table, votes.raters, spam))


def _crowd_habits(raters: Sequence[RaterHabits]) -> tuple[Habit, ...]:
    habits = (
        ("says tie", [rater.tie_rate for rater in raters]),
        ("agrees with the other votes", [rater.with_rest for rater in raters]),
        ("chooses the left side", [rater.left_rate for rater in raters]),
    )
    known = [(name, sorted(rate for rate in rates if np.isfinite(rate))) for name, rates in habits]
    return tuple(
        Habit(name, tuple(rates), *map(float, np.quantile(rates, [0.25, 0.5, 0.75]))) for name, rates in known if rates
    )


def _summarize_truth(model: DawidSkene) -> HiddenTruth:
    return HiddenTruth(tuple(model.prior.tolist()), _sure_share(model.posterior), model.steps, model.converged)


def _summarize_spam(model: Mace, raters: Sequence[RaterHabits]) -> Spamming:
    return Spamming(
        prior=tuple(model.prior.tolist()),
        sure=_sure_share(model.posterior),
        spam=float(model.spam.mean()),
        spammers=sum(rater.spam > 0.5 for rater in raters),
        steps=model.steps,
        converged=model.converged,
    )


def _sure_share(posterior: NDArray[np.float64]) -> float:
    return float((posterior.max(1) > SURE).mean())


def _recorded_ties(number: int) -> list[str]:
    what = "1 tie that was" if number == 1 else f"{number:,} ties that were"
    return [f"Left out: {what} recorded for identical responses and given by nobody."] if number else []


def _comparison_cautions(votes: Votes, statistics: Agreement) -> list[str]:
    cautions = _rater_cautions(votes, statistics)
    if not statistics.usable_items:
        return [*cautions, NONE_TWICE]
    if single_votes := statistics.items - statistics.usable_items:
        verb = "has one vote only and is" if single_votes == 1 else "have one vote only and are"
        cautions.append(f"{count(single_votes, 'pair')} {verb} left out: a single vote says nothing about agreement.")
    if not statistics.unit and not statistics.raters_held:
        cautions.append("The votes that can be compared are on one pair or dialogue, so there are no intervals.")
    elif statistics.observed.value in (0.0, 1.0):
        cautions.append(
            "Votes agree on every pair or on none, so only the share of agreeing votes has an interval: nothing shows "
            "how the coefficients would vary."
        )
    elif statistics.unit and statistics.repeated < FEWEST_REPEATED:
        cautions.append(
            f"On {count(statistics.repeated, 'pair')} two raters gave the same of the rarer labels. That is too few "
            f"for an interval of kappa and alpha, which takes {FEWEST_REPEATED}."
        )
    elif not np.isfinite(statistics.fleiss_kappa.low):
        cautions.append("All labels but one come from a single cluster, so kappa and alpha have no interval.")
    return cautions


def _rater_cautions(votes: Votes, statistics: Agreement) -> list[str]:
    """Who the intervals speak for, and votes that are not another rater's."""
    if votes.rater is None:
        return [
            "The votes name no rater, so there is no table or model of raters, and the intervals ignore how "
            "raters differ."
        ]
    cautions, raters = [], len(np.unique(votes.rater))
    if raters == 1:
        cautions.append("All votes are from one rater, so they say nothing about other people.")
    elif statistics.usable_items and statistics.raters_held:
        who = "Two raters" if raters == 2 else "Raters of whom one is in every comparison"
        so = "the intervals are about other pairs judged by them" if statistics.unit else "there are no intervals"
        cautions.append(f"{who} cannot speak for other raters: {so}.")
    if repeats := len(votes) - len(np.unique(votes.pair * (int(votes.rater.max()) + 1) + votes.rater)):
        who = "1 vote is by a rater" if repeats == 1 else f"{repeats:,} votes are by raters"
        cautions.append(f"{who} who had already voted on the same pair; each such vote counts as another rater's.")
    return cautions


@dataclass(frozen=True, slots=True)
class GroupAgreement:
    """How far the raters of one group agree with each other, and how far that is from the others' agreement."""

    group: str
    people: int
    votes: int
    alpha: Coefficient | None  # nominal; None where no pair has two votes of the group
    apart: Disparity | None
    p_holm: float | None = None


def answer_groups(votes: Votes, strata: Strata, clusters: str) -> list[GroupAgreement]:
    """Every group by itself and against all others; p is adjusted for all of them, two groups alone once."""
    groups = []
    for code, group in enumerate(strata.names):
        inside = strata.code == code
        alpha, alpha_outside = (_nominal_alpha(votes.select(part), clusters) for part in (inside, ~inside))
        disparity = None if alpha is None or alpha_outside is None else _compare_alphas(alpha, alpha_outside)
        groups.append(GroupAgreement(group, strata.people[code], int(inside.sum()), alpha, disparity))
    tests = [strata.test_of(group.group) for group in groups]
    adjusted = holm_where([None if group.apart is None else group.apart.p for group in groups], tests)
    return [replace(group, p_holm=p) for group, p in zip(groups, adjusted, strict=True)]


def _nominal_alpha(votes: Votes, clusters: str) -> Coefficient | None:
    if len(votes) < 2:
        return None
    ways = clusters_of(votes, clusters, part=True) or {"pair": votes.pair}
    place = np.unique(votes.pair, return_inverse=True)[1]
    statistics = estimate_coefficients(place, votes.choice, votes.labels, values=None, clusters=ways)
    return statistics.alpha_nominal if statistics.usable_items and isfinite(statistics.alpha_nominal.value) else None


def _compare_alphas(first: Coefficient, second: Coefficient) -> Disparity | None:
    """As if the two shared no items; they do, which makes the true error smaller and this interval careful."""
    errors = [(alpha.high - alpha.low) / 2 for alpha in (first, second)]
    if not all(isfinite(error) and error > 0 for error in errors):
        return None
    gap, reach = first.value - second.value, math.hypot(*errors)
    z = gap / (reach / float(stdtrit(1e6, 0.975)))
    return Disparity(gap, gap - reach, gap + reach, math.erfc(abs(z) / math.sqrt(2)))
