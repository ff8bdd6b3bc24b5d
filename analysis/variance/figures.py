"""The figures of variance: the standard deviations of every table's components, one figure a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analysis.showing.plots import BLUE, GREY, ForestRow, bars_figure
from analysis.stats.components import RESIDUAL, Component
from analysis.variance.answer import VarianceAnswer

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(answer: VarianceAnswer) -> dict[str, Figure]:
    """`-1`, `-2`, ... in the order of the tables."""
    return {
        f"-{place}": bars_figure(
            [_bar(part) for part in table.components],
            title=f"{table.title}: what the score varies with",
            xlabel="SD in the score's unit, with its 95 % interval",
            recipe=answer.signature,
        )
        for place, table in enumerate(answer.tables, 1)
    }


def _bar(part: Component) -> ForestRow:
    # The square root keeps order, so the ends of a variance's interval are those of its SD.
    low, high = (float(np.sqrt(max(end, 0.0))) for end in (part.low, part.high))
    colour = GREY if part.name == RESIDUAL else BLUE
    return ForestRow(part.name, part.sd, low, high, f"{100 * part.share:.0f} % of variance", colour)
