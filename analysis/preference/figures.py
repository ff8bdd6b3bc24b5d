"""The figure of the ranking: strengths from the best down."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from analysis.showing.plots import ForestRow, forest_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def ranking_figures(said: Mapping[str, Any]) -> dict[str, Figure]:
    """The ranking, where the model of strengths could be fitted."""
    return {"": ranking_figure(said)} if said["davidson"] else {}


def ranking_figure(said: Mapping[str, Any]) -> Figure:
    """The systems' strengths from the best down, each with the chance that it is in truth below the next."""
    found = said["davidson"]
    wrong = {row["above"]: "< .01" if row["p"] < 0.005 else f"{row['p']:.2f}" for row in found["wrong_order"]}
    rows = [
        ForestRow(name, part["value"], part["low"], part["high"], f"below next {wrong[name]}" if name in wrong else "")
        for name, part in found["strengths"].items()
    ]
    model = "Davidson's model" if found["model"] == "davidson" else "Rao and Kupper's model"
    return forest_figure(
        rows,
        title=f"Strengths by {model}",
        xlabel="log strength, mean 0, 95 % interval; right: chance of being below the next",
        recipe=said["signature"],
        references={0.0: ""},
    )
