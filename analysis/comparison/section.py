"""The report's sections on models: spreads over seeds, probes beside their baselines, where variance comes from."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import median

import numpy as np

from analysis.comparison.costs import cost
from analysis.comparison.orders import WAYS, Order
from analysis.comparison.published import published
from analysis.comparison.text import HEAD, cost_cells, order_row, row
from analysis.comparison.verdicts import verdicts
from analysis.reading.panel import UNSEEN, Method, Panel, methods
from analysis.reading.study import Study
from analysis.report.findings import ProbeTable
from analysis.showing.page import Axis, Figure, Mark, Row, Section
from analysis.showing.tables import Table
from analysis.showing.words import count

NAMES = {"people": "People", "token": "Token metrics", "probe": "Probes, micro-F1"}
COLOURS = 6
MARGIN = 2.0  # points, as in `analysis compare`
COST = ("method", "architecture", "seeds", "if the SD is at an end of its interval", "rater hours", "machine hours")


def architectures(panels: Sequence[Panel]) -> dict[str, str]:
    """Each architecture's colour, the same in every figure."""
    names = sorted({model for panel in panels for model in panel.models})
    return {name: f"c{k % COLOURS}" for k, name in enumerate(names)}


def compare_section(study: Study, panels: Sequence[Panel], pairs: Sequence[tuple[Panel, Order]]) -> Section | None:
    """People, token metrics and probes over seeds, in one figure and one table."""
    trained = [panel for panel in panels if panel.checkpoint != UNSEEN]
    if not trained:
        return None
    made = [method for panel in trained for method in methods(panel)]
    figure = spread_figure(trained)
    text = (
        "Every method gives each trained model one number. Its SD over training seeds stands beside how far it would "
        "move for one and the same model on other dialogues: an SD no larger is no evidence that the seed matters.",
    )
    rows = tuple(tuple(row(panel, method)) for panel in panels for method in methods(panel))
    tables = [Table(tuple(HEAD), rows, "Every method, architecture and checkpoint; all in points")]
    if pairs:
        head = (
            "method",
            "checkpoint",
            "order",
            "difference",
            *(f"new {way}" for way in WAYS),
            "95 % interval",
            "E rho^2",
        )
        rows = tuple(tuple(order_row(*one)) for one in pairs)
        tables.append(Table(head, rows, "Chance that a re-run reverses two architectures, by what it draws anew"))
    costs = [cost(m, study, MARGIN, an_hour=None, machine_hour=None) for m in made if m.several]
    if costs:
        rows = tuple((f"{c.method.kind}: {c.method.name}", c.method.model, *cost_cells(c)[:-1]) for c in costs)
        tables.append(Table(COST, rows, f"To know an architecture's mean to within {MARGIN:g} points (95 %)"))
    drawn = (figure,) if figure else ()
    return Section("compare", "People, token metrics and probes on the same axes", text, drawn,
                   tuple(verdicts(made, [order for _, order in pairs])), tables=tuple(tables))  # fmt: skip


def spread_figure(panels: Sequence[Panel]) -> Figure | None:
    """SD over seeds with its interval, one line an architecture."""
    colours = architectures(panels)
    shown = [panel for panel in panels if any(m.several for m in methods(panel))]
    found = [m for panel in shown for m in methods(panel) if m.several]
    ends = [x for m in found for x in (m.over_seeds.low, m.over_seeds.high, m.noise) if math.isfinite(x) and x > 0]
    if not ends:
        return None
    axis = Axis(0.8 * max(min(ends), 0.01), 1.25 * max(ends), logarithmic=True)
    rows: list[Row] = []
    for kind, group in groupby(shown, key=lambda panel: panel.kind):
        rows.append(Row(NAMES.get(kind, kind)))
        rows += [_spread_row(panel, axis, colours) for panel in group]
    legend = tuple(("dot", colour, name) for name, colour in colours.items() if name in {m.model for m in found})
    return Figure(
        "How far each judgement moves with the training seed", tuple(rows),
        axis.ticks([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300]), "points, logarithmic", (),
        (*legend, ("bar", "ink", "95 % interval of the SD"), ("ring", "ink", "one model on other dialogues")),
        "SD over seeds",
        "A dot near its ring is no evidence that the seed matters.",
    )  # fmt: skip


def _spread_row(panel: Panel, axis: Axis, colours: dict[str, str]) -> Row:
    found = [method for method in methods(panel) if method.several]
    marks = [mark for line, method in enumerate(found) for mark in _spread(method, axis, line, colours[method.model])]
    note = " / ".join(f"{method.over_seeds.sd:.1f}" for method in found)
    said = "; ".join(
        f"{m.model} {m.over_seeds.sd:.1f} ({m.over_seeds.low:.1f} to {m.over_seeds.high:.1f})" for m in found
    )
    name = panel.name if panel.checkpoint == "last" else f"{panel.name}, {panel.checkpoint}"
    return Row(name, note, tuple(marks), lines=len(found), described=said)


def _spread(method: Method, axis: Axis, line: int, colour: str) -> Iterator[Mark]:
    over = method.over_seeds
    if over.sd > 0:
        yield Mark("bar", axis.at(over.low), axis.at(over.high), line, colour)
    if math.isfinite(method.noise) and method.noise > 0:
        yield Mark("ring", axis.at(method.noise), 0, line, colour)
    if over.sd > 0:
        yield Mark("dot", axis.at(over.sd), 0, line, colour)


def probes_section(table: ProbeTable | None, panels: Sequence[Panel]) -> Section | None:
    """Figure 2: probe scores of every seed, before and after training, beside what needs no trained model."""
    if table is None or not table.tasks:
        return None
    probes = [panel for panel in panels if panel.kind == "probe"]
    adds = ["the best baseline that reads no trained state"] if baselines_of(table) else []
    adds += ["the same encoder before training"] if any(UNSEEN in name for name in table.plain) else []
    text = "Micro-F1 of a linear classifier on the frozen encoder, in points."
    if adds:
        text += f" It says something of the trained encoder only by what it adds to {' and to '.join(adds)}."
    rows = tuple(
        (task, *(f"{table.value[task, c]:.1f}" if (task, c) in table.value else "-" for c in table.columns))
        for task in table.tasks
    )
    numbers = Table(("task", *table.columns), rows, "Probe tasks, mean over seeds")
    figure = probe_figure(table, probes) if probes else None
    theirs = papers_table(table.tasks)
    return Section("probes", "Probes beside their baselines", (text,), (figure,) if figure else (),
                   tables=(numbers, *theirs))  # fmt: skip


def papers_table(tasks: Sequence[str]) -> tuple[Table, ...]:
    """The papers' scores on the same tasks, for the eye: another corpus, another protocol."""
    cells = [cell for cell in published() if cell.checkpoint == "last" and cell.task in tasks]
    rows = []
    for task, corpus in dict.fromkeys((cell.task, cell.corpus) for cell in cells):
        mine = [cell for cell in cells if (cell.task, cell.corpus) == (task, corpus)]
        f1, sd = [cell.f1 for cell in mine], [cell.sd for cell in mine]
        reach, spread = f"{min(f1):.1f} to {max(f1):.1f}", f"{min(sd):.1f} to {max(sd):.1f}"
        rows.append((task, corpus, count(len(mine), "model"), reach, f"{median(sd):.1f}", spread))
    head = ("task", "corpus", "models", "F1, lowest to highest", "SD over 3 seeds, median", "lowest to highest")
    caption = "The papers' scores on these tasks, last epoch; their printed variances turned into SDs, in points"
    return (Table(head, tuple(rows), caption),) if rows else ()


def baselines_of(table: ProbeTable) -> list[str]:
    """What reads no encoder at all."""
    return [name for name in table.plain if UNSEEN not in name]


def probe_figure(table: ProbeTable, panels: Sequence[Panel]) -> Figure:
    """One row a task, one line an architecture: a dot a seed, a ring for the mean before training."""
    colours, axis = architectures(panels), Axis(0, 100)
    baselines = baselines_of(table)
    rows = []
    for task in table.tasks:
        mine = [panel for panel in panels if panel.name.split(", ")[0] == task]
        marks = [mark for line, model in enumerate(colours) for mark in _probe(mine, model, line, axis, colours[model])]
        best, name = max(((table.value[task, n], n) for n in baselines if (task, n) in table.value), default=(0.0, ""))
        if name:
            marks.insert(0, Mark("tick", axis.at(best), 0, -1, "grey"))
        note = f"{name} {best:.0f}" if name else ""
        rows.append(Row(task, note, tuple(marks), lines=len(colours), described=_scores(mine)))
    legend = tuple(("dot", colour, name) for name, colour in colours.items())
    more = (
        (("ring", "ink", "before training"), ("tick", "grey", "best baseline"))
        if baselines
        else (("ring", "ink", "before training"),)
    )
    return Figure("Probe scores: a dot a training seed", tuple(rows), axis.ticks(range(0, 101, 20)), "micro-F1, points",
                  (), (*legend, *more), "best baseline" if baselines else "")  # fmt: skip


def _probe(panels: Sequence[Panel], model: str, line: int, axis: Axis, colour: str) -> Iterator[Mark]:
    for panel in panels:
        values = panel.values[panel.of(model)] if model in panel.models else np.zeros(0)
        if panel.checkpoint == UNSEEN and len(values):
            yield Mark("ring", axis.at(float(values.mean())), 0, line, colour)
        elif panel.checkpoint != UNSEEN:
            yield from (Mark("dot", axis.at(float(value)), 0, line, colour) for value in values)


def _scores(panels: Sequence[Panel]) -> str:
    return "; ".join(
        f"{model} {panel.checkpoint} {panel.values[panel.of(model)].mean():.1f}"
        for panel in panels
        for model in panel.models
    )
