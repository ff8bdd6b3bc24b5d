"""The figure of a comparison: SDs over seeds with their intervals, of trained models only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.comparison.answer import ComparisonAnswer
from analysis.showing.plots import BLUE, GREEN, ORANGE, ForestRow, forest_figure
from dialogue.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

KIND_COLOURS = {"people": ORANGE, "token": GREEN, "probe": BLUE}


def figures(answer: ComparisonAnswer) -> dict[str, Figure]:
    """One line for each method and architecture with two seeds or more."""
    rows = [
        ForestRow(f"{m.kind}: {m.name} ({m.model})", over.sd, over.low, over.high, f"{over.sd:.1f}",
                  KIND_COLOURS.get(m.kind, BLUE), m.sd_if_alike)
        for m in answer.trained
        if m.several
        for over in [m.over_seeds]
    ]  # fmt: skip
    if not rows:
        raise InputError("No architecture has two seeds, so there is no spread over seeds to draw; leave --figure out.")
    title = "How much each method varies over seeds"
    xlabel = "SD over seeds with its 95 % interval, points, logarithmic; ring: SD if seeds were alike"
    return {"": forest_figure(rows, title=title, xlabel=xlabel, recipe=answer.signature, logarithmic=True)}
