"""How many votes, raters and seeds a study needs, and whether a running one may stop: computed once, for everybody.

The crowd is assumed, or measured on votes with the clusters of their interval. A running study is judged by an interval
that stays valid however often one looks, and beside it by an exact bet on votes that share no rater and no dialogue.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.planning.crowd import measured
from analysis.planning.helped import HelpedRow, Helper, helper_for, with_help
from analysis.planning.stopping import Look, look
from analysis.stats import power as sizing
from analysis.stats.power import Anytime, Assumptions
from analysis.stats.seed_power import seeds_for_difference
from analysis.votes.systems import UNKNOWN, Contrast
from analysis.votes.voters import Voters, judges_in_recipe, voters
from dialogue.seeds import child_seed
from dialogue.signature import signature

EXAMPLE_MARGIN = 0.167  # of the tables where none is stated: what 200 votes with 35 % ties can show
MULTIPLES = (0.5, 0.75, 1.0, 1.5, 2.0)  # the tables' differences and margins, as multiples of those asked for
SEED_MULTIPLES = (0.5, 1.0, 2.0, 3.0)  # differences of architectures, in SDs over seeds
IN_RECIPE = ("ties", "per_pair", "per_dialogue", "per_rater", "rater_cv", "design_effect")
UNNAMED = "raters not named, so each vote is taken as a different rater's"
ONE_RATER = "all from one rater, so the correlation of a rater's votes is unknown and taken as 0"


@dataclass(frozen=True, slots=True)
class PlanQuestion:
    """What the study is to show, at which error rates, and what a vote costs (None: no money)."""

    difference: float
    margin: float
    size: int
    power: float
    alpha: float
    price: float | None
    fee: float

    def money(self, votes: float) -> float | None:
        """Pay and fee for so many votes."""
        return None if self.price is None else votes * self.price * (1 + self.fee)


@dataclass(frozen=True, slots=True)
class StudyPower:
    """What a study of `votes` votes can show with the power asked for: if independent, and of this crowd."""

    votes: int
    effective_votes: float
    difference: float | None  # None: none that this crowd can have
    difference_clustered: float | None
    margin: float | None  # None: none below 1
    margin_clustered: float | None
    chance_power: float  # of telling this share of ties from the 1/3 of random clicking, were votes independent


@dataclass(frozen=True, slots=True)
class Effort:
    """Votes of this crowd, and the pairs, raters and money that they take."""

    votes_clustered: int
    pairs: int
    raters: int
    money: float | None


@dataclass(frozen=True, slots=True)
class DifferenceRow:
    """Votes that show a net preference: independent ones, those of the crowd, and the price of peeking."""

    difference: float
    votes: int
    effort: Effort
    peeking: Anytime


@dataclass(frozen=True, slots=True)
class MarginRow:
    """Votes that show two equal systems to be alike within a margin."""

    margin: float
    votes: int
    effort: Effort


@dataclass(frozen=True, slots=True)
class SeedsRow:
    """Seeds of each architecture that show a difference of so many SDs over seeds."""

    difference: float
    in_sd: float
    seeds: int


@dataclass(frozen=True, slots=True)
class PlanAnswer:
    """Every number of a plan; `measured` is the number of votes that the crowd was measured on, None if assumed."""

    question: PlanQuestion
    crowd: Assumptions
    measured: int | None
    stated: bool  # whether a margin was stated; without one, no two systems are called equivalent
    study: StudyPower
    differences: tuple[DifferenceRow, ...]
    margins: tuple[MarginRow, ...]
    seeds: tuple[SeedsRow, ...]
    helper: Helper | None  # a judge on further pairs
    helped: tuple[HelpedRow, ...]
    looks: tuple[Look, ...]
    unmeasured: tuple[str, ...]  # what these votes cannot show about their raters
    voters: Voters | None  # of the votes that were measured
    warnings: tuple[str, ...]
    signature: str


def answer(
    contrasts: Sequence[Contrast] = (),
    *,
    assumed: Assumptions,
    known: bool = True,
    difference: float = 0.16,
    margin: float | None = None,
    size: int = 200,
    power: float = 0.8,
    alpha: float = 0.05,
    price: float | None = None,
    fee: float = 0.2,
    seed_sd: float | None = None,
    judge_correlation: float | None = None,
    unlabelled: int | None = None,
    rater_share: float | None = None,
    verdict_price: float | None = None,
    clusters: str = "auto",
    seed: int = 0,
) -> PlanAnswer:
    """Plan for the crowd that the votes show, or for the one `assumed`; `known`: pairs.jsonl names the systems."""
    question = PlanQuestion(difference, EXAMPLE_MARGIN if margin is None else margin, size, power, alpha, price, fee)
    crowd = measured(contrasts, clusters) if contrasts else assumed
    cast = voters(*(one.votes for one in contrasts)) if contrasts else None
    shared = alpha / max(len(contrasts), 1)  # the looks at all comparisons together err in alpha of studies at most
    generator = np.random.default_rng(child_seed(seed, "plan"))
    asked = [difference * factor for factor in MULTIPLES]
    # Ties leave no room for a larger net preference.
    differences = tuple(_difference(net, question, crowd, shared, generator) for net in asked if net < 1 - crowd.ties)
    margins = tuple(_margin(question.margin * factor, question, crowd) for factor in MULTIPLES)
    helper = None
    if judge_correlation is not None and unlabelled is not None:
        helper = helper_for(crowd, judge_correlation, unlabelled, rater_share, verdict_price)
    return PlanAnswer(
        question, crowd, sum(len(one.votes) for one in contrasts) if contrasts else None, margin is not None,
        _study(question, crowd),
        differences,
        margins,
        () if seed_sd is None else tuple(_seeds(factor, seed_sd, question) for factor in SEED_MULTIPLES),
        helper,
        () if helper is None else _helped(differences, margins, crowd, helper),
        tuple(look(one, difference=difference, alpha=shared, margin=margin, clusters=clusters) for one in contrasts),
        _unmeasured(contrasts),
        cast,
        _cautions(contrasts, known),
        signature(**{name: round(getattr(crowd, name), 4) for name in IN_RECIPE}, clusters=clusters, power=power,
                  alpha=alpha, seed=seed, **_judge_in_recipe(helper), **judges_in_recipe(cast)),
    )  # fmt: skip


def _judge_in_recipe(helper: Helper | None) -> dict[str, str]:
    """What a plan with a judge took for granted of it; nothing where there is none."""
    if helper is None:
        return {}
    return {"judge": f"{helper.correlation:g}*{helper.unlabelled}", "rater_share": f"{helper.rater_share:.4g}"}


def _helped(
    differences: Sequence[DifferenceRow], margins: Sequence[MarginRow], crowd: Assumptions, helper: Helper
) -> tuple[HelpedRow, ...]:
    shown = [("difference", row.difference, row.effort.votes_clustered) for row in differences]
    alike = [("margin", row.margin, row.effort.votes_clustered) for row in margins]
    return tuple(with_help(*each, crowd, helper) for each in (*shown, *alike))


def _cautions(contrasts: Sequence[Contrast], known: bool) -> tuple[str, ...]:
    """What was left out of the votes, once for all contrasts, and whether their systems are known."""
    left_out = dict.fromkeys(warning for one in contrasts for warning in one.votes.warnings)
    return (*left_out, *(() if known else (UNKNOWN,)))


def _unmeasured(contrasts: Sequence[Contrast]) -> tuple[str, ...]:
    """What the votes cannot show about their raters."""
    raters = [one.votes.rater for one in contrasts]
    if not raters:
        return ()
    if any(rater is None for rater in raters):
        return (UNNAMED,)
    return () if any(rater.any() for rater in raters if rater is not None) else (ONE_RATER,)


def _study(question: PlanQuestion, crowd: Assumptions) -> StudyPower:
    alone, size, alpha, wanted = Assumptions(crowd.ties), question.size, question.alpha, question.power
    return StudyPower(
        votes=size,
        effective_votes=size / crowd.design_effect,
        difference=sizing.smallest_difference(size, alone, alpha=alpha, power=wanted),
        difference_clustered=sizing.smallest_difference(size, crowd, alpha=alpha, power=wanted),
        margin=sizing.smallest_margin(size, alone, alpha=alpha, power=wanted),
        margin_clustered=sizing.smallest_margin(size, crowd, alpha=alpha, power=wanted),
        chance_power=sizing.power_of_share(crowd.ties, size, alpha=alpha),
    )


def _difference(
    net: float, question: PlanQuestion, crowd: Assumptions, shared: float, generator: np.random.Generator
) -> DifferenceRow:
    alpha, wanted = question.alpha, question.power
    alone, votes = (
        sizing.votes_for_difference(net, who, alpha=alpha, power=wanted) for who in (Assumptions(crowd.ties), crowd)
    )
    peeking = sizing.anytime(net, crowd, generator=generator, alpha=shared, power=wanted)
    return DifferenceRow(net, alone, _effort(votes, question, crowd), peeking)


def _margin(margin: float, question: PlanQuestion, crowd: Assumptions) -> MarginRow:
    alone, votes = (
        sizing.votes_for_margin(margin, who, alpha=question.alpha, power=question.power)
        for who in (Assumptions(crowd.ties), crowd)
    )
    return MarginRow(margin, alone, _effort(votes, question, crowd))


def _effort(votes: int, question: PlanQuestion, crowd: Assumptions) -> Effort:
    pairs, raters = (int(np.ceil(votes / per)) for per in (crowd.per_pair, crowd.per_rater))
    return Effort(votes, pairs, raters, question.money(votes))


def _seeds(factor: float, sd: float, question: PlanQuestion) -> SeedsRow:
    difference = factor * sd
    seeds = seeds_for_difference(difference, sd, alpha=question.alpha, power=question.power)
    return SeedsRow(difference, factor, seeds)
