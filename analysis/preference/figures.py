"""The figures of the ranking: strengths from the best down, and the ranks that the votes leave open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.preference.answer import PreferenceAnswer
from analysis.preference.ranking import Ranking
from analysis.preference.text import MODELS, rank_range
from analysis.showing.plots import ForestRow, forest_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(answer: PreferenceAnswer) -> dict[str, Figure]:
    """The strengths and the ranks, where the model of strengths could be fitted."""
    found, recipe = answer.ranking, answer.signature
    return {"": ranking_figure(found, recipe), "-ranks": ranks_figure(found, recipe)} if found else {}


def ranking_figure(found: Ranking, recipe: str) -> Figure:
    """The systems' strengths from the best down, each with the chance that it is in truth below the next."""
    rows = [
        ForestRow(one.system, one.strength.value, one.strength.low, one.strength.high, _below(one.below_next))
        for one in found.systems
    ]
    return forest_figure(
        rows,
        title=f"Strengths by {MODELS[found.model]}",
        xlabel="log strength, mean 0, 95 % interval; right: chance of being below the next",
        recipe=recipe,
        references={0.0: ""},
    )


def ranks_figure(found: Ranking, recipe: str) -> Figure:
    """The ranks that each system may truly have: by itself (thick) and with all systems at once (thin)."""
    rows = [
        ForestRow(one.system, one.rank, one.rank_low, one.rank_high, rank_range(one), outer=(one.all_low, one.all_high))
        for one in found.systems
    ]
    return forest_figure(
        rows,
        title="Ranks that the votes leave open",
        xlabel="rank; 95 % set of one system (thick), of all at once (thin)",
        recipe=recipe,
    )


def _below(p: float | None) -> str:
    return "" if p is None else f"below next {'< .01' if p < 0.005 else f'{p:.2f}'}"
