"""The report's section on people, token metrics and probes: the answer's spreads, orders and costs, none of its own."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby

from analysis.comparison.answer import ComparisonAnswer
from analysis.comparison.text import METHOD_HEAD, cost_cells, method_row, order_tables
from analysis.comparison.verdicts import verdicts
from analysis.reading.panel import UNSEEN, Method, Panel, methods
from analysis.showing.page import Axis, Mark, Row, RowFigure, Section
from analysis.showing.tables import Table

KIND_NAMES = {"people": "People", "token": "Token metrics", "probe": "Probes, micro-F1"}
COST_HEAD = ("method", "architecture", "seeds", "seeds at the ends of the SD's interval", "rater hours",
             "machine hours")  # fmt: skip
HUES = 6  # colour classes of the page
COMPARING = (
    "Every method gives each trained model one number. The figure shows its SD over training seeds. Part of that is "
    "chance, even if the seed makes no difference, because every number rests on a limited set of dialogues; the ring "
    "shows how large that part is. An SD near its ring is no evidence that the seed matters."
)


def section(answer: ComparisonAnswer | None) -> Section | None:
    """People, token metrics and probes over seeds, in one figure and one table."""
    trained = [one.panel for one in answer.panels if one.panel.checkpoint != UNSEEN] if answer else []
    if answer is None or not trained:
        return None
    figure = spread_figure(trained)
    return Section(
        "compare", "People, token metrics and probes on the same axes", (COMPARING,), (figure,) if figure else (),
        tuple(verdicts(answer)), tables=tuple(_tables(answer)),
    )  # fmt: skip


def _tables(answer: ComparisonAnswer) -> Iterator[Table]:
    rows = tuple(method_row(one) for one in answer.methods)
    yield Table(METHOD_HEAD, rows, "Every method, architecture and checkpoint; all in points")
    if answer.trained_orders:
        caption = "Chance that a re-run reverses the order of two architectures, by what is new"
        yield from order_tables(answer.trained_orders, caption)
    if costs := answer.trained_costs:
        rows = tuple((f"{c.method.kind}: {c.method.name}", c.method.model, *cost_cells(c)[:-1]) for c in costs)
        yield Table(
            COST_HEAD, rows, f"Seeds needed to know an architecture's mean to within {answer.within:g} points (95 %)"
        )


def architecture_colours(panels: Sequence[Panel]) -> dict[str, str]:
    """Each architecture's colour, the same in every figure."""
    names = sorted({model for panel in panels for model in panel.models})
    return {name: f"c{k % HUES}" for k, name in enumerate(names)}


def spread_figure(panels: Sequence[Panel]) -> RowFigure | None:
    """SD over seeds with its interval, one line an architecture."""
    colours = architecture_colours(panels)
    shown = [panel for panel in panels if any(m.several for m in methods(panel))]
    found = [m for panel in shown for m in methods(panel) if m.several]
    sizes = [size for m in found for size in (m.over_seeds.low, m.over_seeds.high, m.sd_if_alike)]
    ends = [size for size in sizes if math.isfinite(size) and size > 0]
    if not ends:
        return None
    axis = Axis(0.8 * max(min(ends), 0.01), 1.25 * max(ends), logarithmic=True)
    rows: list[Row] = []
    for kind, group in groupby(shown, key=lambda panel: panel.kind):
        rows.append(Row(KIND_NAMES.get(kind, kind)))
        rows += [_spread_row(panel, axis, colours) for panel in group]
    legend = tuple(("dot", colour, name) for name, colour in colours.items() if name in {m.model for m in found})
    return RowFigure(
        "How much each method varies over training seeds", tuple(rows),
        axis.ticks([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300]), "points, logarithmic", (),
        (*legend, ("bar", "ink", "95 % interval of the SD"), ("ring", "ink", "SD if seeds were alike")),
        "SD over seeds",
        "A dot near its ring gives no evidence that the seed matters.",
    )  # fmt: skip


def _spread_row(panel: Panel, axis: Axis, colours: dict[str, str]) -> Row:
    found = [method for method in methods(panel) if method.several]
    marks = [mark for line, method in enumerate(found) for mark in _spread(method, axis, line, colours[method.model])]
    note = " / ".join(f"{method.over_seeds.sd:.1f}" for method in found)
    described = "; ".join(
        f"{m.model} {m.over_seeds.sd:.1f} ({m.over_seeds.low:.1f} to {m.over_seeds.high:.1f})" for m in found
    )
    name = panel.name if panel.checkpoint == "last" else f"{panel.name}, {panel.checkpoint}"
    return Row(name, note, tuple(marks), lines=len(found), described=described)


def _spread(method: Method, axis: Axis, line: int, colour: str) -> Iterator[Mark]:
    over = method.over_seeds
    if over.sd > 0:
        yield Mark("bar", axis.at(over.low), axis.at(over.high), line, colour)
    if math.isfinite(method.sd_if_alike) and method.sd_if_alike > 0:
        yield Mark("ring", axis.at(method.sd_if_alike), 0, line, colour)
    if over.sd > 0:
        yield Mark("dot", axis.at(over.sd), 0, line, colour)
