"""How many votes, raters and seeds a study needs, and whether a running one may stop: computed once, for everybody.

The crowd is assumed, or measured on votes where their interval is computed: its design effect and effective clusters.
The correlations by variance components say where that comes from, so that other studies can be planned. A running study
is judged by an interval that stays valid however often one looks; an exact bet on votes that share no rater and no
dialogue decides nothing.

Votes can be spared where a judge, or any score of both sides, rules on further pairs as well. With L pairs voted on, N
more with the judge alone, and a correlation c of the judge with people's pair means, the tuned estimate leaves
r + (1 - r)(1 - c^2 N / (N + L)) of the variance: r is the part that raters make, which nothing lowers.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.questions.planning.stopping import DecisionPlan, Look, look, plan_decision
from seedvote.analysis.stats import power as sizing
from seedvote.analysis.stats.components import RESIDUAL, estimate_components
from seedvote.analysis.stats.gain import bound_gain, least_correlation
from seedvote.analysis.stats.intervals import Interval, count_groups, cross_codes, kish, mean_interval
from seedvote.analysis.stats.power import Anytime, Assumptions
from seedvote.analysis.stats.seed_power import seeds_for_difference
from seedvote.analysis.votes.cautions import Voters, judges_in_recipe, voters
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.systems import UNKNOWN, Contrast
from seedvote.analysis.votes.votes import net_scores
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
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
class Helper:
    """What is assumed of a judge."""

    correlation: float  # with the mean votes of pairs
    unlabelled: int  # pairs that it rules on and nobody votes on
    rater_share: float  # of the variance of the estimate; what the judge cannot lower
    price: float | None = None  # of its verdicts on one pair, in every order

    def gain(self, pairs: float) -> float:
        """Variance of the votes alone, divided by that with the judge, where so many pairs have votes."""
        part = self.unlabelled / (self.unlabelled + pairs)
        return bound_gain(self.correlation * float(np.sqrt(part)), self.rater_share)

    def cost(self, pairs: float) -> float | None:
        """What its verdicts cost, on so many pairs with votes and on all those without; None without a price."""
        return None if self.price is None else self.price * (pairs + self.unlabelled)


@dataclass(frozen=True, slots=True)
class HelpedRow:
    """Votes for one statement, without the judge and with it."""

    shows: str  # difference or margin
    value: float
    votes: int
    with_judge: int
    gain: float
    least: float  # the correlation under which a judge costs more than it brings, at so many pairs
    verdicts: float | None  # what the judge costs


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
    decision: DecisionPlan | None  # votes until the best of several systems is known, where that was asked
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
    adaptive: int | None = None,
    most: int = 3000,
    clusters: str = "auto",
    seed: int = 0,
) -> PlanAnswer:
    """Plan for the crowd that the votes show, or for the one `assumed`; `known`: pairs.jsonl names the systems."""
    question = PlanQuestion(difference, EXAMPLE_MARGIN if margin is None else margin, size, power, alpha, price, fee)
    crowd = measure_crowd(contrasts, clusters) if contrasts else assumed
    who_voted = voters(*(contrast.votes for contrast in contrasts)) if contrasts else None
    alpha_each = alpha / max(len(contrasts), 1)  # the looks at all comparisons together err in alpha of studies at most
    generator = np.random.default_rng(child_seed(seed, "plan"))
    nets = [difference * factor for factor in MULTIPLES]
    # Ties leave no room for a larger net preference.
    nets = [net for net in nets if net < 1 - crowd.ties]
    differences = tuple(_difference_row(net, question, crowd, alpha_each, generator) for net in nets)
    margins = tuple(_margin_row(question.margin * factor, question, crowd) for factor in MULTIPLES)
    helper = None
    if judge_correlation is not None and unlabelled is not None:
        share = crowd.rater_share if rater_share is None else rater_share
        helper = Helper(judge_correlation, unlabelled, share, verdict_price)
    crowd_recipe = {name: round(getattr(crowd, name), 4) for name in IN_RECIPE}
    return PlanAnswer(
        question,
        crowd,
        sum(len(contrast.votes) for contrast in contrasts) if contrasts else None,
        margin is not None,
        _study_power(question, crowd),
        differences,
        margins,
        () if seed_sd is None else tuple(_seeds_row(factor, seed_sd, question) for factor in SEED_MULTIPLES),
        helper,
        () if helper is None else _helped_rows(differences, margins, crowd, helper),
        tuple(
            look(contrast, difference=difference, alpha=alpha_each, margin=margin, clusters=clusters)
            for contrast in contrasts
        ),
        None
        if adaptive is None
        else plan_decision(
            adaptive,
            crowd,
            difference,
            most,
            alpha=alpha,
            generator=np.random.default_rng(child_seed(seed, "decision")),
        ),
        _list_unmeasured(contrasts),
        who_voted,
        _collect_cautions(contrasts, known),
        signature(
            **crowd_recipe,
            clusters=clusters,
            power=power,
            alpha=alpha,
            seed=seed,
            **_judge_in_recipe(helper),
            **({} if adaptive is None else {"adaptive": adaptive, "most": most}),
            **judges_in_recipe(who_voted),
        ),
    )


def _judge_in_recipe(helper: Helper | None) -> dict[str, str]:
    """What a plan with a judge took for granted of it; nothing where there is none."""
    if helper is None:
        return {}
    return {"judge": f"{helper.correlation:g}*{helper.unlabelled}", "rater_share": f"{helper.rater_share:.4g}"}


def _helped_rows(
    differences: Sequence[DifferenceRow], margins: Sequence[MarginRow], crowd: Assumptions, helper: Helper
) -> tuple[HelpedRow, ...]:
    aims = [("difference", row.difference, row.effort.votes_clustered) for row in differences]
    aims += [("margin", row.margin, row.effort.votes_clustered) for row in margins]
    return tuple(add_judge(*aim, crowd, helper) for aim in aims)


def add_judge(shows: str, value: float, votes: int, crowd: Assumptions, helper: Helper) -> HelpedRow:
    """The fewest votes whose error with the judge is no larger than that of `votes` without."""

    def is_enough(fewer: int) -> bool:
        return fewer * helper.gain(fewer / crowd.per_pair) >= votes

    fewest = 1 + bisect_left(range(1, votes), True, key=is_enough)
    pairs = fewest / crowd.per_pair
    least = float(least_correlation(int(pairs)))
    return HelpedRow(shows, value, votes, fewest, helper.gain(pairs), least, helper.cost(pairs))


def _collect_cautions(contrasts: Sequence[Contrast], known: bool) -> tuple[str, ...]:
    """What was left out of the votes, once for all contrasts, and whether their systems are known."""
    omissions = dict.fromkeys(warning for contrast in contrasts for warning in contrast.votes.warnings)
    return (*omissions, *(() if known else (UNKNOWN,)))


def _list_unmeasured(contrasts: Sequence[Contrast]) -> tuple[str, ...]:
    """What the votes cannot show about their raters."""
    raters = [contrast.votes.rater for contrast in contrasts]
    if not raters:
        return ()
    if any(rater is None for rater in raters):
        return (UNNAMED,)
    return () if any(rater.any() for rater in raters if rater is not None) else (ONE_RATER,)


def _study_power(question: PlanQuestion, crowd: Assumptions) -> StudyPower:
    independent, size = Assumptions(crowd.ties), question.size
    alpha, power = question.alpha, question.power
    return StudyPower(
        votes=size,
        effective_votes=size / crowd.design_effect,
        difference=sizing.smallest_difference(size, independent, alpha=alpha, power=power),
        difference_clustered=sizing.smallest_difference(size, crowd, alpha=alpha, power=power),
        margin=sizing.smallest_margin(size, independent, alpha=alpha, power=power),
        margin_clustered=sizing.smallest_margin(size, crowd, alpha=alpha, power=power),
        chance_power=sizing.power_of_share(crowd.ties, size, alpha=alpha),
    )


def _difference_row(
    net: float, question: PlanQuestion, crowd: Assumptions, alpha_each: float, generator: np.random.Generator
) -> DifferenceRow:
    alpha, power = question.alpha, question.power
    independent, votes = (
        sizing.votes_for_difference(net, who, alpha=alpha, power=power) for who in (Assumptions(crowd.ties), crowd)
    )
    peeking = sizing.plan_anytime(net, crowd, generator=generator, alpha=alpha_each, power=power)
    return DifferenceRow(net, independent, _estimate_effort(votes, question, crowd), peeking)


def _margin_row(margin: float, question: PlanQuestion, crowd: Assumptions) -> MarginRow:
    independent, votes = (
        sizing.votes_for_margin(margin, who, alpha=question.alpha, power=question.power)
        for who in (Assumptions(crowd.ties), crowd)
    )
    return MarginRow(margin, independent, _estimate_effort(votes, question, crowd))


def _estimate_effort(votes: int, question: PlanQuestion, crowd: Assumptions) -> Effort:
    pairs, raters = (int(np.ceil(votes / per)) for per in (crowd.per_pair, crowd.per_rater))
    return Effort(votes, pairs, raters, question.money(votes))


def _seeds_row(factor: float, sd: float, question: PlanQuestion) -> SeedsRow:
    difference = factor * sd
    seeds = seeds_for_difference(difference, sd, alpha=question.alpha, power=question.power)
    return SeedsRow(difference, factor, seeds)


def measure_crowd(contrasts: Sequence[Contrast], clusters: str = "auto") -> Assumptions:
    """Ties, cluster sizes, correlations and the design effect of these votes, averaged over their comparisons."""
    several = [contrast for contrast in contrasts if len(contrast.votes) > 1]
    ties = float(np.mean(np.concatenate([contrast.votes.tie for contrast in contrasts])))
    if ties == 1:
        raise InputError("All votes are ties, so they show no spread to plan with; give --ties and no VOTES.")
    if not several:
        raise InputError("One vote shows no spread to plan with; give --ties and no VOTES.")
    by = [clusters_of(contrast.votes, clusters, part=True) for contrast in several]
    scores = [net_scores(contrast.votes.choice) for contrast in several]
    nets = [mean_interval(score, by=ways) for score, ways in zip(scores, by, strict=True)]
    weights = np.array([net.n for net in nets], dtype=float)

    def mean(values: Sequence[float]) -> float:
        return float(np.average(values, weights=weights))

    shared = [_shared_codes(contrast, ways) for contrast, ways in zip(several, by, strict=True)]
    sizes = {name: mean([len(codes[name]) / kish(codes[name]) for codes in shared]) for name in shared[0]}
    per_rater = mean([len(codes["rater"]) / count_groups(codes["rater"]) for codes in shared])
    icc = _estimate_correlations(scores, shared)
    return Assumptions(
        ties,
        per_pair=sizes["pair"],
        per_rater=per_rater,
        pair_icc=icc["dialogue"] + icc["pair"],
        rater_icc=icc["rater"],
        per_dialogue=max(sizes["dialogue"] / sizes["pair"], 1.0),
        dialogue_icc=icc["dialogue"],
        rater_cv=float(np.sqrt(max(sizes["rater"] / per_rater - 1, 0.0))),
        effect=mean([net.n / net.effective_n for net in nets]),
        largest=mean([_largest_cluster(net, ways) for net, ways in zip(nets, by, strict=True)]),
    )


def _largest_cluster(net: Interval, by: Mapping[str, Ints]) -> float:
    """Votes in the cluster of a vote, by the way of clustering that leaves the fewest clusters."""
    return net.n / min((kish(codes) for codes in by.values()), default=float(net.n))


def _shared_codes(contrast: Contrast, by: Mapping[str, Ints]) -> dict[str, Ints]:
    """The codes of pair, dialogue (or item) and rater; where these are no clusters, every vote stands alone."""
    votes = contrast.votes
    wider = next((codes for name, codes in by.items() if name in ("dialogue", "item")), votes.pair)
    return {"pair": votes.pair, "dialogue": wider, "rater": by.get("rater", np.arange(len(votes)))}


def _estimate_correlations(scores: Sequence[Floats], shared: Sequence[Mapping[str, Ints]]) -> dict[str, float]:
    """Shares of the variance that votes on a dialogue, on a pair beyond that, and of a rater have in common."""
    # Each comparison about its own mean: a difference between systems is no likeness of votes on a pair.
    centred = np.concatenate([score - score.mean() for score in scores])
    contrast = np.repeat(np.arange(len(scores)), [len(score) for score in scores])
    joined = {name: np.concatenate([codes[name] for codes in shared]) for name in ("dialogue", "pair", "rater")}
    factors = {name: np.unique((contrast, codes), axis=1, return_inverse=True)[1] for name, codes in joined.items()}
    terms: list[tuple[str, ...]] = []
    for name in ("rater", "pair", "dialogue"):  # the finer of two equal groupings: a dialogue of one pair is a pair
        is_new = all(
            count_groups(cross_codes([factors[name], factors[term]])) > count_groups(factors[term]) for (term,) in terms
        )
        if is_new and 1 < count_groups(factors[name]) < len(centred):
            terms.append((name,))
    shares = dict.fromkeys(joined, 0.0)
    if not terms or not centred.any():
        return shares
    try:  # the point estimates draw nothing (sets=0), so the seed of this generator is never used
        parts = estimate_components(centred, factors, terms, generator=np.random.default_rng(0), sets=0).parts
    except InputError:  # too few votes to tell the terms apart; the design effect does not need them
        return dict.fromkeys(joined, float("nan"))
    total = sum(max(part.value, 0.0) for part in parts)
    return shares | {part.name: max(part.value, 0.0) / total for part in parts if part.name != RESIDUAL}
