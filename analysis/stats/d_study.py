"""D-studies: what the variance components say of a study of another size (generalisability theory).

The models' true differences against the error of a study with so many seeds, items and raters (Brennan 2001; Shavelson
and Webb 1991).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.stats.components import RESIDUAL, Components, combine_factors

Ints = NDArray[np.int64]


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
    """Error and generalisability of a study."""
    truth = next((max(part.value, 0.0) for part in components.parts if part.factors == (study.target,)), float("nan"))
    relative, absolute = error_variance(components, study), error_variance(components, study, absolute=True)
    shares = (_share_of_truth(truth, error) for error in (relative, absolute))
    return Design(study.sizes, study.counts[RESIDUAL], float(np.sqrt(relative)), *shares)


def _share_of_truth(truth: float, error: float) -> float:
    return truth / (truth + error) if truth + error > 0 else float("nan")
