"""Draws mean ranks, or strengths where rankings are incomplete, with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.ranks.answer import RanksAnswer
from analysis.showing.plots import ForestRow, forest_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(answer: RanksAnswer) -> dict[str, Figure]:
    """One line for every system that has an estimate."""
    title, label = ("Mean ranks", "rank, 1 the best") if answer.complete else ("Strengths", "log strength")
    estimates = [(one.system, one.mean or one.strength) for one in answer.systems]
    rows = [ForestRow(name, value.value, value.low, value.high) for name, value in estimates if value is not None]
    picture = forest_figure(
        rows, title=title, xlabel=f"{label}, 95 % interval", recipe=answer.signature, references={},
    )  # fmt: skip
    return {"": picture}
