"""The figures of a comparison, of trained models only: SDs over seeds with intervals, and every evaluator's values.

Colours go by the order of the evaluators' cards; what is no better than chance is grey.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from analysis.comparison.answer import ComparisonAnswer
from analysis.showing.plots import COLOURS, GREY, PEOPLE_COLOUR, ForestRow, forest_figure
from analysis.showing.words import heading
from analysis.votes.scores.panel import PEOPLE, Method
from dialogue.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OWN_UNIT = "own units"
PALETTE = COLOURS


def figures(answer: ComparisonAnswer) -> dict[str, Figure]:
    """One line for each method and architecture with two seeds or more; then `-EVALUATOR`, the values of each.

    What is not in points has a figure of its own (`-other-units`): on one axis, sizes would be held against each other.
    """
    colours, trained = kind_colours(answer.kinds), answer.trained
    several = [m for m in trained if m.several]
    if not several:
        raise InputError("No architecture has two seeds, so there is no spread over seeds to draw; leave --figure out.")
    points = [m for m in several if m.shown.in_points]
    made = {"": _spreads(points or several, colours, answer.signature, "points" if points else OWN_UNIT)}
    if points and (others := [m for m in several if not m.shown.in_points]):
        made["-other-units"] = _spreads(others, colours, answer.signature, OWN_UNIT)
    return {**made, **_values(answer, colours)}


def _spreads(found: Sequence[Method], colours: Mapping[str, str], recipe: str, unit: str) -> Figure:
    rows = [
        ForestRow(f"{m.shown.label}, {_whose(m)}", over.sd, over.low, over.high, m.shown.said(over.sd), colours[m.kind],
                  m.sd_if_alike)
        for m in found
        for over in [m.over_seeds]
    ]  # fmt: skip
    return forest_figure(
        rows, title="How much each method varies over seeds", recipe=recipe, logarithmic=True,
        xlabel=f"SD over seeds with its 95 % interval, {unit}, logarithmic; ring: SD if seeds were alike",
    )  # fmt: skip


def _whose(m: Method) -> str:
    """The architecture, and its checkpoint unless it is the last: rows of one name could not be told apart."""
    return m.model if m.checkpoint == "last" else f"{m.model}, {m.checkpoint}"


def kind_colours(kinds: Sequence[str]) -> dict[str, str]:
    """A colour for each evaluator, by its place."""
    others = [kind for kind in kinds if kind != PEOPLE]
    return {PEOPLE: PEOPLE_COLOUR, **{kind: PALETTE[k % len(PALETTE)] for k, kind in enumerate(others)}}


def _values(answer: ComparisonAnswer, colours: Mapping[str, str]) -> dict[str, Figure]:
    """One figure for each evaluator, and for each unit and chance that its tasks have."""
    chosen = [m for m in answer.trained if m.kind != PEOPLE]
    made: dict[str, Figure] = {}
    for (kind, _, _), group in groupby(chosen, key=lambda m: (m.kind, m.shown.unit, m.shown.chance)):
        name = f"-{re.sub(r'[^A-Za-z0-9]+', '-', kind).strip('-')}"
        again = sum(one.startswith(name) for one in made)
        made[f"{name}-{again + 1}" if again else name] = _of_one(list(group), colours[kind], answer.signature)
    return made


def _of_one(found: Sequence[Method], colour: str, recipe: str) -> Figure:
    shown = found[0].shown
    rows = []
    for m in found:
        mean = sum(m.values) / len(m.values)
        ink = colour if shown.beyond_chance(mean) else GREY
        rows.append(
            ForestRow(f"{m.shown.task}, {_whose(m)}", mean, min(m.values), max(m.values), m.shown.said(mean), ink)
        )
    chance = {} if shown.chance is None else {shown.chance: ""}
    told = "" if shown.chance is None else f"; dashed: chance {shown.said(shown.chance)}; grey: no better"
    return forest_figure(
        rows, title=f"{heading(shown.group)}: mean over seeds", recipe=recipe, references=chance,
        xlabel=f"{shown.unit or 'score'}; bar: lowest to highest seed{told}",
    )  # fmt: skip
