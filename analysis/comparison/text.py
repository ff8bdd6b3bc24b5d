"""A comparison in words: the table of methods, the orders a re-run would reverse, what certainty costs, the verdicts.

`document` has the stable keys of `--json`; `parts` are the tables and sentences of terminal and notebook.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from analysis.comparison.answer import ComparedMethod, ComparedOrder, ComparisonAnswer
from analysis.comparison.choosing_people import people_table
from analysis.comparison.costs import Cost
from analysis.comparison.orders import WAYS, Generalisability
from analysis.comparison.published import Published
from analysis.comparison.untrained import sentences_above, table_above
from analysis.comparison.verdicts import verdicts
from analysis.showing.tables import MOST_ROWS, Table, in_short
from analysis.showing.words import p_value, plain
from analysis.votes.scores.files import by_reason
from analysis.votes.scores.panel import Panel
from analysis.votes.voters import marked_parts, not_people

METHOD_HEAD = ("method", "architecture", "checkpoint", "seeds", "mean", "SD over seeds", "95 % interval",
               "SD if seeds alike", "E rho^2 of seeds", "SE of items", "SE of raters")  # fmt: skip
ORDER_HEAD = ("method", "checkpoint", "order", "difference", "new seeds", "new items", "new raters", "all new",
              "95 % interval", "E rho^2")  # fmt: skip
NOISE = (
    "{units} SD if seeds alike: the SD over seeds to expect if the seed made no "
    "difference, since every value rests on a sample of dialogues (and raters). An SD over seeds near it is no "
    "evidence that the seed matters. E rho^2 of seeds: the share of the variance over seeds that new items and raters "
    "would reproduce; the seeds differ if its 95 % interval is above 0. SE of items and of raters: how much one "
    "model's value would change with other dialogues or other raters. All seeds share these, so most of that change "
    "moves them together: it is no measure for the SD over seeds."
)
FLIPS = (
    "Chance that a re-run reverses the order of two architectures, by what is new (-: not known from this study). "
    "{first}E rho^2: the share of the variance between all architectures of a method that a re-run would reproduce."
)


def parts(answer: ComparisonAnswer) -> list[Table | str]:
    """The tables, the papers beside, what may be claimed, and the recipe last."""
    shown: list[Table | str] = [method_table(answer), NOISE.format(units=units_in_words(answer))]
    shown += [people_table(answer.choosing), *answer.choosing_notes] if answer.choosing else []
    if answer.orders:
        shown.append(order_tables(answer.orders, FLIPS.format(first=_first_in_words(answer)))[0])
    if answer.trained_costs:
        shown.append(_costs(answer))
    if answer.above:
        shown += [table_above(answer.above), *sentences_above(answer.above)]
    if answer.published:
        shown += _papers(answer.published)
    shown = [*marked_parts(shown, answer.voters), *verdicts(answer), *not_people(answer.voters), *answer.warnings]
    return [*shown, *(["\n".join(told)] if (told := notes(answer)) else []), answer.signature]


def notes(answer: ComparisonAnswer) -> list[str]:
    """Scores that are missing, evaluators without a card, and all that is not compared."""
    return [*answer.missing, *map(str, by_reason(answer.not_compared))]


def caption_of_methods(answer: ComparisonAnswer) -> str:
    """What the table of methods shows."""
    only = all(one.panel.shown.in_points for one in answer.panels)
    return f"Every method, architecture and checkpoint; {'all in points' if only else 'in points, or as named'}"


def units_in_words(answer: ComparisonAnswer) -> str:
    """What the numbers are in."""
    if all(one.panel.shown.in_points for one in answer.panels):
        return "All numbers are in points (x 100)."
    return "Numbers are in points (x 100); those of a method that is not in points are in its own unit."


def _first_in_words(answer: ComparisonAnswer) -> str:
    lower = any(one.order.sign == "<" for one in answer.orders)
    return "The better one is named first; A < B where lower is better, and then the difference is below 0. " * lower


def method_table(answer: ComparisonAnswer, caption: str = "") -> Table:
    """The methods; with a column of chance where a card names one."""
    rows = [method_row(one) for one in answer.methods]
    if all(one.panel.shown.chance is None for one in answer.methods):
        return Table(METHOD_HEAD, rows, caption)
    at = METHOD_HEAD.index("mean") + 1
    chances = ["-" if (at_chance := one.panel.shown.chance) is None else one.panel.shown.said(at_chance)
               for one in answer.methods]  # fmt: skip
    rows = [(*row[:at], chance, *row[at:]) for row, chance in zip(rows, chances, strict=True)]
    return Table((*METHOD_HEAD[:at], "chance", *METHOD_HEAD[at:]), rows, caption)


def order_tables(found: Sequence[ComparedOrder], caption: str) -> tuple[Table, ...]:
    """The orders; of very many the closest, and all in a folded table."""
    many = len(found) > MOST_ROWS
    rows = [order_row(one) for one in (sorted(found, key=lambda one: abs(one.order.difference)) if many else found)]
    return in_short(Table(ORDER_HEAD, rows, caption), "orders", "with the smallest difference")


def method_row(one: ComparedMethod) -> tuple[str, ...]:
    """One line of the table of methods; a dash for what the study cannot tell."""
    method, over, said = one.method, one.method.over_seeds, one.method.shown.said
    return (
        method.shown.label, method.model, method.checkpoint, str(len(method.seeds)),
        "0" if one.mean == 0 else said(one.mean), said(over.sd, 2),
        f"{said(over.low, 2)}-{said(over.high, 2)}" if over.sd > 0 else "-",
        said(method.sd_if_alike, 2), _share(one.reliability), said(one.item_se, 2), said(one.rater_se, 2),
    )  # fmt: skip


def order_row(one: ComparedOrder) -> tuple[str, ...]:
    """One line of the table of pairs of architectures."""
    order, all_new = one.order, one.order.flips["everything"]
    flips = [order.flips[way] for way in WAYS]
    return (
        order.scale.label, order.checkpoint, f"{order.first} {order.sign} {order.second}",
        order.scale.said(order.difference, 2),
        *("-" if flip is None else p_value(flip.p) for flip in flips),
        "-" if all_new is None else f"{p_value(all_new.low)}-{p_value(all_new.high)}", _share(one.generalisability),
    )  # fmt: skip


def _share(found: Generalisability | None) -> str:
    """A generalisability with its interval."""
    return "-" if found is None or math.isnan(found.value) else f"{found.value:.2f} ({found.low:.2f}-{found.high:.2f})"


def _costs(answer: ComparisonAnswer) -> Table:
    rows = [[c.method.shown.label, c.method.model, c.method.checkpoint, *cost_cells(c)] for c in answer.trained_costs]
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
        "people_choosing": [asdict(one) for one in answer.choosing],
        "people_choosing_notes": answer.choosing_notes,
        "orders": [asdict(one.order) for one in answer.orders],
        "generalisability": [
            _place(one.panel) | {"of": "architectures", **_plain_share(one.generalisability)} for one in answer.panels
        ],
        "verdicts": verdicts(answer),
        "costs": [_cost(one) for one in answer.costs],
        "above_untrained": [
            asdict(one) | {"shown": one.shown, "shown_as_trained": one.shown_as_trained} for one in answer.above
        ],
        "published": [
            {"corpus": c.corpus, "task": c.task, "model": c.model, "f1": c.f1, "printed": c.printed, "sd": c.sd}
            for c in answer.published
        ],
        "voters": None if answer.voters is None else asdict(answer.voters),
        "missing": answer.missing,
        "not_compared": [one._asdict() for one in answer.not_compared],
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
        **_place(one.panel), "scale": asdict(one.panel.shown), "model": method.model,
        "seeds": method.seeds, "values": method.values,
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
