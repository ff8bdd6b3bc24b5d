"""The report's picture of ties: the law of the tie share in sets of every HumanExp, and what it hides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.reading.votes import Votes
from analysis.showing.page import Axis, Figure, Mark, Row, Section, curve, round_steps
from analysis.showing.tables import Table
from analysis.showing.words import count, percent
from analysis.stats.laws import CHANCE, density
from analysis.ties.answer import Curve, Recipe, Ties, analyse, smallest_experiment

SET = 200  # judgements in a set, as in the papers
UNITS = {"vote": "votes one by one", "pair": "whole pairs", "dialogue": "whole dialogues", "rater": "whole raters",
         "pair+rater": "pairs and raters"}  # fmt: skip
ROOM = 55.0  # percent of the width that the names of two lines take up on a phone


def ties_of(votes: Votes | None, size: int | None = None) -> Ties | None:
    """The exact laws for sets of `size` votes (200, or half an experiment that has fewer); None without two votes."""
    if votes is None or len(votes) < 2:
        return None
    smallest = smallest_experiment(votes)
    asked = SET if size is None else size
    return analyse(votes, Recipe(size=asked if smallest >= asked else max(smallest // 2, 1)))


def ties_section(ties: Ties, told: Sequence[str]) -> Section:
    """Where the votes' spread comes from, with every number in the tables; `told` are warnings said elsewhere."""
    size, rounds = ties.recipe.size, len(ties.experiments)
    text = [
        f"The share of ties in sets of {count(size, 'judgement')} drawn vote by vote, as the field draws them, follows "
        "a hypergeometric law: its width comes from the share and the size of the set alone, whatever the raters did. "
        "A new study would draw new pairs and new raters, and scatter by more."
    ]
    if rounds > 1:
        text.append(
            f"HumanExp-k holds the k-th vote of every pair. The {rounds} experiments share their pairs, so they are "
            "rounds of one study, not replications."
        )
    drawn = (units_figure(ties),) if len(ties.units) > 1 else ()
    notes = tuple(said for said in ties.warnings if said not in told)
    return Section("ties", "How many ties, and how surely", tuple(text), drawn, tables=_tables(ties), notes=notes)


def ties_figure(ties: Ties) -> Figure:
    """Figure 1 of the paper, from these votes."""
    curves = ties.experiments or (ties.pooled,)
    axis = _axis([*curves])
    grid = np.linspace(axis.low, axis.high, 240)
    heights = [density(one.law, grid) for one in curves]
    tallest = max(float(np.nanmax(height)) for height in heights)
    rows = [
        Row(
            one.name if ties.experiments else "all votes",
            f"{percent(one.share)} ties",
            (_bar(axis, one, f"c{k % 6}"),),
            curve(axis, grid, height, tallest),
            f"c{k % 6}",
            described=_described(one),
        )
        for k, (one, height) in enumerate(zip(curves, heights, strict=True))
    ]
    if (wide := ties.units[-1]) and wide.interval and len(ties.units) > 1:
        rows.append(_wide(axis, wide))
    chance, half = axis.at(CHANCE), axis.at(0.5)
    noun = "every HumanExp" if len(curves) > 1 else "the votes"
    return Figure(
        f"Share of ties in sets of {count(ties.recipe.size, 'judgement')} from {noun}",
        tuple(rows), axis.ticks(round_steps(axis.low, axis.high), "{:.0%}"), "share of ties",
        ((chance, "chance 33 %"), *([(half, "half")] if half - chance > ROOM else [])),
        caption="Bars under the curves: where 95 % of the sets lie. Last line: the share itself with its 95 % "
        "interval, were all that is named drawn anew. Chance: clicking at random among three answers.",
    )  # fmt: skip


def units_figure(ties: Ties) -> Figure:
    """Intervals of the share itself, by what is drawn anew."""
    found = [(one, i) for one in ties.units if (i := one.interval) is not None]
    ends = [end for _, i in found for end in (i.low, i.high)]
    axis = Axis(max(min(ends) - 0.03, 0.0), min(max(ends) + 0.03, 1.0))
    rows = [
        Row(UNITS.get(one.unit, one.unit), f"{percent(i.low)} to {percent(i.high)}",
            axis.interval(i.low, i.value, i.high),
            described=f"{percent(i.low)} to {percent(i.high)}")
        for one, i in found
    ]  # fmt: skip
    across = ((axis.at(CHANCE), "chance 33 %"),) if axis.low < CHANCE < axis.high else ()
    return Figure(
        "The share of ties among all votes, by what a repetition would draw anew", tuple(rows),
        axis.ticks(round_steps(axis.low, axis.high), "{:.0%}"), "share of ties", across, note_head="95 % interval",
    )  # fmt: skip


def _axis(curves: Sequence[Curve]) -> Axis:
    low = min(0.25, *(one.law.quantile(0.001) for one in curves))
    high = max(0.55, *(one.law.quantile(0.999) for one in curves))
    return Axis(max(low - 0.02, 0.0), min(high + 0.02, 1.0))


def _bar(axis: Axis, one: Curve, colour: str) -> Mark:
    return Mark("bar", axis.at(one.law.quantile(0.025)), axis.at(one.law.quantile(0.975)), 0, colour)


def _described(one: Curve) -> str:
    ends = (percent(one.law.quantile(part)) for part in (0.025, 0.975))
    return f"{one.name}: {percent(one.share)} ties; 95 % of the sets lie within {' and '.join(ends)}"


def _wide(axis: Axis, one: Curve) -> Row:
    found = one.interval
    ends = (0.0, 0.0, 0.0) if found is None else (found.low, found.value, found.high)
    note = f"{100 * ends[0]:.0f}\N{EN DASH}{100 * ends[2]:.0f} %"
    return Row(f"all votes, {UNITS.get(one.unit, one.unit)} anew", note, axis.interval(*ends), described=note)


def _tables(ties: Ties) -> tuple[Table, ...]:
    head = ("experiment", "votes", "ties", "share", "95 % of sets", "P(majority of ties)", "p against 33.3 %")
    rows = tuple(_curve(one) for one in [*ties.experiments, ties.pooled])
    first = Table(head, rows, "Tie shares of each experiment and of all votes together")
    units = tuple(row for one in ties.units if (row := _unit(one)))
    by = ("drawn anew", "units", "95 % interval of the share", "design effect", "worth votes")
    return (first, Table(by, units, "The same votes, by what is drawn anew")) if units else (first,)


def _curve(one: Curve) -> tuple[str, ...]:
    law, chance = one.law, one.chance
    reach = f"{percent(law.quantile(0.025))} to {percent(law.quantile(0.975))}"
    p = chance.p_vote if chance.p is None else chance.p
    return one.name, f"{one.votes:,}", f"{one.ties:,}", percent(one.share), reach, f"{law.above(0.5):.2g}", f"{p:.2g}"


def _unit(one: Curve) -> tuple[str, ...]:
    found = one.interval
    if found is None:
        return ()
    reach = f"{percent(found.low)} to {percent(found.high)}"
    return (
        UNITS.get(one.unit, one.unit),
        f"{one.clusters:,}",
        reach,
        f"{found.design_effect:.2f}",
        f"{found.effective_n:,.0f}",
    )
