"""Variance components of crossed, nested, unbalanced data by the method of moments, linear in the observations.

Every term (model, model:seed, item, model:item, rater, ...) is a way to group the observations. Its sum of squares
within groups has, whatever the balance, an expectation that is linear in all components (Henderson 1953, method 1; for
crossed data Gao and Owen 2017); one such equation a term and one for the whole give the components. On balanced data
they are the estimates of the analysis of variance, which are those of REML where none is negative. A negative estimate
is kept: cut off at zero, estimates are no longer unbiased. D-studies say from the components how a study with other
numbers of seeds, items and raters would measure (generalisability theory).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from seedvote.analysis.stats.spread import chi_square
from seedvote.dialogue.errors import InputError

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
RESIDUAL = "residual"
ROUNDING = 1e-9  # of the largest component


@dataclass(frozen=True, slots=True)
class Component:
    """One term's variance with a 95 % interval; `draws` are estimates from data simulated with the fitted components.

    `freedom` counts the term's groups less those of the terms within it.
    """

    name: str
    factors: tuple[str, ...]
    levels: int
    value: float
    share: float
    low: float
    high: float
    freedom: float
    draws: Floats

    @property
    def sd(self) -> float:
        """Standard deviation in the score's own unit (zero where the estimate is negative)."""
        return float(np.sqrt(max(self.value, 0.0)))


@dataclass(frozen=True, slots=True)
class Components:
    """All components of one long table, the residual last."""

    n: int
    mean: float
    parts: tuple[Component, ...]
    levels: Mapping[str, int]  # of every factor

    def __getitem__(self, name: str) -> Component:
        return next(part for part in self.parts if part.name == name)


def terms_of(factors: Mapping[str, Ints], nested: Mapping[str, str]) -> list[tuple[str, ...]]:
    """The terms that the data can tell apart: every combination of factors with its own grouping.

    `nested` says within what a factor's levels live (`{"seed": "model"}`): seed 0 of one model is not seed 0 of
    another. A grouping that leaves (nearly) every observation alone is the residual; of equal ones the first is kept.
    """
    n = len(next(iter(factors.values())))
    terms: list[tuple[str, ...]] = []
    known_codes: list[Ints] = []
    for size in range(1, len(factors) + 1):
        for names in combinations(factors, size):
            if any(inner in names and outer in factors and outer not in names for inner, outer in nested.items()):
                continue
            codes = combine_factors(factors, names)
            groups = int(codes.max()) + 1
            # A factor with a level for nearly every observation cannot be told from the residual.
            if 1 < groups < 0.95 * n and not any(_is_same_grouping(codes, known) for known in known_codes):
                terms.append(names)
                known_codes.append(codes)
    return terms


def estimate_components(
    score: Floats,
    factors: Mapping[str, Ints],
    terms: Sequence[tuple[str, ...]],
    *,
    generator: np.random.Generator,
    sets: int = 200,
) -> Components:
    """Estimate the components of `score` (n,) for the terms given, with intervals from `sets` simulated tables."""
    codes = [combine_factors(factors, names) for names in terms]
    n = len(score)
    if n < 2:
        raise InputError("One observation has no variance; two or more are needed.")
    expected = _expect_squares(codes, n)
    if np.linalg.cond(expected) > 1e12:
        raise InputError(
            f"These {n} observations cannot tell {', '.join(':'.join(t) for t in terms)} and the residual apart. "
            "Name fewer factors: --factors model,seed,item"
        )
    inverse = np.linalg.inv(expected)  # of a handful of terms, and used again for every simulated table
    sizes = [np.bincount(code) for code in codes]
    values = inverse @ _sum_squares(score, codes, sizes)
    values[np.abs(values) < ROUNDING * np.abs(values).max()] = 0.0  # else a zero is below zero on some processors
    draws = np.empty((sets, len(values)))
    for row in draws:
        row[:] = inverse @ _sum_squares(_simulate_scores(values, codes, sizes, n, generator), codes, sizes)
    total = np.maximum(values, 0).sum()
    levels = [*map(len, sizes), n]
    freedoms = _count_freedoms(terms, levels)
    parts = []
    for k, (names, freedom) in enumerate(zip([*terms, (RESIDUAL,)], freedoms, strict=True)):
        low, high = _bound_component(values[k], draws[:, k], freedom)
        share = max(values[k], 0.0) / total if total else 0.0
        parts.append(
            Component(":".join(names), names, levels[k], float(values[k]), share, low, high, freedom, draws[:, k])
        )
    return Components(
        n, float(score.mean()), tuple(parts), {name: int(code.max()) + 1 for name, code in factors.items()}
    )


def combine_factors(factors: Mapping[str, Ints], names: Sequence[str]) -> Ints:
    """Codes 0..groups-1 of the combinations of the named factors that occur."""
    codes = np.zeros(len(factors[names[0]]), dtype=np.int64)
    for name in names:
        codes = codes * (int(factors[name].max()) + 1) + factors[name]
        # Counting is faster than sorting, as long as the crossed codes do not run far beyond the observations.
        occurring = np.bincount(codes) if codes.max() < 4 * len(codes) + 1000 else None
        codes = np.unique(codes, return_inverse=True)[1] if occurring is None else (np.cumsum(occurring > 0) - 1)[codes]
    return np.asarray(codes, dtype=np.int64)


def _is_same_grouping(first: Ints, second: Ints) -> bool:
    """Whether two groupings are equal: as many groups each as together."""
    groups = int(first.max()) + 1
    if groups != int(second.max()) + 1:
        return False
    return int(combine_factors({"one": first, "other": second}, ("one", "other")).max()) + 1 == groups


def _sum_squares(score: Floats, codes: Sequence[Ints], sizes: Sequence[Ints]) -> Floats:
    """Sum of squares within the groups of every term, of these sizes, and about the mean."""
    centred = score - score.mean()  # else large means lose the digits of a small spread
    total = float(centred @ centred)
    within = [total - float((np.bincount(c, centred) ** 2 / size).sum()) for c, size in zip(codes, sizes, strict=True)]
    return np.array([*within, total])


def _expect_squares(codes: Sequence[Ints], n: int) -> Floats:
    """Row f, column g: weight of component g in the expectation of the sum of squares within the groups of f.

    It is n - sum over groups l of f of (sum over k in l of n_lk^2) / n_l, with n_lk the observations in l and in group
    k of g; the last row is the whole table (one group), the last column the residual (every observation its own).
    """
    k = len(codes)
    expected = np.empty((k + 1, k + 1))
    everything = np.zeros(n, dtype=np.int64)
    for row, within in enumerate([*codes, everything]):
        size = np.bincount(within)
        for column, column_codes in enumerate(codes):
            # Sparse, because the full table of pairs by raters of a million votes fits in no memory.
            table = sparse.coo_matrix((np.ones(n), (within, column_codes))).tocsr()
            table.data **= 2
            expected[row, column] = n - float((np.asarray(table.sum(1)).ravel() / size).sum())
        expected[row, k] = n - len(size)
    return expected


def _simulate_scores(
    values: Floats, codes: Sequence[Ints], sizes: Sequence[Ints], n: int, generator: np.random.Generator
) -> Floats:
    """Scores of a normal model with these components on the same design."""
    values_drawn: Floats = np.sqrt(max(values[-1], 0.0)) * generator.standard_normal(n)
    for value, code, size in zip(values, codes, sizes, strict=False):
        if value > 0:
            values_drawn += np.sqrt(value) * generator.standard_normal(len(size))[code]
    return values_drawn


def _count_freedoms(terms: Sequence[tuple[str, ...]], levels: Sequence[int]) -> list[int]:
    """Degrees of freedom of every term and of the residual: groups less those of the terms within, at least 1."""
    freedoms: dict[tuple[str, ...], int] = {}
    for names, groups in zip(terms, levels, strict=False):
        freedoms[names] = max(groups - 1 - sum(part for inner, part in freedoms.items() if set(inner) < set(names)), 1)
    return [*freedoms.values(), max(levels[-1] - 1 - sum(freedoms.values()), 1)]


def _bound_component(value: float, draws: Floats, freedom: int) -> tuple[float, float]:
    """Modified large-sample interval (Graybill and Wang 1980), never below zero.

    A component is a mean square less what noise adds to it. Its error is taken to be that of the mean square, whose
    ends are chi-square's; the estimate is moved by as much. Without noise this is the exact interval of a variance,
    with many groups it is the normal one, and it holds zero where noise may have made the estimate.
    """
    spread = float(draws.std(ddof=1)) if len(draws) > 1 else np.nan
    square = spread * np.sqrt(freedom / 2)
    below, above = 1 - freedom / chi_square(0.975, freedom), freedom / chi_square(0.025, freedom) - 1
    return max(float(value - square * below), 0.0), max(float(value + square * above), 0.0)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many levels the mean of one level of `target` averages: by factor, and by term (`residual`: observations).

    A term's number is the effective one: thirty raters of whom five did most of the work are fewer.
    """

    target: str | None  # None: the mean of everything
    sizes: Mapping[str, float]
    counts: Mapping[str, float]
    around: frozenset[str] = frozenset()  # factors that hold another one's levels whole, as dialogues hold pairs


@dataclass(frozen=True, slots=True)
class Design:
    """One line of a D-study: how a study of this size would measure its target."""

    sizes: Mapping[str, float]
    observations: float  # per level of the target
    se: float  # of one level's mean compared with the others (relative error); of the mean itself without a target
    generalizability: float  # E rho^2: for ranking
    dependability: float  # Phi: for the level itself


def study_sizes(factors: Mapping[str, Ints], components: Components, target: str | None) -> Sizes:
    """The sizes of the study that gave these components."""
    levels = {} if target is None else {target: int(factors[target].max()) + 1}

    def count_groups(names: Sequence[str]) -> float:
        """Groups of these factors that one level of the target meets, on average."""
        joint = names if target is None or target in names else (target, *names)
        return (int(combine_factors(factors, joint).max()) + 1) / levels.get(target or "", 1)

    sizes = {name: count_groups((name,)) for name in factors if name != target}
    target_codes = np.zeros(components.n, np.int64) if target is None else factors[target]
    counts = {
        part.name: _count_effective_groups(combine_factors(factors, part.factors), target_codes)
        for part in components.parts
        if part.name != RESIDUAL
    }
    around = frozenset(
        outer for outer in sizes for inner in sizes if inner != outer and count_groups((inner, outer)) == sizes[inner]
    )
    return Sizes(target, sizes, {**counts, RESIDUAL: components.n / levels.get(target or "", 1)}, around)


def _count_effective_groups(codes: Ints, target: Ints) -> float:
    """Of so many groups of equal size the mean of one level of the target would have the same error (Kish)."""
    size = np.bincount(target).astype(np.float64)
    joint = combine_factors({"target": target, "group": codes}, ("target", "group"))
    target_of_cell = np.zeros(int(joint.max()) + 1, np.int64)
    target_of_cell[joint] = target
    squares = np.bincount(target_of_cell, np.bincount(joint).astype(np.float64) ** 2, len(size))
    return 1 / float((squares / size**2).mean())


def resize_study(study: Sizes, components: Components, sizes: Mapping[str, float]) -> Sizes:
    """The same kind of study with other sizes: a term grows with each of its factors, the residual with all.

    As many pairs in twice the dialogues are as many observations, so what holds others whole adds none.
    """
    ratio = {name: sizes.get(name, size) / size for name, size in study.sizes.items()}
    adding = [name for name in ratio if name not in study.around]
    counts = {
        part.name: study.counts[part.name]
        * float(np.prod([ratio.get(name, 1.0) for name in (adding if part.name == RESIDUAL else part.factors)]))
        for part in components.parts
    }
    return Sizes(
        study.target, {name: sizes.get(name, size) for name, size in study.sizes.items()}, counts, study.around
    )


def error_variance(components: Components, study: Sizes, *, absolute: bool = False) -> float:
    """Error variance of the mean of one level of the target.

    Each term counts with its variance over its number of levels. Terms without the target are shared by all its levels
    and cancel in comparisons (`absolute` keeps them). The residual holds the interaction of everything.
    """
    value = 0.0
    for part in components.parts:
        shared = study.target is not None and study.target not in part.factors and part.name != RESIDUAL
        if part.factors != (study.target,) and (absolute or not shared):
            value += max(part.value, 0.0) / study.counts[part.name]
    return value


def evaluate_design(components: Components, study: Sizes) -> Design:
    """Error and generalisability of a study (a D-study: Brennan 2001; Shavelson and Webb 1991)."""
    truth = next((max(part.value, 0.0) for part in components.parts if part.factors == (study.target,)), float("nan"))
    relative, absolute = error_variance(components, study), error_variance(components, study, absolute=True)
    shares = (_share_of_truth(truth, error) for error in (relative, absolute))
    return Design(study.sizes, study.counts[RESIDUAL], float(np.sqrt(relative)), *shares)


def _share_of_truth(truth: float, error: float) -> float:
    return truth / (truth + error) if truth + error > 0 else float("nan")
