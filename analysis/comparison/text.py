"""The comparison as tables for people, a document for machines and a figure."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.comparison.costs import Cost
from analysis.comparison.orders import WAYS, Generalisability, Order, between_architectures, between_seeds
from analysis.comparison.published import Published
from analysis.comparison.verdicts import verdicts
from analysis.reading.panel import UNSEEN, Method, Panel, methods
from analysis.showing.tables import Table
from analysis.showing.words import number, plain
from dialogue.errors import InputError
from dialogue.signature import signature

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEAD = ["method", "architecture", "checkpoint", "seeds", "mean", "SD over seeds", "95 % interval", "SE of items",
        "SE of raters", "E rho^2 of seeds"]  # fmt: skip
NOISE = (
    "SE of items, of raters: how far the value of one and the same model would move on other dialogues, with other "
    "raters. An SD over seeds near it is no evidence that the seed matters. E rho^2 of seeds: the share of the "
    "variance over seeds that new items and raters would show again."
)
FLIPS = (
    "Chance that a re-run reverses two architectures, by what is drawn anew (- : not to be told from this study). "
    "E rho^2: the share of the variance between all architectures of a method that a re-run would show again."
)


def compare_parts(
    panels: Sequence[Panel],
    pairs: Sequence[tuple[Panel, Order]],
    costs: Sequence[Cost],
    papers: Sequence[Published],
    margin: float,
) -> list[Table | str]:
    """The table, what may be claimed, what a re-run would reverse, what certainty costs, the papers beside."""
    found = [(panel, method) for panel in panels for method in methods(panel)]
    parts: list[Table | str] = [Table(HEAD, [row(*one) for one in found]), "All in points (x 100). " + NOISE]
    if pairs:
        head = ["method", "checkpoint", "order", "difference", *WAYS, "95 % interval", "E rho^2"]
        parts.append(Table(head, [order_row(*one) for one in pairs], FLIPS))
    if priced := [cost for cost in costs if cost.method.checkpoint != UNSEEN and cost.method.several]:
        asked = "an architecture's mean (people: its strength against other architectures)"
        parts.append(_costs(priced, f"To know {asked} to within {margin:g} points (95 %):"))
    if papers:
        parts += _papers(papers)
    said = verdicts([method for _, method in found], [order for _, order in pairs])
    return [*parts, *said]


def row(panel: Panel, method: Method) -> list[str]:
    """One line of the table of methods; a dash for what the study cannot tell."""
    over = method.over_seeds
    place = [f"{method.kind}: {method.name}", method.model, method.checkpoint, str(len(method.seeds))]
    spread = [number(over.sd, 2), f"{over.low:.2f}-{over.high:.2f}" if method.several else "-"]
    noise = [number(method.noise, 2), number(root_mean_square(method.rater_se), 2)]
    return [*place, mean_of(panel, method), *spread, *noise, share(between_seeds(panel, method.model))]


def order_row(panel: Panel, order: Order) -> list[str]:
    """One line of the table of pairs of architectures."""
    all_new = order.flips["everything"]
    flips = [order.flips[way] for way in WAYS]
    return [
        f"{order.kind}: {order.name}", order.checkpoint, f"{order.first} > {order.second}", f"{order.difference:.2f}",
        *("-" if flip is None else f"{flip.p:.3f}" for flip in flips),
        "-" if all_new is None else f"{all_new.low:.3f}-{all_new.high:.3f}", share(between_architectures(panel)),
    ]  # fmt: skip


def root_mean_square(values: Sequence[float]) -> float:
    """NaN for no values."""
    return math.sqrt(float(np.mean(np.square(values)))) if values else math.nan


def mean_of(panel: Panel, method: Method) -> str:
    """The mean over seeds; the strengths of one architecture's seeds sum to zero."""
    if method.kind == "people" and len(panel.models) == 1:
        return "0"
    return f"{np.mean(method.values):.1f}"


def share(found: Generalisability | None) -> str:
    """A generalisability with its interval."""
    return "-" if found is None or math.isnan(found.value) else f"{found.value:.2f} ({found.low:.2f}-{found.high:.2f})"


def _costs(costs: Sequence[Cost], caption: str) -> Table:
    rows = [[f"{c.method.kind}: {c.method.name}", c.method.model, c.method.checkpoint, *cost_cells(c)] for c in costs]
    head = ["method", "architecture", "checkpoint", "seeds", "if the SD is at an end of its interval"]
    return Table([*head, "rater hours", "machine hours", "money"], rows, caption)


def cost_cells(cost: Cost) -> list[str]:
    """Seeds, their range, hours, money."""
    ends = f"{_shown(cost.seeds_low)}-{_shown(cost.seeds_high)}"
    return [_shown(cost.seeds), ends, *map(_shown, (cost.rater_hours, cost.machine_hours, cost.money))]


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _papers(papers: Sequence[Published]) -> list[Table | str]:
    rows = [
        [name, cell.task, f"{cell.f1:.1f}", f"{cell.printed:.2f}", f"{cell.sd:.1f}"]
        for name, cell in ((f"{cell.corpus} {cell.model}", cell) for cell in papers)
    ]
    table = Table(["papers: corpus and model", "task", "F1", 'printed "+-"', "SD over 3 seeds"], rows)
    largest = max(papers, key=lambda cell: cell.printed)
    return [
        table,
        'The papers print 100 x the variance of F1 in [0, 1] as "+-"; the SD in points is 10 times its root: the '
        f'largest here, "+-{largest.printed:.2f}" ({largest.model} on {largest.task}), is an SD of {largest.sd:.1f} '
        "points.",
    ]


def document(
    panels: Sequence[Panel],
    pairs: Sequence[tuple[Panel, Order]],
    costs: Sequence[Cost],
    papers: Sequence[Published],
) -> dict[str, Any]:
    """The same for machines: `methods`, `orders`, `verdicts`, `costs`, `published`, `signature`."""
    made = [method for panel in panels for method in methods(panel)]
    found = [order for _, order in pairs]
    recipe = signature(methods=len(made), interval="chi-square", items="dialogue-cluster", level=0.95)
    return {
        "methods": plain_methods(panels),
        "orders": plain([asdict(order) for order in found]),
        "generalisability": plain(
            [_named(panel) | {"of": "architectures", **_share(between_architectures(panel))} for panel in panels]
        ),
        "verdicts": verdicts(made, found),
        "costs": [_plain_cost(c) for c in costs],
        "published": [
            {"corpus": c.corpus, "task": c.task, "model": c.model, "f1": c.f1, "printed": c.printed, "sd": c.sd}
            for c in papers
        ],
        "signature": recipe,
    }


def plain_methods(panels: Sequence[Panel]) -> list[dict[str, Any]]:
    """Every method as plain values; a number that cannot be computed is null."""
    return [plain(_method(panel, method)) for panel in panels for method in methods(panel)]


def _named(panel: Panel) -> dict[str, Any]:
    return {"kind": panel.kind, "name": panel.name, "checkpoint": panel.checkpoint}


def _share(found: Generalisability | None) -> Mapping[str, Any]:
    return {"value": None, "low": None, "high": None} if found is None else asdict(found)


def _method(panel: Panel, method: Method) -> dict[str, Any]:
    over = method.over_seeds
    values = {"model": method.model, "seeds": method.seeds, "values": method.values, "items": method.items}
    spread = {"sd": over.sd, "low": over.low, "high": over.high, "noise": method.noise}
    raters = {"rater_noise": root_mean_square(method.rater_se)}
    return _named(panel) | values | spread | raters | {"reliability": _share(between_seeds(panel, method.model))}


def _plain_cost(cost: Cost) -> dict[str, Any]:
    named = {"kind": cost.method.kind, "name": cost.method.name, "model": cost.method.model}
    keys = ("margin", "seeds", "seeds_low", "seeds_high", "rater_hours", "machine_hours", "money")
    return named | {"checkpoint": cost.method.checkpoint} | {key: getattr(cost, key) for key in keys}


def figure(found: Sequence[Method], recipe: str) -> Figure:
    """SDs over seeds with their intervals, trained checkpoints only."""
    from analysis.showing.plots import BLUE, GREEN, ORANGE, ForestRow, forest_figure

    colours = {"people": ORANGE, "token": GREEN, "probe": BLUE}
    rows = [
        ForestRow(
            f"{m.kind}: {m.name} ({m.model})",
            m.over_seeds.sd,
            m.over_seeds.low,
            m.over_seeds.high,
            f"{m.over_seeds.sd:.1f}",
            colours.get(m.kind, BLUE),
        )
        for m in found
        if m.checkpoint != UNSEEN and m.several
    ]
    if not rows:
        raise InputError("No architecture has two seeds, so there is no spread over seeds to draw; leave --figure out.")
    title = "How far judgements move with the seed"
    return forest_figure(rows, title=title, xlabel="SD over seeds with 95 % interval, points", recipe=recipe)
