"""The HumanExp curves of the dashboard: the exact law of the tie share in a set of votes drawn without replacement.

Of N votes K are ties; the number of ties in a set of n follows the hypergeometric law
P(x) = C(K, x) C(N - K, n - x) / C(N, n), here by logarithms of the gamma function (Johnson, Kemp and Kotz,
Univariate Discrete Distributions, section 6.2). Figures for a paper come from `python -m analysis`, not from here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence


# Twin of hypergeometric in analysis/stats/laws.py: the server imports no SciPy. tests/house/test_twins.py holds the
# two equal.
def law_of_ties(votes: int, ties: int, size: int) -> list[float]:
    """P(x ties in the set) for x = 0..drawn.

    >>> [round(p, 3) for p in law_of_ties(4, 2, 2)]
    [0.167, 0.667, 0.167]
    """
    everything = _log_choose(votes, size)
    return [
        math.exp(_log_choose(ties, x) + _log_choose(votes - ties, size - x) - everything)
        if 0 <= size - x <= votes - ties and x <= ties
        else 0.0
        for x in range(size + 1)
    ]


def set_size(pairs: int) -> int:
    """Votes in a set: 200 as in the paper, a tenth of the pairs in a smaller study, never fewer than 10.

    >>> [set_size(pairs) for pairs in (2000, 300, 24)]
    [200, 30, 10]
    """
    return min(200, max(10, pairs // 10))


def polyline(law: Sequence[float], top: float, width: float, height: float) -> str:
    """The law as `points` of an SVG polyline: x is the tie share from 0 to 1, y the probability up to `top`."""
    last = len(law) - 1
    return " ".join(f"{x / last * width:.1f},{height - p / top * height:.1f}" for x, p in enumerate(law))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
