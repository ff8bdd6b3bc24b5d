"""A comparison in words and rows: methods, orders that a re-run would reverse, costs, people, the papers' numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from seedvote.analysis.arguments import check_ranges
from seedvote.analysis.questions.comparison.answer import (
    WAYS,
    WITHIN,
    ChoosingPeople,
    ComparedMethod,
    ComparedOrder,
    ComparisonAnswer,
    Cost,
    Generalisability,
    Published,
    answer,
)
from seedvote.analysis.questions.comparison.untrained import PROBES, probe_sentences, table_above
from seedvote.analysis.questions.comparison.verdicts import verdicts
from seedvote.analysis.showing.page import Axis, Mark, Row, RowFigure, Section, sign_of
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import MOST_ROWS, Table, in_short
from seedvote.analysis.showing.words import heading, p_value, to_plain
from seedvote.analysis.votes.cautions import marked_parts, not_people, with_reading
from seedvote.analysis.votes.columns import read_elsewhere
from seedvote.analysis.votes.inputs import study_from
from seedvote.analysis.votes.keeping import Unverified
from seedvote.analysis.votes.scores.files import by_reason
from seedvote.analysis.votes.scores.panel import PEOPLE, Method, Panel, methods
from seedvote.analysis.votes.scores.study_panels import Baseline, best_baseline, compared_panels
from seedvote.analysis.votes.study import Study
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import next_command

METHOD_HEAD = (
    "method",
    "architecture",
    "checkpoint",
    "seeds",
    "mean",
    "SD over seeds",
    "95 % interval",
    "SD if seeds alike",
    "E rho^2 of seeds",
    "SE of items",
    "SE of raters",
)
ORDER_HEAD = (
    "method",
    "checkpoint",
    "order",
    "difference",
    "new seeds",
    "new items",
    "new raters",
    "all new",
    "95 % interval",
    "E rho^2",
)
COST_HEAD = (
    "method",
    "architecture",
    "checkpoint",
    "seeds",
    "seeds at the ends of the SD's interval",
    "rater hours",
    "machine hours",
    "money",
)
Signs = Mapping[str, tuple[str, str]]  # architecture -> shape and colour
NAMED = 4  # evaluators that a title names
SPREAD_TICKS = (0.0001, 0.001, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)
NOISE = (
    "SD if seeds alike: the SD over seeds to expect if the seed made no difference. It is not 0, because every value "
    "rests on a sample of dialogues (and raters). An SD over seeds near it is no evidence that the seed matters. "
    "E rho^2 of seeds: the share of the variance over seeds that new items and raters would reproduce. The seeds "
    "differ if its 95 % interval is above 0. SE of items and of raters: how much one model's value would change with "
    "other dialogues or other raters. All seeds share these, so most of that change moves them together: it is "
    "no measure for the SD over seeds."
)
LOWER = "The better one is named first; A < B where lower is better, and then the difference is below 0. "
FLIPS = (
    "-: not known from this study. E rho^2: the share of the variance between all architectures of a method that a "
    "re-run would reproduce."
)
COMPARING = (
    "Every method gives each trained model one number. The figure shows its SD over training seeds. Part of that SD is "
    "chance: every number rests on a limited set of dialogues. The ring shows how large that part is. An SD near its "
    "ring is no evidence that the seed matters."
)


def parts(answer: ComparisonAnswer) -> list[Table | str]:
    """The tables, the papers' numbers, what may be claimed, and the recipe last."""
    lines: list[Table | str] = [method_table(answer), NOISE]
    lines += [people_table(answer.choosing), *answer.choosing_notes] if answer.choosing else []
    if answer.orders:
        lower = any(row.order.sign == "<" for row in answer.orders)
        lines += [order_tables(answer.orders)[0], LOWER * lower + FLIPS]
    lines += [cost_table(answer)] if answer.trained_costs else []
    lines += [table_above(answer.above), *probe_sentences(answer.above, answer.below)] if answer.above else []
    lines += _published_parts(answer.published) if answer.published else []
    lines = [*marked_parts(lines, answer.voters), *verdicts(answer), *not_people(answer.voters), *answer.warnings]
    return [*lines, *(["\n".join(sentences)] if (sentences := notes(answer)) else []), answer.signature]


def notes(answer: ComparisonAnswer) -> list[str]:
    """Scores that are missing, evaluators without a card, and all that is not compared."""
    return [*answer.missing, *map(str, by_reason(answer.not_compared))]


def method_table(answer: ComparisonAnswer) -> Table:
    """The methods; with a column of chance where a card names one."""
    in_points = all(row.panel.shown.in_points for row in answer.panels)
    units = "all in points (x 100)" if in_points else "in points (x 100), or as named"
    caption = f"Every method, architecture and checkpoint; {units}"
    rows = [_method_cells(row) for row in answer.methods]
    if all(row.panel.shown.chance is None for row in answer.methods):
        return Table(METHOD_HEAD, rows, caption)
    at = METHOD_HEAD.index("mean") + 1
    scales = [row.panel.shown for row in answer.methods]
    chances = ["-" if scale.chance is None else scale.said(scale.chance) for scale in scales]
    rows = [(*row[:at], chance, *row[at:]) for row, chance in zip(rows, chances, strict=True)]
    return Table((*METHOD_HEAD[:at], "chance", *METHOD_HEAD[at:]), rows, caption)


def _method_cells(row: ComparedMethod) -> tuple[str, ...]:
    """One line of the table of methods; a dash for what the study cannot tell."""
    method, spread, label = row.method, row.method.over_seeds, row.method.shown.said
    return (
        method.shown.label,
        method.model,
        method.checkpoint,
        str(len(method.seeds)),
        "0" if row.mean == 0 else label(row.mean),
        label(spread.sd, 2),
        f"{label(spread.low, 2)}-{label(spread.high, 2)}" if spread.sd > 0 else "-",
        label(method.sd_if_alike, 2),
        _format_share(row.reliability),
        label(row.item_se, 2),
        label(row.rater_se, 2),
    )


def _format_share(share: Generalisability | None) -> str:
    """A generalisability with its interval."""
    return "-" if share is None or math.isnan(share.value) else f"{share.value:.2f} ({share.low:.2f}-{share.high:.2f})"


def people_table(people: Sequence[ChoosingPeople]) -> Table:
    """A row for each corpus and metric, marked as people."""
    corpora = len({row.corpus for row in people}) > 1
    head = ["who", "corpus", "metric", "value (95 %)", "chance", "raters", "questions", "answers"]
    rows = [
        [
            "people",
            row.corpus,
            row.metric,
            f"{row.value:.1f}" + ("" if row.low is None else f" ({row.low:.1f}-{row.high:.1f})"),
            f"{row.chance:.1f}",
            f"{row.raters:,}",
            f"{row.questions:,}",
            f"{row.answers:,}",
        ]
        for row in people
    ]
    if not corpora:
        head, *rows = [[*cells[:1], *cells[2:]] for cells in (head, *rows)]
    return Table(head, rows, "People on the questions of next-utterance choice, in points")


def order_tables(orders: Sequence[ComparedOrder]) -> tuple[Table, ...]:
    """The orders; of very many the closest, and all in a folded table."""
    is_long = len(orders) > MOST_ROWS
    rows = [
        _order_cells(row) for row in (sorted(orders, key=lambda row: abs(row.order.difference)) if is_long else orders)
    ]
    caption = "Chance that a re-run reverses the order of two architectures, by what is new"
    return in_short(Table(ORDER_HEAD, rows, caption), "orders", "with the smallest difference")


def _order_cells(row: ComparedOrder) -> tuple[str, ...]:
    """One line of the table of pairs of architectures."""
    order, all_new = row.order, row.order.flips["everything"]
    flips = [order.flips[way] for way in WAYS]
    return (
        order.scale.label,
        order.checkpoint,
        f"{order.first} {order.sign} {order.second}",
        order.scale.said(order.difference, 2),
        *("-" if flip is None else p_value(flip.p) for flip in flips),
        "-" if all_new is None else f"{p_value(all_new.low)}-{p_value(all_new.high)}",
        _format_share(row.generalisability),
    )


def cost_table(answer: ComparisonAnswer) -> Table:
    """Seeds and hours that certainty costs; with a column of money where a price was named."""
    costs = answer.trained_costs
    width = len(COST_HEAD) - all(cost.money is None for cost in costs)
    caption = (
        "Seeds needed to know an architecture's mean (for people: its strength against other architectures) to "
        f"within {answer.within:g} points (95 %)"
    )
    return Table(COST_HEAD[:width], [_cost_cells(cost)[:width] for cost in costs], caption)


def _cost_cells(cost: Cost) -> tuple[str, ...]:
    method = cost.method
    ends = f"{_format_number(cost.seeds_low)}-{_format_number(cost.seeds_high)}"
    numbers = (cost.rater_hours, cost.machine_hours, cost.money)
    return (
        method.shown.label,
        method.model,
        method.checkpoint,
        _format_number(cost.seeds),
        ends,
        *map(_format_number, numbers),
    )


def _format_number(value: float | None) -> str:
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:,.2f}"


def _published_parts(cells: Sequence[Published]) -> list[Table | str]:
    rows = [
        [f"{cell.corpus} {cell.model}", cell.task, f"{cell.f1:.1f}", f"{cell.printed:.2f}", f"{cell.sd:.1f}"]
        for cell in cells
    ]
    table = Table(["papers: corpus and model", "task", "F1", 'printed "+-"', "SD over 3 seeds"], rows)
    largest = max(cells, key=lambda cell: cell.printed)
    return [
        table,
        'What the papers print as "+-" is 100 x the variance of F1 in [0, 1]; the SD in points is 10 times its root. '
        f'The largest here, "+-{largest.printed:.2f}" ({largest.model} on {largest.task}), is an SD of '
        f"{largest.sd:.1f} points.",
    ]


def row_figures(answer: ComparisonAnswer) -> tuple[RowFigure, ...]:
    """SDs over seeds, those in other units than points by themselves; then the values of every evaluator."""
    panels = answer.trained_panels
    spreads = _spread_figures(panels)
    if not spreads:
        why = "No score varies over seeds"
        if not any(method.several for method in answer.trained):
            why = "No architecture has two seeds"
        raise InputError(f"{why}, so there is no spread over seeds to draw; leave --figure out.")
    return (*spreads, *_value_figures(panels, answer.baselines, (PEOPLE,)))


def architecture_signs(panels: Sequence[Panel]) -> Signs:
    """Each architecture's mark and colour, the same in every figure: in print two colours may look the same."""
    names = sorted({model for panel in panels for model in panel.models})
    return {name: sign_of(k) for k, name in enumerate(names)}


def _spread_figures(panels: Sequence[Panel]) -> tuple[RowFigure, ...]:
    groups = [[panel for panel in panels if panel.shown.in_points is in_points] for in_points in (True, False)]
    figures = map(_spread_figure, groups)
    return tuple(figure for figure in figures if figure)


def _spread_figure(panels: Sequence[Panel]) -> RowFigure | None:
    """SD over seeds with its interval, one line an architecture; None where nothing varies."""
    signs = architecture_signs(panels)
    varied = [panel for panel in panels if any(method.several for method in methods(panel))]
    several = [method for panel in varied for method in methods(panel) if method.several]
    sizes = [size for m in several for size in (m.over_seeds.low, m.over_seeds.high, m.sd_if_alike)]
    ends = [size for size in sizes if math.isfinite(size) and size > 0]
    if not ends:
        return None
    in_points = varied[0].shown.in_points
    axis = Axis(0.8 * max(min(ends), 0.01 if in_points else 0), 1.25 * max(ends), logarithmic=True)
    rows: list[Row] = []
    for _, group in groupby(varied, key=lambda panel: panel.kind):
        members = list(group)
        rows.append(Row(heading(members[0].shown.group)))
        rows += [_spread_row(panel, axis, signs) for panel in members]
    names = {method.model for method in several}
    return RowFigure(
        "How much each method varies over training seeds" + ("" if in_points else ", in other units"),
        tuple(rows),
        axis.ticks(SPREAD_TICKS),
        "points, logarithmic" if in_points else "each in its own unit, logarithmic",
        legend=(
            *((*sign, name) for name, sign in signs.items() if name in names),
            ("bar", "ink", "95 % interval of the SD"),
            ("ring", "ink", "SD if seeds were alike"),
        ),
        note_head="SD over seeds",
        caption="A dot near its ring gives no evidence that the seed matters.",
        name="seed-spread" if in_points else "seed-spread-other-units",
    )


def _spread_row(panel: Panel, axis: Axis, signs: Signs) -> Row:
    several = [method for method in methods(panel) if method.several]
    marks = [
        mark for line, method in enumerate(several) for mark in _spread_marks(method, axis, line, signs[method.model])
    ]
    note = " / ".join(panel.shown.said(method.over_seeds.sd) for method in several)
    spreads = [(method.model, method.over_seeds) for method in several]
    described = "; ".join(
        f"{model} {spread.sd:.1f} ({spread.low:.1f} to {spread.high:.1f})" for model, spread in spreads
    )
    return Row(_row_label(panel), note, tuple(marks), lines=len(several), described=described)


def _row_label(panel: Panel) -> str:
    return panel.shown.task if panel.checkpoint == "last" else f"{panel.shown.task}, {panel.checkpoint}"


def _spread_marks(method: Method, axis: Axis, line: int, sign: tuple[str, str]) -> Iterator[Mark]:
    spread, (shape, colour) = method.over_seeds, sign
    if spread.sd > 0:
        yield Mark("bar", axis.at(spread.low), axis.at(spread.high), line, colour)
    if math.isfinite(method.sd_if_alike) and method.sd_if_alike > 0:
        yield Mark("ring", axis.at(method.sd_if_alike), 0, line, colour)
    if spread.sd > 0:
        yield Mark(shape, axis.at(spread.sd), 0, line, colour)


def _value_figures(
    panels: Sequence[Panel], baselines: Sequence[Baseline], hidden_kinds: Sequence[str]
) -> tuple[RowFigure, ...]:
    """Every evaluator's values, one figure for each and for each unit, with chance and the best baseline."""
    signs = architecture_signs(panels)
    visible = [panel for panel in panels if panel.kind not in hidden_kinds]
    groups = groupby(visible, key=lambda panel: (panel.kind, panel.shown.unit))
    return tuple(_value_figure(list(group), baselines, signs) for _, group in groups)


def _value_figure(panels: Sequence[Panel], baselines: Sequence[Baseline], signs: Signs) -> RowFigure:
    scale, best = panels[0].shown, {panel.name: best_baseline(panel, baselines) for panel in panels}
    rivals = [baseline.value for baseline in best.values() if baseline]
    chances = [panel.shown.chance for panel in panels if panel.shown.chance is not None]
    values = [*(float(value) for panel in panels for value in panel.values), *chances, *rivals]
    room = 0.06 * (max(values) - min(values)) or 1.0
    axis = Axis(min(values) - room, max(values) + room)
    legend = [(*sign, name) for name, sign in signs.items() if any(name in panel.models for panel in panels)]
    if chances:
        legend += [("tick", "people", "chance"), ("faint", "ink", "no better than chance")]
    legend += [("tick", "grey", "best baseline")] if rivals else []
    return RowFigure(
        f"{heading(scale.group)}: one dot per training seed",
        tuple(_value_row(panel, best[panel.name], axis, signs) for panel in panels),
        axis.round_ticks(),
        scale.unit or "score",
        legend=tuple(legend),
        note_head=", ".join((["chance"] if chances else []) + (["best baseline"] if rivals else [])),
        name=f"values-{scale.group}",
    )


def _value_row(panel: Panel, best: Baseline | None, axis: Axis, signs: Signs) -> Row:
    scale, marks = panel.shown, []
    if best is not None:
        marks.append(Mark("tick", axis.at(best.value), 0, -1, "grey"))
    if scale.chance is not None:
        marks.append(Mark("tick", axis.at(scale.chance), 0, -1, "people"))
    for line, model in enumerate(panel.models):
        shape, colour = signs[model]
        values = map(float, panel.values[panel.of(model)])
        marks += [
            Mark(shape if scale.beyond_chance(value) else "faint", axis.at(value), 0, line, colour) for value in values
        ]
    means = {model: scale.said(float(panel.values[panel.of(model)].mean())) for model in panel.models}
    note = [] if scale.chance is None else [scale.said(scale.chance)]
    note += [] if best is None else [f"{best.name} {scale.said(best.value)}"]
    described = "; ".join(f"{model} {mean}" for model, mean in means.items())
    return Row(_row_label(panel), ", ".join(note), tuple(marks), lines=len(panel.models), described=described)


def document(answer: ComparisonAnswer) -> dict[str, Any]:
    """The stable keys of `--json`; a number that cannot be computed is null."""
    keys = {
        "methods": [_method_keys(row) for row in answer.methods],
        "people_choosing": answer.choosing,
        "people_choosing_notes": answer.choosing_notes,
        "orders": [row.order for row in answer.orders],
        "generalisability": [
            _panel_keys(row.panel) | {"of": "architectures", **_share_keys(row.generalisability)}
            for row in answer.panels
        ],
        "verdicts": verdicts(answer),
        "costs": [_cost_keys(cost) for cost in answer.costs],
        "above_untrained": [
            asdict(task) | {"shown": task.shown, "shown_as_trained": task.shown_as_trained} for task in answer.above
        ],
        "baselines_above": answer.below,
        "published": [
            {name: getattr(cell, name) for name in ("corpus", "task", "model", "f1", "printed", "sd")}
            for cell in answer.published
        ],
        "voters": answer.voters,
        "missing": answer.missing,
        "not_compared": [unused._asdict() for unused in answer.not_compared],
        "signature": answer.signature,
    }
    return dict(to_plain(keys))


def _panel_keys(panel: Panel) -> dict[str, Any]:
    return {"kind": panel.kind, "name": panel.name, "checkpoint": panel.checkpoint}


def _share_keys(share: Generalisability | None) -> dict[str, Any]:
    return {"value": None, "low": None, "high": None} if share is None else asdict(share)


def _method_keys(row: ComparedMethod) -> dict[str, Any]:
    method, spread = row.method, row.method.over_seeds
    return {
        **_panel_keys(row.panel),
        "scale": row.panel.shown,
        "model": method.model,
        "seeds": method.seeds,
        "values": method.values,
        "items": method.items,
        "sd": spread.sd,
        "low": spread.low,
        "high": spread.high,
        "sd_if_alike": method.sd_if_alike,
        "reliability": _share_keys(row.reliability),
        "item_se": row.item_se,
        "rater_se": row.rater_se,
    }


def _cost_keys(cost: Cost) -> dict[str, Any]:
    place = {name: getattr(cost.method, name) for name in ("kind", "name", "model", "checkpoint")}
    names = ("margin", "seeds", "seeds_low", "seeds_high", "rater_hours", "machine_hours", "money")
    return place | {name: getattr(cost, name) for name in names}


def section(answer: ComparisonAnswer | None) -> Section | None:
    """People and every evaluator over seeds; probes have their values in a section of their own."""
    if answer is None or not answer.trained_panels:
        return None
    panels = answer.trained_panels
    names = [scale.group for scale in answer.scales]
    title = f"{len(names)} ways of judging"
    if len(names) <= NAMED:
        title = heading(" and ".join(filter(None, [", ".join(names[:-1]), names[-1]])))
    return Section(
        "compare",
        f"{title} on the same axes",
        (COMPARING,),
        (*_spread_figures(panels), *_value_figures(panels, answer.baselines, (PEOPLE, PROBES))),
        tuple(verdicts(answer)),
        tables=(
            method_table(answer),
            *([people_table(answer.choosing)] if answer.choosing else []),
            *(order_tables(answer.trained_orders) if answer.trained_orders else []),
            *([cost_table(answer)] if answer.trained_costs else []),
        ),
        notes=(*answer.choosing_notes, *notes(answer)),
    )


def compare(
    study: Any,
    *,
    votes: Any = None,
    pairs: Any = None,
    within: float = WITHIN,
    pay: float | None = None,
    machine: float | None = None,
    published: bool = False,
    clusters: str = "auto",
    with_judges: bool = False,
    unverified: Unverified = "",
    question: str = "",
) -> Result:
    """People and every evaluator side by side (`python -m analysis compare`).

    `study` is a study folder, or a table of scores as `variance` takes it (None: no scores) with votes and their pairs.
    """
    check_ranges(locals(), within=(0.001, math.inf), pay=(0, math.inf), machine=(0, math.inf))
    try:
        sources = study_from(study, votes, pairs, with_judges=with_judges, unverified=unverified, question=question)
    except InputError as error:
        _send_votes_elsewhere(study, error)
        raise
    comparison = answer(sources, within=within, pay=pay, machine=machine, papers=published, clusters=clusters)
    if comparison is None:
        raise _nothing_to_compare(sources, "What was given" if votes is not None else str(study))
    return Result(with_reading(document(comparison), sources.votes), parts(comparison), lambda: row_figures(comparison))


def answer_study(study: Study, clusters: str) -> tuple[ComparisonAnswer | None, dict[str, Any] | None]:
    """The answer of `analysis compare STUDY` and its numbers; None where nothing says which model was judged."""
    comparison = answer(study, clusters=clusters)
    return comparison, None if comparison is None else with_reading(document(comparison), study.votes)


def _send_votes_elsewhere(study: Any, error: InputError) -> None:
    """Of a table of votes or ratings the error says which command reads these."""
    if not isinstance(study, str | Path) or not Path(study).is_file() or "a score table has" not in str(error):
        return
    if instead := read_elsewhere(Path(study)):
        raise InputError(f"compare puts people beside metrics. {instead}") from error
    step = next_command("python -m analysis preference", study)
    raise InputError(f"{error} compare puts people beside metrics; for votes alone type: {step}") from error


def _nothing_to_compare(study: Study, name: str) -> InputError:
    """Why there is nothing to compare: all that was read and left out, or votes that name no model."""
    unused = [] if study.scores is None else compared_panels(study)[1]
    if unused:
        return InputError(f"{name} has nothing to compare. {'; '.join(map(str, unused))}.")
    return InputError(
        f"{name} has votes without pairs.jsonl and no scores, so it does not say which model was judged; nothing to "
        "compare. `python -m analysis preference` reads votes alone."
    )
