"""The report's section on who leads among task-oriented systems: the answer's means and ranks, none of its own."""

from __future__ import annotations

from analysis.leaderboard.answer import LeaderboardAnswer
from analysis.leaderboard.text import leaderboard_notes, standings_table
from analysis.showing.page import Axis, Row, RowFigure, Section


def section(answer: LeaderboardAnswer | None) -> Section | None:
    """Every system's mean over tasks with its interval, and the table of tasks."""
    if answer is None:
        return None
    return Section(
        "leaderboard", "Task success of every system", (), (_figure(answer),),
        tables=(standings_table(answer),), notes=tuple(leaderboard_notes(answer)),
    )  # fmt: skip


def _figure(answer: LeaderboardAnswer) -> RowFigure:
    spans = [one.anew or one.trained for one in answer.standings]
    axis = Axis(min(0.0, *(span.low for span in spans)), max(100.0, *(span.high for span in spans)))
    rows = tuple(
        Row(one.system if one.anew else f"{one.system} (as trained)",
            said := f"{one.macro:.1f} ({span.low:.1f} to {span.high:.1f})",
            axis.interval(span.low, one.macro, span.high, "c0"), described=said)
        for one, span in zip(answer.standings, spans, strict=True)
    )  # fmt: skip
    return RowFigure(
        "Mean of the tasks, by system", rows, axis.ticks((0, 25, 50, 75, 100)), "points, the mean of all tasks",
        note_head="mean (95 % interval)", name="leaderboard",
    )  # fmt: skip
