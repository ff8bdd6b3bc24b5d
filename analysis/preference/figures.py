"""The figure of the ranking: strengths from the best down."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.preference.answer import PreferenceAnswer
from analysis.preference.ranking import Ranking
from analysis.preference.text import MODELS
from analysis.showing.plots import ForestRow, forest_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(answer: PreferenceAnswer) -> dict[str, Figure]:
    """The ranking, where the model of strengths could be fitted."""
    return {"": ranking_figure(answer.ranking, answer.signature)} if answer.ranking else {}


def ranking_figure(found: Ranking, recipe: str) -> Figure:
    """The systems' strengths from the best down, each with the chance that it is in truth below the next."""
    rows = [
        ForestRow(one.system, one.strength.value, one.strength.low, one.strength.high, _below(one.below_next))
        for one in found.systems
    ]  # fmt: skip
    return forest_figure(
        rows,
        title=f"Strengths by {MODELS[found.model]}",
        xlabel="log strength, mean 0, 95 % interval; right: chance of being below the next",
        recipe=recipe,
        references={0.0: ""},
    )


def _below(p: float | None) -> str:
    return "" if p is None else f"below next {'< .01' if p < 0.005 else f'{p:.2f}'}"
