"""The leaderboard drawn: each system's macro-average with its interval, its ranks beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.leaderboard.answer import LeaderboardAnswer
from analysis.leaderboard.text import span_ranks
from analysis.showing.plots import BLUE, GREY, ForestRow, forest_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(answer: LeaderboardAnswer) -> dict[str, Figure]:
    """One figure; systems of one seed are grey, and their intervals are for other dialogues alone."""
    rows = [
        ForestRow(
            one.system if one.anew else f"{one.system} (as trained)", one.macro, span.low, span.high,
            f"rank {span_ranks(span)}", BLUE if one.anew else GREY,
        )
        for one in answer.standings
        for span in [one.anew or one.trained]
    ]  # fmt: skip
    return {"": forest_figure(
        rows, title="Systems by the weighted mean of tasks", xlabel="macro-average with its 95 % interval",
        recipe=answer.signature,
    )}  # fmt: skip
