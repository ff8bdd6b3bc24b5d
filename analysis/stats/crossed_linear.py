"""Linear mixed models with crossed random effects, by restricted maximum likelihood, for thousands of ratings.

    y = X b + sum over factors f of Z_f u_f + e      u_f: normal, variance s_f;  e: normal, variance s

The search is by average information (Gilmour, Thompson and Cullis 1995) on Henderson's equations (1950).
A variance may be estimated below zero, as long as that of the ratings stays positive: cut at zero, it would give a
difference far too many degrees of freedom in half of all studies where it is near zero. Where factors cross, a variance
below zero may make the error too small instead. So both fits are made, and an interval is the wider of theirs. Degrees
of freedom are Satterthwaite's (1946) from the information on the variances (Fai and Cornelius 1996); for balanced data
they are those of the analysis of variance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

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
STEPS = 100
ZERO = 1e-7  # a variance ratio nearer to zero than this is taken as this


@dataclass(frozen=True, slots=True)
class Contrast:
    """A sum of fixed effects with its standard error, degrees of freedom, 95 % interval and two-sided p."""

    value: float
    se: float
    df: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, eq=False)
class CrossedLinear:
    """The fit; a variance below zero says that ratings which share the factor are less alike than others."""

    ratings: int
    factors: tuple[str, ...]
    levels: tuple[int, ...]
    effects: Floats  # (p,)
    covariance: Floats  # (p, p)
    variances: Floats  # (factors + 1,), of what is left last
    deviance: float  # minus twice the restricted log-likelihood
    information: Floats  # (factors + 1, factors + 1) on the variances
    slopes: Floats  # (factors + 1, p, p) of the covariance by the variances

    def contrast(self, weights: Floats) -> Contrast:
        """weights @ effects."""
        value, variance = float(weights @ self.effects), float(weights @ self.covariance @ weights)
        slopes = np.array([weights @ slope @ weights for slope in self.slopes])
        uncertain = float(slopes @ np.linalg.pinv(self.information) @ slopes)
        df, se = max(2 * variance**2 / uncertain, 1.0), float(np.sqrt(variance))
        reach = float(stdtrit(df, 0.975)) * se
        return Contrast(value, se, df, value - reach, value + reach, 2 * float(stdtr(df, -abs(value) / se)))


def fits_of(y: Floats, x: Floats, factors: Mapping[str, Ints]) -> tuple[CrossedLinear, ...]:
    """The fit with any variances and, where one of them is below zero, the fit without the factors below zero."""
    fits = [crossed_linear(y, x, factors)]
    while len(fits[-1].factors) and fits[-1].variances[:-1].min() < 0:
        lowest = fits[-1].factors[int(fits[-1].variances[:-1].argmin())]
        factors = {name: codes for name, codes in factors.items() if name != lowest}
        fits.append(crossed_linear(y, x, factors))
    return (fits[0], fits[-1]) if len(fits) > 1 else (fits[0],)


def widest_contrast(fits: Sequence[CrossedLinear], weights: Floats) -> Contrast:
    """The contrast with the widest interval."""
    return max((fit.contrast(weights) for fit in fits), key=lambda contrast: contrast.high - contrast.low)


@dataclass(frozen=True, eq=False)
class _State:
    """Deviance, slopes and information at one set of variances."""

    deviance: float
    slopes: Floats  # of the deviance by the variances
    information: Floats
    effects: Floats
    covariance: Floats
    covariance_slopes: Floats


def crossed_linear(y: Floats, x: Floats, factors: Mapping[str, Ints]) -> CrossedLinear:
    """Fit y (n,) to fixed effects x (n, p) of full rank and to factors (name -> codes (n,))."""
    y, x = np.asarray(y, dtype=float), np.asarray(x, dtype=float)
    residuals = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    freedom = len(y) - x.shape[1]
    if freedom < 1 or np.abs(residuals).max() <= 1e-9 * max(float(np.abs(y).max()), 1.0):
        raise InputError("The systems explain every rating exactly, so nothing tells how far ratings vary.")
    within = cheapest_factors(factors)
    names = (*within, *(name for name in factors if name not in within))
    design = design_of(y, x, {name: factors[name] for name in names}, len(within))
    scale = float(residuals @ residuals) / freedom
    variances = np.full(len(names) + 1, scale / (2 * max(len(names), 1)))
    variances[-1] = scale / (2 if names else 1)
    state = _compute_state(design, variances)
    if state is None:
        raise ValueError("Positive variances are always possible.")
    for _ in range(STEPS):
        move = -np.linalg.pinv(2 * state.information, hermitian=True) @ state.slopes
        expected = -float(move @ state.slopes)
        variances, state, moved = _take_step(design, variances, state, move)
        if expected < 1e-9 or not moved:
            return CrossedLinear(
                ratings=len(y),
                factors=names,
                levels=tuple(design.levels.tolist()),
                effects=state.effects,
                covariance=state.covariance,
                variances=variances,
                deviance=state.deviance,
                information=state.information,
                slopes=state.covariance_slopes,
            )
    raise InputError("The search for the variances of the mixed model did not end. Compare fewer systems at a time.")


def _take_step(design: CrossedDesign, variances: Floats, state: _State, move: Floats) -> tuple[Floats, _State, bool]:
    """The first of ever shorter steps that lowers the deviance; the same place where none does."""
    for halving in range(25):
        candidate = variances + move / 2**halving
        after = _compute_state(design, candidate) if candidate[-1] > 0 else None
        if after is not None and after.deviance <= state.deviance + 1e-10:
            return candidate, after, True
    return variances, state, False


def _compute_state(design: CrossedDesign, variances: Floats) -> _State | None:
    """Everything at these variances; None where they are impossible."""
    residual = float(variances[-1])
    ratio = variances[:-1] / residual
    ratio = np.where(np.abs(ratio) < ZERO, ZERO, ratio)
    ratios = np.repeat(ratio, design.levels)
    inverse = inverse_of(design, ratios)
    if inverse is None:
        return None
    z, fixed_and_response = design.z, np.column_stack([design.x, design.y])
    weighed = fixed_and_response - z @ inverse.times(
        np.asarray(z.T @ fixed_and_response)
    )  # V^-1 times both, over the residual variance
    products = weighed.T @ fixed_and_response
    try:
        root = np.linalg.cholesky(products[:-1, :-1])
    except np.linalg.LinAlgError:
        return None
    spread = np.linalg.inv(products[:-1, :-1])
    effects = spread @ products[:-1, -1]
    plain = weighed[:, -1] - weighed[:, :-1] @ effects  # Py
    squares, freedom = float(design.y @ plain), len(design.y) - design.x.shape[1]
    if squares <= 0:
        return None
    level = inverse.log_determinant + 2 * float(np.log(np.diag(root)).sum())
    deviance = freedom * np.log(2 * np.pi * residual) + squares / residual + level
    return _State(
        float(deviance),
        *_differentiate_deviance(design, inverse, ratio, residual, weighed[:, :-1], plain, spread),
        effects,
        spread * residual,
        _covariance_slopes(design, weighed[:, :-1], spread),
    )


def _differentiate_deviance(
    design: CrossedDesign,
    inverse: CrossedInverse,
    ratio: Floats,
    residual: float,
    weighed: Floats,
    plain: Floats,
    spread: Floats,
) -> tuple[Floats, Floats]:
    """Slopes (factors + 1,) of the deviance and the average information (factors + 1, factors + 1)."""
    ends = np.cumsum(design.levels)
    diagonal, by_level = inverse.diagonal(), np.asarray(design.z.T @ np.column_stack([weighed, plain]))
    traces, quadratic, working = [], [], []
    for end, levels, own in zip(ends, design.levels, ratio, strict=True):
        rows = slice(end - levels, end)
        trace = levels / own - float(diagonal[rows].sum()) / own**2
        fixed, free = by_level[rows, :-1], by_level[rows, -1]
        traces.append(trace - float(np.einsum("ij,ij->", fixed @ spread, fixed)))
        quadratic.append(float(free @ free))
        working.append(design.z[:, rows] @ free)
    freedom = len(design.y) - design.x.shape[1]
    traces.append(freedom - float(ratio @ np.array(traces)) if len(ratio) else float(freedom))
    quadratic.append(float(plain @ plain))
    slopes = np.array(traces) / residual - np.array(quadratic) / residual**2
    every = np.column_stack([*working, plain])
    inside = every - design.z @ inverse.times(np.asarray(design.z.T @ every))
    explained = weighed.T @ every
    information = (every.T @ inside - explained.T @ spread @ explained) / (2 * residual**3)
    return slopes, (information + information.T) / 2


def _covariance_slopes(design: CrossedDesign, weighed: Floats, spread: Floats) -> Floats:
    """(factors + 1, p, p): how the covariance of the effects grows with each variance."""
    by_level, ends = np.asarray(design.z.T @ weighed), np.cumsum(design.levels)
    inner = [by_level[end - levels : end] for end, levels in zip(ends, design.levels, strict=True)]
    return np.array([spread @ part.T @ part @ spread for part in (*inner, weighed)])
