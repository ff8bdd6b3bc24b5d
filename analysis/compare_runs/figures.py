"""Draws the differences of systems with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.compare_runs.answer import RunsAnswer
from analysis.showing.plots import BLUE, ForestRow, forest_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(answer: RunsAnswer) -> dict[str, Figure]:
    """One line a contrast, metric by metric; contrasts without an interval have none to draw."""
    several = len(answer.metrics) > 1
    in_points = all(metric.is_share for metric in answer.metrics)
    scale = 100 if in_points else 1
    rows = []
    for metric in answer.metrics:
        for contrast in metric.contrasts:
            if contrast.low is not None and contrast.high is not None:
                pair = f"{contrast.first} - {contrast.second}"
                name = f"{metric.task}, {metric.metric}: {pair}" if several else pair
                low, high = scale * contrast.low, scale * contrast.high
                rows.append(ForestRow(name, scale * contrast.difference, low, high, colour=BLUE))
    drawn = forest_figure(
        rows,
        title="Differences of systems, paired by item",
        xlabel=f"difference of mean scores{' in points' if in_points else ''}, 95 % interval",
        recipe=answer.signature,
        references={0.0: "equal"},
    )
    return {"": drawn}
