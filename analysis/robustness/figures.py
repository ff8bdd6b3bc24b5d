"""Dose and response: what each model loses at each dose, a panel a kind, a figure a task."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from analysis.robustness.answer import Drop, RobustnessAnswer
from analysis.showing.plots import PlottedLine, panels_figure
from analysis.showing.words import heading

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figures(answer: RobustnessAnswer) -> dict[str, Figure]:
    """The first task without an ending, each other one by its name."""
    made: dict[str, Figure] = {}
    for title in answer.tasks:
        of = [one for one in answer.drops if one.scale.task.title == title]
        ending = f"-{re.sub(r'[^A-Za-z0-9]+', '-', of[0].scale.name).strip('-')}" if made else ""
        models = dict.fromkeys(one.scale.model for one in of)
        kinds = dict.fromkeys(one.scale.kind for one in of)
        made[ending] = panels_figure(
            {kind: [_line(model, of, kind) for model in models] for kind in kinds},
            title=f"{heading(title)}: the drop by dose", ylabel="drop, with its 95 % interval",
            xlabel="dose: share of user turns (speech: word error rate)", recipe=answer.signature,
        )  # fmt: skip
    return made


def _line(model: str, of: list[Drop], kind: str) -> PlottedLine:
    """A model's drops by dose, from nothing at dose 0; the first perturbation seed where there are several."""
    mine = [one for one in of if one.scale.model == model and one.scale.kind == kind]
    first = min((one.scale.seed for one in mine), default=0)
    chosen = sorted((one for one in mine if one.scale.seed == first and one.scale.dose > 0), key=lambda o: o.scale.dose)
    drops = [(0.0, 0.0, 0.0, 0.0), *((o.scale.dose, o.found.value, o.found.low, o.found.high) for o in chosen)]
    x, y, low, high = np.array(drops, np.float64).T
    return PlottedLine(model, x, y, low, high)
