"""Next-utterance choice drawn: R@1 of people and models with intervals, a figure a corpus."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.choice.answer import ChoiceAnswer
from analysis.showing.plots import BLUE, GREY, PEOPLE_COLOUR, ForestRow, forest_figure
from analysis.votes.choices import FIRST

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = {"people": PEOPLE_COLOUR, "model": BLUE, "baseline": GREY}


def figures(answer: ChoiceAnswer) -> dict[str, Figure]:
    """People, models and simple rules in a colour each; the line is chance."""
    made = {}
    for k, corpus in enumerate(answer.corpora):
        rows = [
            ForestRow(row.name, 100 * cell.value, 100 * cell.low, 100 * cell.high, f"{100 * cell.value:.1f}",
                      COLOURS[row.kind])
            for row in answer.rows for cell in row.cells
            if (cell.corpus, cell.metric) == (corpus, FIRST) and cell.low is not None and cell.high is not None
        ]  # fmt: skip
        if rows:
            where = f" on {corpus}" if len(answer.corpora) > 1 else ""
            made[f"-{k + 1}" if len(answer.corpora) > 1 else ""] = forest_figure(
                rows, title=f"Who picks what was really said{where}", xlabel="R@1 in per cent, with its 95 % interval",
                recipe=answer.signature, references={100 * answer.chance[corpus][0]: "chance"},
            )  # fmt: skip
    return made
