"""The report's section on judges: what each is worth in votes, and whose it is; the numbers are the answer's."""

from __future__ import annotations

from analysis.judge.answer import JudgeAnswer
from analysis.judge.estimates import NAMES, HelpedEstimate
from analysis.judge.text import MANY, habits_said, overview_sentence, parts, told_of
from analysis.showing.page import Axis, Row, RowFigure, Section, round_steps
from analysis.showing.tables import Table
from analysis.showing.words import percent

TITLE = "The judge"
WHAT = (
    "A judge is a program that answers as a rater would. Its verdicts are no votes: they help to estimate what people "
    "would say of pairs that nobody voted on, and whatever it says, the estimate is people's. What it is worth is the "
    "part of the votes that could be spared for the same error."
)


def section(answer: JudgeAnswer | None, refused: str = "") -> Section | None:
    """One line a judge on its habits, what it is worth in one figure, and every table of the command."""
    if answer is None:
        return Section("judge", TITLE, (refused,)) if refused else None
    tables = tuple(part for part in parts(answer) if isinstance(part, Table))
    said = [habits_said(one) for one in answer.judges]
    for one in answer.judges:
        many = len(one.estimates) > MANY
        said += [overview_sentence(one)] if many else [next(iter(told_of(row, one.title))) for row in one.estimates]
    return Section("judge", TITLE, (WHAT,), tuple(_figures(answer)), items=tuple(said), tables=tables,
                   notes=answer.warnings)  # fmt: skip


def _figures(answer: JudgeAnswer) -> list[RowFigure]:
    """The part of the votes that each judge could spare, with its interval."""
    few = [one for one in answer.judges if len(one.estimates) <= MANY]
    drawn = [(one.title, row) for one in few for row in one.estimates if row.others]
    if not drawn:
        return []
    axis = Axis(0.0, 100 * max(0.1, *(row.gain.saved(1)[2] for _, row in drawn)))
    rows = tuple(_row(title, row, axis) for title, row in drawn)
    return [RowFigure("Part of the votes that a judge could spare", rows, axis.ticks(round_steps(axis.low, axis.high)),
                      "% of the votes", note_head="votes spared (95 % interval)", name="judge")]  # fmt: skip


def _row(title: str, row: HelpedEstimate, axis: Axis) -> Row:
    value, low, high = (max(part, 0.0) for part in row.gain.saved(1))
    label = f"{title}: {NAMES[row.outcome]} of {row.first} and {row.second}"
    note = f"{percent(value)} ({percent(low)} to {percent(high)})"
    return Row(label, note, axis.interval(100 * low, 100 * value, 100 * high), described=f"{row.votes:,} votes")
