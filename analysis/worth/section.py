"""The report's section on what every evaluator is worth in votes; the numbers are the answer's."""

from __future__ import annotations

from analysis.showing.page import Axis, Row, RowFigure, Section, round_steps
from analysis.worth.answer import Worth, WorthAnswer
from analysis.worth.text import OF, percent_worth, shown_worth, worth_tables

WHAT = (
    "An evaluator that scores both responses of a pair can stand in for votes on pairs that nobody voted on. Its worth "
    "is the part of the votes that could be spared for the same error if it scored pairs without end. A range that "
    "begins at 0 shows no worth."
)


def section(answer: WorthAnswer | None) -> Section | None:
    """One line an evaluator, for the preference and for ties; the tables of the command."""
    if answer is None:
        return None
    figures = tuple(figure for outcome in OF if (figure := _figure(answer, outcome)))
    title, said = "What each evaluator is worth in human votes", tuple(shown_worth(answer))
    return Section("worth", title, (WHAT,), figures, said, tables=tuple(worth_tables(answer)), notes=answer.warnings)


def _figure(answer: WorthAnswer, outcome: str) -> RowFigure | None:
    drawn = [one for one in (*answer.rows, *answer.together) if one.outcome == outcome and one.varied]
    if not drawn:
        return None
    axis = Axis(0.0, 100 * max(0.1, *(one.endless.saved(1)[2] for one in drawn)))
    rows = tuple(_row(one, axis) for one in drawn)
    title = f"Part of the votes on {OF[drawn[0].outcome]} that each evaluator could spare"
    return RowFigure(title, rows, axis.ticks(round_steps(axis.low, axis.high)), "% of the votes",
                     note_head="worth (95 % interval)", name=f"worth-{outcome}")  # fmt: skip


def _row(one: Worth, axis: Axis) -> Row:
    value, low, high = (100 * max(part, 0.0) for part in one.endless.saved(1))
    return Row(one.name, percent_worth(one), axis.interval(low, value, high), described=f"{one.votes:,} votes")
