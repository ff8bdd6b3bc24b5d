"""The figures of variance: standard deviations of every table's components."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.showing.plots import BLUE, GREY, ForestRow, bars_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def component_figures(said: Mapping[str, Any]) -> dict[str, Figure]:
    """Standard deviations of every table's components."""
    drawn = {}
    for number, table in enumerate(said["tables"], 1):
        rows = [_bar(part) for part in table["components"]]
        title = f"{table['name']}: what the score varies with"
        drawn[f"-{number}"] = bars_figure(rows, title=title, xlabel="SD in the score's unit", recipe=said["signature"])
    return drawn


def _bar(part: Mapping[str, Any]) -> ForestRow:
    low, high = (float(np.sqrt(max(part[end] or 0.0, 0.0))) for end in ("low", "high"))
    colour = GREY if part["name"] == "residual" else BLUE
    return ForestRow(part["name"], part["sd"], low, high, f"{100 * part['share']:.0f} % of variance", colour)
