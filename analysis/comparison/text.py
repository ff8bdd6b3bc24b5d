"""A comparison in words: the table of methods, the orders a re-run would reverse, what certainty costs, the verdicts.

`document` has the stable keys of `--json`; `parts` are the tables and sentences of terminal and notebook.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from analysis.comparison.answer import ComparedMethod, ComparedOrder, ComparisonAnswer
from analysis.comparison.costs import Cost
from analysis.comparison.orders import WAYS, Generalisability
from analysis.comparison.published import Published
from analysis.comparison.verdicts import verdicts
from analysis.reading.panel import Panel
from analysis.showing.tables import MOST_ROWS, Table, in_short
from analysis.showing.words import number, p_value, plain

METHOD_HEAD = ("method", "architecture", "checkpoint", "seeds", "mean", "SD over seeds", "95 % interval",
               "SD if seeds alike", "E rho^2 of seeds", "SE of items", "SE of raters")  # fmt: skip
ORDER_HEAD = ("method", "checkpoint", "order", "difference", "new seeds", "new items", "new raters", "all new",
              "95 % interval", "E rho^2")  # fmt: skip
NOISE = (
    "All numbers are in points (x 100). SD if seeds alike: the SD over seeds to expect if the seed made no "
    "difference, since every value rests on a sample of dialogues (and raters). An SD over seeds near it is no "
    "evidence that the seed matters. E rho^2 of seeds: the share of the variance over seeds that new items and raters "
    "would reproduce; the seeds differ if its 95 % interval is above 0. SE of items and of raters: how much one "
    "model's value would change with other dialogues or other raters. All seeds share these, so most of that change "
    "moves them together: it is no measure for the SD over seeds."
)
FLIPS = (
    "Chance that a re-run reverses the order of two architectures, by what is new (-: not known from this study). "
    "E rho^2: the share of the variance between all architectures of a method that a re-run would reproduce."
)


def parts(answer: ComparisonAnswer) -> list[Table | str]:
    """The tables, the papers beside, what may be claimed, and the recipe last."""
    shown: list[Table | str] = [Table(METHOD_HEAD, [method_row(one) for one in answer.methods]), NOISE]
    if answer.orders:
        shown.append(order_tables(answer.orders, FLIPS)[0])
    if answer.trained_costs:
        shown.append(_costs(answer))
    if answer.published:
        shown += _papers(answer.published)
    return [*shown, *verdicts(answer), *answer.warnings, answer.signature]


def order_tables(found: Sequence[ComparedOrder], caption: str) -> tuple[Table, ...]:
    """The orders; of very many the closest, and all in a folded table."""
    many = len(found) > MOST_ROWS
    rows = [order_row(one) for one in (sorted(found, key=lambda one: one.order.difference) if many else found)]
    return in_short(Table(ORDER_HEAD, rows, caption), "orders", "with the smallest difference")


def method_row(one: ComparedMethod) -> tuple[str, ...]:
    """One line of the table of methods; a dash for what the study cannot tell."""
    method, over = one.method, one.method.over_seeds
    return (
        f"{method.kind}: {method.name}", method.model, method.checkpoint, str(len(method.seeds)),
        "0" if one.mean == 0 else f"{one.mean:.1f}", number(over.sd, 2),
        f"{over.low:.2f}-{over.high:.2f}" if over.sd > 0 else "-",
        number(method.sd_if_alike, 2), _share(one.reliability), number(one.item_se, 2), number(one.rater_se, 2),
    )  # fmt: skip


def order_row(one: ComparedOrder) -> tuple[str, ...]:
    """One line of the table of pairs of architectures."""
    order, all_new = one.order, one.order.flips["everything"]
    flips = [order.flips[way] for way in WAYS]
    return (
        f"{order.kind}: {order.name}", order.checkpoint, f"{order.first} > {order.second}", f"{order.difference:.2f}",
        *("-" if flip is None else p_value(flip.p) for flip in flips),
        "-" if all_new is None else f"{all_new.low:.3f}-{all_new.high:.3f}", _share(one.generalisability),
    )  # fmt: skip


def _share(found: Generalisability | None) -> str:
    """A generalisability with its interval."""
    return "-" if found is None or math.isnan(found.value) else f"{found.value:.2f} ({found.low:.2f}-{found.high:.2f})"


def _costs(answer: ComparisonAnswer) -> Table:
    rows = [
        [f"{c.method.kind}: {c.method.name}", c.method.model, c.method.checkpoint, *cost_cells(c)]
        for c in answer.trained_costs
    ]
    head = ["method", "architecture", "checkpoint", "seeds", "seeds at the ends of the SD's interval"]
    caption = (
        "Seeds needed to know an architecture's mean (for people: its strength against other architectures) to "
        f"within {answer.within:g} points (95 %)"
    )
    return Table([*head, "rater hours", "machine hours", "money"], rows, caption)


def cost_cells(cost: Cost) -> list[str]:
    """Seeds, their range, hours, money."""
    ends = f"{_shown(cost.seeds_low)}-{_shown(cost.seeds_high)}"
    return [_shown(cost.seeds), ends, *map(_shown, (cost.rater_hours, cost.machine_hours, cost.money))]


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _papers(papers: Sequence[Published]) -> list[Table | str]:
    rows = [
        [f"{cell.corpus} {cell.model}", cell.task, f"{cell.f1:.1f}", f"{cell.printed:.2f}", f"{cell.sd:.1f}"]
        for cell in papers
    ]
    table = Table(["papers: corpus and model", "task", "F1", 'printed "+-"', "SD over 3 seeds"], rows)
    largest = max(papers, key=lambda cell: cell.printed)
    return [
        table,
        'What the papers print as "+-" is 100 x the variance of F1 in [0, 1]; the SD in points is 10 times its root. '
        f'The largest here, "+-{largest.printed:.2f}" ({largest.model} on {largest.task}), is an SD of '
        f"{largest.sd:.1f} points.",
    ]


def document(answer: ComparisonAnswer) -> dict[str, Any]:
    """The stable keys of `--json`; a number that cannot be computed is null."""
    found = {
        "methods": [_method(one) for one in answer.methods],
        "orders": [asdict(one.order) for one in answer.orders],
        "generalisability": [
            _place(one.panel) | {"of": "architectures", **_plain_share(one.generalisability)} for one in answer.panels
        ],
        "verdicts": verdicts(answer),
        "costs": [_cost(one) for one in answer.costs],
        "published": [
            {"corpus": c.corpus, "task": c.task, "model": c.model, "f1": c.f1, "printed": c.printed, "sd": c.sd}
            for c in answer.published
        ],
        "signature": answer.signature,
    }
    return dict(plain(found))


def _place(panel: Panel) -> dict[str, Any]:
    return {"kind": panel.kind, "name": panel.name, "checkpoint": panel.checkpoint}


def _plain_share(found: Generalisability | None) -> dict[str, Any]:
    return {"value": None, "low": None, "high": None} if found is None else asdict(found)


def _method(one: ComparedMethod) -> dict[str, Any]:
    method, over = one.method, one.method.over_seeds
    return {
        **_place(one.panel), "model": method.model, "seeds": method.seeds, "values": method.values,
        "items": method.items, "sd": over.sd, "low": over.low, "high": over.high,
        "sd_if_alike": method.sd_if_alike, "reliability": _plain_share(one.reliability), "item_se": one.item_se,
        "rater_se": one.rater_se,
    }  # fmt: skip


def _cost(cost: Cost) -> dict[str, Any]:
    method = cost.method
    return {
        "kind": method.kind, "name": method.name, "model": method.model, "checkpoint": method.checkpoint,
        "margin": cost.margin, "seeds": cost.seeds, "seeds_low": cost.seeds_low, "seeds_high": cost.seeds_high,
        "rater_hours": cost.rater_hours, "machine_hours": cost.machine_hours, "money": cost.money,
    }  # fmt: skip
