"""Strengths of two or many systems from votes with ties: Davidson's model (1970) and Rao and Kupper's (1967).

With d = strength of a - strength of b + position (if a stood left, minus it if right, 0 if not known):

    Davidson     a : b : tie = exp(d/2) : exp(-d/2) : nu           (position as in Davidson and Beaver 1977)
    Rao-Kupper   P(a) = 1/(1 + theta exp(-d)), P(b) = 1/(1 + theta exp(d)), tie the rest

Covariates of the responses (their length, say) add their effect times the value of a less that of b to d.

A tie is an outcome of its own with its own parameter, never half a win. Without any tie both are Bradley and Terry's
model. Votes are first counted in cells (a, b, side) x (a, b, tie), so a fit costs the same for 10^3 and 10^6 votes; a
cell touches four parameters at most, so weights are kept sparse, and hundreds of systems cost little more than ten.
Strengths sum to zero. Errors that allow for shared raters and dialogues are in davidson_errors.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, stdtr, stdtrit

from seedvote.analysis.stats.paired.rank_sets import WayApart, chance_below
from seedvote.dialogue.errors import InputError

Ints = NDArray[np.integer]
Floats = NDArray[np.float64]
Model = Literal["davidson", "rao-kupper"]
FittedModel = Model | Literal["davidson-luce"]  # of rankings: plackett_luce.py

SMALL = 10_000  # numbers of a table of weights: up to there sparse ones are slower than plain ones
FAR = 15.0  # a strength further out than this on the log scale has no finite estimate


@dataclass(frozen=True, slots=True)
class Games:
    """Votes counted by cell: who met whom on which side, and how often a, b or neither was chosen."""

    systems: tuple[str, ...]
    a: Ints  # (cells,) code of system a
    b: Ints  # (cells,)
    side: Ints  # (cells,) 1: a stood left, -1: b did, 0: not known
    counts: Floats  # (cells, 3) votes for a, b, tie
    code: Ints  # (votes,) cell * 3 + choice of every vote
    covariates: Floats | None = None  # (cells, C) value of a less value of b
    weight: Floats | None = None  # (votes,) what each counts; None: all the same

    @property
    def weights(self) -> Floats:
        """What each vote counts."""
        return np.ones(len(self.code)) if self.weight is None else self.weight


@dataclass(frozen=True, slots=True)
class CellWeights:
    """Which parameters stand in d of every cell, and where the position and the tie parameter are, if there are any."""

    weights: sparse.csr_array  # (cells, P)
    position: int | None
    tie: int | None
    small: Floats | None = None  # the weights once more as an array, where they are few


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter on the log scale with its clustered error and 95 % interval."""

    value: float
    se: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Fit:
    """Estimates on the log scale: one strength a system (sum zero), then position and tie where the votes hold them,
    then the effects of covariates.

    `tie` is log nu (Davidson) or log theta (Rao-Kupper); `one_way` are the covariances by one way of clustering alone,
    below which no variance is taken, `others` those by all other ways, and `counted` the degrees of freedom of each;
    `freedom` are the fewest.
    """

    model: FittedModel
    systems: tuple[str, ...]
    parameters: Floats  # (P,)
    position: int | None  # place of the position parameter in `parameters`
    tie: int | None
    covariance: Floats  # (P, P)
    log_likelihood: float
    one_way: tuple[Floats, ...] = ()  # (P, P) each
    others: tuple[Floats, ...] = ()  # (P, P) each
    freedom: float = np.inf
    counted: tuple[float, ...] = ()  # empty: `freedom` is that of everything

    @property
    def strengths(self) -> Floats:
        """The systems' strengths."""
        return self.parameters[: len(self.systems)]

    @property
    def errors(self) -> Floats:
        """Standard error of every parameter."""
        return np.asarray(np.sqrt(np.max([np.diag(part) for part in (self.covariance, *self.one_way)], axis=0)))

    @property
    def apart(self) -> Floats:
        """[i, j]: standard error of the difference between the strengths of i and j; zero on the diagonal."""
        k = len(self.systems)
        squared = [_of_differences(part[:k, :k]) for part in (self.covariance, *self.one_way)]
        return np.asarray(np.sqrt(np.maximum(np.max(squared, axis=0), 0.0)))

    def interval(self, parameter: int, level: float = 0.95) -> tuple[float, float]:
        """Interval of one parameter on the log scale."""
        value, error = float(self.parameters[parameter]), float(self.errors[parameter])
        own = self._freedom(np.array(error), [part[parameter, parameter] for part in self.one_way])
        width = float(stdtrit(own, (1 + level) / 2)) * error
        return value - width, value + width

    def parameter(self, place: int) -> Parameter:
        """One parameter with its error and its interval."""
        return Parameter(float(self.parameters[place]), float(self.errors[place]), *self.interval(place))

    def p_of(self, place: int) -> float:
        """p of a parameter of zero."""
        error = float(self.errors[place])
        freedom = self._freedom(np.array(error), [part[place, place] for part in self.one_way])
        return 2 * float(stdtr(freedom, -abs(float(self.parameters[place])) / max(error, 1e-150)))

    def lead(self, first: int, second: int) -> tuple[Parameter, float]:
        """The strength of one system less that of another, and the p of no difference."""
        value, error = float(self.strengths[first] - self.strengths[second]), float(self.apart[first, second])
        freedom = float(self.apart_freedom[first, second])
        width = float(stdtrit(freedom, 0.975)) * error
        p = 2 * float(stdtr(freedom, -abs(value) / max(error, 1e-150)))
        return Parameter(value, error, value - width, value + width), p

    @property
    def apart_freedom(self) -> Floats:
        """[i, j]: degrees of freedom of the standard error in `apart`."""
        k = len(self.systems)
        return self._freedom(self.apart, [_of_differences(part[:k, :k]) for part in self.one_way])

    @property
    def ways_apart(self) -> tuple[WayApart, ...]:
        """What each way of clustering has to do with the errors in `apart`."""
        k, total = len(self.systems), self.apart**2
        alone = [_of_differences(part[:k, :k]) for part in self.one_way]
        ways = []
        for place, (freedom, others) in enumerate(zip(self.counted, self.others, strict=True)):
            without = np.max([_of_differences(others[:k, :k]), *alone[:place], *alone[place + 1 :]], axis=0)
            ways.append(WayApart(freedom, alone[place], np.maximum(total - without, 0.0)))
        return tuple(ways)

    def wrong_order(self, above: Ints, below: Ints) -> Floats:
        """Chance, for each two systems by code, that `above` is in truth below `below`."""
        ways = [WayApart(way.freedom, way.variance[above, below], way.added[above, below]) for way in self.ways_apart]
        return chance_below(self.strengths[above] - self.strengths[below], self.apart[above, below], ways)

    def _freedom(self, error: Floats, parts: Sequence[Floats]) -> Floats:
        """Degrees of freedom of errors from their variances by each way (Satterthwaite 1946), never below the fewest.

        Where raters are few but dialogues, of which there are many, make most of the error, it is known better than
        from the raters alone.
        """
        uncertain = np.sum([part**2 / own for part, own in zip(parts, self.counted, strict=False)], axis=0)
        freedom = np.divide(error**4, uncertain, out=np.zeros(np.shape(error)), where=np.asarray(uncertain) > 0)
        return np.asarray(np.maximum(freedom, self.freedom))


def _of_differences(covariance: Floats) -> Floats:
    """[i, j]: the variance of the difference of i and j."""
    own = np.diag(covariance)
    return np.asarray(own[:, None] + own[None, :] - 2 * covariance)


def count_games(
    systems: Sequence[str],
    a: Ints,
    b: Ints,
    choice: Ints,
    left: Ints | None,
    covariates: Floats | None = None,
    weight: Floats | None = None,
) -> Games:
    """Count votes; `choice` is 0 (a), 1 (b) or 2 (tie); `left` is 0 where a stood left, 1 where b did, else -1.

    `covariates` (votes, C) has the values of a less those of b; votes with other values are in other cells. `weight`
    says what each vote counts.
    """
    side = np.zeros(len(a), np.int64) if left is None else np.select([left == 0, left == 1], [1, -1], 0)
    swap = a > b  # one cell for both orders: a tie or a win is the same whichever system is called a
    first, second = np.where(swap, b, a).astype(np.int64), np.where(swap, a, b)
    outcome = np.where(swap & (choice < 2), 1 - choice, choice)
    key = (first * len(systems) + second) * 3 + np.where(swap, -side, side) + 1
    cells, cell = np.unique(key, return_inverse=True)
    values = None
    if covariates is not None:
        turned = np.where(swap[:, None], -covariates, covariates)
        rows, cell = np.unique(np.column_stack([key, turned]), axis=0, return_inverse=True)
        cells, values = rows[:, 0].astype(np.int64), rows[:, 1:]
    code = cell * 3 + outcome
    counts = np.bincount(code, weights=weight, minlength=3 * len(cells)).reshape(-1, 3).astype(np.float64)
    meeting = cells // 3
    first, second = meeting // len(systems), meeting % len(systems)
    return Games(tuple(systems), first, second, cells % 3 - 1, counts, code, values, weight)


def weigh_games(played: Games, weight: Floats) -> Games:
    """The same votes, each of which counts so much more or less than it did."""
    weights = played.weights * weight
    counts = np.bincount(played.code, weights=weights, minlength=played.counts.size).reshape(-1, 3)
    return replace(played, counts=counts.astype(np.float64), weight=weights)


def fit_model(played: Games, model: Model = "davidson") -> Fit:
    """Maximum likelihood; the covariance takes votes as independent (see davidson_errors.py for the honest one)."""
    design = design_of(played)
    theta = _find_parameters(played, model, design)
    _, information = _sum_information(played.counts, model, theta, design)
    chances, _, _ = predict_outcomes(model, theta, design)
    played_cells = played.counts > 0
    return Fit(
        model=model,
        systems=played.systems,
        parameters=theta,
        position=design.position,
        tie=design.tie,
        covariance=invert_information(information, len(played.systems)),
        log_likelihood=float((played.counts[played_cells] * np.log(chances[played_cells])).sum()),
    )


def refit_strengths(played: Games, nearby: Fit, design: CellWeights) -> Floats:
    """The strengths alone, where a few votes fewer than those of `nearby`, with its design, are left in its cells."""
    has_ties = bool(played.counts[:, 2].sum())
    same = (design, nearby.parameters) if has_ties == (design.tie is not None) else (design_of(played), None)
    return _find_parameters(played, nearby.model, *same)[: len(played.systems)]


def _find_parameters(played: Games, model: FittedModel, design: CellWeights, start: Floats | None = None) -> Floats:
    """Finite estimates (P,); votes without them are refused."""
    _check_finite(played)
    theta = _maximise_likelihood(played, model, design, start)
    # `_check_finite` sees only wins and ties; a side of the page that always won shows in the size of the estimates.
    if np.abs(theta).max() > FAR:
        raise InputError(
            "One side of the page or one system won all votes but ties, so the strengths have no finite estimate."
        )
    return theta


def design_of(played: Games) -> CellWeights:
    """The weights of every parameter in d; a position only where it can be told from the strengths."""
    systems, cells = len(played.systems), np.arange(len(played.a))
    rows, places = np.concatenate([cells, cells, cells]), [played.a, played.b, np.full(len(cells), systems)]
    values = np.concatenate([np.ones(len(cells)), -np.ones(len(cells)), played.side])
    weights = sparse.csr_array((values, (rows, np.concatenate(places))), shape=(len(cells), systems + 2))
    gram = (weights.T @ weights).toarray()
    rank = [np.linalg.matrix_rank(gram[:k, :k], hermitian=True) for k in (systems, systems + 1)]
    # Where a system always stood on the same side, position and strength cannot be told apart: no position then.
    position = systems if rank[1] > rank[0] else None
    tie = None if played.counts[:, 2].sum() == 0 else systems + (position is not None)
    kept_columns = [*range(systems + (position is not None)), *([systems + 1] if tie is not None else [])]
    columns = weights[:, kept_columns]
    if played.covariates is not None:
        columns = sparse.csr_array(sparse.hstack([columns, sparse.csr_array(played.covariates)]))
    is_small = columns.shape[0] * columns.shape[1] <= SMALL
    return CellWeights(columns, position, tie, columns.toarray() if is_small else None)


def predict_outcomes(model: FittedModel, theta: Floats, design: CellWeights) -> tuple[Floats, Floats, Floats]:
    """Chances (cells, 3) of a, b and tie, and the slopes of their logs in d and in the tie parameter."""
    d: Floats = (design.weights if design.small is None else design.small) @ theta
    return _MODELS[model](d, None if design.tie is None else np.full_like(d, theta[design.tie]))


def expected_net(model: Model, d: float, tie: float | None) -> float:
    """The net preference for a that the model expects where d is the difference of the strengths."""
    chances, _, _ = _MODELS[model](np.array([d]), None if tie is None else np.array([tie]))
    return float(chances[0, 0] - chances[0, 1])


def _maximise_likelihood(played: Games, model: FittedModel, design: CellWeights, start: Floats | None = None) -> Floats:
    """The estimates (P,) by Fisher scoring."""
    theta = np.zeros(design.weights.shape[1]) if start is None else start
    if design.tie is not None and start is None:
        share = played.counts[:, 2].sum() / played.counts.sum()
        theta[design.tie] = np.log(2 * share / (1 - share)) if model == "davidson" else 2 * np.arctanh(share)
    # Only differences of strengths count, so the information is singular: ones there hold the sum of strengths at zero.
    block = 1e-12 * np.eye(len(theta))
    block[: len(played.systems), : len(played.systems)] += 1.0
    for _ in range(100):
        gradient, information = _sum_information(played.counts, model, theta, design)
        step = np.clip(np.linalg.solve(information + block, gradient), -2, 2)  # a full step can overshoot
        theta = theta + step
        if design.tie is not None and model == "rao-kupper":
            theta[design.tie] = max(theta[design.tie], 1e-9)
        if np.abs(step).max() <= 1e-9 or np.abs(theta).max() > FAR:
            break
    return theta


def _sum_information(counts: Floats, model: FittedModel, theta: Floats, design: CellWeights) -> tuple[Floats, Floats]:
    """Gradient (P,) and expected information (P, P) of the log-likelihood."""
    chances, by_d, by_t = predict_outcomes(model, theta, design)
    weight, weights = chances * counts.sum(1, keepdims=True), design.weights if design.small is None else design.small
    gradient: Floats = weights.T @ (counts * by_d).sum(1)
    slopes = (weight * by_d**2).sum(1)
    if design.small is None:
        information = (design.weights.T @ sparse.diags_array(slopes) @ design.weights).toarray()
    else:
        information = (design.small.T * slopes) @ design.small
    if design.tie is not None:
        gradient[design.tie] += (counts * by_t).sum()
        cross = weights.T @ (weight * by_d * by_t).sum(1)
        information[:, design.tie] += cross
        information[design.tie, :] += cross
        information[design.tie, design.tie] += (weight * by_t**2).sum()
    return gradient, information


def invert_information(information: Floats, systems: int) -> Floats:
    """Inverse on the space where the strengths sum to zero."""
    ones = np.zeros_like(information)
    ones[:systems, :systems] = 1.0
    return np.asarray(np.linalg.inv(information + ones) - ones / systems**2)


def _predict_davidson(d: Floats, t: Floats | None) -> tuple[Floats, Floats, Floats]:
    """Chances of a, b, tie and the slopes of their logs in d and in t = log nu; d is (cells,)."""
    half = np.stack([d / 2, -d / 2, np.full_like(d, -np.inf) if t is None else t], axis=1)
    raised = np.exp(half - half.max(1, keepdims=True))
    chances = raised / raised.sum(1, keepdims=True)
    lean = np.array([0.5, -0.5, 0.0])
    by_d = lean - (chances * lean).sum(1, keepdims=True)
    return chances, by_d, np.array([0.0, 0.0, 1.0]) - chances[:, 2:]


def _rao_kupper(d: Floats, t: Floats | None) -> tuple[Floats, Floats, Floats]:
    """The same with t = log theta >= 0: a tie is everything between the two thresholds."""
    gap = np.zeros_like(d) if t is None else t
    a, b = expit(d - gap), expit(-d - gap)
    da, db = a * (1 - a), b * (1 - b)
    if t is None:
        return np.stack([a, b, 0 * a], 1), np.stack([1 - a, -(1 - b), 0 * a], 1), np.zeros((len(d), 3))
    tie = np.maximum(np.expm1(2 * gap) * a * b, 1e-300)
    by_d = np.stack([1 - a, -(1 - b), (db - da) / tie], axis=1)
    return np.stack([a, b, tie], axis=1), by_d, np.stack([a - 1, b - 1, (da + db) / tie], axis=1)


_MODELS: dict[FittedModel, Callable[[Floats, Floats | None], tuple[Floats, Floats, Floats]]] = {
    "davidson": _predict_davidson,
    "rao-kupper": _rao_kupper,
}


def find_linked_groups(played: Games) -> Ints:
    """(systems,) group of every system: within a group each has lost to or tied with every other, at least through
    others, which is when strengths have a finite estimate (Ford 1957)."""
    return np.asarray(connected_components(_find_winners(played), connection="strong")[1])


def find_group_of(system: int, played: Games) -> NDArray[np.bool_]:
    """(systems,) whether each is in the group of this one, in a quarter of the time that all groups take."""
    won = _find_winners(played)
    return _reach_from(system, won) & _reach_from(system, won.T)


def _find_winners(played: Games) -> NDArray[np.bool_]:
    """[i, j]: whether i has won against j or tied with it."""
    won = np.zeros((len(played.systems), len(played.systems)), bool)
    tied = played.counts[:, 2]
    for winner, loser, wins in ((played.a, played.b, played.counts[:, 0]), (played.b, played.a, played.counts[:, 1])):
        rows = wins + tied > 0
        won[winner[rows], loser[rows]] = True
    return won


def _reach_from(system: int, won: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Those that a system has won against or tied with, at least through others, and itself."""
    reached = np.zeros(len(won), bool)
    reached[system] = True
    while (grown := reached | won[reached].any(0)).sum() > reached.sum():
        reached = grown
    return reached


def _check_finite(played: Games) -> None:
    """Refuse votes without a finite maximum."""
    if not played.counts[:, :2].sum():
        raise InputError("All votes are ties, so no strength can be estimated; more votes or other pairs are needed.")
    is_linked = find_group_of(0, played)
    if not is_linked.all():
        names = [name for name, linked in zip(played.systems, is_linked, strict=True) if linked]
        raise InputError(
            f"{', '.join(names)} never met, or always won or always lost against, the other systems, so the strengths "
            "have no finite estimate. Collect votes that link them, or leave them out."
        )
