"""Systems side by side on the dialogues that all of them answered: ranks with intervals, and neighbours paired.

A dialogue that is hard for one system is hard for the next, so differences are drawn dialogue by dialogue; neighbours
are tested by the spread of the drawn differences, and Holm's correction is over all neighbours.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from seedvote.evaluators.task.rates import Rate

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RankedSystem:
    """One system among all: its rank with 95 % of its ranks, and the step down to the next."""

    system: str
    score: float
    rank: int
    best: int
    worst: int
    step: float | None = None  # to the next; nothing for the last
    step_low: float | None = None
    step_high: float | None = None
    p: float | None = None  # Holm's, over all neighbours


def ranked(scores: Mapping[str, Rate]) -> list[RankedSystem]:
    """The systems from best to worst by scores that were drawn on the same dialogues."""
    order = sorted(scores, key=lambda name: -scores[name].value)
    draws = np.array([scores[name].draws for name in order])
    ranks = 1 + (draws[None] > draws[:, None]).sum(1)
    best, worst = np.quantile(ranks, (0.025, 0.975), axis=1, method="nearest")
    steps = draws[:-1] - draws[1:]
    low, high = np.quantile(steps, (0.025, 0.975), axis=1)
    gaps = [scores[a].value - scores[b].value for a, b in pairwise(order)]
    p = holm_p_values([_two_sided(gap, float(step.std(ddof=1))) for gap, step in zip(gaps, steps, strict=True)])
    pairs = []
    for n, name in enumerate(order):
        step = (gaps[n], float(low[n]), float(high[n]), p[n]) if n < len(gaps) else ()
        pairs.append(RankedSystem(name, scores[name].value, n + 1, int(best[n]), int(worst[n]), *step))
    return pairs


def holm_p_values(values: Sequence[float]) -> list[float]:
    """P values adjusted for their number (Holm 1979); the twin of analysis.stats.sign_tests.holm."""
    p_values = np.array(values, dtype=float)
    order = p_values.argsort(kind="stable")
    p_values[order] = np.minimum(np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1)), 1.0)
    return [float(p) for p in p_values]


def _two_sided(gap: float, error: float) -> float:
    return math.erfc(abs(gap) / error / math.sqrt(2)) if error > 0 else float(gap == 0)
