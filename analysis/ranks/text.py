"""Says which system is ranked higher: the document of `--json`, tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis.ranks.answer import RanksAnswer
from analysis.showing.tables import Table
from analysis.showing.words import p_value, plain
from analysis.stats.intervals import Interval

TOGETHER = (
    "The ranks of one ranking hang together, so the comparisons that it implies are never counted as independent "
    "votes: the intervals allow for {ways}."
)


def document(found: RanksAnswer) -> dict[str, Any]:
    """Every number, under the keys of `--json`."""
    shown: dict[str, Any] = plain(
        {
            "systems": [asdict(one) for one in found.systems],
            "pairs": [asdict(one) for one in found.pairs],
            "rankings": found.rankings,
            "warnings": list(found.warnings),
            "recipe": found.signature,
        }
    )
    return shown


def parts(found: RanksAnswer) -> list[Table | str]:
    """The tables, the sentences, the recipe."""
    tables = [mean_ranks_table(found), comparison_table(found)]
    return [*tables, *rank_sentences(found), together(found), *found.warnings, found.signature]


def new_of_ranks(found: RanksAnswer) -> str:
    """What the intervals draw anew, in words: `items and raters`; empty where every row stands alone."""
    return " and ".join("items" if way == "pair" else f"{way}s" for way in found.pairs[0].difference.clusters)


def together(found: RanksAnswer) -> str:
    """What the intervals allow for."""
    ways = new_of_ranks(found)
    return TOGETHER.format(ways=f"new {ways}") if ways else "Neither items nor raters repeat: every row stands alone."


def mean_ranks_table(found: RanksAnswer) -> Table:
    """A line for every system, the best first."""
    rows = [(one.system, f"{one.mean.n:,}", f"{one.mean.value:.3f} ({_ends(one.mean)})") for one in found.systems]
    head = ("system", "rankings", "mean rank (95 %)")
    return Table(head, rows, f"Mean ranks over {found.rankings:,} rankings, 1 the best")


def comparison_table(found: RanksAnswer) -> Table:
    """A line for every two systems."""
    head = ("systems", "rankings", "ranks higher by (95 %)", "p", "p (Holm)", "above / equal / below", "net (95 %)")
    rows = [
        (
            f"{one.first} - {one.second}", f"{one.difference.n:,}", _signed(one.difference), p_value(one.p),
            p_value(one.p_holm), f"{one.above} / {one.equal} / {one.below}", _signed(one.net),
        )
        for one in found.pairs
    ]  # fmt: skip
    return Table(head, rows, "Differences of ranks in the same ranking")


def _ends(one: Interval) -> str:
    return f"{one.low:.3f} to {one.high:.3f}"


def _signed(one: Interval) -> str:
    return f"{one.value:+z.3f} ({one.low:+z.3f} to {one.high:+z.3f})"


def rank_sentences(found: RanksAnswer) -> Iterator[str]:
    """What is shown, and what is not."""
    for one in found.pairs:
        led, other = (one.first, one.second) if one.difference.value >= 0 else (one.second, one.first)
        shown = "is ranked higher than" if one.p_holm < 0.05 else "is not shown to be ranked higher than"
        p = p_value(one.p_holm)
        yield f"{led} {shown} {other} (p {'' if p.startswith('<') else '= '}{p} after Holm's correction)."
    if any(math.isnan(one.p) for one in found.pairs):
        yield "Where all differences are alike, nothing tells how far they would vary: no p, and the interval is none."
