"""Draws the differences of systems with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.compare_runs.answer import RunsAnswer
from analysis.showing.plots import ForestRow, forest_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(answer: RunsAnswer) -> dict[str, Figure]:
    """One line a contrast, metric by metric; contrasts without an interval have none to draw."""
    several = len(answer.metrics) > 1
    rows = [
        ForestRow(
            f"{metric.task}, {metric.metric}: {contrast.first} - {contrast.second}"
            if several
            else f"{contrast.first} - {contrast.second}",
            contrast.difference,
            contrast.low,
            contrast.high,
        )
        for metric in answer.metrics
        for contrast in metric.contrasts
        if contrast.low is not None and contrast.high is not None
    ]
    drawn = forest_figure(
        rows,
        title="Differences of systems, paired by item",
        xlabel="difference of mean scores, 95 % interval",
        recipe=answer.signature,
        references={0.0: "equal"},
    )
    return {"": drawn}
