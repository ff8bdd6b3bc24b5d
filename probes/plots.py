"""The probes' figures: colours safe for the colour-blind, baselines drawn in, the recipe in the footnote.

Figures are built without pyplot, so nothing global changes; `save` writes PNG and PDF, whole or not at all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes as Panel
from matplotlib.figure import Figure

from dialogue.files import atomic
from probes.comparisons import GROUPS, Axes, Beside, Course, Group

BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
COLOURS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
INK, GREY, PALE = "#222222", "#6f6f6f", "#e4e4e4"
WIDTH = 6.4  # inches: a text column of a paper
ACROSS = 4  # panels side by side


def save(figure: Figure, stem: Path) -> None:
    """Write `stem`.png and `stem`.pdf, the same bytes for the same figure."""
    for suffix, metadata in ((".png", {"Software": None}), (".pdf", {"CreationDate": None, "Producer": None})):
        with atomic(f"{stem}{suffix}", "wb") as handle:
            figure.savefig(handle, format=suffix[1:], dpi=200, metadata=metadata)


def evolution(courses: Sequence[Course], baselines: Mapping[str, float], recipe: str) -> Figure:
    """A panel a task, a line a model: mean over seeds, the band from the lowest to the highest seed."""
    models = _colours(course.model for course in courses)
    figure, panels = _panels([course.task for course in courses], "Probe scores over training", recipe, models)
    for course in courses:
        panel, colour = panels[course.task], models[course.model]
        panel.fill_between(course.epochs, course.values.min(0), course.values.max(0), color=colour, alpha=0.15, lw=0)
        panel.plot(course.epochs, course.values.mean(0), color=colour, lw=1.6, marker="o", ms=2.5)
    for task, panel in panels.items():
        if task in baselines:
            panel.axhline(baselines[task], color=GREY, lw=0.9, ls=(0, (4, 3)), zorder=0)
        panel.set_ylim(0, 100)
    figure.supxlabel("epoch (0: untrained); band: lowest to highest seed; dashed: best text-free baseline", fontsize=8)
    figure.supylabel("micro-F1, points", fontsize=8.5, x=0.01)
    return figure


def scatter(found: Sequence[Beside], metric: str, recipe: str) -> Figure:
    """A panel a task: a point for each model, seed and checkpoint."""
    names = _colours(name for one in found for name in one.names)
    figure, panels = _panels([one.task for one in found], f"Probe scores beside {metric}", recipe, names, alike=False)
    for one in found:
        panel = panels[one.task]
        for x, y, name in zip(one.metric, one.probe, one.names, strict=True):
            panel.plot(x, y, "o", color=names[name], ms=4, alpha=0.85, mec="none")
        panel.set_title(f"{one.task}\nrank correlation {one.correlation:+.2f}, n = {len(one.names)}", fontsize=7.5)
    figure.supxlabel(f"mean {metric} of an item", fontsize=8.5)
    figure.supylabel("micro-F1, points", fontsize=8.5, x=0.01)
    return figure


def difficulty(groups: Sequence[Group], recipe: str) -> Figure:
    """Three bars a model: its mean over easy, medium and hard tasks, the whisker one SD across tasks."""
    figure, panel = _single("Scores by difficulty of the task", recipe)
    models = list(dict.fromkeys(group.model for group in groups))
    for place, name in enumerate(GROUPS):
        mine = [group for group in groups if group.difficulty == name]
        at = [models.index(group.model) + 0.27 * (place - 1) for group in mine]
        whisker = [0 if np.isnan(group.sd) else group.sd for group in mine]
        label = f"{name} ({len(mine[0].tasks)} tasks)" if mine else name
        panel.bar(at, [group.mean for group in mine], 0.25, yerr=whisker, color=COLOURS[place], ecolor=INK, label=label)
    panel.set_xticks(range(len(models)), models)
    panel.set(ylabel="micro-F1, points; whisker: SD across tasks", ylim=(0, 100))
    panel.legend(frameon=False, fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, 1.08))
    return figure


def selectors(means: Mapping[tuple[str, str], Sequence[float]], recipe: str) -> Figure:
    """For each model the mean over tasks at the checkpoint that each metric chose; a point a training seed."""
    figure, panel = _single("Scores by the metric that chose the checkpoint", recipe)
    models, metrics = (list(dict.fromkeys(key[part] for key in means)) for part in (0, 1))
    for (model, metric), values in means.items():
        step = metrics.index(metric) - (len(metrics) - 1) / 2
        at = models.index(model) + 0.8 * step / len(metrics)
        colour = COLOURS[metrics.index(metric) % len(COLOURS)]
        panel.plot([at] * len(values), values, "o", color=colour, ms=4, alpha=0.6, mec="none")
        panel.plot([at - 0.05, at + 0.05], [np.mean(values)] * 2, color=colour, lw=2)
    for place, metric in enumerate(metrics):
        panel.plot([], [], "o", color=COLOURS[place % len(COLOURS)], label=metric)
    panel.set_xticks(range(len(models)), models)
    panel.set_ylabel("micro-F1, mean over tasks, points")
    panel.legend(frameon=False, fontsize=8, ncols=len(metrics), loc="upper center", bbox_to_anchor=(0.5, 1.08))
    return figure


def clouds(models: Mapping[str, Axes], names: tuple[str, str], recipe: str) -> Figure:
    """A panel a model: states of the first and the last checkpoint on common axes."""
    figure, panels = _panels(
        list(models), "Encoder states on common axes", recipe, dict(zip(names, COLOURS, strict=False))
    )
    for model, axes in models.items():
        for states, colour in ((axes.first, BLUE), (axes.last, VERMILION)):
            panels[model].plot(*states.T, "o", color=colour, ms=1.6, alpha=0.35, mec="none")
        first, last = axes.first.std(0, ddof=1), axes.last.std(0, ddof=1)
        spread = f"SD {first[0]:.2f}, {first[1]:.2f} then {last[0]:.2f}, {last[1]:.2f}"
        panels[model].set_title(f"{model}\n{axes.share:.0%} of variance; {spread}", fontsize=6.5)
    return figure


def _colours(names: Iterable[str]) -> dict[str, str]:
    return {name: COLOURS[place % len(COLOURS)] for place, name in enumerate(dict.fromkeys(names))}


def _single(title: str, recipe: str) -> tuple[Figure, Panel]:
    figure = Figure(figsize=(WIDTH, 3.6))
    panel = figure.add_axes((0.1, 0.14, 0.87, 0.68))
    _finish(figure, panel, title, recipe)
    panel.grid(axis="y", color=PALE, lw=0.7)
    return figure, panel


def _panels(
    names: Sequence[str], title: str, recipe: str, legend: Mapping[str, str], *, alike: bool = True
) -> tuple[Figure, dict[str, Panel]]:
    each = list(dict.fromkeys(names))
    down = -(-len(each) // ACROSS)
    figure = Figure(figsize=(WIDTH * 1.25, 1.2 + 1.75 * down))
    grid = figure.subplots(down, ACROSS, squeeze=False, sharex=alike, sharey=alike)
    edge = 1 / (1.2 + 1.75 * down)
    figure.subplots_adjust(left=0.08, right=0.98, top=1 - 0.8 * edge, bottom=0.55 * edge, hspace=0.55, wspace=0.28)
    for panel, name in zip(grid.flat, each, strict=False):
        _finish(figure, panel, "", "")
        panel.set_title(name, fontsize=8, color=INK)
    for panel in grid.flat[len(each) :]:
        panel.set_visible(False)
    for place, (name, colour) in enumerate(legend.items()):
        figure.text(0.08 + 0.92 * place / max(len(legend), 4), 1 - 0.42 * edge, name, color=colour, fontsize=8)
    _finish(figure, None, title, recipe)
    return figure, dict(zip(each, grid.flat, strict=False))


def _finish(figure: Figure, panel: Panel | None, title: str, recipe: str) -> None:
    figure.text(0.012, 0.985, title, fontsize=10, fontweight="bold", color=INK, va="top")
    figure.text(0.012, 0.004, recipe, fontsize=5.5, color=GREY, va="bottom")
    if panel is not None:
        panel.spines[["top", "right"]].set_visible(False)
        panel.set_axisbelow(True)
        panel.tick_params(labelsize=7.5, colors="#444444", length=3)
