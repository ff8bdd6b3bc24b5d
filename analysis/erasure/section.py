"""The report's section on what decoders use: the answer's effects and sentences, none of its own."""

from __future__ import annotations

import math

from analysis.erasure.answer import OPEN, UNUSED, USED, ErasedTask, ErasureAnswer
from analysis.erasure.text import SAYS, erasure_notes, erasure_table, said_cost, said_verdicts
from analysis.showing.page import Axis, Row, RowFigure, Section, round_steps

ASKED = (
    "A probe that reads a fact from an encoder's states does not show that the model uses it. Here each task was "
    "erased from all that the decoder sees, and the same decoder answered again. What that changes stands against "
    "random erasers of the same rank."
)
COLOURS = {USED: "c7", UNUSED: "c0", OPEN: "grey"}


def section(answer: ErasureAnswer | None, why_not: str = "") -> Section | None:
    """A row for each model and task, in nats a token beyond random erasers; the table of the command."""
    title = "What the decoders use"
    if answer is None:
        return Section("erasure", title, (ASKED, why_not)) if why_not else None
    return Section(
        "erasure", title, (ASKED, said_verdicts(answer)), tuple(one for one in (_figure(answer),) if one),
        tables=(erasure_table(answer),), notes=tuple(erasure_notes(answer)),
    )  # fmt: skip


def _figure(answer: ErasureAnswer) -> RowFigure | None:
    """A heading for each model, under it a row for each task."""
    every = [one.effects["nats"].found for one in answer.rows]
    ends = [end for one in every for end in (one.low, one.high) if math.isfinite(end)]
    if not ends:
        return None
    axis = Axis(min([0.0, *ends]), max([0.0, *ends]) or 1.0)
    several = len({one.method for one in answer.rows}) > 1
    rows: list[Row] = []
    for model in dict.fromkeys(f"{one.model} {one.checkpoint}" for one in answer.rows):
        of = [one for one in answer.rows if f"{one.model} {one.checkpoint}" == model]
        rows += [Row(model), *(_row(one, axis, several=several) for one in of)]
    return RowFigure(
        "What erasing a task costs beyond a random eraser", tuple(rows), axis.ticks(round_steps(axis.low, axis.high)),
        "nats a token of the reference", ((axis.at(0), "as random"),),
        tuple(("dot", COLOURS[verdict], f"the decoder: {said}") for verdict, said in SAYS.items()),
        note_head="cost (95 % interval)", name="erasure",
    )  # fmt: skip


def _row(one: ErasedTask, axis: Axis, *, several: bool) -> Row:
    found = one.effects["nats"].found
    label, said = f"{one.task} ({one.method})" if several else one.task, said_cost(one.effects["nats"])
    marks = axis.interval(found.low, found.value, found.high, COLOURS[one.verdict])
    return Row(label, said, marks, described=f"{said}: {SAYS[one.verdict]}")
