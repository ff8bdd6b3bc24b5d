"""How far raters agree: the one place where coefficients and their intervals are computed, for all who show them.

`answer` gives every coefficient with its bootstrap interval, each rater's habits, the crowd's, Dawid and Skene's model
and the cautions without which the numbers would mislead.

To add a coefficient: its formula and its field in stats/agreement.py, and a row of `AgreementAnswer.coefficients`; the
command, `--json`, the figure and the report show that list.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.reading.votes import Votes
from analysis.stats.agreement import Agreement, Coefficient, coefficients, count_table, label_order, two_raters
from analysis.stats.dawid_skene import DawidSkene, dawid_skene
from analysis.stats.raters import RaterHabits, SplitHalf, rater_table, rows, split_half
from dialogue.seeds import child_seed
from dialogue.signature import signature

SMOOTHING = 1.0  # imaginary votes in every cell of a rater's table: a crowd's raters have a dozen votes each
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
class NamedCoefficient:
    """A coefficient that is 0 as by chance and 1 at best, under its key of `--json` (`group.part` in a group)."""

    key: str
    name: str
    found: Coefficient | None
    ordered: bool = False  # it needs an order of the labels, so the report leaves it out


@dataclass(frozen=True, eq=False)
class AgreementAnswer:
    """All numbers of the question; what needs raters or an order of the labels is None or empty without them."""

    labels: tuple[str, ...]  # of the votes, in the order of `truth.prior`
    found: Agreement
    cohen_kappa: Coefficient | None
    split_half: SplitHalf | None
    raters: tuple[RaterHabits, ...]  # most votes first
    crowd: tuple[Habit, ...]
    truth: HiddenTruth | None
    warnings: tuple[str, ...]
    signature: str

    @property
    def coefficients(self) -> tuple[NamedCoefficient, ...]:
        """Every coefficient of all raters, in the order in which it is shown."""
        found = self.found
        return (
            NamedCoefficient("fleiss_kappa", "Fleiss' kappa", found.fleiss_kappa),
            NamedCoefficient("krippendorff_alpha.nominal", "Krippendorff's alpha, nominal", found.alpha_nominal),
            NamedCoefficient("krippendorff_alpha.ordinal", "Krippendorff's alpha, ordinal", found.alpha_ordinal, True),
            NamedCoefficient(
                "krippendorff_alpha.interval", "Krippendorff's alpha, interval", found.alpha_interval, True
            ),
            NamedCoefficient("gwet_ac1", "Gwet's AC1", found.gwet_ac1),
        )

    @property
    def comparable(self) -> bool:
        """Whether any pair has two votes, without which there is no agreement to speak of."""
        return self.found.usable_items > 0


def answer(
    votes: Votes, *, labels: str = "tie", unit: str = "pair", sets: int = 2000, seed: int = 0
) -> AgreementAnswer:
    """Every number on these votes; `labels` says how they are ordered, `unit` what the intervals resample."""
    order, numbers = label_order(votes.labels, labels)
    place, names = np.argsort(order)[votes.choice], [votes.labels[code] for code in order]
    # One generator for all: the intervals depend on the order of these calls, so a new one comes last.
    generator = np.random.default_rng(child_seed(seed, "agreement"))
    counts, cluster = count_table(votes.pair, place, len(names)), _unit_of_pair(votes, unit)
    found = coefficients(counts, names, values=numbers, generator=generator, sets=sets, cluster=cluster)
    halves = None if numbers is None else split_half(votes.pair, np.asarray(numbers)[place], generator=generator)
    cohen, truth = None, None
    raters: tuple[RaterHabits, ...] = ()
    if votes.rater is not None:
        raters = _raters(votes, ties=labels == "tie")
        cohen = two_raters(votes.pair, votes.rater, votes.choice, len(names), generator=generator, sets=sets)
        truth = _in_short(hidden_truth(votes))
    recipe = signature(votes=len(votes), pairs=found.items, unit=unit, sets=sets, seed=seed, labels=labels)
    cautions = (*votes.warnings, *_cautions(votes, found))
    return AgreementAnswer(votes.labels, found, cohen, halves, raters, _crowd(raters), truth, cautions, recipe)


def hidden_truth(votes: Votes) -> DawidSkene:
    """Dawid and Skene's model of these votes; needs raters."""
    rater = votes.need("rater", "--posteriors")
    return dawid_skene(votes.pair, rater, votes.choice, len(votes.labels), smoothing=SMOOTHING)


def _unit_of_pair(votes: Votes, unit: str) -> NDArray[np.int64] | None:
    """Code of every pair's dialogue, or None where pairs themselves are resampled."""
    if unit == "pair":
        return None
    of_pair = np.zeros(len(votes.pairs), dtype=np.int64)
    of_pair[votes.pair] = votes.need("dialogue", "--unit dialogue")
    return of_pair


def _raters(votes: Votes, *, ties: bool) -> tuple[RaterHabits, ...]:
    """Without ties among the labels there are no two sides either: a left label has no meaning."""
    tie, left = (votes.labels.index("tie"), votes.left) if ties else (None, None)
    table = rater_table(votes.pair, np.asarray(votes.rater), votes.choice, len(votes.labels), tie=tie, left=left)
    return tuple(rows(table, votes.raters))


def _crowd(raters: Sequence[RaterHabits]) -> tuple[Habit, ...]:
    habits = (
        ("says tie", [one.tie_rate for one in raters]),
        ("agrees with the other votes", [one.with_rest for one in raters]),
        ("chooses the left side", [one.left_rate for one in raters]),
    )
    known = [(name, sorted(rate for rate in rates if np.isfinite(rate))) for name, rates in habits]
    return tuple(
        Habit(name, tuple(rates), *map(float, np.quantile(rates, [0.25, 0.5, 0.75]))) for name, rates in known if rates
    )


def _in_short(model: DawidSkene) -> HiddenTruth:
    sure = float((model.posterior.max(1) > SURE).mean())
    return HiddenTruth(tuple(model.prior.tolist()), sure, model.steps, model.converged)


def _cautions(votes: Votes, found: Agreement) -> list[str]:
    cautions = []
    if votes.rater is None:
        cautions.append("The votes name no rater, so there is no table or model of raters.")
    elif again := len(votes) - len({*zip(votes.pair.tolist(), votes.rater.tolist(), strict=True)}):
        who = "1 vote is by a rater" if again == 1 else f"{again:,} votes are by raters"
        cautions.append(f"{who} who had already voted on the same pair; each such vote counts as another rater's.")
    if not found.usable_items:
        cautions.append(NONE_TWICE)
    elif alone := found.items - found.usable_items:
        text = "1 pair has" if alone == 1 else f"{alone:,} pairs have"
        cautions.append(f"{text} one vote only and {'says' if alone == 1 else 'say'} nothing about agreement.")
    if found.observed.value in (0.0, 1.0) and found.usable_items > 1:
        cautions.append(
            "Votes agree on every pair or on none, so resampling pairs shows no spread and the intervals are too "
            "narrow."
        )
    return cautions
