"""What a judge is worth: its habits, its agreement with people, and people's preference and ties with its help."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.questions.judge.against_people import PeopleAgreement, compare_with_votes
from seedvote.analysis.questions.judge.habits import JudgeHabits, Share, compare_judges, measure_habits, name_judge
from seedvote.analysis.questions.judge.labelling import Drift, Labelling, measure_drift, read_labels, refuse_drift
from seedvote.analysis.showing.words import count
from seedvote.analysis.stats import gain as gains
from seedvote.analysis.stats import powered as ppi
from seedvote.analysis.stats.intervals import Interval, mean_interval
from seedvote.analysis.stats.sign_tests import holm_where
from seedvote.analysis.votes.cautions import Voters, judges_in_recipe, voters
from seedvote.analysis.votes.ranking import HelpedRanking, ranking_with_scores
from seedvote.analysis.votes.systems import Contrast, Matches, contrasts, key_of
from seedvote.analysis.votes.verdicts import NET, TIE, Bench, Outcome, Scored, scored_votes, seat_panel
from seedvote.analysis.votes.votes import net_scores
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Pair
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
RANK_SETS = 2000  # draws behind the ranks
SOME_STRATA = 5  # of those without votes, named
OUTCOMES: Mapping[Outcome, str] = {NET: "net preference", TIE: "tie share"}
CONSTANT = {
    "first": "chose the response shown first",
    "second": "chose the response shown second",
    "tie": "called every pair a tie",
}


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
    joined: bool  # whether small strata of verdicts were joined
    joined_values: Mapping[str, int]  # the stated strata that were, with their voted pairs
    drift: Drift | None
    left_out: int
    corrected: ppi.RoganGladen | None = None  # the share of pairs on which the first is better, or of ties

    @property
    def helps(self) -> bool:
        """Whether the votes show that the judge is worth one of them: its correlation is beyond none and the least."""
        is_worth_one = round(self.gain.saved(self.votes)[1]) >= 1
        return self.gain.shown and is_worth_one and abs(self.correlation) >= self.least

    @property
    def win(self) -> tuple[Interval, Interval] | None:
        """The win rate, a tie half a win, of people alone and with the judge; of the net preference only."""
        if self.outcome != NET:
            return None
        return _as_win_rate(self.people), _as_win_rate(self.tuned.interval)


@dataclass(frozen=True, slots=True)
class JudgeResult:
    """Everything on one judge with one prompt."""

    title: str
    judge: str
    prompt: str
    habits: JudgeHabits
    people: PeopleAgreement | None  # None: no votes on its pairs
    estimates: tuple[HelpedEstimate, ...]
    ranking: HelpedRanking | None = None  # of three systems or more, by all votes and verdicts at once


@dataclass(frozen=True, slots=True)
class Panel:
    """All judges as one, and how far they err alike."""

    result: JudgeResult
    judges: int
    correlation: float | None  # mean correlation of two judges' errors; None without votes
    counts_as: float | None  # independent judges


@dataclass(frozen=True, eq=False)
class JudgeAnswer:
    """All judges of a study, with its votes where there are any."""

    judges: tuple[JudgeResult, ...]
    panel: Panel | None  # of two judges or more
    agreements: tuple[tuple[str, str, Share], ...]  # each two judges: how often they rule the same
    labels: Labelling
    clusters: str
    voters: Voters | None
    warnings: tuple[str, ...]
    signature: str


def answer(
    benches: Sequence[Bench],
    matches: Matches | None,
    *,
    labels: Sequence[str] | str | None = None,
    imported: bool = False,
    tuned_on: Sequence[str] = (),
    clusters: str = "auto",
    seed: int = 0,
) -> JudgeAnswer:
    """Every number on these judges; `tuned_on` names pairs whose votes the prompt was written by.

    They are left out of every comparison with people, since a prompt looks better on the votes that shaped it.
    """
    if not benches:
        raise InputError("There is no judge to look at.")
    matches = None if matches is None else _hold_out(matches, tuned_on)
    has_unvoted = matches is not None and _has_unvoted(benches, matches)
    labelling = read_labels(labels, imported=imported and has_unvoted)
    generator = np.random.default_rng(child_seed(seed, "judge"))
    judges = tuple(_describe_judge(bench, benches, matches, labelling, clusters, generator) for bench in benches)
    panel = _describe_panel(benches, judges, matches, labelling, clusters, generator)
    people = None if matches is None else voters(matches.votes)
    cautions = _list_cautions(judges, labelling, tuned_on, has_unvoted)
    return JudgeAnswer(
        judges=judges,
        panel=panel,
        agreements=tuple(compare_judges(benches)),
        labels=labelling,
        clusters=clusters,
        voters=people,
        warnings=(*(() if matches is None else matches.votes.warnings), *cautions),
        signature=signature(
            judges=",".join(judge.title.replace(" ", "_") for judge in judges),
            votes=0 if matches is None else len(matches.votes),
            verdicts=sum(judge.habits.verdicts for judge in judges),
            labels=labelling.words.replace(" ", ":"),
            clusters=clusters,
            held_out=len(tuned_on) or None,
            seed=seed,
            **judges_in_recipe(people),
        ),
    )


def _describe_judge(
    bench: Bench,
    benches: Sequence[Bench],
    matches: Matches | None,
    labelling: Labelling,
    clusters: str,
    generator: np.random.Generator,
) -> JudgeResult:
    habits, title = measure_habits(bench), name_judge(bench, benches)
    if habits.constant or matches is None:  # the agreement of a constant judge is that of a stopped clock
        return JudgeResult(title, bench.judge, bench.prompt, habits, None, ())
    scores = {outcome: score_pairs(bench, outcome) for outcome in OUTCOMES}
    rows = [
        estimate_with_judge(bench, contrast, scores[outcome], outcome, labelling, clusters, generator)
        for contrast in contrasts(matches)
        for outcome in OUTCOMES
    ]
    people = compare_with_votes(bench, matches.votes, clusters)
    estimates = _correct_drift([row for row in rows if row is not None], labelling)
    if labelling.assumed:
        refuse_drift(bench.judge, [(row.first, row.second) for row in estimates], [row.drift for row in estimates])
    voted = {matches.votes.pairs[code] for code in np.unique(matches.votes.pair)}
    drawing = labelling.describe_drawing(bench.pairs, voted)
    ranking = ranking_with_scores(matches, bench.pairs, scores[NET], clusters, RANK_SETS, generator, drawing)
    return JudgeResult(title, bench.judge, bench.prompt, habits, people, estimates, ranking)


def _describe_panel(
    benches: Sequence[Bench],
    judges: Sequence[JudgeResult],
    matches: Matches | None,
    labelling: Labelling,
    clusters: str,
    generator: np.random.Generator,
) -> Panel | None:
    """The judges that are not constant, as one; their errors are what each says less the mean vote of a pair."""
    seated = [bench for bench, judge in zip(benches, judges, strict=True) if not judge.habits.constant]
    bench = seat_panel(seated)
    if bench is None:
        return None
    result = _describe_judge(bench, (bench,), matches, labelling, clusters, generator)
    if matches is None:
        return Panel(result, len(seated), None, None)
    votes = matches.votes
    is_ruled = np.array([name in bench.verdicts for name in votes.pairs])[votes.pair]
    codes, place = np.unique(votes.pair[is_ruled], return_inverse=True)
    if len(codes) < 3:
        return Panel(result, len(seated), None, None)
    means = np.bincount(place, net_scores(votes.choice[is_ruled])) / np.bincount(place)
    errors = np.asarray([[judge.value(votes.pairs[code], NET) or 0.0 for code in codes] for judge in seated]) - means
    if (np.ptp(errors, axis=1) < 1e-12).any():
        return Panel(result, len(seated), None, None)
    among = np.atleast_2d(np.corrcoef(errors))[np.triu_indices(len(seated), 1)]
    correlation = float(among.mean())
    counts_as = len(seated) / max(1 + (len(seated) - 1) * correlation, 1e-9)
    return Panel(result, len(seated), correlation, counts_as)


def _correct_drift(rows: Sequence[HelpedEstimate], labelling: Labelling) -> tuple[HelpedEstimate, ...]:
    """The drift of each estimate with Holm's p over all; none where pairs are stated to have unequal chances."""
    if labelling.stated:
        return tuple(replace(row, drift=None) for row in rows)
    adjusted = holm_where([None if row.drift is None else row.drift.p for row in rows])
    return tuple(
        row if row.drift is None or p is None else replace(row, drift=replace(row.drift, p_holm=p))
        for row, p in zip(rows, adjusted, strict=True)
    )


def _hold_out(matches: Matches, tuned_on: Sequence[str]) -> Matches:
    """The votes on pairs that the prompt was not written by."""
    if not tuned_on:
        return matches
    has_shaped = np.array([name in set(tuned_on) for name in matches.votes.pairs])
    if not has_shaped.any():
        raise InputError(f"--tuned-on names {count(len(tuned_on), 'pair')}, none of which has a vote.")
    is_free = ~has_shaped[matches.votes.pair]
    if not is_free.any():
        raise InputError("--tuned-on names every pair that has votes, so no vote is left to hold the judge against.")
    return replace(matches, votes=matches.votes.select(is_free), a=matches.a[is_free], b=matches.b[is_free])


def _has_unvoted(benches: Sequence[Bench], matches: Matches) -> bool:
    """Whether some judge ruled on pairs without votes."""
    voted = set(matches.votes.pairs)
    return any(
        pair.kind == "real" and key_of(pair.a) != key_of(pair.b) and name not in voted
        for bench in benches
        for name, pair in ((name, bench.pairs[name]) for name in bench.verdicts)
    )


def _list_cautions(
    judges: Sequence[JudgeResult], labelling: Labelling, tuned_on: Sequence[str], has_unvoted: bool
) -> Iterator[str]:
    for judge in judges:
        if judge.habits.orders != "both":
            yield (
                f"{judge.title} was not asked in both orders throughout, so its taste for a place cannot be separated "
                "from its taste for a system."
            )
        if judge.habits.constant:
            verdicts = count(judge.habits.verdicts, "verdict")
            habit = CONSTANT[judge.habits.constant]
            yield f"{judge.title} {habit} in all of its {verdicts}: a constant judge, worth 0 votes."
        elif judge.people is None:
            yield f"No people voted on pairs of {judge.title}: nothing calibrates it, and its numbers are its own."
        if left_out := max((row.left_out for row in judge.estimates), default=0):
            yield f"{count(left_out, 'vote')} on pairs without a verdict of {judge.title} are left out of its numbers."
    if has_unvoted and labelling.assumed:
        yield (
            "The pairs with votes are taken for a random part of all pairs, as this study hands them out. If they were "
            "chosen otherwise, say so: --labels strata COLUMN or --labels weights COLUMN."
        )
    if unvoted := sorted({name for judge in judges if judge.ranking for name in judge.ranking.unvoted}):
        strata = count(len(unvoted), "value")
        yield (
            f"The ranking with the judge leaves out the pairs of {strata} of --labels {labelling.words} that have no "
            f"votes: {', '.join(unvoted[:SOME_STRATA])}{', ...' if len(unvoted) > SOME_STRATA else ''}."
        )
    small = {(row.first, row.second): row.joined_values for judge in judges for row in judge.estimates}
    for (first, second), values in [*small.items()][:SOME_STRATA]:
        if values:
            named = [f"{name} ({voted})" for name, voted in values.items()]
            yield (
                f"{count(len(named), 'value')} of --labels {labelling.words} had under {ppi.LEAST_IN_STRATUM} voted "
                f"pairs of {first} and {second} and joined the next smallest: {', '.join(named[:SOME_STRATA])}"
                f"{', ...' if len(named) > SOME_STRATA else ''}. The estimate takes their pairs as drawn alike."
            )
    if any(row.voted < ppi.FEW for judge in judges for row in judge.estimates):
        yield (
            f"Under {ppi.FEW} pairs with votes the judge's weight is fitted on other votes than those it weighs, which "
            "costs some of its gain."
        )
    if tuned_on:
        pairs = count(len(tuned_on), "pair")
        yield f"{pairs} that the prompt was written by are left out of every comparison with people."


def score_pairs(bench: Bench, outcome: Outcome) -> dict[str, float]:
    """What the judge says of every pair that it ruled on."""
    return {name: value for name in bench.verdicts if (value := bench.value(name, outcome)) is not None}


def _as_win_rate(net: Interval) -> Interval:
    value, low, high = ((1 + part) / 2 for part in (net.value, net.low, net.high))
    return replace(net, value=value, se=net.se / 2, low=low, high=high)


def estimate_with_judge(
    bench: Bench,
    contrast: Contrast,
    scores: Mapping[str, float],
    outcome: Outcome,
    labelling: Labelling,
    clusters: str,
    generator: np.random.Generator,
) -> HelpedEstimate | None:
    """One judge on one contrast, `scores` its values of all pairs; None without two votes of two clusters on them."""
    scored = scored_votes(contrast, bench.pairs, scores, outcome, clusters)
    if scored is None or any(len(np.unique(codes)) < 2 for codes in scored.sample.by.values()):
        return None
    sample, is_share = scored.sample, outcome == TIE
    tuned = labelling.estimate(scored, generator, is_share)
    codes, codes_of_others = _strata_by_verdict(bench, scored)
    stratum, stratum_of_others, is_joined = ppi.joined_strata(codes, sample.pair, codes_of_others)
    rho, rater_part = gains.pair_correlation(sample), gains.rater_part(sample)
    first = np.unique(sample.pair, return_index=True)[1]
    return HelpedEstimate(
        first=contrast.first,
        second=contrast.second,
        outcome=outcome,
        votes=len(sample.y),
        voted=sample.pairs,
        others=len(sample.other),
        people=labelling.people(scored, is_share),
        whole=ppi.estimate_with_predictor(sample, 1.0, is_share),
        tuned=tuned,
        strata=tuned if labelling.stated else ppi.estimate_by_strata(sample, stratum, stratum_of_others, is_share),
        judge=float(np.concatenate([sample.f[first], sample.other]).mean()),
        bias=mean_interval(sample.f - sample.y, by=sample.by),
        independent=_estimate_as_independent(sample),
        gain=gains.gain_of(sample, generator),
        correlation=rho,
        least=gains.least_correlation(sample.pairs),
        raters=rater_part,
        ceiling=gains.bound_gain(rho, rater_part),
        folds=sample.pairs < ppi.FEW,
        joined=is_joined,
        joined_values=labelling.joined_values(scored),
        drift=measure_drift(bench, scored),
        left_out=scored.left_out,
        corrected=None if labelling.stated else _correct_share(bench, scored, is_share),
    )


def _correct_share(bench: Bench, scored: Scored, is_tie: bool) -> ppi.RoganGladen | None:
    """The judge's share of ties, or of pairs on which the first system is better, corrected by its errors."""
    values, others = (
        np.array([_say_yes(bench, pair, is_straight, is_tie) for pair, is_straight in zip(pairs, turns, strict=True)])
        for pairs, turns in zip((scored.first, scored.others), scored.straight, strict=True)
    )
    sample = scored.sample
    return ppi.correct_share(
        replace(sample, y=(sample.y > 0).astype(float), f=values[sample.pair], other=others.astype(float))
    )


def _say_yes(bench: Bench, pair: Pair, is_straight: bool, is_tie: bool) -> float:
    first, second, tie = bench.shares(pair.pair) or (0.0, 0.0, 0.0)
    return tie if is_tie else first if is_straight else second


def _estimate_as_independent(sample: ppi.Sample) -> ppi.Independent | None:
    """Each pair's mean vote as one independent label."""
    if len(sample.other) < 2 or sample.pairs < 2:
        return None
    _, first, code = np.unique(sample.pair, return_index=True, return_inverse=True)
    return ppi.as_if_independent(np.bincount(code, weights=sample.y) / np.bincount(code), sample.f[first], sample.other)


def _strata_by_verdict(bench: Bench, scored: Scored) -> tuple[Ints, Ints]:
    """Pairs by verdict: for the first system, for the second, a tie, orders that contradict each other, unusable."""
    voted, unvoted = (
        np.array([_find_stratum(bench, pair, turn) for pair, turn in zip(pairs, turns, strict=True)], dtype=np.int64)
        for pairs, turns in zip((scored.first, scored.others), scored.straight, strict=True)
    )
    return voted[scored.sample.pair], unvoted


def _find_stratum(bench: Bench, pair: Pair, is_straight: bool) -> int:
    choices = {verdict.choice for verdict in bench.verdicts[pair.pair] if verdict.choice != "unusable"}
    if not choices:
        return 4
    if len(choices) > 1:
        return 3
    return {"a": 0 if is_straight else 1, "b": 1 if is_straight else 0, "tie": 2}[choices.pop()]
