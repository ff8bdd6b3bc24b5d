"""Strengths of systems from rankings of several at once, complete or not: Plackett-Luce, with ties Davidson-Luce.

A ranking is a row of choices. Of the systems S that have no place yet, those of C share the next one with

    P(C of S) = delta(|C|) g(C) / sum over T in S of delta(|T|) g(T)     g: geometric mean of the strengths in a set

(Firth, Kosmidis and Turner 2019, arXiv:1902.02901). delta(1) = 1, and a number of equals that no ranking has gets no
chance. Without equals this is the model of Plackett (1975) and Luce (1959), and for rankings of two systems Davidson's
(1970), so rankings and votes on pairs have one model. Each choice is a multinomial logit, so the fit has one maximum.

Errors are those of davidson_errors.py: a two-way sandwich whose parts are jackknives over clusters of rankings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from scipy.special import stdtr, stdtrit

from seedvote.analysis.stats.paired.davidson import FAR, Fit, Parameter, invert_information
from seedvote.analysis.stats.paired.davidson_errors import ALONE, AT_ONCE, with_clusters
from seedvote.dialogue.errors import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Ranking = tuple[tuple[int, ...], ...]  # codes of systems, the best first; equals share a place
MOST_ALTERNATIVES = 20_000
RIDGE = 1e-6  # holds parameters that the votes do not bound


@dataclass(frozen=True, eq=False)
class SizedChoices:
    """Every choice from sets of one size; A alternatives, M columns: the members, then the tie parameters."""

    pattern: Floats  # (A, M) what each alternative adds to its log chance
    columns: Ints  # (sets, M) the parameters that these columns stand for
    place: Ints  # (choices,) which set
    chosen: Ints  # (choices,) which alternative
    ranking: Ints  # (choices,) in which ranking


@dataclass(frozen=True, eq=False)
class Stages:
    """All rankings as choices, by the size of the set that was chosen from."""

    systems: int
    equals: tuple[int, ...]  # how many systems shared a place: 2, 3, ..., as they occur
    rankings: int
    choices: tuple[SizedChoices, ...]

    @property
    def parameters(self) -> int:
        """One strength a system, one tie parameter a number of equals."""
        return self.systems + len(self.equals)


def stages_of(rankings: Sequence[Ranking], systems: int) -> Stages:
    """The choices that rankings are made of; a last place with one system left is no choice."""
    equals = tuple(sorted({len(place) for ranking in rankings for place in ranking} - {1}))
    chosen: dict[int, list[tuple[int, tuple[int, ...], tuple[int, ...]]]] = {}
    for number, ranking in enumerate(rankings):
        remaining_codes = sorted(code for place in ranking for code in place)
        for place in ranking:
            if len(remaining_codes) > 1:
                among = tuple(remaining_codes.index(code) for code in sorted(place))
                chosen.setdefault(len(remaining_codes), []).append((number, tuple(remaining_codes), among))
            remaining_codes = [code for code in remaining_codes if code not in place]
    choices = tuple(_size_choices(size, chosen[size], equals, systems) for size in sorted(chosen))
    return Stages(systems, equals, len(rankings), choices)


def _size_choices(
    size: int, rows: Sequence[tuple[int, tuple[int, ...], tuple[int, ...]]], equals: tuple[int, ...], systems: int
) -> SizedChoices:
    alternatives: dict[tuple[int, ...], int] = {}
    for number in (1, *(number for number in equals if number <= size)):
        for subset in combinations(range(size), number):
            alternatives[subset] = len(alternatives)
            if len(alternatives) > MOST_ALTERNATIVES:
                raise InputError(
                    f"A ranking of {size} systems with up to {max(equals)} equal ones has over {MOST_ALTERNATIVES:,} "
                    "possible next places, too many to fit strengths. Rank fewer systems at a time, or break the ties."
                )
    pattern = np.zeros((len(alternatives), size + len(equals)))
    for subset, row in alternatives.items():
        pattern[row, list(subset)] = 1 / len(subset)
        if len(subset) > 1:
            pattern[row, size + equals.index(len(subset))] = 1.0
    members, place = np.unique(
        np.array([remaining_codes for _, remaining_codes, _ in rows]), axis=0, return_inverse=True
    )
    ties = np.broadcast_to(systems + np.arange(len(equals)), (len(members), len(equals)))
    chosen = np.array([alternatives[among] for _, _, among in rows])
    return SizedChoices(pattern, np.hstack([members, ties]), place.ravel(), chosen, np.array([row[0] for row in rows]))


@dataclass(frozen=True, eq=False)
class Group:
    """Systems whose strengths have finite differences; between groups all rankings agree, and there are none."""

    members: tuple[int, ...]  # codes of systems
    fit: Fit | None  # None for one system alone
    above: frozenset[int]  # places of the groups that stand lower, through others too

    @cached_property
    def _errors(self) -> tuple[Floats, Floats]:
        """Standard errors of all differences, and their degrees of freedom."""
        if self.fit is None:
            return np.zeros((1, 1)), np.ones((1, 1))
        return self.fit.apart, self.fit.apart_freedom

    def strength(self, system: int) -> Parameter | None:
        """Its log strength; the mean of the group is zero."""
        return None if self.fit is None else self.fit.parameter(self.members.index(system))

    def apart(self, first: int, second: int) -> tuple[Parameter, float]:
        """The difference of two log strengths, and p of none."""
        if self.fit is None:
            raise ValueError("A group of one system has no differences.")
        at = self.members.index(first), self.members.index(second)
        value = float(self.fit.strengths[at[0]] - self.fit.strengths[at[1]])
        error, freedom = (float(part[at]) for part in self._errors)
        reach = float(stdtrit(freedom, 0.975)) * error
        p = 2 * float(stdtr(freedom, -abs(value) / error)) if error else 1.0
        return Parameter(value, error, value - reach, value + reach), p


def fit_groups(rankings: Sequence[Ranking], names: Sequence[str], by: Mapping[str, Ints]) -> list[Group]:
    """The strengths, group by group, the higher first where rankings tell.

    Within a group every system stands above or level with every other, at least through others (Ford 1957), and the
    likelihood splits: each group has the rankings of its own systems.
    """
    above = _find_ranked_above(rankings, len(names))
    number, label = connected_components(above, connection="strong")
    over = np.zeros((number, number), bool)
    higher, lower = np.nonzero(above)
    over[label[higher], label[lower]] = True
    over = _close_paths(over)
    order = np.argsort(over.sum(0), kind="stable")  # how many groups stand above, through others too
    place = {int(group): number for number, group in enumerate(order)}
    groups = []
    for group in order.tolist():
        members = tuple(np.flatnonzero(label == group).tolist())
        lower_groups = frozenset(
            place[int(rival_group)] for rival_group in np.flatnonzero(over[group]) if rival_group != group
        )
        groups.append(Group(members, _fit_within(rankings, members, names, by), lower_groups))
    return groups


def _find_ranked_above(rankings: Sequence[Ranking], systems: int) -> NDArray[np.bool_]:
    """[i, j]: some ranking puts i above j or level with it."""
    above = np.zeros((systems, systems), bool)
    for ranking in set(rankings):
        for number, place in enumerate(ranking):
            above[np.ix_(place, [code for later in ranking[number:] for code in later])] = True
    return above


def _close_paths(over: NDArray[np.bool_]) -> NDArray[np.bool_]:
    reach = over | np.eye(len(over), dtype=bool)
    for _ in range(int(np.ceil(np.log2(max(len(over), 2))))):
        reach = (reach.astype(np.float32) @ reach.astype(np.float32)) > 0
    return reach


def _fit_within(
    rankings: Sequence[Ranking], members: Sequence[int], names: Sequence[str], by: Mapping[str, Ints]
) -> Fit | None:
    """The strengths of these systems by what each ranking says of them alone."""
    if len(members) < 2:
        return None
    code = {system: number for number, system in enumerate(members)}
    parts = [
        tuple(inside for place in ranking if (inside := tuple(code[member] for member in place if member in code)))
        for ranking in rankings
    ]
    rows = np.array([sum(map(len, part)) > 1 for part in parts])
    some = {name: codes[rows] for name, codes in by.items() if len(np.unique(codes[rows])) > 1}
    return fit_rankings([parts[row] for row in np.flatnonzero(rows)], [names[member] for member in members], some)


def fit_rankings(rankings: Sequence[Ranking], names: Sequence[str], by: Mapping[str, Ints]) -> Fit:
    """Maximum likelihood of systems that are one group, with errors robust to clusters of rankings (n,) in `by`.

    Without any clusters each ranking is one. Strengths sum to zero on the log scale.
    """
    stages = stages_of(rankings, len(names))
    theta, information = _find_maximum(stages, np.eye(stages.parameters), _hold_sum(stages))
    if np.abs(theta).max() > FAR:
        raise InputError("These rankings bound no strength: too few of them have equal ranks, or too few have none.")
    tie = stages.systems if stages.equals else None
    level = sum(_log_chance(part, theta) for part in stages.choices)
    fit = Fit("davidson-luce", tuple(names), theta, None, tie, invert_information(information, stages.systems), level)
    ways = by or {"ranking": np.arange(stages.rankings)}
    decisive = np.array([len(ranking) > 1 for ranking in rankings], dtype=float)
    return with_clusters(fit, ways, decisive, partial(_estimate_covariance, stages, fit))


def _hold_sum(stages: Stages) -> Floats:
    """What is added to the information: only differences of strengths count, so their sum is held at zero."""
    ridge = 1e-12 * np.eye(stages.parameters)
    ridge[: stages.systems, : stages.systems] += 1.0
    return ridge


def _find_maximum(stages: Stages, basis: Floats, ridge: Floats) -> tuple[Floats, Floats]:
    """The parameters basis @ phi of the highest likelihood, by Newton's steps, and the information (P, P) there."""
    phi = np.zeros(basis.shape[1])
    for _ in range(100):
        gradient, information = _differentiate_likelihood(stages, basis @ phi)
        curvature = basis.T @ information @ basis + ridge
        step = np.linalg.solve(curvature, basis.T @ gradient - ridge @ phi)
        phi = phi + np.clip(step, -2, 2)
        if np.abs(step).max() <= 1e-9 or np.abs(phi).max() > FAR:
            break
    return basis @ phi, _differentiate_likelihood(stages, basis @ phi)[1]


def _at_sets(part: SizedChoices, theta: Floats) -> tuple[Floats, Floats, Floats]:
    """Chances of the alternatives (sets, A), means of the columns (sets, M) and their covariances (sets, M, M)."""
    level = theta[part.columns] @ part.pattern.T
    chances = np.exp(level - level.max(1, keepdims=True))
    chances /= chances.sum(1, keepdims=True)
    means = chances @ part.pattern
    columns = part.pattern.shape[1]
    squares = (part.pattern[:, :, None] * part.pattern[:, None, :]).reshape(len(part.pattern), -1)
    spread = (chances @ squares).reshape(-1, columns, columns) - means[:, :, None] * means[:, None, :]
    return chances, means, spread


def _log_chance(part: SizedChoices, theta: Floats) -> float:
    chances, _, _ = _at_sets(part, theta)
    return float(np.log(chances[part.place, part.chosen]).sum())


def _differentiate_likelihood(stages: Stages, theta: Floats) -> tuple[Floats, Floats]:
    """Gradient (P,) and information (P, P) of the log-likelihood."""
    gradient, information = np.zeros(stages.parameters), np.zeros((stages.parameters, stages.parameters))
    for part in stages.choices:
        _, means, spread = _at_sets(part, theta)
        times = np.bincount(part.place, minlength=len(means)).astype(float)
        np.add.at(gradient, part.columns[part.place], part.pattern[part.chosen])
        np.add.at(gradient, part.columns, -times[:, None] * means)
        places = part.columns[:, :, None], part.columns[:, None, :]
        np.add.at(information, places, times[:, None, None] * spread)
    return gradient, information


def _by_cluster(stages: Stages, theta: Floats, cluster: Ints) -> Iterator[tuple[Floats, Floats]]:
    """Scores (clusters, P) and information (clusters, P, P), some clusters at once; `cluster` codes the rankings."""
    _, codes = np.unique(cluster, return_inverse=True)
    at_sets = [(part, *_at_sets(part, theta)[1:]) for part in stages.choices]
    size = max(AT_ONCE // stages.parameters**2, 1)
    for start in range(0, int(codes.max()) + 1, size):
        number = min(size, int(codes.max()) + 1 - start)
        score = np.zeros((number, stages.parameters))
        information = np.zeros((number, stages.parameters, stages.parameters))
        for part, means, spread in at_sets:
            own = codes[part.ranking] - start
            rows = np.flatnonzero((own >= 0) & (own < number))
            row, place = own[rows], part.place[rows]
            columns = part.columns[place]
            np.add.at(score, (row[:, None], columns), part.pattern[part.chosen[rows]] - means[place])
            where = row[:, None, None], columns[:, :, None], columns[:, None, :]
            np.add.at(information, where, spread[place])
        yield score, information


def _estimate_covariance(stages: Stages, fit: Fit, cluster: Ints) -> Floats:
    """The covariance (P, P) for one way of clustering: the spread of the steps that the fit takes without a cluster."""
    middle, number, bread = np.zeros_like(fit.covariance), 0, fit.covariance
    for score, information in _by_cluster(stages, fit.parameters, cluster):
        without = (1 + ALONE) * np.eye(len(bread)) - information @ bread
        steps = np.linalg.solve(without, score[:, :, None])[:, :, 0] @ bread
        middle += steps.T @ steps
        number += len(steps)
    return middle * (1 - 1 / number)


def equal_strength_p(stages: Stages, first: int, second: int, by: Mapping[str, Ints]) -> float:
    """p of equal strength for two systems whose difference has no finite estimate: a score test, clustered.

    The model is fitted under equal strengths, where it has a maximum. Each cluster's score for the difference, free of
    what the other parameters explain, then counts as one observation around zero: t of their sum, and never below the
    p of as many clusters that all agree, 2 (1/2)^G. The way of clustering with the largest p is taken.
    """
    basis = np.delete(np.eye(stages.parameters), second, axis=1)
    basis[second, first - (first > second)] = 1.0
    ridge = RIDGE * np.eye(basis.shape[1])
    theta, information = _find_maximum(stages, basis, ridge)
    penalised = basis.T @ information @ basis + ridge
    direction = np.zeros(stages.parameters)
    direction[[first, second]] = 0.5, -0.5
    free = direction - basis @ np.linalg.solve(penalised, basis.T @ information @ direction)
    ways = by or {"ranking": np.arange(stages.rankings)}
    return max(
        _p_of_scores(np.concatenate([score @ free for score, _ in _by_cluster(stages, theta, codes)]))
        for codes in ways.values()
    )


def _p_of_scores(scores: Floats) -> float:
    """p of a sum of independent scores around zero."""
    squares = float(scores @ scores)
    if squares <= 0:
        return 1.0
    clusters = float(np.abs(scores).sum()) ** 2 / squares  # how many equally large ones weigh the same
    z_squared = float(scores.sum()) ** 2 / squares
    least = float(min(1.0, 2 * 0.5**clusters))
    if clusters <= 1 or z_squared >= clusters * (1 - 1e-12):
        return least
    t = np.sqrt(z_squared * max(clusters - 1, 1.0) / (clusters - z_squared))
    return max(least, 2 * float(stdtr(max(clusters - 1, 1.0), -t)))
