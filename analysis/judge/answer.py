"""What a judge is worth: its habits, how far it is people's, and people's preference with its help, computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.judge.estimates import HelpedEstimate, estimate, scores_of
from analysis.judge.habits import JudgeHabits, Share, habits_of, judge_title, judges_agree
from analysis.judge.labelling import Labelling, labels_from, refuse_drift
from analysis.judge.meeting import Met, meet
from analysis.showing.words import count
from analysis.stats.powered import FEW
from analysis.stats.sign_tests import holm_where
from analysis.votes.systems import Matches, contrasts, key_of
from analysis.votes.verdicts import NET, TIE, Bench
from analysis.votes.voters import Voters, judges_in_recipe, voters
from dialogue.errors import InputError
from dialogue.seeds import child_seed
from dialogue.signature import signature

OUTCOMES = (NET, TIE)
CONSTANT = {
    "first": "{} chose the response shown first in all of its {}: a constant judge, worth 0 votes.",
    "second": "{} chose the response shown second in all of its {}: a constant judge, worth 0 votes.",
    "tie": "{} called every pair a tie in all of its {}: a constant judge, worth 0 votes.",
}


@dataclass(frozen=True, slots=True)
class JudgeFound:
    """Everything on one judge with one prompt."""

    title: str
    judge: str
    prompt: str
    habits: JudgeHabits
    met: Met | None  # None: no votes on its pairs
    estimates: tuple[HelpedEstimate, ...]


@dataclass(frozen=True, eq=False)
class JudgeAnswer:
    """All judges of a study, beside its votes where there are any."""

    judges: tuple[JudgeFound, ...]
    alike: tuple[tuple[str, str, Share], ...]  # each two judges: how often they rule alike
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

    They are left out of everything beside people, since a prompt looks better on the votes that shaped it.
    """
    if not benches:
        raise InputError("There is no judge to look at.")
    matches = None if matches is None else _held_out(matches, tuned_on)
    waiting = matches is not None and _unvoted(benches, matches)
    way = labels_from(labels, imported=imported and waiting)
    generator = np.random.default_rng(child_seed(seed, "judge"))
    every = [] if matches is None else contrasts(matches)
    found = []
    for bench in benches:
        habits, title = habits_of(bench), judge_title(bench, [*benches])
        if habits.constant:  # nothing to hold against people: its agreement is that of a stopped clock
            found.append(JudgeFound(title, bench.judge, bench.prompt, habits, None, ()))
            continue
        scores = {outcome: scores_of(bench, outcome) for outcome in OUTCOMES}
        rows = [
            estimate(bench, contrast, scores[outcome], outcome, way, clusters, generator)
            for contrast in every for outcome in OUTCOMES
        ]  # fmt: skip
        met = None if matches is None else meet(bench, matches.votes, clusters)
        estimates = _with_drift_corrected([row for row in rows if row is not None], way)
        if way.assumed:
            refuse_drift(bench.judge, [(row.first, row.second) for row in estimates], [row.drift for row in estimates])
        found.append(JudgeFound(title, bench.judge, bench.prompt, habits, met, estimates))
    cast = None if matches is None else voters(matches.votes)
    recipe = signature(
        judges=",".join(one.title.replace(" ", "_") for one in found),
        votes=0 if matches is None else len(matches.votes),
        verdicts=sum(one.habits.verdicts for one in found),
        labels=way.words.replace(" ", ":"), clusters=clusters,
        held_out=len(tuned_on) or None, seed=seed, **judges_in_recipe(cast),
    )  # fmt: skip
    warnings = [*(() if matches is None else matches.votes.warnings), *_cautions(found, way, tuned_on, waiting)]
    return JudgeAnswer(tuple(found), tuple(judges_agree([*benches])), way, clusters, cast, tuple(warnings), recipe)


def _with_drift_corrected(rows: Sequence[HelpedEstimate], labels: Labelling) -> tuple[HelpedEstimate, ...]:
    """The drift of each estimate with Holm's p over all; none where pairs are stated to have unequal chances."""
    if labels.stated:
        return tuple(replace(row, drift=None) for row in rows)
    adjusted = holm_where([None if row.drift is None else row.drift.p for row in rows])
    return tuple(
        row if row.drift is None or p is None else replace(row, drift=replace(row.drift, p_holm=p))
        for row, p in zip(rows, adjusted, strict=True)
    )


def _held_out(matches: Matches, tuned_on: Sequence[str]) -> Matches | None:
    """The votes on pairs that the prompt was not written by; None where none is left."""
    if not tuned_on:
        return matches
    shaped = np.array([name in set(tuned_on) for name in matches.votes.pairs])
    if not shaped.any():
        raise InputError(f"--tuned-on names {count(len(tuned_on), 'pair')}, none of which has a vote.")
    kept = ~shaped[matches.votes.pair]
    if not kept.any():
        raise InputError("--tuned-on names every pair that has votes, so no vote is left to hold the judge against.")
    return replace(matches, votes=matches.votes.select(kept), a=matches.a[kept], b=matches.b[kept])


def _unvoted(benches: Sequence[Bench], matches: Matches) -> bool:
    """Whether some judge ruled on pairs without votes."""
    voted = set(matches.votes.pairs)
    return any(
        pair.kind == "real" and key_of(pair.a) != key_of(pair.b) and name not in voted
        for bench in benches for name, pair in ((name, bench.pairs[name]) for name in bench.verdicts)
    )  # fmt: skip


def _cautions(found: Sequence[JudgeFound], labels: Labelling, tuned_on: Sequence[str], waiting: bool) -> list[str]:
    said = []
    for one in found:
        if one.habits.orders != "both":
            said.append(
                f"{one.title} was not asked in both orders throughout, so its taste for a place is not told from its "
                "taste for a system."
            )
        if one.habits.constant:
            said.append(CONSTANT[one.habits.constant].format(one.title, count(one.habits.verdicts, "verdict")))
        elif one.met is None:
            said.append(f"No people voted on pairs of {one.title}: nothing calibrates it, and its numbers are its own.")
        if left := max((row.left_out for row in one.estimates), default=0):
            said.append(f"{count(left, 'vote')} on pairs without a verdict of {one.title} are left out beside it.")
    if waiting and labels.assumed:
        said.append(
            "The pairs with votes are taken for a random part of all pairs, as this study hands them out. If they were "
            "chosen otherwise, say so: --labels strata COLUMN or --labels weights COLUMN."
        )
    if any(row.voted < FEW for one in found for row in one.estimates):
        said.append(
            f"Under {FEW} pairs with votes the judge's weight is fitted on other votes than those it weighs, which "
            "costs some of its gain."
        )
    if tuned_on:
        said.append(f"{count(len(tuned_on), 'pair')} that the prompt was written by are left out beside people.")
    return said
