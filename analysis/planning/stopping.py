"""Whether a running study may stop at this look, decided so that looking again and again costs no false alarms.

A look is taken at each comparison of two systems; the formulas are those of stats.sequential.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from analysis.reading.clusters import clusters_of
from analysis.reading.systems import Contrast
from analysis.reading.votes import net_scores
from analysis.stats.intervals import mean_interval
from analysis.stats.sequential import Now, betting, mixture

FIRST_LOOK = 20  # clusters of the rarer kind: with fewer, a clustered standard error is too small to stop by
Verdict = Literal["too early", "no spread", "open", "preferred", "alike"]


@dataclass(frozen=True, slots=True)
class Bet:
    """The exact bet on the means of pairs: evidence against no preference, its interval, and where it could stop."""

    pairs: int
    e: float
    low: float
    high: float
    stop: int | None


@dataclass(frozen=True, slots=True)
class Look:
    """One comparison of a running study at this look; `now` is None where there is no always-valid interval yet."""

    first: str
    second: str
    votes: int
    clusters: int
    bet: Bet
    verdict: Verdict
    now: Now | None = None

    @property
    def leader(self) -> str:
        """The system that is ahead."""
        return self.second if self.now is not None and self.now.estimate < 0 else self.first


def look(contrast: Contrast, *, difference: float, alpha: float, margin: float | None) -> Look:
    """Whether a comparison may stop; two systems count as equivalent only within a stated margin (None: not stated)."""
    votes = contrast.votes
    clusters = min((len(np.unique(codes)) for codes in clusters_of(votes).values()), default=len(votes))
    scores = net_scores(votes.choice)
    place = contrast.first, contrast.second, len(votes), clusters, _bet(votes.pair, scores, alpha)
    if clusters < FIRST_LOOK:
        return Look(*place, "too early")
    net = mean_interval(scores, by=clusters_of(votes))
    if net.se == 0:
        return Look(*place, "no spread")
    now = mixture(net.value, net.se, scale=difference, alpha=alpha)
    return Look(*place, _verdict(now, margin), now)


def _bet(pair: np.ndarray[Any, Any], scores: np.ndarray[Any, Any], alpha: float) -> Bet:
    """Bet on the means of pairs in the order of the file: a stake may know only the pairs before it."""
    _, first, code = np.unique(pair, return_index=True, return_inverse=True)
    means = (np.bincount(code, scores) / np.bincount(code))[np.argsort(first)]
    path = betting(means, alpha=alpha)
    return Bet(len(means), float(path.e[-1]), float(path.low[-1]), float(path.high[-1]), path.stop)


def _verdict(now: Now, margin: float | None) -> Verdict:
    if now.low > 0 or now.high < 0:
        return "preferred"
    return "alike" if margin is not None and -margin < now.low and now.high < margin else "open"
