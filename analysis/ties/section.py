"""The report's section on ties: the law of the tie share in sets of every HumanExp, and what it hides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.showing.page import HUES, Axis, Mark, Row, RowFigure, Section, curve, round_steps
from analysis.showing.tables import Table
from analysis.showing.words import count, p_value, percent
from analysis.stats.intervals import Interval
from analysis.stats.laws import CHANCE, Law, density
from analysis.ties.answer import Curve, TiesAnswer
from analysis.ties.text import RESAMPLED, majority
from analysis.votes.study import Study

SET = 200  # judgements in a set, as in the papers
ROOM = 55.0  # percent of the width that the names of two lines take up on a phone


def section(answer: TiesAnswer | None, study: Study) -> Section | None:
    """Where the votes' spread comes from, with every number in the tables, and every caution."""
    if answer is None:
        return None
    size, rounds = answer.recipe.size, len(answer.experiments)
    text = [
        f"The share of ties in sets of {count(size, 'judgement')} drawn vote by vote, as in the papers, follows a "
        f"hypergeometric distribution. Its width depends only on the share, the size of the set and that of the "
        f"experiment, whatever the raters did. A new study would have new dialogues and new raters, so its share would "
        f"vary more."
    ]
    if size < (asked := asked_size(study)):
        text.append(f"A set is half of the smallest experiment here, because that has fewer than {asked} votes.")
    if rounds > 1:
        text.append(
            f"HumanExp-k holds the k-th vote of every pair. The {rounds} experiments share their pairs, so they are "
            "rounds of one study, not replications."
        )
    drawn = (sets_figure(answer), *((units_figure(answer),) if len(answer.units) > 1 else ()))
    return Section("ties", "How many ties, and with what certainty", tuple(text), drawn, tables=_tables(answer),
                   notes=answer.warnings)  # fmt: skip


def asked_size(study: Study) -> int:
    """The set size of the study's ties.json, so that the report and the picture beside the votes agree; else 200."""
    return SET if study.ties is None else int(study.ties["recipe"]["size"])


def sets_figure(answer: TiesAnswer) -> RowFigure:
    """Figure 1 of the paper, from these votes."""
    curves = answer.experiments or (answer.pooled,)
    axis = _axis([*curves])
    grid = np.linspace(axis.low, axis.high, 240)
    heights = [density(one.replaced or one.law, grid) for one in curves]
    papers = [density(one.law, grid) for one in curves]
    tallest = max(float(np.nanmax(height)) for height in (*heights, *papers))
    rows = [
        Row(
            one.name if answer.experiments else "all votes",
            f"{percent(one.share)} ties",
            (_bar(axis, one, f"c{k % HUES}"),),
            curve(axis, grid, height, tallest),
            curve(axis, grid, paper, tallest) if one.replaced else "",
            f"c{k % HUES}",
            described=_described(one),
        )
        for k, (one, height, paper) in enumerate(zip(curves, heights, papers, strict=True))
    ]
    if (found := answer.pooled.interval) and found.clusters:
        rows.append(_wide(axis, found))
    chance, half = axis.at(CHANCE), axis.at(0.5)
    noun = "every HumanExp" if len(curves) > 1 else "the votes"
    return RowFigure(
        f"Share of ties in sets of {count(answer.recipe.size, 'judgement')} from {noun}",
        tuple(rows), axis.ticks(round_steps(axis.low, axis.high), "{:.0%}"), "share of ties",
        ((chance, "chance 33 %"), *([(half, "half")] if half - chance > ROOM else [])),
        name="tie-sets",
        caption=f"{_key(answer)}Bars under the curves: 95 % of the sets. Last line: the share with its 95 % interval, "
        "from resampling the named units. Chance: random clicking among three answers.",
    )  # fmt: skip


def _key(answer: TiesAnswer) -> str:
    return "Filled: sets drawn with replacement. Dashed: without, as in the papers. " if answer.crowded else ""


def units_figure(answer: TiesAnswer) -> RowFigure:
    """Intervals of the share itself, by what is resampled."""
    found = [(one, i) for one in answer.units if (i := one.interval) is not None]
    ends = [end for _, i in found for end in (i.low, i.high)]
    axis = Axis(max(min(ends) - 0.03, 0.0), min(max(ends) + 0.03, 1.0))
    rows = [
        Row(RESAMPLED[one.unit], f"{percent(i.low)} to {percent(i.high)}",
            axis.interval(i.low, i.value, i.high),
            described=f"{percent(i.low)} to {percent(i.high)}")
        for one, i in found
    ]  # fmt: skip
    across = ((axis.at(CHANCE), "chance 33 %"),) if axis.low < CHANCE < axis.high else ()
    return RowFigure(
        "The share of ties among all votes, by what is resampled", tuple(rows),
        axis.ticks(round_steps(axis.low, axis.high), "{:.0%}"), "share of ties", across, note_head="95 % interval",
        name="ties",
    )  # fmt: skip


def _axis(curves: Sequence[Curve]) -> Axis:
    laws = [one.replaced or one.law for one in curves]
    low = min(0.25, *(law.quantile(0.001) for law in laws))
    high = max(0.55, *(law.quantile(0.999) for law in laws))
    return Axis(max(low - 0.02, 0.0), min(high + 0.02, 1.0))


def _bar(axis: Axis, one: Curve, colour: str) -> Mark:
    law = one.replaced or one.law
    return Mark("bar", axis.at(law.quantile(0.025)), axis.at(law.quantile(0.975)), 0, colour)


def _described(one: Curve) -> str:
    text = f"{one.name}: {percent(one.share)} ties; 95 % of the sets lie within {_reach(one.replaced or one.law)}"
    return f"{text} with replacement, {_reach(one.law)} without" if one.replaced else text


def _reach(law: Law) -> str:
    return f"{percent(law.quantile(0.025))} to {percent(law.quantile(0.975))}"


def _wide(axis: Axis, found: Interval) -> Row:
    note = f"{100 * found.low:.0f}\N{EN DASH}{100 * found.high:.0f} %"
    marks = axis.interval(found.low, found.value, found.high)
    return Row(f"all votes, resampling {RESAMPLED[found.unit]}", note, marks, described=note)


def _tables(answer: TiesAnswer) -> tuple[Table, ...]:
    sets = ("95 % of sets", "P(majority of ties)")
    beside = tuple(f"{name}, with replacement" for name in sets) if answer.crowded else ()
    head = ("experiment", "votes", "ties", "share", "p against 33.3 %", *sets, *beside)
    rows = tuple(_curve(one) for one in [*answer.experiments, answer.pooled])
    first = Table(head, rows, "Tie shares of each experiment and of all votes together")
    units = tuple(row for one in answer.units if (row := _unit(one)))
    by = ("resampled", "units", "95 % interval of the share", "design effect", "independent votes")
    return (first, Table(by, units, "The same votes, by what is resampled")) if units else (first,)


def _curve(one: Curve) -> tuple[str, ...]:
    told = one.name, f"{one.votes:,}", f"{one.ties:,}", percent(one.share), p_value(one.chance.p_shown)
    return *told, *(text for law in (one.law, one.replaced) if law for text in (_reach(law), majority(law)))


def _unit(one: Curve) -> tuple[str, ...]:
    found = one.interval
    if found is None:
        return ()
    reach = f"{percent(found.low)} to {percent(found.high)}"
    return (
        RESAMPLED[one.unit],
        f"{one.clusters:,}",
        reach,
        f"{found.design_effect:.2f}",
        f"{found.worth:,.0f}",
    )
