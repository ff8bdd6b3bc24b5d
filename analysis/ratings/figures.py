"""Draws the differences of ratings with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.ratings.answer import RatingsAnswer
from analysis.showing.plots import ForestRow, forest_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(found: RatingsAnswer) -> dict[str, Figure]:
    """One line for every two systems."""
    rows = [
        ForestRow(f"{one.first} - {one.second}", one.difference.value, one.difference.low, one.difference.high)
        for one in found.differences
    ]
    drawn = forest_figure(
        rows, title="Differences of ratings", xlabel="steps of the scale, 95 % interval",
        recipe=found.signature, references={0.0: ""},
    )  # fmt: skip
    return {"": drawn}
