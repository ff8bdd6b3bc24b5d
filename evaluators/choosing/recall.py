"""R@k and the reciprocal rank of the true option, where several options may have the same score.

By default a tie is shared: of `better` options above the truth and `tied` equal to it, R@k is the chance that a random
order of the tied ones puts the truth among the first k. So equal scores for all options give exactly k / options. The
`middle` rule, which some published numbers follow, ranks the truth in the middle of its ties; it can give a rule and
its opposite more than they have together by chance, so it is not the default.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ties = Literal["shared", "middle"]
TIES: tuple[Ties, ...] = get_args(Ties)
CUTS = (1, 2)
EQUAL = 1e-9  # scores nearer than this are ties: sums in another order differ by less


def recalled(scores: Floats, answer: int, ties: Ties = "shared") -> tuple[float, float, float]:
    """R@1, R@2 and the reciprocal rank of option `answer` under scores (options,); NaN where a score is missing.

    >>> recalled(np.zeros(5), 3)
    (0.2, 0.4, 0.4566666666666667)
    """
    if np.isnan(scores).any():
        return (float("nan"),) * 3
    # Infinities are equal to themselves, though their difference is no number.
    same = (scores == scores[answer]) | (np.abs(_finite(scores) - _finite(scores)[answer]) <= EQUAL)
    better, tied = int((~same & (scores > scores[answer])).sum()), int(same.sum())
    if ties == "middle":
        rank = better + (tied - 1) / 2
        return float(rank < CUTS[0]), float(rank < CUTS[1]), 1 / (rank + 1)
    first, second = (min(max((k - better) / tied, 0.0), 1.0) for k in CUTS)
    return first, second, float(np.mean(1 / (better + 1 + np.arange(tied))))


def _finite(scores: Floats) -> Floats:
    return np.nan_to_num(scores, posinf=1e300, neginf=-1e300)


def recall_table(scores: Sequence[Floats], answers: Sequence[int], ties: Ties = "shared") -> Floats:
    """R@1, R@2 and the reciprocal rank of every question: (questions, 3)."""
    return np.array([recalled(row, answer, ties) for row, answer in zip(scores, answers, strict=True)]).reshape(-1, 3)


def by_chance(options: Sequence[int]) -> tuple[float, float, float]:
    """What guessing gets on questions of so many options each."""
    rates = np.array([recalled(np.zeros(k), 0) for k in sorted(set(options))])
    often = np.array([options.count(k) for k in sorted(set(options))], dtype=float)
    first, second, rank = (rates * (often / often.sum())[:, None]).sum(0).tolist()
    return first, second, rank
