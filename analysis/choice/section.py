"""The report's section on next-utterance choice: the answer's numbers, none of its own."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.choice.answer import ChoiceAnswer
from analysis.choice.text import against_table, choice_sentences, choice_table, turns_table, who_answered
from analysis.showing.page import Axis, Row, RowFigure, Section
from analysis.showing.words import percent
from analysis.votes.choices import FIRST

WHAT = (
    "A context is shown with what was really said next and with things that were said elsewhere. R@1 is the share of "
    "questions on which the true one is picked first, R@2 that where it is among the first two."
)
COLOURS = {"people": "people", "model": "c0", "baseline": "grey"}


def section(answer: ChoiceAnswer | None) -> Section | None:
    """R@1 of people, models and simple rules in one figure a corpus, and the tables."""
    if answer is None:
        return None
    tables = [choice_table(answer)]
    tables += [against_table(answer)] if answer.against else []
    tables += [turns_table(answer)] if answer.turns else []
    return Section(
        "choice", "Who picks what was really said", (WHAT,), tuple(_figures(answer)),
        items=tuple(choice_sentences(answer)), tables=tuple(tables),
        notes=(*who_answered(answer), *answer.warnings),
    )  # fmt: skip


def _figures(answer: ChoiceAnswer) -> Iterator[RowFigure]:
    axis = Axis(0, 1)
    for corpus in answer.corpora:
        rows = tuple(
            Row(row.name, f"{percent(cell.value)} ({percent(cell.low)} to {percent(cell.high)})",
                axis.interval(cell.low, cell.value, cell.high, COLOURS[row.kind]),
                described=f"R@1 {percent(cell.value)} on {cell.n} answers")
            for row in answer.rows for cell in row.cells
            if (cell.corpus, cell.metric) == (corpus, FIRST) and cell.low is not None and cell.high is not None
        )  # fmt: skip
        if rows:
            where = f" on {corpus}" if len(answer.corpora) > 1 else ""
            yield RowFigure(
                f"R@1 with its 95 % interval{where}", rows, axis.ticks((0, 0.25, 0.5, 0.75, 1), "{:.0%}"),
                "share of questions", ((axis.at(answer.chance[corpus][0]), "chance"),),
                note_head="share (95 % interval)", name=f"choice-{corpus}" if len(answer.corpora) > 1 else "choice",
            )  # fmt: skip
