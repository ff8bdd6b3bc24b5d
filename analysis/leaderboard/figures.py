"""The leaderboard drawn: each system's macro-average with its interval, its ranks beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.leaderboard.answer import LeaderboardAnswer
from analysis.showing.plots import BLUE, GREY, ForestRow, forest_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(answer: LeaderboardAnswer) -> dict[str, Figure]:
    """One figure; systems of one seed are grey."""
    rows = [
        ForestRow(
            one.system if one.seeds > 1 else f"{one.system} (one seed)", one.macro, one.low, one.high,
            f"rank {one.best}" if one.best == one.worst else f"rank {one.best}-{one.worst}",
            BLUE if one.seeds > 1 else GREY,
        )
        for one in answer.standings
    ]  # fmt: skip
    return {"": forest_figure(
        rows, title="Systems by the weighted mean of tasks", xlabel="macro-average with its 95 % interval",
        recipe=answer.signature,
    )}  # fmt: skip
