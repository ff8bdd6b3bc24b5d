"""Says which system scores higher: the document of `--json`, a table for each metric, and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis.runs.answer import MetricAnswer, RunContrast, RunsAnswer, SystemScore
from analysis.showing.tables import Table
from analysis.showing.words import count, p_value, plain

MOST_SENTENCES = 6


def document(answer: RunsAnswer) -> dict[str, Any]:
    """Every number, under the keys of `--json`."""
    written: dict[str, Any] = plain(asdict(answer))
    return written


def parts(answer: RunsAnswer) -> list[Table | str]:
    """Tables of means and contrasts, what they say, the cautions, and the recipe last."""
    return [*run_tables(answer), *sentences(answer), *answer.cautions, answer.signature]


def run_tables(answer: RunsAnswer) -> Iterator[Table]:
    """Means, then contrasts, for all tasks and metrics together."""
    unit = "points" if all(metric.is_share for metric in answer.metrics) else "scores; shares in points"
    means = [_mean_cells(metric, system) for metric in answer.metrics for system in metric.systems]
    yield Table(
        ("task", "metric", "system", "runs", "items", "mean (95 %)", "SD of runs"), means, f"Mean scores, in {unit}"
    )
    contrasts = [_contrast_cells(metric, one) for metric in answer.metrics for one in metric.contrasts]
    head = ("task", "metric", "difference", "value (95 %, each alone)", "p (Holm)", "conclusion", "items needed")
    grouped = f"items of one {answer.cluster} drawn together" if answer.cluster else "items independent"
    yield Table(head, contrasts, f"Differences paired by item, {grouped}")


def _mean_cells(metric: MetricAnswer, system: SystemScore) -> tuple[str, ...]:
    spread = "-" if system.run_sd is None else _scaled(metric, system.run_sd)
    value = _range(metric, system.mean, system.low, system.high)
    return metric.task, metric.metric, system.system, str(system.runs), f"{metric.items:,}", value, spread


def _contrast_cells(metric: MetricAnswer, one: RunContrast) -> tuple[str, ...]:
    return (
        metric.task,
        metric.metric,
        f"{one.first} - {one.second}",
        _range(metric, one.difference, one.low, one.high),
        p_value(one.p_holm),
        _conclusion(one),
        "-" if one.items_needed is None or _is_shown(one) else f"{one.items_needed:,}",
    )


def _is_shown(one: RunContrast) -> bool:
    return one.p_holm is not None and one.p_holm < 0.05


def _conclusion(one: RunContrast) -> str:
    if _is_shown(one):
        return f"{one.first} higher" + (", within the margin" if one.alike else "")
    return "equivalent" if one.alike else "not shown"


def _scaled(metric: MetricAnswer, value: float) -> str:
    return f"{100 * value:.1f}" if metric.is_share else f"{value:.4g}"


def _range(metric: MetricAnswer, value: float, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return _scaled(metric, value)
    return f"{_scaled(metric, value)} ({_scaled(metric, low)} to {_scaled(metric, high)})"


def sentences(answer: RunsAnswer) -> Iterator[str]:
    """One for each metric, then what the errors allow for."""
    for metric in answer.metrics[:MOST_SENTENCES]:
        yield _metric_sentence(metric)
    if (more := len(answer.metrics) - MOST_SENTENCES) > 0:
        yield f"The tables hold {count(more, 'further metric')}."
    contrasts = [one for metric in answer.metrics for one in metric.contrasts]
    if not any(one.over_runs for one in contrasts):
        yield "Each system has one run, so these intervals say nothing about another training seed or sampling seed."
    elif not all(one.over_runs for one in contrasts):
        yield "Where a system has one run, the interval says nothing about another seed of it."
    if omitted := sum(metric.omitted for metric in answer.metrics):
        yield f"{count(omitted, 'item')} not answered by every system {'is' if omitted == 1 else 'are'} left out."


def _metric_sentence(metric: MetricAnswer) -> str:
    best, where = metric.systems[0], f"{metric.task}, {metric.metric}"
    if len(metric.level) == 1:
        nearest = next(one for one in metric.contrasts if one.first == best.system)
        value = _range(metric, nearest.difference, nearest.low, nearest.high)
        return f"{where}: {best.system} scores highest, by {value} over {nearest.second} ({p_value(nearest.p_holm)})."
    if len(metric.level) == len(metric.systems):
        return f"{where}: no system is shown to score higher than another."
    return f"{where}: {', '.join(metric.level)} lead, and none of them is shown to be below another."
