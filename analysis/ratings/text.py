"""Says which system is rated higher: the document of `--json`, tables and sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis.ratings.answer import RatingDifference, RatingsAnswer
from analysis.showing.tables import Table
from analysis.showing.words import p_value, plain


def document(found: RatingsAnswer) -> dict[str, Any]:
    """Every number, under the keys of `--json`."""
    rows = [asdict(one) for one in found.differences]
    shown: dict[str, Any] = plain(
        {"scale": list(found.scale), "differences": rows, "warnings": list(found.warnings), "recipe": found.signature}
    )
    return shown


def parts(found: RatingsAnswer) -> list[Table | str]:
    """The tables, the sentences, the recipe."""
    return [difference_table(found), *_sentences(found), *on_the_scale(found), *found.warnings, found.signature]


def difference_table(found: RatingsAnswer) -> Table:
    """One row for every two systems."""
    head = ("systems", "pairs", "means", "difference (95 %)", "p", "p (Holm)", "odds ratio (95 %)",
            "higher / equal / lower", "net")  # fmt: skip
    rows = [
        (
            f"{one.first} - {one.second}", f"{one.difference.n:,}", f"{one.means[0]:.2f}, {one.means[1]:.2f}",
            f"{one.difference.value:+z.3f} ({one.difference.low:+z.3f} to {one.difference.high:+z.3f})",
            p_value(one.p), p_value(one.p_holm), _odds(one), f"{one.higher} / {one.equal} / {one.lower}",
            f"{one.net.value:+z.3f}",
        )
        for one in found.differences
    ]  # fmt: skip
    return Table(head, rows, "Differences of paired ratings")


def _odds(one: RatingDifference) -> str:
    return "-" if one.odds is None else f"{one.odds.ratio:.2f} ({one.odds.low:.2f} to {one.odds.high:.2f})"


def _sentences(found: RatingsAnswer) -> Iterator[str]:
    for one in found.differences:
        led, other = (one.first, one.second) if one.difference.value >= 0 else (one.second, one.first)
        shown = "is rated higher than" if one.p_holm < 0.05 else "is not shown to be rated higher than"
        p = p_value(one.p_holm)
        yield f"{led} {shown} {other} (p {'' if p.startswith('<') else '= '}{p} after Holm's correction)."


def on_the_scale(found: RatingsAnswer) -> Iterator[str]:
    """What the numbers take for granted, and why one may be missing."""
    low, high = found.scale
    yield f"The ratings run from {low:g} to {high:g}. A mean takes these steps as equal; the odds ratio does not."
    if any(math.isnan(one.p) for one in found.differences):
        yield "Where all differences are alike, nothing tells how far they would vary: no p, and the interval is none."
    if any(one.odds is None for one in found.differences):
        yield "Where ratings do not overlap, or are all alike, there is no odds ratio."
