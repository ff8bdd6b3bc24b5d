"""What the variance components say of other studies: generalisability, D-studies, and whether a re-run would flip.

Generalisability theory (Brennan 2001; Shavelson and Webb 1991): the models' true differences against the error of a
study with so many seeds, items and raters. A rank flip is a re-run, with new seeds, items or raters, that puts two
models in the other order.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import chi2, norm, t

from analysis.stats.components import RESIDUAL, Components, group

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.legendre.leggauss(200)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many levels the mean of one level of `target` averages: by factor, and by term (`residual`: observations)."""

    target: str | None  # None: the mean of everything
    sizes: Mapping[str, float]
    counts: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Design:
    """One line of a D-study: how a study of this size would measure its target."""

    sizes: Mapping[str, float]
    observations: float  # per level of the target
    se: float  # of one level's mean compared with the others (relative error); of the mean itself without a target
    generalizability: float  # E rho^2: for ranking
    dependability: float  # Phi: for the level itself


@dataclass(frozen=True, slots=True)
class Flip:
    """How likely a re-run puts two levels of the target in the other order."""

    first: str
    second: str
    difference: float
    se: float  # of the difference, from what the re-run draws anew
    freedom: float
    p: float  # t-predictive
    low: float  # 95 % interval of the chance that a further study has the other order
    high: float


def study_sizes(factors: Mapping[str, Ints], found: Components, target: str | None) -> Sizes:
    """The sizes of the study that gave these components."""
    levels = {} if target is None else {target: int(factors[target].max()) + 1}

    def count(names: Sequence[str]) -> float:
        """Groups of these factors that one level of the target meets, on average."""
        joint = names if target is None or target in names else (target, *names)
        return (int(group(factors, joint).max()) + 1) / levels.get(target or "", 1)

    sizes = {name: count((name,)) for name in factors if name != target}
    counts = {part.name: count(part.factors) for part in found.parts if part.name != RESIDUAL}
    return Sizes(target, sizes, {**counts, RESIDUAL: found.n / levels.get(target or "", 1)})


def resized(study: Sizes, found: Components, sizes: Mapping[str, float]) -> Sizes:
    """The same kind of study with other sizes: a term grows with each of its factors, the residual with all."""
    ratio = {name: sizes.get(name, size) / size for name, size in study.sizes.items()}
    counts = {
        part.name: study.counts[part.name]
        * float(np.prod([ratio.get(name, 1.0) for name in (ratio if part.name == RESIDUAL else part.factors)]))
        for part in found.parts
    }
    return Sizes(study.target, {name: sizes.get(name, size) for name, size in study.sizes.items()}, counts)


def error_variance(
    found: Components, study: Sizes, *, absolute: bool = False, redrawn: Collection[str] | None = None
) -> tuple[float, Floats]:
    """Error variance of the mean of one level of the target, and the same for every draw of the components.

    Each term counts with its variance over its number of levels. Terms without the target are shared by all its levels
    and cancel in comparisons (`absolute` keeps them). `redrawn` keeps what a re-run with new levels of these factors
    draws anew. The residual holds the interaction of everything.
    """
    value, draws = 0.0, np.zeros_like(found.parts[0].draws)
    for part in found.parts:
        residual = part.name == RESIDUAL
        shared = study.target is not None and study.target not in part.factors and not residual
        fresh = redrawn is None or residual or bool(set(part.factors) & set(redrawn))
        if part.factors == (study.target,) or (shared and not absolute) or not fresh:
            continue
        value += max(part.value, 0.0) / study.counts[part.name]
        draws = draws + np.maximum(part.draws, 0.0) / study.counts[part.name]
    return value, draws


def design(found: Components, study: Sizes) -> Design:
    """Error and generalisability of a study."""
    truth = next((max(part.value, 0.0) for part in found.parts if part.factors == (study.target,)), float("nan"))
    relative, _ = error_variance(found, study)
    absolute, _ = error_variance(found, study, absolute=True)
    shares = (_share(truth, error) for error in (relative, absolute))
    return Design(study.sizes, study.counts[RESIDUAL], float(np.sqrt(relative)), *shares)


def _share(truth: float, error: float) -> float:
    return truth / (truth + error) if truth + error > 0 else float("nan")


def flip(
    first: tuple[str, float],
    second: tuple[str, float],
    found: Components,
    study: Sizes,
    *,
    redrawn: Collection[str],
) -> Flip:
    """Chance that a re-run of the same size, with new levels of `redrawn`, reverses the observed difference.

    Both the observed and the new difference scatter about the truth with variance V, so the new one given the old is t
    about it with 2 V (flat prior; V's own uncertainty gives the degrees of freedom). The interval inverts the
    noncentral t law of difference / sqrt(V).
    """
    value, draws = error_variance(found, study, redrawn=redrawn)
    variance = 2 * value
    spread = float((2 * draws).std(ddof=1)) if len(draws) > 1 else 0.0
    freedom = 2 * variance**2 / spread**2 if spread > 0 and variance > 0 else np.inf
    return predicted(first, second, variance, freedom)


def predicted(first: tuple[str, float], second: tuple[str, float], variance: float, freedom: float) -> Flip:
    """The flip of an observed order whose difference scatters about the truth with this variance."""
    difference, se = first[1] - second[1], float(np.sqrt(variance))
    if se == 0:
        certain = 0.0 if difference else 0.5
        return Flip(first[0], second[0], difference, 0.0, freedom, certain, certain, certain)
    ratio = abs(difference) / se
    low, high = _noncentral_bounds(ratio, freedom)
    # The observed and the new difference scatter alike about the truth, hence twice the variance.
    p = float(t.sf(ratio / np.sqrt(2), freedom))
    return Flip(first[0], second[0], difference, se, freedom, p, float(norm.sf(high)), float(norm.sf(low)))


def _noncentral_bounds(ratio: float, freedom: float, level: float = 0.95) -> tuple[float, float]:
    """Interval of the true difference in units of its standard error, from the observed `ratio` (capped at 100)."""
    tail, ratio = (1 - level) / 2, min(ratio, 100.0)
    if not np.isfinite(freedom) or freedom > 1e4:
        return ratio + float(norm.ppf(tail)), ratio - float(norm.ppf(tail))
    reach, scale = 10 + 5 * ratio, np.sqrt(chi2.ppf((NODES + 1) / 2, freedom) / freedom)

    def below(centre: float, p: float) -> float:
        """The noncentral t law at `ratio`, averaged over its chi-square (scipy's own is NaN far out), less p."""
        return float(WEIGHTS @ norm.cdf(ratio * scale - centre)) / 2 - p

    bounds = [brentq(below, ratio - reach, ratio + reach, args=(p,)) for p in (1 - tail, tail)]
    return float(bounds[0]), float(bounds[1])
