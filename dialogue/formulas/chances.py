"""Exact chances, without numpy: the rating server computes them, too."""

from __future__ import annotations

import math


def binomial_tail(number: int, trials: int, p: float) -> float:
    """Probability of `number` or more successes in `trials` independent trials (binomial upper tail), exact.

    >>> round(binomial_tail(2, 3, 0.5), 6)
    0.5
    """
    if number <= 0 or p >= 1:
        return 1.0
    if p <= 0:
        return 0.0
    logs = (
        math.lgamma(trials + 1)
        - math.lgamma(x + 1)
        - math.lgamma(trials - x + 1)
        + x * math.log(p)
        + (trials - x) * math.log1p(-p)
        for x in range(number, trials + 1)
    )
    return min(1.0, math.fsum(map(math.exp, logs)))
