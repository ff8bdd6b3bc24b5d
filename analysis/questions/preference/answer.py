"""Which system is preferred: net preferences of two systems, by all raters, by these alone, by groups of them.

`answer` gives net preferences with intervals, exact tests, equivalence, position bias, change over rounds, the ranking
and the tie index, with the cautions that belong to them. Ties stay ties: they count as zero in the denominator of the
net preference, and the sign test leaves them out and counts them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from seedvote.analysis.questions.preference.models import (
    Careful,
    MixedContrast,
    careful_answer,
    disagreeing,
    mixed_answer,
)
from seedvote.analysis.stats.disparity import Disparity, compare_groups
from seedvote.analysis.stats.intervals import FEW, Interval, count_groups, kish, mean_interval, share_test
from seedvote.analysis.stats.net_preference import (
    Equivalence,
    interval_of,
    net_estimate,
    net_interval,
    smallest_claim,
    tost,
)
from seedvote.analysis.stats.paired.davidson import Model
from seedvote.analysis.stats.paired.reversal import Reversal, reverse_sum
from seedvote.analysis.stats.round_drift import RoundDrift, round_drift
from seedvote.analysis.stats.sign_tests import (
    TIE,
    SignTest,
    TieIndex,
    holm_where,
    position_test,
    sign_test,
    tie_index,
)
from seedvote.analysis.votes.cautions import (
    SAME_PAIRS,
    Voters,
    about_dialogues,
    about_names,
    judges_in_recipe,
    voters,
)
from seedvote.analysis.votes.clusters import Strata, clusters_of, without_interval
from seedvote.analysis.votes.ranking import (
    Ranking,
    ranking_of,
    ranks_of_two,
    removable_units,
    reversals_of,
)
from seedvote.analysis.votes.systems import DIFFERENT, SAME, UNKNOWN, Contrast, Matches, contrasts
from seedvote.analysis.votes.votes import Votes, design_weights, net_scores
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.formulas.uncertainty import adjust_by_holm
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature

FEW_RATERS = 8  # effective ones: below it an answer for these raters alone is given too
EVEN = 0.9  # of the number of raters: with as many effective ones both means are nearly the same


@dataclass(frozen=True, slots=True)
class Preference:
    """What the votes on two systems say."""

    first: str
    second: str
    net: Interval
    p: float  # of no preference, by the same error and law as the interval
    sign: SignTest  # as if every vote were independent
    equivalence: Equivalence | None  # None: no margin was stated
    claimable: float  # the smallest margin within which these votes would call the two alike


@dataclass(frozen=True, slots=True)
class Untested:
    """Two systems whose votes give no interval, with the reason."""

    first: str
    second: str
    sign: SignTest  # its counts alone are of use
    reason: str  # `1 vote`, `one rater`, ...

    @property
    def votes(self) -> int:
        """How many there are."""
        return self.sign.a + self.sign.b + self.sign.ties

    @property
    def net(self) -> float:
        """The net preference for the first."""
        return (self.sign.a - self.sign.b) / self.votes


@dataclass(frozen=True, slots=True)
class Position:
    """Left against right over all votes; `share` of the left, and its p against one half, are None for too few."""

    test: SignTest  # `a` counts the left; as if every vote were independent
    share: Interval | None
    p: float | None


@dataclass(frozen=True, slots=True)
class TieShare:
    """Ties among the votes on one kind of pairs, with the interval; the real ones have no contrast."""

    contrast: str
    votes: int
    share: float
    low: float  # NaN, as high, for one vote or one cluster
    high: float


@dataclass(frozen=True, slots=True)
class RaterNet:
    """A net preference of two systems; p is adjusted for all comparisons (Holm)."""

    first: str
    second: str
    raters: int
    value: float
    low: float
    high: float
    p: float
    p_holm: float


@dataclass(frozen=True, eq=False)
class PreferenceAnswer:
    """All numbers of the question, in the order of the systems' names; `led` shows the leader of each pair first."""

    matches: Matches
    clusters: tuple[str, ...]  # the ways in which the votes hang together; none: as if they were independent
    known: bool  # whether pairs.jsonl says which system stood where
    preferences: tuple[Preference, ...]
    untested: tuple[Untested, ...]
    adjusted: tuple[float, ...]  # p of the net preferences, adjusted for their number (Holm)
    position: Position | None
    rounds: RoundDrift | None
    ranking: Ranking | None
    careful: Careful | None  # the Bayesian answer beside it, where raters are few or it was asked for
    reversals: tuple[Reversal, ...]  # how few votes, dialogues, raters decide who leads; none: nobody leads
    mixed: tuple[MixedContrast, ...] | None  # a crossed mixed logit for each two systems, where it was asked for
    index: TieIndex | None
    fixed: tuple[RaterNet, ...]  # for these raters alone, where they are few
    over_raters: tuple[RaterNet, ...]  # means over raters, where they gave unequal numbers of votes
    unverified: tuple[Preference | Untested, ...]  # the same of votes that no marketplace has confirmed, alone
    shares: tuple[TieShare, ...]  # of the real pairs, then of every kind of control pairs
    voters: Voters
    warnings: tuple[str, ...]
    signature: str

    @property
    def led(self) -> tuple[Preference, ...]:
        """The same preferences with the leader first."""
        return tuple(led(preference) for preference in self.preferences)

    @property
    def shown(self) -> tuple[bool, ...]:
        """Whether each preference is shown: its adjusted p is below .05 and, of several systems, so is their ranking.

        One rule for everything that is said of two systems: p goes by the votes on the two alone, and the ranking by
        all votes, with every comparison at once.
        """
        return tuple(
            p < 0.05
            and (self.ranking is None or self.ranking.compare(preference.first, preference.second) is not False)
            for preference, p in zip(self.preferences, self.adjusted, strict=True)
        )


def answer(
    matches: Matches,
    *,
    known: bool = True,
    margin: float | None = None,
    model: Model = "davidson",
    clusters: str = "auto",
    sets: int = 5000,
    careful: bool | None = None,
    mixed: bool = False,
    seed: int = 0,
    alone: Matches | None = None,
) -> PreferenceAnswer:
    """Every number on these votes; `margin` is the smallest net preference that matters, as a share, if one was stated.

    `careful` asks for the Bayesian answer, or forbids it; None gives it where raters are few. Two systems whose votes
    are one, or all in one cluster, have no interval; where neither any two systems have one nor a ranking, there is no
    answer. `alone` are votes that no marketplace has confirmed; they are shown beside the others and never pooled
    with them here.
    """
    votes, every = matches.votes, contrasts(matches)
    ways = clusters_of(votes, clusters)  # refuses what all votes together do not have
    reasons = [without_interval(contrast.votes, list(ways)) for contrast in every]
    generator = np.random.default_rng(child_seed(seed, "preference"))
    ranking, refusal = ranking_of(matches, model, clusters, sets, generator)
    bayesian = careful_answer(matches, asked=careful, clusters=clusters, ranking=ranking, seed=seed)
    if ranking is None and all(reasons):
        raise InputError(_why_nothing(every, reasons, refusal))
    testable = [contrast for contrast, reason in zip(every, reasons, strict=True) if not reason]
    preferences = tuple(prefer(contrast, margin=margin, clusters=clusters) for contrast in testable)
    if ranking is not None and len(ranking.systems) == 2:  # the others may have been left out
        ranked = {system.system for system in ranking.systems}
        between = [preference for preference in preferences if {preference.first, preference.second} == ranked]
        ranking = ranks_of_two(ranking, between[0].p) if between else ranking
    doubts = [*([refusal] if ranking is None else []), *disagreeing(bayesian)]
    recipe = signature(
        votes=len(votes),
        pairs=len(np.unique(votes.pair)),
        clusters="+".join(ways) or "vote",
        margin=margin,
        model=model,
        sets=sets,
        seed=seed,
        **judges_in_recipe(voter_counts := voters(votes)),
    )
    return PreferenceAnswer(
        matches=matches,
        clusters=tuple(ways),
        known=known,
        preferences=preferences,
        untested=tuple(
            Untested(contrast.first, contrast.second, sign_test(contrast.votes.choice), reason)
            for contrast, reason in zip(every, reasons, strict=True)
            if reason
        ),
        adjusted=tuple(float(p) for p in adjust_by_holm(np.array([contrast.p for contrast in preferences]))),
        position=position(votes, clusters),
        rounds=change_over_rounds(votes),
        ranking=ranking,
        reversals=_reverse_leads(matches, every, ranking, clusters),
        careful=bayesian,
        mixed=mixed_answer(every, clusters) if mixed else None,
        index=calibrate_ties(matches),
        fixed=of_these_raters(testable, clusters),
        over_raters=over_raters(testable, clusters),
        unverified=() if alone is None else _prefer_unverified(alone, clusters),
        shares=_tie_shares(matches, clusters),
        voters=voter_counts,
        warnings=(*votes.warnings, *_gather_cautions(matches, known), *doubts),
        signature=recipe,
    )


def _reverse_leads(
    matches: Matches, every: Sequence[Contrast], ranking: Ranking | None, clusters: str
) -> tuple[Reversal, ...]:
    """How few votes decide who leads: of two systems by their net preference, of several by their strengths."""
    if len(every) > 1:
        return () if ranking is None else reversals_of(matches, ranking, clusters)
    votes, first, second = every[0].votes, every[0].first, every[0].second
    values, weights = net_scores(votes.choice), design_weights(votes, np.zeros(len(votes), np.int64))
    values = values if weights is None else values * weights
    if not (total := values.sum()):
        return ()
    units = removable_units(votes, clusters)
    return tuple(reverse_sum(values * np.sign(total), units, second if total > 0 else first))


def _prefer_unverified(matches: Matches, clusters: str) -> tuple[Preference | Untested, ...]:
    """Every two systems by these votes, with an interval where they give one."""
    ways = list(clusters_of(matches.votes, "auto" if len(matches.votes) < 2 else clusters, part=True))
    preferences: list[Preference | Untested] = []
    for contrast in contrasts(matches):
        if reason := without_interval(contrast.votes, ways):
            preferences.append(Untested(contrast.first, contrast.second, sign_test(contrast.votes.choice), reason))
        else:
            preferences.append(prefer(contrast, margin=None, clusters=clusters))
    return tuple(preferences)


def prefer(contrast: Contrast, *, margin: float | None, clusters: str = "auto", alpha: float = 0.05) -> Preference:
    """Every test on one contrast; the equivalence test only against a margin that was stated."""
    votes = contrast.votes
    values, ways = net_scores(votes.choice), clusters_of(votes, clusters, part=True)
    weights = design_weights(votes, np.zeros(len(votes), np.int64))
    net = net_estimate(values, by=ways, weights=weights)
    interval = interval_of(net, mean_interval(values, by=ways, level=1 - alpha))
    return Preference(
        contrast.first,
        contrast.second,
        interval if weights is None else replace(interval, value=net.value, se=net.se),
        net.p,
        sign_test(votes.choice),
        None if margin is None else tost(net, margin, alpha=alpha),
        smallest_claim(net, alpha=alpha),
    )


def led(preference: Preference) -> Preference:
    """The same with the leader first."""
    if preference.net.value >= 0:
        return preference
    net = replace(preference.net, value=-preference.net.value, low=-preference.net.high, high=-preference.net.low)
    sign, equivalence = replace(preference.sign, a=preference.sign.b, b=preference.sign.a), preference.equivalence
    turned = (
        None
        if equivalence is None
        else replace(equivalence, estimate=-equivalence.estimate, low=-equivalence.high, high=-equivalence.low)
    )
    return replace(preference, first=preference.second, second=preference.first, net=net, sign=sign, equivalence=turned)


def position(votes: Votes, clusters: str = "auto") -> Position | None:
    """Whether raters favour one side of the page; None where the votes do not say what stood left."""
    if votes.left is None:
        return None
    decisive = votes.select((votes.left >= 0) & (votes.choice != TIE))
    test = position_test(votes.choice, votes.left)
    if len(decisive) < 2:
        return Position(test, None, None)
    share = mean_interval(decisive.choice == decisive.left, by=clusters_of(decisive, clusters, part=True), share=True)
    return Position(test, share, share_test(share, 0.5)[1])


def change_over_rounds(votes: Votes) -> RoundDrift | None:
    """Whether raters give more or fewer ties in later rounds (HumanExp-k); None for fewer than two rounds."""
    if votes.round is None or len(votes.rounds) < 2:
        return None
    numbered = votes.in_round
    rater = None if votes.rater is None else votes.rater[numbered]
    return round_drift(votes.pair[numbered], votes.round[numbered], rater, votes.tie[numbered])


def calibrate_ties(matches: Matches) -> TieIndex | None:
    """The tie index where the study has both anchors with two pairs or more each, and raters enough."""
    anchors = [matches.controls.get(name) for name in (DIFFERENT, SAME)]
    if any(votes is None or len(np.unique(votes.pair)) < 2 for votes in anchors):
        return None
    return index_of([matches.votes, *(votes for votes in anchors if votes is not None)])


def index_of(kinds: Sequence[Votes]) -> TieIndex | None:
    """The index of real, different and same pairs; None where votes of fewer than five raters say nothing of others.

    Habits of raters move all three shares alike, so errors go by pair; but of three raters the index is not another's.
    """
    rater = kinds[0].rater
    if rater is not None and kish(rater) < FEW:
        return None
    shares = [mean_interval(votes.tie, by={"pair": votes.pair}) for votes in kinds]
    return tie_index(*((share.value, share.se) for share in shares))


def _tie_shares(matches: Matches, clusters: str) -> tuple[TieShare, ...]:
    kinds = {"": matches.votes, **{name or "controls": votes for name, votes in matches.controls.items()}}
    return tuple(_tie_share(name, votes, clusters) for name, votes in kinds.items() if len(votes))


def _tie_share(name: str, votes: Votes, clusters: str) -> TieShare:
    try:
        interval = mean_interval(votes.tie, by=clusters_of(votes, clusters, part=True), share=True)
    except InputError:  # one vote, or all of one cluster
        return TieShare(name, len(votes), float(votes.tie.mean()), math.nan, math.nan)
    return TieShare(name, len(votes), interval.value, interval.low, interval.high)


def _why_nothing(every: Sequence[Contrast], reasons: Sequence[str], refusal: str) -> str:
    """Why there is neither an interval nor a ranking."""
    telling = next(
        ((contrast, reason) for contrast, reason in zip(every, reasons, strict=True) if reason != "1 vote"), None
    )
    if telling is None and len(every) > 1:
        return f"Each of the {len(every)} comparisons of two systems has one vote, which has no interval. {refusal}"
    if telling is None:
        return "One vote has no interval; two or more are needed."
    contrast, reason = telling
    return (
        f"{contrast.first} and {contrast.second} were judged by or on {reason}, which says nothing of others. {refusal}"
    )


def _gather_cautions(matches: Matches, known: bool) -> list[str]:
    votes, cautions = matches.votes, []
    if not known:
        cautions.append(UNKNOWN)
    if votes.rater is None:
        cautions.append(
            "The votes name no rater, so the intervals ignore differences between raters and are too narrow."
        )
    elif "rater" not in clusters_of(votes):
        cautions.append("All votes are from one rater, so the intervals say nothing about other people.")
    cautions += about_names(votes)
    cautions += about_dialogues(replace(votes, item=None))  # every pair of pairs.jsonl has an item
    if votes.identical is not None and (same := int(votes.identical.sum())):
        text = "1 vote is" if same == 1 else f"{same:,} votes are"
        cautions.append(f"{text} on pairs of two identical responses, and counted like any other vote.")
    if votes.rater is not None and kish(votes.rater) < FEW and {DIFFERENT, SAME} <= set(matches.controls):
        cautions.append("There is no tie index: fewer than five raters say nothing of others.")
    cautions += _describe_choice_of_pairs(matches)
    if len(votes.rounds) > 1:
        cautions.append(SAME_PAIRS)
    return cautions


def _describe_choice_of_pairs(matches: Matches) -> list[str]:
    """How pairs were chosen in an adaptive study, and what an even design would have taken."""
    votes = matches.votes
    if votes.propensity is None or votes.batch is None or not np.isfinite(votes.propensity).any():
        return []
    numbers = {(contrast.first, contrast.second): len(contrast.votes) for contrast in contrasts(matches)}
    (first, second), most = max(numbers.items(), key=lambda item: item[1])
    even = most * len(numbers)
    chosen = f"Pairs were chosen adaptively, in {len(np.unique(votes.batch[votes.batch > 0]))} batches."
    if len(numbers) < 2 or even <= len(votes):
        return [chosen]
    return [
        chosen,
        f"{first} and {second} were compared most, by {most:,} votes. An even design takes {even:,} votes to give each "
        f"of {len(numbers)} comparisons as many; this one took {len(votes):,}.",
    ]


def of_these_raters(contrasts: Sequence[Contrast], clusters: str) -> tuple[RaterNet, ...]:
    """For these raters on new pairs or dialogues, where their votes are worth those of few; else nothing."""
    nets = []
    for contrast in contrasts:
        ways = clusters_of(contrast.votes, clusters, part=True)
        raters = ways.pop("rater", None)
        if raters is None or not ways or kish(raters) >= FEW_RATERS:
            return ()
        nets.append(_rater_net(contrast, ways, count_groups(raters), None))
    return _adjust_nets(nets)


def over_raters(contrasts: Sequence[Contrast], clusters: str) -> tuple[RaterNet, ...]:
    """The mean over raters, each of whom counts the same, where they gave unequal numbers of votes; else nothing."""
    nets = []
    for contrast in contrasts:
        ways = clusters_of(contrast.votes, clusters, part=True)
        raters = ways.get("rater")
        if raters is None or kish(raters) > EVEN * count_groups(raters):
            continue
        nets.append(_rater_net(contrast, ways, count_groups(raters), 1 / np.bincount(raters)[raters]))
    return _adjust_nets(nets)


def _rater_net(contrast: Contrast, ways: dict[str, Any], raters: int, weights: Any) -> RaterNet:
    values = net_scores(contrast.votes.choice)
    net = net_estimate(values, by=ways, weights=weights)
    interval = interval_of(net, mean_interval(values, by=ways))
    return RaterNet(contrast.first, contrast.second, raters, net.value, interval.low, interval.high, net.p, net.p)


def _adjust_nets(nets: Sequence[RaterNet]) -> tuple[RaterNet, ...]:
    adjusted = adjust_by_holm(np.array([net.p for net in nets]))
    return tuple(
        RaterNet(net.first, net.second, net.raters, net.value, net.low, net.high, net.p, float(p))
        for net, p in zip(nets, adjusted, strict=True)
    )


@dataclass(frozen=True, slots=True)
class GroupPreference:
    """One group of raters on two systems."""

    first: str
    second: str
    group: str
    people: int
    votes: int
    net: Interval | None
    apart: Disparity | None  # from all other votes on the two systems
    p_holm: float | None = None


def answer_groups(contrasts: list[tuple[Contrast, Strata]], clusters: str) -> list[GroupPreference]:
    """Every group on every two systems; the p values are adjusted for all of them together, two groups alone once."""
    parts = [(group, strata) for contrast, strata in contrasts for group in _groups_on(contrast, strata, clusters)]
    compared = [group for group, _ in parts]
    tests = [(group.first, group.second, strata.test_of(group.group)) for group, strata in parts]
    adjusted = holm_where([None if group.apart is None else group.apart.p for group in compared], tests)
    return [replace(group, p_holm=p) for group, p in zip(compared, adjusted, strict=True)]


def _groups_on(contrast: Contrast, strata: Strata, clusters: str) -> list[GroupPreference]:
    votes, values = contrast.votes, net_scores(contrast.votes.choice)
    ways = clusters_of(votes, clusters, part=True)
    parts = []
    for code, group in enumerate(strata.names):
        inside = strata.code == code
        group_votes = votes.select(inside)
        people = 0 if group_votes.rater is None else len(np.unique(group_votes.rater))
        enough = people > 1 and len(group_votes) > 1
        net = net_interval(values[inside], by=clusters_of(group_votes, clusters, part=True)) if enough else None
        gap = compare_groups(values, inside, ways) if enough and (~inside).any() else None
        parts.append(
            GroupPreference(contrast.first, contrast.second, group, strata.people[code], len(group_votes), net, gap)
        )
    return parts
