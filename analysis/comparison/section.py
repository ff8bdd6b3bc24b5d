"""The report's section on people and every evaluator: the answer's spreads, orders and costs, none of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from analysis.comparison.answer import ComparisonAnswer
from analysis.comparison.choosing_people import people_table
from analysis.comparison.text import caption_of_methods, cost_cells, method_table, notes, order_tables
from analysis.comparison.verdicts import verdicts
from analysis.showing.page import Axis, Mark, Row, RowFigure, Section, round_steps, sign_of
from analysis.showing.tables import Table
from analysis.showing.words import heading
from analysis.votes.scores.panel import PEOPLE, UNSEEN, Method, Panel, methods
from analysis.votes.scores.study_panels import Baseline, best_baseline

COST_HEAD = ("method", "architecture", "seeds", "seeds at the ends of the SD's interval", "rater hours",
             "machine hours")  # fmt: skip
Signs = dict[str, tuple[str, str]]  # architecture -> shape and colour
NAMED = 4  # ways of judging that a title names
SHOWN_ELSEWHERE = "probe"  # its values stand beside their baselines, in a section of their own
COMPARING = (
    "Every method gives each trained model one number. The figure shows its SD over training seeds. Part of that is "
    "chance, even if the seed makes no difference, because every number rests on a limited set of dialogues; the ring "
    "shows how large that part is. An SD near its ring is no evidence that the seed matters."
)


def section(answer: ComparisonAnswer | None) -> Section | None:
    """People and every evaluator over seeds, in one figure and one table."""
    trained = [one.panel for one in answer.panels if one.panel.checkpoint != UNSEEN] if answer else []
    if answer is None or not trained:
        return None
    figures = [spread_figure([p for p in trained if p.shown.in_points is points]) for points in (True, False)]
    return Section(
        "compare", section_title(answer), (COMPARING,),
        (*(one for one in figures if one), *value_figures(trained, answer.baselines)),
        tuple(verdicts(answer)), tables=tuple(_tables(answer)),
        notes=(*answer.choosing_notes, *notes(answer)),
    )  # fmt: skip


def _tables(answer: ComparisonAnswer) -> Iterator[Table]:
    yield method_table(answer, caption_of_methods(answer))
    if answer.choosing:
        yield people_table(answer.choosing)
    if answer.trained_orders:
        caption = "Chance that a re-run reverses the order of two architectures, by what is new"
        yield from order_tables(answer.trained_orders, caption)
    if costs := answer.trained_costs:
        rows = tuple((c.method.shown.label, c.method.model, *cost_cells(c)[:-1]) for c in costs)
        yield Table(
            COST_HEAD, rows, f"Seeds needed to know an architecture's mean to within {answer.within:g} points (95 %)"
        )


def section_title(answer: ComparisonAnswer) -> str:
    """The ways of judging by name; many are counted.

    `People, token metrics and probe tasks on the same axes`.
    """
    names = [scale.group for scale in answer.scales]
    if len(names) > NAMED:
        return f"{len(names)} ways of judging on the same axes"
    told = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
    return f"{heading(told)} on the same axes"


def architecture_signs(panels: Sequence[Panel]) -> dict[str, tuple[str, str]]:
    """Each architecture's mark and colour, the same in every figure: in print two colours may look the same."""
    names = sorted({model for panel in panels for model in panel.models})
    return {name: sign_of(k) for k, name in enumerate(names)}


def spread_figure(panels: Sequence[Panel]) -> RowFigure | None:
    """SD over seeds with its interval, one line an architecture."""
    signs = architecture_signs(panels)
    shown = [panel for panel in panels if any(m.several for m in methods(panel))]
    found = [m for panel in shown for m in methods(panel) if m.several]
    sizes = [size for m in found for size in (m.over_seeds.low, m.over_seeds.high, m.sd_if_alike)]
    ends = [size for size in sizes if math.isfinite(size) and size > 0]
    if not ends:
        return None
    axis = Axis(0.8 * max(min(ends), 0.01 if shown[0].shown.in_points else 0), 1.25 * max(ends), logarithmic=True)
    rows: list[Row] = []
    for _, group in groupby(shown, key=lambda panel: panel.kind):
        members = list(group)
        rows.append(Row(heading(members[0].shown.group)))
        rows += [_spread_row(panel, axis, signs) for panel in members]
    legend = tuple((*sign, name) for name, sign in signs.items() if name in {m.model for m in found})
    return RowFigure(
        "How much each method varies over training seeds" + ("" if shown[0].shown.in_points else ", in other units"),
        tuple(rows),
        axis.ticks([0.0001, 0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300]), _unit(shown), (),
        (*legend, ("bar", "ink", "95 % interval of the SD"), ("ring", "ink", "SD if seeds were alike")),
        "SD over seeds",
        "A dot near its ring gives no evidence that the seed matters.",
        "seed-spread" if shown[0].shown.in_points else "seed-spread-other-units",
    )  # fmt: skip


def _spread_row(panel: Panel, axis: Axis, signs: Signs) -> Row:
    found = [method for method in methods(panel) if method.several]
    marks = [mark for line, method in enumerate(found) for mark in _spread(method, axis, line, signs[method.model])]
    note = " / ".join(panel.shown.said(method.over_seeds.sd) for method in found)
    described = "; ".join(
        f"{m.model} {m.over_seeds.sd:.1f} ({m.over_seeds.low:.1f} to {m.over_seeds.high:.1f})" for m in found
    )
    return Row(_name(panel), note, tuple(marks), lines=len(found), described=described)


def _name(panel: Panel) -> str:
    return panel.shown.task if panel.checkpoint == "last" else f"{panel.shown.task}, {panel.checkpoint}"


def _unit(panels: Sequence[Panel]) -> str:
    return "points, logarithmic" if panels[0].shown.in_points else "each in its own unit, logarithmic"


def _spread(method: Method, axis: Axis, line: int, sign: tuple[str, str]) -> Iterator[Mark]:
    over, (shape, colour) = method.over_seeds, sign
    if over.sd > 0:
        yield Mark("bar", axis.at(over.low), axis.at(over.high), line, colour)
    if math.isfinite(method.sd_if_alike) and method.sd_if_alike > 0:
        yield Mark("ring", axis.at(method.sd_if_alike), 0, line, colour)
    if over.sd > 0:
        yield Mark(shape, axis.at(over.sd), 0, line, colour)


def value_figures(panels: Sequence[Panel], baselines: Sequence[Baseline]) -> tuple[RowFigure, ...]:
    """Every evaluator's values, one figure for each and for each unit, with chance and the best baseline."""
    signs = architecture_signs(panels)
    chosen = [panel for panel in panels if panel.kind not in (PEOPLE, SHOWN_ELSEWHERE)]
    groups = groupby(chosen, key=lambda panel: (panel.kind, panel.shown.unit))
    return tuple(_values(list(group), baselines, signs) for _, group in groups)


def _values(panels: Sequence[Panel], baselines: Sequence[Baseline], signs: Signs) -> RowFigure:
    scale, best = panels[0].shown, {panel.name: best_baseline(panel, baselines) for panel in panels}
    rivals = [one.value for one in best.values() if one]
    chances = [panel.shown.chance for panel in panels if panel.shown.chance is not None]
    every = [*(float(value) for panel in panels for value in panel.values), *chances, *rivals]
    room = 0.06 * (max(every) - min(every)) or 1.0
    axis = Axis(min(every) - room, max(every) + room)
    legend = [(*sign, name) for name, sign in signs.items() if any(name in p.models for p in panels)]
    if chances:
        legend += [("tick", "people", "chance"), ("faint", "ink", "no better than chance")]
    legend += [("tick", "grey", "best baseline")] if rivals else []
    return RowFigure(
        f"{heading(scale.group)}: one dot per training seed",
        tuple(_value_row(panel, best[panel.name], axis, signs) for panel in panels),
        axis.ticks(round_steps(axis.low, axis.high)), scale.unit or "score", (), tuple(legend),
        ", ".join((["chance"] if chances else []) + (["best baseline"] if rivals else [])),
        name=f"values-{scale.group}",
    )  # fmt: skip


def _value_row(panel: Panel, best: Baseline | None, axis: Axis, signs: Signs) -> Row:
    shown, marks = panel.shown, []
    if best is not None:
        marks.append(Mark("tick", axis.at(best.value), 0, -1, "grey"))
    if shown.chance is not None:
        marks.append(Mark("tick", axis.at(shown.chance), 0, -1, "people"))
    for line, model in enumerate(panel.models):
        for value in panel.values[panel.of(model)]:
            shape, colour = signs[model]
            better = shown.beyond_chance(float(value))
            marks.append(Mark(shape if better else "faint", axis.at(float(value)), 0, line, colour))
    told = "; ".join(f"{model} {shown.said(float(panel.values[panel.of(model)].mean()))}" for model in panel.models)
    note = [] if shown.chance is None else [shown.said(shown.chance)]
    note += [] if best is None else [f"{best.name} {shown.said(best.value)}"]
    return Row(_name(panel), ", ".join(note), tuple(marks), lines=len(panel.models), described=told)
