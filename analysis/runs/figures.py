"""Draws the differences of systems with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.runs.answer import RunsAnswer
from analysis.showing.plots import ForestRow, forest_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(answer: RunsAnswer) -> dict[str, Figure]:
    """One line a contrast, metric by metric; contrasts without an interval have none to draw."""
    several = len(answer.metrics) > 1
    rows = [
        ForestRow(
            f"{metric.task}, {metric.metric}: {one.first} - {one.second}" if several else f"{one.first} - {one.second}",
            one.difference,
            one.low,
            one.high,
        )
        for metric in answer.metrics
        for one in metric.contrasts
        if one.low is not None and one.high is not None
    ]
    drawn = forest_figure(
        rows,
        title="Differences of systems, paired by item",
        xlabel="difference of mean scores, 95 % interval",
        recipe=answer.signature,
        references={0.0: "equal"},
    )
    return {"": drawn}
