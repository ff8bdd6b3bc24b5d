"""The report's section on where the variance of votes and scores comes from: the answer's numbers, none of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from analysis.showing.page import Axis, Mark, Row, RowFigure, Section
from analysis.showing.tables import Table
from analysis.showing.words import percent
from analysis.stats.components import RESIDUAL
from analysis.variance.answer import VarianceAnswer, VarianceTable
from analysis.votes.study import Study

COMPONENT_NAMES = {
    "model": "architecture", "model:seed": "training seed", "item": "dialogue",
    "model:item": "architecture \N{MULTIPLICATION SIGN} dialogue", "item:draw": "false options",
    "model:item:draw": "architecture \N{MULTIPLICATION SIGN} false options", "question": "question",
    "contrast:rater": "systems \N{MULTIPLICATION SIGN} rater", "contrast:pair": "systems \N{MULTIPLICATION SIGN} pair",
    "contrast": "which systems", "dialogue": "dialogue", "context": "context", "pair": "pair",
    "rater": "rater", RESIDUAL: "all else",
}  # fmt: skip
COMPONENT_COLOURS = {
    "model": "c7", "model:seed": "c0", "contrast": "c7", "rater": "c3", "item": "c1", "dialogue": "c1", "context": "c1",
    "pair": "c0", "question": "c0", "item:draw": "c3",
    "model:item": "c2", "contrast:rater": "c2", "contrast:pair": "c2",
}  # fmt: skip
OTHER_COLOUR = "c5"
LEAST = 0.005  # share of variance that a row of the table has
VARYING = (
    "One observation is one vote, or one model's score on one dialogue. The largest components show what a study "
    "needs more of: dialogues if dialogues differ, seeds if seeds differ."
)


def section(answer: VarianceAnswer | None, study: Study) -> Section | None:
    """Shares of variance of every table in one figure; SDs with their intervals in one table."""
    if answer is None or not answer.tables:
        return None
    return Section(
        "variance", "Where the variance comes from", (VARYING,), (_figure(answer.tables),),
        tables=(_table(answer.tables),), notes=tuple(_notes(answer, study)),
    )  # fmt: skip


def _notes(answer: VarianceAnswer, study: Study) -> Iterator[str]:
    """The answer's cautions, but for those on the votes, which the page says once for all its sections."""
    if alone := [table.title for table in answer.tables if table.one_seed]:
        yield f"One seed per architecture in {', '.join(alone)}: the effect of a new training run is unknown."
    elsewhere = () if study.votes is None else study.votes.warnings
    yield from (warning for warning in answer.warnings if warning not in elsewhere)
    yield from answer.not_used


def _name(part: str) -> str:
    return COMPONENT_NAMES.get(part, part.replace(":", " \N{MULTIPLICATION SIGN} "))


def _figure(tables: Sequence[VarianceTable]) -> RowFigure:
    axis = Axis(0, 100)
    used = dict.fromkeys(part.name for table in tables for part in table.components)
    names: dict[str, list[str]] = {}
    for name in used:
        names.setdefault(COMPONENT_COLOURS.get(name, OTHER_COLOUR), []).append(_name(name))
    legend = tuple(("block", colour, ", ".join(shared)) for colour, shared in names.items())
    return RowFigure("Shares of variance", tuple(_row(table, axis) for table in tables),
                  axis.ticks(range(0, 101, 25)), "percent of the variance", (), legend, name="variance")  # fmt: skip


def _row(table: VarianceTable, axis: Axis) -> Row:
    at, marks = 0.0, []
    for part in table.components:
        width = 100 * part.share
        colour = COMPONENT_COLOURS.get(part.name, OTHER_COLOUR)
        marks.append(Mark("block", axis.at(at), axis.at(at + width), 0, colour))
        at += width
    described = ", ".join(f"{_name(part.name)} {100 * part.share:.0f} %" for part in table.components)
    return Row(table.title, "", tuple(marks), described=described)


def _table(tables: Sequence[VarianceTable]) -> Table:
    rows = tuple(
        (table.title, _name(part.name), f"{part.levels:,}", f"{part.sd:.2f}",
         f"{math.sqrt(max(part.low, 0)):.2f} to {math.sqrt(max(part.high, 0)):.2f}", percent(part.share))
        for table in tables
        for part in table.components
        if part.share >= LEAST or part.name == RESIDUAL
    )  # fmt: skip
    head = ("scale", "component", "levels", "SD", "95 % interval of the SD", "share of variance")
    return Table(
        head,
        rows,
        "Variance components; scores in points, votes as +1, 0, -1 (net) or 0, 1 (tie). Components "
        f"under {percent(LEAST)} are in report.json",
    )
