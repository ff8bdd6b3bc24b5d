"""Says which system scores higher: the document of `--json`, a table for each metric, and sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from analysis.compare_runs.answer import MetricAnswer, RunContrast, RunsAnswer, SystemScore
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
    contrasts = [_contrast_cells(metric, contrast) for metric in answer.metrics for contrast in metric.contrasts]
    head = ("task", "metric", "difference", "value (95 %, each alone)", "p (Holm)", "conclusion", "items needed")
    grouped = f"items of one {answer.cluster} drawn together" if answer.cluster else "items independent"
    yield Table(head, contrasts, f"Differences paired by item, {grouped}")


def _mean_cells(metric: MetricAnswer, system: SystemScore) -> tuple[str, ...]:
    spread = "-" if system.run_sd is None else _scaled(metric, system.run_sd)
    value = _range(metric, system.mean, system.low, system.high)
    return metric.task, metric.metric, system.system, str(system.runs), f"{metric.items:,}", value, spread


def _contrast_cells(metric: MetricAnswer, contrast: RunContrast) -> tuple[str, ...]:
    return (
        metric.task,
        metric.metric,
        f"{contrast.first} - {contrast.second}",
        _range(metric, contrast.difference, contrast.low, contrast.high),
        p_value(contrast.p_holm),
        _conclusion(contrast),
        "-" if contrast.items_needed is None or _is_shown(contrast) else f"{contrast.items_needed:,}",
    )


def _is_shown(contrast: RunContrast) -> bool:
    return contrast.p_holm is not None and contrast.p_holm < 0.05


def _conclusion(contrast: RunContrast) -> str:
    if _is_shown(contrast):
        return f"{contrast.first} higher" + (", within the margin" if contrast.alike else "")
    return "equivalent" if contrast.alike else "not shown"


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
    contrasts = [contrast for metric in answer.metrics for contrast in metric.contrasts]
    if not any(contrast.over_runs for contrast in contrasts):
        yield "Each system has one run, so these intervals say nothing about another training seed or sampling seed."
    elif not all(contrast.over_runs for contrast in contrasts):
        yield "Where a system has one run, the interval says nothing about another seed of it."
    if omitted := sum(metric.omitted for metric in answer.metrics):
        yield f"{count(omitted, 'item')} not answered by every system {'is' if omitted == 1 else 'are'} left out."


def _metric_sentence(metric: MetricAnswer) -> str:
    best, where = metric.systems[0], f"{metric.task}, {metric.metric}"
    if len(metric.level) == 1:
        nearest = next(contrast for contrast in metric.contrasts if contrast.first == best.system)
        value = _range(metric, nearest.difference, nearest.low, nearest.high)
        return f"{where}: {best.system} scores highest, by {value} over {nearest.second} ({p_value(nearest.p_holm)})."
    if len(metric.level) == len(metric.systems):
        return f"{where}: no system is shown to score higher than another."
    return f"{where}: {', '.join(metric.level)} lead, and none of them is shown to be below another."
