"""What a net preference says of raters: of these alone where they are few, and as a mean with equal weight for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from analysis.showing.tables import MOST_ROWS, Table, in_short
from analysis.showing.words import count, number, p_value
from analysis.stats.intervals import groups, kish, mean_interval
from analysis.stats.net_preference import interval_of, net_estimate
from analysis.stats.sign_tests import holm
from analysis.votes.clusters import clusters_of
from analysis.votes.systems import Contrast
from analysis.votes.votes import net_scores

FEW_RATERS = 8  # effective ones: below it an answer for these raters alone stands beside that for new raters
EVEN = 0.9  # of the number of raters: with as many effective ones both means are nearly the same
NEAR = ("comparisons", "first in the list")


@dataclass(frozen=True, slots=True)
class RaterNet:
    """A net preference of two systems; p is adjusted for all comparisons (Holm)."""

    first: str
    second: str
    raters: int
    value: float
    low: float
    high: float
    p: float
    p_holm: float


def of_these_raters(contrasts: Sequence[Contrast], clusters: str) -> tuple[RaterNet, ...]:
    """For these raters on new pairs or dialogues, where their votes are worth those of few; else nothing."""
    found = []
    for contrast in contrasts:
        ways = clusters_of(contrast.votes, clusters, part=True)
        raters = ways.pop("rater", None)
        if raters is None or not ways or kish(raters) >= FEW_RATERS:
            return ()
        found.append(_net(contrast, ways, groups(raters), None))
    return _adjusted(found)


def over_raters(contrasts: Sequence[Contrast], clusters: str) -> tuple[RaterNet, ...]:
    """The mean over raters, each of whom counts the same, where they gave unequal numbers of votes; else nothing."""
    found = []
    for contrast in contrasts:
        ways = clusters_of(contrast.votes, clusters, part=True)
        raters = ways.get("rater")
        if raters is None or kish(raters) > EVEN * groups(raters):
            continue
        found.append(_net(contrast, ways, groups(raters), 1 / np.bincount(raters)[raters]))
    return _adjusted(found)


def _net(contrast: Contrast, by: dict[str, Any], raters: int, weights: Any) -> RaterNet:
    values = net_scores(contrast.votes.choice)
    net = net_estimate(values, by=by, weights=weights)
    interval = interval_of(net, mean_interval(values, by=by))
    return RaterNet(contrast.first, contrast.second, raters, net.value, interval.low, interval.high, net.p, net.p)


def _adjusted(found: Sequence[RaterNet]) -> tuple[RaterNet, ...]:
    adjusted = holm(np.array([net.p for net in found]))
    return tuple(
        RaterNet(net.first, net.second, net.raters, net.value, net.low, net.high, net.p, float(p))
        for net, p in zip(found, adjusted, strict=True)
    )


def raters_document(nets: Sequence[RaterNet]) -> list[dict[str, Any]]:
    """One row of `--json` for each comparison."""
    return [asdict(net) for net in nets]


def fixed_parts(nets: Sequence[RaterNet]) -> list[Table | str]:
    """The answer for these raters alone, and what it leaves open."""
    if not nets:
        return []
    raters = count(max(net.raters for net in nets), "rater")
    shown = sum(net.p_holm < 0.05 for net in nets)
    among = f"{shown} of {count(len(nets), 'comparison')}" if len(nets) > 1 else "the comparison" if shown else "none"
    return [
        _table(nets, f"For these {raters} alone, on new pairs"),
        f"For these {raters}, a preference is shown in {among}. The other intervals allow for new raters as well.",
    ]


def mean_parts(nets: Sequence[RaterNet]) -> list[Table | str]:
    """The means over raters, and how they differ from those over votes."""
    if not nets:
        return []
    return [
        "A net preference is the mean over votes, so raters who gave more votes count for more.",
        _table(nets, "Mean over raters, each counting the same"),
    ]


def _table(nets: Sequence[RaterNet], caption: str) -> Table:
    head = ("first", "second", "raters", "net", "95 % interval", "p", "p (Holm)")
    rows = [
        (net.first, net.second, str(net.raters), f"{net.value:+z.3f}", f"{number(net.low)} to {number(net.high)}",
         p_value(net.p), p_value(net.p_holm))
        for net in nets
    ]  # fmt: skip
    return in_short(Table(head, rows, caption), *NEAR)[0] if len(rows) > MOST_ROWS else Table(head, rows, caption)
