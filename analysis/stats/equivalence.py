"""Equivalence: "alike within a margin stated beforehand" (two one-sided tests, Schuirmann 1987).

A difference that is not significant shows nothing; equivalence is a separate claim and needs its own test. The margin
is the smallest difference that would matter, chosen before the votes are seen: there is no default.
"""

from __future__ import annotations

from dataclasses import dataclass

from seedvote.analysis.stats.net_preference import NetEstimate
from seedvote.dialogue.errors import InputError


@dataclass(frozen=True, slots=True)
class Equivalence:
    """TOST of `estimate` against (-margin, margin); equivalent at `alpha` exactly if [low, high] lies inside."""

    estimate: float
    se: float
    margin: float
    p: float
    low: float  # of the 1 - 2 alpha interval
    high: float
    alpha: float

    @property
    def equivalent(self) -> bool:
        """Whether the claim "closer to zero than the margin" holds at `alpha`."""
        return self.p < self.alpha


def tost(net: NetEstimate, margin: float, *, alpha: float = 0.05) -> Equivalence:
    """Two one-sided tests, by the limits of the net preference."""
    if not margin > 0:
        raise InputError(f"The margin must be above 0. Got {margin!r}; name the smallest difference that matters.")
    nearest = margin if net.value >= 0 else -margin
    tails = [net.tail(null) for null in (margin, -margin)]
    if abs(net.value) >= margin:
        p = 1 - net.tail(nearest) if abs(net.value) > margin else 0.5
    else:
        p = max(tails)
    return Equivalence(net.value, net.se, margin, p, *net.limits(alpha), alpha)


def smallest_claim(net: NetEstimate, *, alpha: float = 0.05) -> float:
    """The margin above which `tost` makes the claim: the limit that is further from zero."""
    low, high = net.limits(alpha)
    return max(-low, high)
