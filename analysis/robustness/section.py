"""The report's section on perturbations: the answer's drops and sentences, none of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

from analysis.robustness.answer import Drop, RobustnessAnswer
from analysis.robustness.text import drops_table, robustness_notes, said_mean
from analysis.showing.page import Axis, Row, RowFigure, Section, round_steps
from analysis.showing.words import heading

ASKED = (
    "The same dialogues, told otherwise: typos, other words, speech errors, unseen names. A drop is what a model loses "
    "by that, on the same dialogues and training seeds."
)


def section(answer: RobustnessAnswer | None) -> Section | None:
    """A figure of the highest dose of every kind, and a table of drops for every task."""
    if answer is None:
        return None
    return Section(
        "robustness", "What perturbations cost", (ASKED,),
        tuple(figure for title in answer.tasks if (figure := _figure(title, answer))),
        tables=tuple(drops_table(title, answer) for title in answer.tasks), notes=tuple(robustness_notes(answer)),
    )  # fmt: skip


def _figure(title: str, answer: RobustnessAnswer) -> RowFigure | None:
    """A heading for each kind at its highest dose, under it a row for each model."""
    of = [one for one in answer.drops if one.scale.task.title == title and one.scale.dose > 0]
    ends = [end for one in of for end in (one.found.low, one.found.high) if math.isfinite(end)]
    if not ends:
        return None
    axis = Axis(min([0.0, *ends]), max([0.0, *ends]) or 1.0)
    kinds = dict.fromkeys((one.scale.kind, one.scale.seed) for one in of)
    rows = [row for kind in kinds for row in _rows([one for one in of if _kind(one) == kind], axis)]
    return RowFigure(
        f"{heading(title)}: the drop at each kind's highest dose", tuple(rows),
        axis.ticks(round_steps(axis.low, axis.high)), "drop, clean minus perturbed", ((axis.at(0), "none"),),
        note_head="drop (95 % interval)", name=f"robustness-{title}",
    )  # fmt: skip


def _kind(one: Drop) -> tuple[str, int]:
    return one.scale.kind, one.scale.seed


def _rows(of: Sequence[Drop], axis: Axis) -> list[Row]:
    highest = max(one.scale.dose for one in of)
    shown = [one for one in of if one.scale.dose == highest]
    return [
        Row(f"{shown[0].scale.kind} {highest:g}"),
        *(
            Row(one.scale.model, said_mean(drop), axis.interval(drop.low, drop.value, drop.high, "c0"),
                described=said_mean(drop))
            for one in shown for drop in [one.found]
        ),
    ]  # fmt: skip
