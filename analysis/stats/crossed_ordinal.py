"""Cumulative logit models with crossed random effects, by Laplace's approximation, as R's ordinal::clmm fits them.

    P(rating <= c) = expit(threshold_c - x b - sum over factors f of z_f u_f)      u_f: normal, variance s_f

Steps of the scale need not be equal (McCullagh 1980; Tutz and Hennevogl 1996; Christensen 2019). The likelihood is
integrated over all effects at once, around their mode (Tierney and Kadane 1986); its slopes by thresholds, systems and
log variances allow for how the mode and the curvature there move with them. The error is that of the curvature.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import Bounds, minimize
from scipy.special import expit, logit

from seedvote.analysis.stats.crossed_design import (
    CrossedDesign,
    CrossedInverse,
    cheapest_factors,
    design_of,
    inverse_of,
)
from seedvote.dialogue.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LOGISTIC = np.pi**2 / 3  # variance of the logistic law
LEAST, MOST = np.log(1e-5), np.log(100.0)  # of a variance, on the logit scale
FLAT = np.log(1e4)  # variance of effects that are free to be anything
FARTHEST = 20.0  # log odds; beyond it they have no finite estimate
NEWTON = 50
GRADIENTS, GRADIENTS_LEFT = 40, 1e-10  # conjugate gradients of a Newton step; what they may leave of its gain
STEP = 1e-4  # of the differences that give the curvature


@dataclass(frozen=True, eq=False)
class CrossedOrdinal:
    """The fit: log odds of a higher rating, and the variance of every factor on the same scale."""

    factors: tuple[str, ...]
    thresholds: Floats  # (categories - 1,)
    effects: Floats  # (p,)
    covariance: Floats  # (p, p) of the effects
    variances: Floats  # (factors,)
    log_likelihood: float

    def contrast(self, first: int, second: int) -> tuple[float, float]:
        """Log odds of the first of two effects against the second with their error; effect 0 is the constant."""
        weights = np.zeros(len(self.effects) + 1)
        weights[first], weights[second] = 1.0, -1.0
        own = weights[1:]
        return float(own @ self.effects), float(np.sqrt(own @ self.covariance @ own))


def crossed_ordinal(
    code: Ints,
    x: Floats,
    factors: Mapping[str, Ints],
    *,
    restricted: bool = True,
    start: Mapping[str, float] | None = None,
) -> CrossedOrdinal:
    """Fit categories `code` (n,), all of which occur, to effects x (n, p) without a constant and to crossed factors.

    `restricted`: variances are those of the likelihood that is integrated over x's effects too, as REML does; else all
    are fitted at once, as clmm does. `start` may guess the variances.
    """
    within = cheapest_factors(factors)
    names = (*within, *(name for name in factors if name not in within))
    x = np.asarray(x, dtype=float)
    design = design_of(code.astype(float), x, {name: factors[name] for name in names}, len(within))
    shares = logit(np.cumsum(np.bincount(code))[:-1] / len(code))
    cuts: Floats = np.concatenate([shares[:1], np.log(np.diff(shares))])
    logs: Floats = np.clip(np.log([(start or {}).get(name, 0.5) for name in names]), LEAST, MOST)
    effects, low, high = np.zeros(x.shape[1]), np.full(len(logs), LEAST), np.full(len(logs), MOST)
    if restricted:
        surface = _Surface(code, x[:, :0], _with_flat(design, np.column_stack([np.ones(len(x)), x])))
        known = np.where(np.arange(len(cuts)) == 0, 0.0, np.inf)  # its constant stands for the first threshold
        least, most = np.concatenate([cuts - known, low, [FLAT]]), np.concatenate([cuts + known, high, [FLAT]])
        at, _ = _find_highest(surface, np.concatenate([cuts, logs, [FLAT]]), least, most)
        cuts, logs, constant = at[: len(cuts)], at[len(cuts) : -1], surface.mode[-x.shape[1] - 1]
        cuts[0] -= constant
        effects, low, high = np.clip(surface.mode[-x.shape[1] :], -FARTHEST, FARTHEST), logs, logs
    far, fixed, surface = np.full(x.shape[1], FARTHEST), len(cuts) + x.shape[1], _Surface(code, x, design)
    free = np.full(len(cuts), np.inf)
    least, most = np.concatenate([-free, -far, low]), np.concatenate([free, far, high])
    at, value = _find_highest(surface, np.concatenate([cuts, effects, logs]), least, most)
    # The curvature by what was fitted here; a variance at its lower end is none, and the likelihood is flat there.
    wanted = np.concatenate([np.ones(fixed, bool), (at[fixed:] > LEAST + 1) & (not restricted)])
    places = np.flatnonzero(wanted)
    level = surface(at)[1]
    slopes = np.array([_bend_surface(surface, at, level, place)[places] for place in places.tolist()])
    covariance = np.linalg.pinv((slopes + slopes.T) / 2, hermitian=True)
    own = slice(len(cuts), fixed)
    return CrossedOrdinal(
        names, _raise_thresholds(at[: len(cuts)]), at[own], covariance[own, own], np.exp(at[fixed:]), -value
    )


def _find_highest(surface: _Surface, begin: Floats, low: Floats, high: Floats) -> tuple[Floats, float]:
    """Where the likelihood is highest between these bounds, and minus its logarithm there."""
    scale = surface.scale(len(begin))  # so that one step is about as long for all of them

    def scale_parameters(at: Floats) -> tuple[float, Floats]:
        value, slopes = surface(at / scale)
        return value, slopes / scale

    answer = minimize(
        scale_parameters,
        begin * scale,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(low * scale, high * scale),
        options={"maxiter": 200, "ftol": 1e-9, "gtol": 1e-4},
    )
    return np.asarray(answer.x / scale), float(answer.fun)


def _with_flat(design: CrossedDesign, x: Floats) -> CrossedDesign:
    """The design with x's effects as one more factor."""
    z = sparse.csr_array(sparse.hstack([design.z, sparse.csr_array(x)]))
    return replace(design, z=z, levels=np.append(design.levels, x.shape[1]))


def _bend_surface(surface: _Surface, at: Floats, level: Floats, place: int) -> Floats:
    """The curvature's column: how the slopes change with one parameter from their `level`."""
    move = np.zeros(len(at))
    move[place] = STEP
    return np.asarray((surface(at + move)[1] - level) / STEP)


def _raise_thresholds(cuts: Floats) -> Floats:
    return np.cumsum(np.concatenate([cuts[:1], np.exp(cuts[1:])]))


@dataclass(frozen=True, eq=False)
class _Rated:
    """What every rating says at given thresholds and predictors: its log chance, and derivatives by the predictor."""

    log_chance: Floats
    slope: Floats
    weight: Floats  # minus the second derivative
    weight_slope: Floats
    upper: Floats  # density at the threshold above the rating, and at the one below
    lower: Floats
    upper_slope: Floats  # of these densities
    lower_slope: Floats
    chance: Floats


def _rate_scores(code: Ints, thresholds: Floats, predictor: Floats) -> _Rated:
    ends = np.concatenate([[-np.inf], thresholds, [np.inf]])
    above, below = ends[code + 1] - predictor, ends[code] - predictor
    high, low = expit(above), expit(below)
    chance = np.where(below > 0, expit(-below) - expit(-above), high - low)  # the difference of the smaller tails
    chance = np.maximum(chance, 1e-300)
    upper, lower = high * expit(-above), low * expit(-below)
    upper_slope, lower_slope = upper * (1 - 2 * high), lower * (1 - 2 * low)
    return _Rated(
        np.log(chance),
        high + low - 1,
        upper + lower,
        -(upper_slope + lower_slope),
        upper,
        lower,
        upper_slope,
        lower_slope,
        chance,
    )


@dataclass(eq=False)
class _Surface:
    """Minus the approximated log-likelihood and its slopes, by thresholds (first, log gaps), effects, log variances."""

    code: Ints
    x: Floats
    design: CrossedDesign
    mode: Floats = field(init=False)  # of the random effects, where it was last: the next search begins there
    inverse: CrossedInverse | None = field(init=False, default=None)  # of the curvature there

    def __post_init__(self) -> None:
        self.mode = np.zeros(int(self.design.levels.sum()))

    def __call__(self, at: Floats) -> tuple[float, Floats]:
        cuts = int(self.code.max())
        thresholds, effects = _raise_thresholds(at[:cuts]), at[cuts : cuts + self.x.shape[1]]
        variances = np.repeat(np.exp(at[cuts + self.x.shape[1] :]), self.design.levels)
        rated, inverse = self._find_mode(thresholds, self.x @ effects, variances)
        value = float(rated.log_chance.sum()) - 0.5 * float(self.mode**2 @ (1 / variances) + inverse.log_determinant)
        return -value, -self._slopes(at[:cuts], variances, rated, inverse)

    def scale(self, parameters: int) -> Floats:
        """Roots of how much is known of every parameter, roughly."""
        known = np.full(parameters, len(self.code) / 8)
        known[parameters - len(self.design.levels) :] = self.design.levels / 4
        return np.asarray(np.sqrt(known))

    def _find_mode(self, thresholds: Floats, fixed: Floats, variances: Floats) -> tuple[_Rated, CrossedInverse]:
        """The ratings at the mode, and the inverse of the curvature there, the only one that is computed."""
        z = self.design.z

        def measure_height(effects: Floats) -> tuple[float, _Rated]:
            rated = _rate_scores(self.code, thresholds, fixed + z @ effects)
            return float(rated.log_chance.sum() - 0.5 * effects**2 @ (1 / variances)), rated

        top, rated = measure_height(self.mode)
        for _ in range(NEWTON):
            slope = z.T @ rated.slope - self.mode / variances
            move = self._newton_step(rated.weight, variances, slope)
            if float(move @ slope) < 1e-10:
                self.mode = self.mode + move
                rated = measure_height(self.mode)[1]
                break
            for halving in range(30):
                candidate, after = measure_height(self.mode + move / 2**halving)
                if candidate >= top:
                    break
            self.mode, top, rated = self.mode + move / 2**halving, candidate, after
        self.inverse = self._inverse(rated.weight, variances)
        return rated, self.inverse

    def _newton_step(self, weight: Floats, variances: Floats, slope: Floats) -> Floats:
        """The curvature's inverse times the slope, by conjugate gradients that begin from the last inverse known."""
        z = self.design.z
        inverse = self.inverse = self.inverse or self._inverse(weight, variances)
        move, residual = np.zeros(len(slope)), slope
        better = inverse.times(residual[:, None])[:, 0]
        towards, gain = better, float(residual @ better)
        least = GRADIENTS_LEFT * gain
        if gain <= 0:  # nothing is left to climb
            return move
        for _ in range(GRADIENTS):
            bent = z.T @ (weight * (z @ towards)) + towards / variances
            length = gain / float(towards @ bent)
            move, residual = move + length * towards, residual - length * bent
            better = inverse.times(residual[:, None])[:, 0]
            gain, before = float(residual @ better), gain
            if gain <= least:
                return move
            towards = better + gain / before * towards
        return self._inverse(weight, variances).times(slope[:, None])[:, 0]

    def _inverse(self, weight: Floats, variances: Floats) -> CrossedInverse:
        z = self.design.z
        weighed = sparse.csr_array(z.T @ z.multiply(weight[:, None]).tocsr())
        inverse = inverse_of(replace(self.design, crossings=weighed), variances)
        if inverse is None:
            raise InputError("The search for the effects of the ordinal mixed model failed. Compare fewer systems.")
        return inverse

    def _slopes(self, cuts: Floats, variances: Floats, rated: _Rated, inverse: CrossedInverse) -> Floats:
        z, ends = self.design.z, np.cumsum(self.design.levels)
        gaps = np.concatenate([[1.0], np.exp(cuts[1:])])
        below = (np.arange(len(cuts)) < self.code[:, None]) * gaps  # thresholds are sums of the gaps up to them
        above = (np.arange(len(cuts)) <= self.code[:, None]) * gaps
        above[self.code == len(cuts)] = 0.0  # nothing is above the highest category
        by_ends = (rated.upper[:, None] * above - rated.lower[:, None] * below) / rated.chance[:, None]
        moved = rated.upper[:, None] * above + rated.lower[:, None] * below  # of the slope, by the thresholds
        bent = rated.upper_slope[:, None] * above + rated.lower_slope[:, None] * below  # of the weight
        own = self.mode / variances
        shrunk = np.zeros((len(own), len(ends)))
        for factor, (end, number) in enumerate(zip(ends, self.design.levels, strict=True)):
            shrunk[end - number : end, factor] = own[end - number : end]
        sides = np.column_stack([z.T @ moved, z.T @ (-rated.weight[:, None] * self.x), shrunk])
        follows = z @ inverse.times(np.asarray(sides))  # how the random part of every predictor moves
        follows[:, len(cuts) : len(cuts) + self.x.shape[1]] += self.x
        spread = inverse.leverages(z)
        curved = (spread * rated.weight_slope) @ follows
        curved[: len(cuts)] += spread @ bent
        squares = np.add.reduceat(self.mode * own, ends - self.design.levels)
        traces = np.add.reduceat(inverse.diagonal() / variances, ends - self.design.levels)
        plain = np.concatenate([by_ends.sum(0), rated.slope @ self.x, 0.5 * (squares - self.design.levels + traces)])
        return np.asarray(plain - 0.5 * curved)
