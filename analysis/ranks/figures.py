"""Draws mean ranks with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.ranks.answer import RanksAnswer
from analysis.showing.plots import ForestRow, forest_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(found: RanksAnswer) -> dict[str, Figure]:
    """One line for every system."""
    rows = [ForestRow(one.system, one.mean.value, one.mean.low, one.mean.high) for one in found.systems]
    drawn = forest_figure(
        rows, title="Mean ranks", xlabel="rank, 1 the best, 95 % interval", recipe=found.signature, references={},
    )  # fmt: skip
    return {"": drawn}
