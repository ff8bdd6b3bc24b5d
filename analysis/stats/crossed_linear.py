"""Linear mixed models with crossed random effects, by restricted maximum likelihood, for thousands of ratings.

    y = X b + sum over factors f of Z_f u_f + e      u_f: normal, variance s_f;  e: normal, variance s

The search is by average information (Gilmour, Thompson and Cullis 1995) on Henderson's equations (1950). The levels of
the factors that lie within the finest clusters (an item with its systems, say) are eliminated block by block, so that
only the levels of the others make a dense matrix; statsmodels' MixedLM inverts one for all ratings where factors cross.
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
from scipy import sparse
from scipy.linalg import cho_solve, ldl
from scipy.special import stdtr, stdtrit

from analysis.stats.intervals import crossed, groups
from dialogue.errors import InputError

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
class _Design:
    """Ratings and levels; levels of the first factors are eliminated in blocks, those of the others are dense."""

    y: Floats  # (n,)
    x: Floats  # (n, p)
    z: sparse.csr_array  # (n, levels)
    crossings: sparse.csr_array  # Z'Z
    levels: Ints  # (factors,)
    blocks: tuple[Ints, ...]  # (blocks, size) levels, for every size that occurs

    @property
    def eliminated(self) -> int:
        """How many levels are eliminated."""
        return sum(block.size for block in self.blocks)


@dataclass(frozen=True, eq=False)
class _Inverse:
    """(Z'Z + 1/ratios)^-1 as blocks, dense part and what joins them."""

    blocks: sparse.csr_array  # (E, E)
    joined: sparse.csr_array  # (E, K): blocks times the crossings of both parts
    dense: Floats  # (K, K)
    log_determinant: float

    def times(self, sides: Floats) -> Floats:
        """The inverse times sides (levels, k)."""
        cut = self.joined.shape[0]
        lower = self.dense @ (sides[cut:] - self.joined.T @ sides[:cut])
        return np.concatenate([self.blocks @ sides[:cut] - self.joined @ lower, lower])

    def diagonal(self) -> Floats:
        """Its diagonal (levels,)."""
        upper = self.blocks.diagonal() + np.asarray(self.joined.multiply(self.joined @ self.dense).sum(1)).ravel()
        return np.concatenate([upper, np.diag(self.dense)])


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
    left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
    freedom = len(y) - x.shape[1]
    if freedom < 1 or np.abs(left).max() <= 1e-9 * max(float(np.abs(y).max()), 1.0):
        raise InputError("The systems explain every rating exactly, so nothing tells how far ratings vary.")
    within = _cheapest(factors)
    names = (*within, *(name for name in factors if name not in within))
    design = _design(y, x, {name: factors[name] for name in names}, len(within))
    scale = float(left @ left) / freedom
    variances = np.full(len(names) + 1, scale / (2 * max(len(names), 1)))
    variances[-1] = scale / (2 if names else 1)
    state = _state(design, variances)
    if state is None:
        raise ValueError("Positive variances are always possible.")
    for _ in range(STEPS):
        move = -np.linalg.pinv(2 * state.information, hermitian=True) @ state.slopes
        expected = -float(move @ state.slopes)
        variances, state, moved = _step(design, variances, state, move)
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


def _step(design: _Design, variances: Floats, state: _State, move: Floats) -> tuple[Floats, _State, bool]:
    """The first of ever shorter steps that lowers the deviance; the same place where none does."""
    for halving in range(25):
        there = variances + move / 2**halving
        after = _state(design, there) if there[-1] > 0 else None
        if after is not None and after.deviance <= state.deviance + 1e-10:
            return there, after, True
    return variances, state, False


def _cheapest(factors: Mapping[str, Ints]) -> tuple[str, ...]:
    """The factors to eliminate, that within which all lie first: those that leave the least work."""
    levels = {name: groups(codes) for name, codes in factors.items()}
    best: tuple[str, ...] = ()
    least = float(sum(levels.values())) ** 3
    for first, codes in factors.items():
        inside = [name for name in factors if groups(crossed([codes, factors[name]])) == levels[name]]
        sizes = sum(_levels_within(codes, factors[name]) for name in inside)
        work = float((np.asarray(sizes, dtype=float) ** 3).sum())
        work += float(sum(number for name, number in levels.items() if name not in inside)) ** 3
        if work < least:
            best, least = (first, *(name for name in inside if name != first)), work
    return best


def _levels_within(outer: Ints, inner: Ints) -> Ints:
    """How many levels of `inner` each level of `outer` holds."""
    _, place = np.unique(inner, return_index=True)
    return np.bincount(outer[place], minlength=int(outer.max()) + 1)


def _design(y: Floats, x: Floats, factors: Mapping[str, Ints], eliminated: int) -> _Design:
    parts, levels = [], []
    owners: list[Ints] = []  # the block of every level that is eliminated
    first = next(iter(factors.values()), None)
    for codes in factors.values():
        _, place, own = np.unique(codes, return_index=True, return_inverse=True)
        parts.append(sparse.csr_array((np.ones(len(y)), (np.arange(len(y)), own)), shape=(len(y), len(place))))
        levels.append(len(place))
        if first is not None and len(levels) <= eliminated:
            owners.append(first[place])
    z = sparse.csr_array(sparse.hstack(parts)) if parts else sparse.csr_array((len(y), 0))
    owner = np.concatenate(owners) if owners else np.zeros(0, np.int64)
    return _Design(y, x, z, sparse.csr_array(z.T @ z), np.array(levels, dtype=np.int64), tuple(_blocks(owner)))


def _blocks(owner: Ints) -> Sequence[Ints]:
    order = np.argsort(owner, kind="stable")
    _, starts, sizes = np.unique(owner[order], return_index=True, return_counts=True)
    return [order[starts[sizes == size][:, None] + np.arange(size)] for size in np.unique(sizes)]


def _inverse(design: _Design, ratios: Floats) -> _Inverse | None:
    """None where the covariance of the ratings would not be positive with these variance ratios (levels,)."""
    matrix = sparse.csr_array(design.crossings + sparse.diags_array(1 / ratios))
    cut, level, negative = design.eliminated, 0.0, 0
    rows, columns, values = [], [], []
    upper = matrix[:cut, :cut]
    for block in design.blocks:
        at = np.broadcast_to(block[:, :, None], (*block.shape, block.shape[1])).ravel()
        to = np.broadcast_to(block[:, None, :], (*block.shape, block.shape[1])).ravel()
        part = np.asarray(upper[at, to]).reshape(*block.shape, block.shape[1])
        level += float(np.linalg.slogdet(part)[1].sum())
        if (ratios[block] < 0).any():
            negative += int((np.linalg.eigvalsh(part) < 0).sum())
        rows.append(at)
        columns.append(to)
        values.append(np.linalg.inv(part).ravel())
    joint = (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))) if rows else None
    blocks = sparse.csr_array(joint, shape=(cut, cut)) if joint else sparse.csr_array((cut, cut))
    across = matrix[:cut, cut:]
    joined = sparse.csr_array(blocks @ across)
    dense = (matrix[cut:, cut:] - across.T @ joined).toarray()
    try:
        lower, own_level, own_negative = _inverted(dense, bool((ratios < 0).any()))
    except np.linalg.LinAlgError:
        return None
    if negative + own_negative != int((ratios < 0).sum()):
        return None
    level += own_level + float(np.log(np.abs(ratios)).sum())
    return _Inverse(blocks, joined, lower, level)


def _inverted(matrix: Floats, indefinite: bool) -> tuple[Floats, float, int]:
    """Inverse and log of the absolute determinant of a symmetric matrix, and how many eigenvalues are below zero."""
    if not matrix.size:
        return matrix, 0.0, 0
    if not indefinite:
        root = np.linalg.cholesky(matrix)
        inverse = cho_solve((root, True), np.eye(len(matrix)))
        return inverse, 2 * float(np.log(np.diag(root)).sum()), 0
    _, pivots, _ = ldl(matrix)  # of as many signs as the matrix (Sylvester's law of inertia)
    values = np.linalg.eigvalsh(pivots) if np.diag(pivots, 1).any() else np.diag(pivots)
    return np.asarray(np.linalg.inv(matrix)), float(np.log(np.abs(values)).sum()), int((values < 0).sum())


def _state(design: _Design, variances: Floats) -> _State | None:
    """Everything at these variances; None where they are impossible."""
    residual = float(variances[-1])
    ratio = variances[:-1] / residual
    ratio = np.where(np.abs(ratio) < ZERO, ZERO, ratio)
    ratios = np.repeat(ratio, design.levels)
    inverse = _inverse(design, ratios)
    if inverse is None:
        return None
    z, both = design.z, np.column_stack([design.x, design.y])
    weighed = both - z @ inverse.times(np.asarray(z.T @ both))  # V^-1 times both, over the residual variance
    products = weighed.T @ both
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
    return _State(float(deviance), *_derivatives(design, inverse, ratio, residual, weighed[:, :-1], plain, spread),
                  effects, spread * residual, _covariance_slopes(design, weighed[:, :-1], spread))  # fmt: skip


def _derivatives(
    design: _Design, inverse: _Inverse, ratio: Floats, residual: float, weighed: Floats, plain: Floats, spread: Floats
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


def _covariance_slopes(design: _Design, weighed: Floats, spread: Floats) -> Floats:
    """(factors + 1, p, p): how the covariance of the effects grows with each variance."""
    by_level, ends = np.asarray(design.z.T @ weighed), np.cumsum(design.levels)
    inner = [by_level[end - levels : end] for end, levels in zip(ends, design.levels, strict=True)]
    return np.array([spread @ part.T @ part @ spread for part in (*inner, weighed)])
