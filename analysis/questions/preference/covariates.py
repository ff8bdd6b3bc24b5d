"""Which system is preferred without the effect of length, style or any measure of the responses.

Davidson's model gets a coefficient a covariate, times its value on one response less that on the other, and every
strength is that at equal covariates. The errors allow for the clusters as those of the ranking do. It compares
responses as they are: whoever writes longer because there is more to say loses that merit too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, number, p_equals, p_value, signed
from seedvote.analysis.stats.paired.davidson import Fit, Floats, Parameter, expected_net, fit_model
from seedvote.analysis.stats.paired.davidson_errors import cluster_errors
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.ranking import Ranking, games_between
from seedvote.analysis.votes.scores.paired import LENGTH, LISTS, MARKDOWN, PLACEHOLDERS, side_differences
from seedvote.analysis.votes.systems import Matches
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.records import Pair

SHORT = {"length": LENGTH, "markdown": MARKDOWN, "lists": LISTS, "placeholders": PLACEHOLDERS}
COUNTED = {MARKDOWN: "one more Markdown mark", LISTS: "one more list item", PLACEHOLDERS: "one more placeholder"}
LEAST_SHARE = 0.9  # of the votes whose pairs must have the values


@dataclass(frozen=True, slots=True)
class Effect:
    """How the odds of being preferred change with one covariate, the others and the systems being equal."""

    name: str
    step: str  # what the odds ratio is of: `twice as long`
    odds_ratio: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, slots=True)
class AdjustedSystem:
    """One system at equal covariates, and where it stands without the adjustment."""

    system: str
    rank: int
    strength: Parameter
    plain_rank: int
    plain_strength: Parameter


@dataclass(frozen=True, slots=True)
class AdjustedNet:
    """The two systems that lead at equal covariates, or the only two: net preference, and the plain model's."""

    first: str
    second: str
    value: float
    low: float
    high: float
    p: float
    plain: float


@dataclass(frozen=True, eq=False)
class Adjusted:
    """The ranking at equal covariates."""

    effects: tuple[Effect, ...]
    systems: tuple[AdjustedSystem, ...]  # from the best down
    lead: AdjustedNet
    votes: int  # on pairs whose values are known
    left_out: int


@dataclass(frozen=True, slots=True)
class _Covariate:
    """Values of a less those of b, by vote; `unit` is the step of the odds ratio in these values."""

    name: str
    step: str
    values: Floats


def adjusted_answer(
    matches: Matches, ranking: Ranking | None, names: Sequence[str], folder: Path, pairs: Mapping[str, Pair], ways: str
) -> Adjusted:
    """The ranked systems at equal covariates."""
    if ranking is None:
        raise InputError("--covariates needs a ranking, and these votes give none.")
    covariates = _read_covariates(matches, names, folder, pairs)
    table = np.column_stack([covariate.values for covariate in covariates])
    known = np.asarray(np.isfinite(table).all(axis=1))
    if known.mean() < LEAST_SHARE:
        raise InputError(
            f"--covariates: {count(int((~known).sum()), 'vote')} of {len(known):,} are on pairs without a value of "
            f"{', '.join(names)}. Score those responses, or leave the covariate out."
        )
    ranked_names = {system.system for system in ranking.systems}
    inside = np.array([name in ranked_names for name in matches.systems])
    scale = np.array([values.std() or 1.0 for values in table[known].T])
    played, votes = games_between(matches, inside, rows=known, covariates=table / scale)
    _check_apart(played.a, played.b, played.covariates, names)
    clusters = clusters_of(votes, ways, part=True)
    fit = cluster_errors(played, fit_model(played, ranking.model), clusters)
    first = len(fit.parameters) - len(covariates)
    effects = tuple(_effect(covariate, fit, first + k, scale[k]) for k, covariate in enumerate(covariates))
    return Adjusted(effects, _rank(fit, ranking), _lead(fit, ranking), len(votes), int((~known).sum()))


def _read_covariates(
    matches: Matches, names: Sequence[str], folder: Path, pairs: Mapping[str, Pair]
) -> list[_Covariate]:
    """Every named covariate of the pairs that were voted on."""
    if not pairs:
        raise InputError("--covariates needs the texts of the responses: give --pairs.")
    differences = {difference.name: difference.by_pair for difference in side_differences(folder, pairs, style=True)}
    covariates = []
    for name in names:
        title = SHORT.get(name, name)
        if title == LENGTH:
            by_pair = {key: _log_length(pair.a.text) - _log_length(pair.b.text) for key, pair in pairs.items()}
            step = "twice as long"
        elif title in COUNTED and title in differences:
            by_pair, step = dict(differences[title]), COUNTED[title]
        elif title in differences:
            by_pair = dict(differences[title])
            spread = float(np.std(list(by_pair.values())))
            by_pair = {key: value / (spread or 1.0) for key, value in by_pair.items()}
            step = f"{title} one SD higher"
        else:
            known_names = ", ".join([*SHORT, *(each for each in differences if each not in SHORT.values())])
            raise InputError(f"--covariates: there is no {name!r}; known are {known_names}.")
        values = np.array([by_pair.get(pair, np.nan) for pair in matches.votes.pairs])[matches.votes.pair]
        # `a` of the pair is the system of `matches.a`: both come from pairs.jsonl.
        if not np.nanstd(values):
            raise InputError(f"--covariates {name}: it is the same on both responses of every pair.")
        covariates.append(_Covariate(name, step, values))
    return covariates


def _log_length(text: str) -> float:
    return float(np.log2(1 + len(text.split())))


def _check_apart(a: NDArray[Any], b: NDArray[Any], covariates: Floats | None, names: Sequence[str]) -> None:
    """Refuse covariates that follow from which systems met."""
    assert covariates is not None
    cells = np.arange(len(a))
    systems = np.zeros((len(a), int(max(a.max(), b.max())) + 1))
    systems[cells, a] += 1
    systems[cells, b] -= 1
    design = np.column_stack([systems, covariates])
    if np.linalg.matrix_rank(design.T @ design, hermitian=True) < np.linalg.matrix_rank(
        systems.T @ systems, hermitian=True
    ) + len(names):
        raise InputError(
            f"--covariates {','.join(names)}: the values follow from the systems or from each other, so their effects "
            "cannot be separated."
        )


def _effect(covariate: _Covariate, fit: Fit, place: int, scale: float) -> Effect:
    part = fit.parameter(place)
    # The parameter is of one SD in d, the log odds of the two decisive answers.
    odds_ratio, low, high = (
        float(np.exp(np.clip(value / scale, -700, 700))) for value in (part.value, part.low, part.high)
    )
    return Effect(covariate.name, covariate.step, odds_ratio, low, high, fit.p_of(place))


def _rank(fit: Fit, ranking: Ranking) -> tuple[AdjustedSystem, ...]:
    plain = {system.system: system for system in ranking.systems}
    order = np.argsort(-fit.strengths, kind="stable")
    return tuple(
        AdjustedSystem(name, rank, fit.parameter(int(k)), plain[name].rank, plain[name].strength)
        for rank, (k, name) in enumerate(((k, fit.systems[k]) for k in order), 1)
    )


def _lead(fit: Fit, ranking: Ranking) -> AdjustedNet:
    """The leader against the second, as a net preference where neither side of the page is favoured."""
    first, second = (int(k) for k in np.argsort(-fit.strengths, kind="stable")[:2])
    difference, p = fit.lead(first, second)
    names = fit.systems[first], fit.systems[second]
    tie = None if fit.tie is None else float(fit.parameters[fit.tie])
    value, low, high = (
        expected_net(ranking.model, end, tie) for end in (difference.value, difference.low, difference.high)
    )
    strengths = {system.system: system.strength.value for system in ranking.systems}
    plain_tie = None if ranking.tie is None else ranking.tie.value
    plain = expected_net(ranking.model, strengths[names[0]] - strengths[names[1]], plain_tie)
    return AdjustedNet(*names, value, low, high, p, plain)


def adjusted_parts(adjusted: Adjusted) -> list[Table | str]:
    """The ranking at equal covariates, the effects, and what they change."""
    head = ("rank", "system", "log strength", "95 % interval", "rank without", "log strength without")
    rows = [
        (
            str(system.rank),
            system.system,
            number(system.strength.value),
            f"{number(system.strength.low)} to {number(system.strength.high)}",
            str(system.plain_rank),
            number(system.plain_strength.value),
        )
        for system in adjusted.systems
    ]
    effect_rows = [
        (
            effect.name,
            effect.step,
            number(effect.odds_ratio),
            f"{number(effect.low)} to {number(effect.high)}",
            p_value(effect.p),
        )
        for effect in adjusted.effects
    ]
    return [
        Table(head, rows, f"Ranking at equal {spell_names(adjusted)}"),
        Table(("covariate", "step", "odds ratio", "95 % interval", "p"), effect_rows, "What the covariates change"),
        *adjusted_sentences(adjusted),
    ]


def adjusted_sentences(adjusted: Adjusted) -> Iterator[str]:
    """Who leads at equal covariates, how far, and what each covariate does to the odds."""
    lead, names = adjusted.lead, spell_names(adjusted)
    ends = f"95 % interval {signed(100 * lead.low)} to {signed(100 * lead.high)}"
    points = f"by {100 * lead.value:.1f} points"
    with_it = (
        f"{signed(100 * lead.plain)} with it" if len(adjusted.effects) == 1 else f"{signed(100 * lead.plain)} with them"
    )
    yield f"Without the effect of {names}, {lead.first} leads {lead.second} {points} ({ends}; {with_it})."
    if len(adjusted.systems) > 2:
        moved = sum(system.rank != system.plain_rank for system in adjusted.systems)
        total = count(len(adjusted.systems), "system")
        yield f"{moved} of {total} change their rank." if moved else f"None of {total} changes its rank."
    for effect in adjusted.effects:
        odds = f"{number(effect.odds_ratio)} times the odds"
        span = f"95 % interval {number(effect.low)} to {number(effect.high)}, {p_equals(effect.p)}"
        step = effect.step if effect.step == "twice as long" else f"with {effect.step}"
        yield f"A response {step} has {odds} of being preferred ({span})."
    if adjusted.left_out:
        yield f"{count(adjusted.left_out, 'vote')} on pairs without these values are left out here."


def spell_names(adjusted: Adjusted) -> str:
    """The covariates as a list in words."""
    *others, last = [effect.name for effect in adjusted.effects]
    return f"{', '.join(others)} and {last}" if others else last
