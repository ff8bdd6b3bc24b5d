"""The report's section on which system is rated higher: the answer's numbers, none of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.ratings.answer import RatingDifference, RatingsAnswer
from analysis.ratings.text import on_the_scale, rating_tables
from analysis.showing.page import Axis, Row, RowFigure, Section, round_steps
from analysis.showing.tables import MOST_ROWS, in_short
from analysis.showing.words import among_comparisons, count, p_equals, signed

PAIRED = (
    "The two ratings of one item by one person belong together, so what is compared is their difference, in steps of "
    "the scale. The intervals allow for new {ways}."
)
MODELLED = (
    "The differences are those of a linear mixed model, in steps of the scale. The intervals allow for new {ways}."
)


def section(answer: RatingsAnswer | None) -> Section | None:
    """Differences of means in one figure; odds ratios and net preferences in the table."""
    if answer is None:
        return None
    what = MODELLED if answer.mixed else PAIRED
    tables = [part for table in rating_tables(answer) for part in in_short(table, "comparisons", "with the smallest p")]
    return Section(
        "rated", "Which is rated higher", (what.format(ways=new_units(answer)),), tuple(_figures(answer.differences)),
        items=tuple(on_the_scale(answer)), tables=tuple(tables), notes=answer.warnings,
    )  # fmt: skip


def new_units(answer: RatingsAnswer) -> str:
    """What the intervals draw anew, in words: `items and raters`; the pairs of ratings on one item are that item."""
    ways = answer.differences[0].difference.clusters or ("rating",)
    return " and ".join("items" if way == "pair" else f"{way}s" for way in ways)


def rated_findings(answer: RatingsAnswer) -> list[str]:
    """What was found, the largest difference that was shown first."""
    shown = [one for one in answer.differences if one.p_holm < 0.05]
    largest = max(shown or answer.differences, key=lambda one: abs(one.difference.value))
    return [among_comparisons("ratings", len(shown), len(answer.differences), _found(largest, bool(shown)))]


def rated_title(answer: RatingsAnswer) -> str:
    """The question that the ratings answer, with the leader of two systems first."""
    one = answer.differences[0]
    if len(answer.differences) == 1:
        led, other = (one.first, one.second) if one.difference.value >= 0 else (one.second, one.first)
        return f"Is {led} rated higher than {other}?"
    names = {name for one in answer.differences for name in (one.first, one.second)}
    return f"Which of {len(names)} systems is rated highest?"


def _found(one: RatingDifference, shown: bool) -> str:
    if not one.difference.value:
        return f"No difference between {one.first} and {one.second} was shown: both have a mean of {one.means[0]:.2f}."
    ahead = one.difference.value >= 0
    led, other = (one.first, one.second) if ahead else (one.second, one.first)
    means = one.means if ahead else one.means[::-1]
    sizes = f"{means[0]:.2f} against {means[1]:.2f} on average"
    if math.isfinite(one.difference.low):
        ends = (one.difference.low, one.difference.high) if ahead else (-one.difference.high, -one.difference.low)
        sizes += f"; difference {signed(abs(one.difference.value), 2)}, 95 % interval {_reach(*ends)}"
    if math.isfinite(one.p_holm):
        sizes += f"; {p_equals(one.p_holm)}"
    verb = "is rated higher than" if shown else "is not shown to be rated higher than"
    return f"{led} {verb} {other} ({sizes})."


def _reach(low: float, high: float) -> str:
    return f"{signed(low, 2)} to {signed(high, 2)}"


def _figures(found: Sequence[RatingDifference]) -> list[RowFigure]:
    """One line for every two systems whose difference has an interval; of very many those with the most ratings."""
    drawn = [one for one in found if math.isfinite(one.difference.low)]
    if not drawn:
        return []
    title = "Differences of ratings with their 95 % interval"
    if len(drawn) > MOST_ROWS:
        drawn = sorted(drawn, key=lambda one: -one.difference.n)[:MOST_ROWS]
        title += f": the {MOST_ROWS} with the most ratings, of {len(found):,}"
    ends = [end for one in drawn for end in (one.difference.low, one.difference.high, 0.0)]
    margin = 0.05 * (max(ends) - min(ends) or 1)
    axis = Axis(min(ends) - margin, max(ends) + margin)
    rows = tuple(
        Row(f"{one.first} over {one.second}", f"{signed(gap.value, 2)} ({_reach(gap.low, gap.high)})",
            axis.interval(gap.low, gap.value, gap.high),
            described=f"difference {signed(gap.value, 2)} from {count(gap.n, 'pair')} of ratings")
        for one in drawn for gap in [one.difference]
    )  # fmt: skip
    unit = "steps of the scale, first minus second"
    return [RowFigure(title, rows, axis.ticks(round_steps(axis.low, axis.high)), unit,
                      ((axis.at(0), "no difference"),), note_head="steps (95 % interval)", name="ratings")]  # fmt: skip
