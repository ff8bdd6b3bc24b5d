"""The comparison as a table for people, a document for machines and a figure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from analysis.compare import Method
from analysis.costs import Cost
from analysis.published import Published
from analysis.tables import text_table
from dialogue.signature import signature

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEAD = ["method", "architecture", "checkpoint", "seeds", "mean", "SD over seeds", "95 % interval", "SE of items"]
FEW = (
    "With fewer than five seeds an SD is known too roughly to rank one method's spread above another's: "
    "read the interval, not the SD."
)
NOISE = (
    "SE of items: the SD over seeds that one and the same model would show, judged on other dialogues. "
    "An SD near it is no evidence that the seed matters."
)


def compare_text(methods: Sequence[Method], costs: Sequence[Cost], papers: Sequence[Published], margin: float) -> str:
    """The table, what it costs, the papers beside, and how to read it."""
    parts = [text_table(HEAD, [_row(m) for m in methods]), "All in points (x 100). " + NOISE]
    if any(m.over_seeds.few for m in methods):
        parts.append(FEW)
    asked = "an architecture's mean (people: its strength against other architectures)"
    parts.append(f"To know {asked} to within {margin:g} points (95 %):\n" + _costs(costs))
    if papers:
        parts.append(_papers(papers))
    return "\n\n".join(parts)


def _row(method: Method) -> list[str]:
    over = method.over_seeds
    mean = "0" if method.kind == "people" else f"{np.mean(method.values):.1f}"
    place = [f"{method.kind}: {method.name}", method.model, method.checkpoint, str(len(method.seeds)), mean]
    return [*place, f"{over.sd:.2f}", f"{over.low:.2f}-{over.high:.2f}", f"{method.noise:.2f}"]


def _costs(costs: Sequence[Cost]) -> str:
    rows = [
        [f"{c.method.kind}: {c.method.name}", c.method.model, c.method.checkpoint, *map(_shown, _figures(c))]
        for c in costs
        if c.method.checkpoint != "untrained"
    ]
    return text_table(["method", "architecture", "checkpoint", "seeds", "rater hours", "machine hours", "money"], rows)


def _figures(cost: Cost) -> list[float | None]:
    return [cost.seeds, cost.rater_hours, cost.machine_hours, cost.money]


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _papers(papers: Sequence[Published]) -> str:
    rows = [
        [name, cell.task, f"{cell.f1:.1f}", f"{cell.printed:.2f}", f"{cell.sd:.1f}"]
        for name, cell in ((f"{cell.corpus} {cell.model}", cell) for cell in papers)
    ]
    table = text_table(["papers: corpus and model", "task", "F1", 'printed "+-"', "SD over 3 seeds"], rows)
    largest = max(papers, key=lambda cell: cell.printed)
    return (
        f'{table}\n\nThe papers print 100 x the variance of F1 in [0, 1] as "+-"; the SD in points is 10 times its '
        f'root: the largest here, "+-{largest.printed:.2f}" ({largest.model} on {largest.task}), is an SD of '
        f"{largest.sd:.1f} points."
    )


def document(methods: Sequence[Method], costs: Sequence[Cost], papers: Sequence[Published]) -> dict[str, Any]:
    """The same for machines: `methods`, `costs`, `published`, `signature`."""
    recipe = signature(methods=len(methods), interval="chi-square", items="dialogue-cluster", level=0.95)
    return {
        "methods": [plain_method(m) for m in methods],
        "costs": [_plain_cost(c) for c in costs],
        "published": [
            {"corpus": c.corpus, "task": c.task, "model": c.model, "f1": c.f1, "printed": c.printed, "sd": c.sd}
            for c in papers
        ],
        "signature": recipe,
    }


def plain_method(method: Method) -> dict[str, Any]:
    """One method as plain values; a number that cannot be computed is null."""
    over = method.over_seeds
    numbers = {"sd": over.sd, "low": over.low, "high": over.high, "noise": method.noise}
    named = {"kind": method.kind, "name": method.name, "model": method.model, "checkpoint": method.checkpoint}
    values = {"seeds": list(method.seeds), "values": list(method.values), "items": method.items}
    return named | values | {name: value if math.isfinite(value) else None for name, value in numbers.items()}


def _plain_cost(cost: Cost) -> dict[str, Any]:
    named = {"kind": cost.method.kind, "name": cost.method.name, "model": cost.method.model}
    figures = dict(zip(("seeds", "rater_hours", "machine_hours", "money"), _figures(cost), strict=True))
    return named | {"checkpoint": cost.method.checkpoint, "margin": cost.margin} | figures


def figure(methods: Sequence[Method], recipe: str) -> Figure:
    """SDs over seeds with their intervals, trained checkpoints only."""
    from analysis.plots import BLUE, GREEN, ORANGE, Estimate, forest_figure

    colours = {"people": ORANGE, "token": GREEN, "probe": BLUE}
    rows = [
        Estimate(
            f"{m.kind}: {m.name} ({m.model})",
            m.over_seeds.sd,
            m.over_seeds.low,
            m.over_seeds.high,
            f"{m.over_seeds.sd:.1f}",
            colours.get(m.kind, BLUE),
        )
        for m in methods
        if m.checkpoint != "untrained"
    ]
    title = "How far a judgement moves with the training seed"
    return forest_figure(rows, title=title, xlabel="SD over seeds with 95 % interval, points", recipe=recipe)
