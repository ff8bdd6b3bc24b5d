"""The figures of a study's probes: which can be drawn from what is there, and how each is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes as Panel
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic
from seedvote.dialogue.lettering import FONT, break_recipe, break_text, light_fonts, measure_height, measure_line
from seedvote.probes.comparisons import DIFFICULTIES, Axes, Course, DifficultyGroup, LayerCurve, MetricComparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seedvote.probes.summary import Cell, TaskScore

# Which figures of a study's probes can be drawn, and why the others cannot; `plots` draws, this asks for the data.


@dataclass(frozen=True, slots=True)
class FigureRequest:
    """What the figures are drawn from; a path that is None is the study's own."""

    study: Path
    corpus: Path | None = None
    states: Sequence[Path] | None = None
    scores: Path | None = None
    classifier: str = "logistic"
    metric: str = "bleu2"


def figures_of(request: FigureRequest) -> dict[str, Figure | str]:
    """Every figure, or the reason why there is none, by its name."""
    import pyarrow.parquet as pq

    from seedvote.probes import comparisons, summary

    path = request.scores or request.study / "scores.parquet"
    every = summary.read_task_scores(path)
    classifiers = sorted({score.classifier for score in every} - {"majority"})
    if request.classifier not in classifiers:
        raise InputError(
            f"{path} has no scores by {request.classifier}. It has: {', '.join(classifiers)}. Name one: --classifier."
        )
    of_classifier = [s for s in every if s.classifier in (request.classifier, "majority")]
    scores = comparisons.top_layers([s for s in of_classifier if not s.labels])
    recipe = (pq.read_schema(path).metadata or {}).get(b"signature", b"").decode()
    return {
        "layers": _draw_layers(of_classifier, recipe),
        "evolution": _draw_evolution(request, scores, recipe),
        "difficulty": _draw_difficulty(summary.gather_cells(scores), recipe),
        "selection": _draw_selection(scores, recipe),
        f"beside-{request.metric}": _draw_metric_comparison(
            request.study / "metrics.parquet", scores, request.metric, recipe
        ),
        "states": _draw_states(request, recipe),
    }


def figures_without_scores(request: FigureRequest, reason: str, recipe: str) -> dict[str, Figure | str]:
    """What can be drawn before anything was probed, the states, and this reason for all others."""
    return dict.fromkeys(("evolution", "difficulty", "selection"), reason) | {"states": _draw_states(request, recipe)}


def save_figures(figures: Mapping[str, Figure | str], folder: Path) -> dict[str, str]:
    """Write what could be drawn; the reason for each that could not, empty where it was."""

    for name, figure in figures.items():
        if not isinstance(figure, str):
            save_figure(figure, folder / name)
    return {name: figure if isinstance(figure, str) else "" for name, figure in figures.items()}


def _draw_layers(scores: list[TaskScore], recipe: str) -> Figure | str:
    from seedvote.probes import comparisons

    baselines: dict[str, dict[str, float]] = {}
    for score in scores:
        if score.evaluator == "baseline":
            baselines.setdefault(score.task, {})[score.model] = score.f1
    return draw_layers(comparisons.layer_curves(scores), baselines, recipe)


def _draw_evolution(request: FigureRequest, scores: list[TaskScore], recipe: str) -> Figure | str:
    from seedvote.dialogue.shell.command_line import next_command
    from seedvote.probes import comparisons

    every = comparisons.score_courses(scores)
    courses = [course for course in every if len(course.epochs) > 2 and len(course.values)]
    if not courses and any(course.epochs.max() > 0 for course in every):
        return "a course needs three checkpoints in order that all seeds of a model have, and fewer were probed"
    if not courses:
        study = request.study
        words = [study, "--checkpoints", "all", *(["--corpus", request.corpus] if request.corpus else [])]
        probe = next_command("python -m probes run", *words)
        if list((study / "states").glob("*-epoch-*.npy")) or not (study / "models").exists():
            return f"the score table has no epoch-N checkpoints: {probe}"
        encode = next_command("python -m generation encode", *words)
        return f"no states of epoch-N checkpoints are there. First: {encode}; then: {probe}"
    best: dict[str, float] = {}
    for score in scores:
        if score.evaluator == "baseline" and not score.model.startswith("bag_"):
            best[score.task] = max(score.f1, best.get(score.task, 0.0))
    return draw_evolution(courses, best, recipe)


def _draw_difficulty(cells: list[Cell], recipe: str) -> Figure | str:
    from seedvote.probes import comparisons

    means = {(c.task, c.model, c.checkpoint): c.seeds.mean for c in cells if c.evaluator == "probe"}
    checkpoints = {checkpoint for _, _, checkpoint in means}
    checkpoint = next(
        (name for name in ("best_bleu", "last") if name in checkpoints), min(checkpoints - {"untrained"}, default="")
    )
    words = {c.task: c.seeds.mean for c in cells if c.model == "bag_of_words"}
    level, source = comparisons.difficulty_by(means, words)
    groups = comparisons.means_by_difficulty(means, checkpoint, level)
    if not groups:
        return "no trained model"
    return draw_difficulty_bars(groups, f"{recipe}|checkpoint:{checkpoint or 'none'}|difficulty by:{source}")


def _draw_selection(scores: list[TaskScore], recipe: str) -> Figure | str:
    from seedvote.probes import comparisons

    means = comparisons.by_selector(scores)
    if len({metric for _, metric in means}) < 2:
        return draw_selectors(comparisons.by_checkpoint(scores), recipe, criterion="checkpoint")
    return draw_selectors(means, recipe, criterion="the metric that selected the checkpoint")


def _draw_metric_comparison(path: Path, scores: list[TaskScore], metric: str, recipe: str) -> Figure | str:
    from seedvote.probes import comparisons

    if not path.exists():
        return f"{path} is not there: python -m generation score"
    by_task = comparisons.compare_metric(scores, comparisons.read_metric(path, metric))
    return (
        draw_scatter(by_task, metric, recipe) if by_task else f"fewer than three models have both {metric} and probes"
    )


def _draw_states(request: FigureRequest, recipe: str) -> Figure | str:
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.probes import comparisons, plan, states

    sides = plan.plan_splits(read_corpus(request.corpus or request.study / "corpus"), "test")
    items = [[example.item for example in side] for side in (sides.fit, sides.report)]
    try:
        representations = states.find_states(request.study, request.states, "all")
    except InputError as error:
        return str(error)
    axes = comparisons.model_axes(representations, items)
    return draw_clouds(axes, ("untrained", "last"), recipe) if axes else "no model has states of these examples"


# The probes' figures: colours safe for the colour-blind, baselines drawn in, the recipe in the footnote.
#
# Figures are built without pyplot, so nothing global changes; `save_figure` writes PNG and PDF, whole or not at all.

LOOK: dict[Any, Any] = {
    **FONT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.labelsize": 8.5,
    "axes.labelcolor": "#333333",
    "axes.edgecolor": "#666666",
    "grid.color": "#e4e4e4",
    "grid.linewidth": 0.7,
    "xtick.color": "#444444",
    "ytick.color": "#444444",
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "legend.frameon": False,
    "legend.handletextpad": 0.1,
    "pdf.fonttype": 42,
}
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY)
INK, GREY = "#222222", "#6f6f6f"
FIGURE_WIDTH = 6.4  # inches: a text column of a paper
ACROSS = 4  # panels side by side
NOTE = 6  # points
POINTS = "micro-F1, points"
KIND_LINES: dict[str, Any] = {"trained": "-", "untrained": (0, (4, 2)), "control": ":"}
BASELINE_LINES: dict[str, Any] = {
    "majority": (0, (1, 3)),
    "turn_index": (0, (4, 3)),
    "bag_of_words": "-",
    "bag_of_last_turn": "-.",
}
BASELINE_WORDS = (
    "dotted majority",
    "dashed turn index",
    "solid bag of words",
    "dash and dot the same of the last turn",
)


def with_look(draw: Callable[..., Figure]) -> Callable[..., Figure]:
    """Draw in this look, leaving the reader's own settings alone."""

    @wraps(draw)
    def inside(*args: Any, **options: Any) -> Figure:
        with mpl.rc_context(LOOK):
            return draw(*args, **options)

    return inside


def save_figure(figure: Figure, stem: Path) -> None:
    """Write `stem`.png and `stem`.pdf, the same bytes for the same figure."""
    for suffix, metadata in ((".png", {"Software": None}), (".pdf", {"CreationDate": None, "Producer": None})):
        with mpl.rc_context(LOOK), light_fonts(), atomic(f"{stem}{suffix}", "wb") as handle:
            figure.savefig(handle, format=suffix[1:], dpi=200, metadata=metadata)


@with_look
def draw_evolution(courses: Sequence[Course], baselines: Mapping[str, float], recipe: str) -> Figure:
    """A panel a task, a line a model: mean over seeds, the band from the lowest to the highest seed."""
    models = _assign_colours(course.model for course in courses)
    tasks = {course.task: course.task for course in courses}
    below = "epoch (0: untrained); band: lowest to highest seed; dashed: best baseline without text"
    figure, panels = _make_panels(tasks, "Probe scores over training", recipe, models, (below, POINTS))
    for course in courses:
        panel, colour = panels[course.task], models[course.model]
        panel.fill_between(course.epochs, course.values.min(0), course.values.max(0), color=colour, alpha=0.15, lw=0)
        panel.plot(course.epochs, course.values.mean(0), color=colour, lw=1.6, marker="o", ms=2.5)
    for task, panel in panels.items():
        if task in baselines:
            panel.axhline(baselines[task], color=GREY, lw=0.9, ls=(0, (4, 3)), zorder=0)
        panel.set_ylim(0, 100)
    return figure


@with_look
def draw_scatter(comparisons: Sequence[MetricComparison], metric: str, recipe: str) -> Figure:
    """A panel a task: a point for each model, seed and checkpoint, hollow where the model is untrained."""
    models = _assign_colours(name for comparison in comparisons for name in comparison.models)
    heads = {c.task: f"{c.task}\nrank correlation {c.correlation:+z.2f}, n = {len(c.models)}" for c in comparisons}
    axes = (f"mean {metric} per item; hollow: untrained", POINTS)
    figure, panels = _make_panels(heads, f"Probe scores and {metric}", recipe, models, axes, share_axes=False, size=7.5)
    for comparison in comparisons:
        panel = panels[comparison.task]
        for x, y, model, checkpoint in zip(
            comparison.metric, comparison.probe, comparison.models, comparison.checkpoints, strict=True
        ):
            fill = "white" if checkpoint == "untrained" else models[model]
            panel.plot(x, y, "o", mfc=fill, mec=models[model], ms=4, alpha=0.85)
    return figure


@with_look
def draw_difficulty_bars(groups: Sequence[DifficultyGroup], recipe: str) -> Figure:
    """Three bars a model: its mean over easy, medium and hard tasks, the whisker one SD across tasks."""
    models = list(dict.fromkeys(group.model for group in groups))
    levels = {name: [group for group in groups if group.difficulty == name] for name in DIFFICULTIES}
    counts = {name: len(members[0].tasks) for name, members in levels.items() if members}
    labels = {name: f"{name} ({count} task{'s' * (count > 1)})" for name, count in counts.items()}
    ylabel = f"{POINTS}; whisker: SD across tasks"
    figure, panel = _make_panel("Scores by task difficulty", ylabel, models, list(labels.values()), recipe)
    for place, (name, members) in enumerate(levels.items()):
        if not members:
            continue
        at = [models.index(group.model) + 0.27 * (place - 1) for group in members]
        whisker = [0 if np.isnan(group.sd) else group.sd for group in members]
        means, colour = [group.mean for group in members], PALETTE[place]
        panel.bar(at, means, 0.25, yerr=whisker, color=colour, ecolor=INK, label=labels[name])
    panel.set_ylim(0, 100)
    _add_key(panel)
    return figure


@with_look
def draw_selectors(means: Mapping[tuple[str, str], Sequence[float]], recipe: str, *, criterion: str) -> Figure:
    """For each model the mean over tasks at each checkpoint, or at the one that each metric chose; a point a seed."""
    models, metrics = (list(dict.fromkeys(key[part] for key in means)) for part in (0, 1))
    figure, panel = _make_panel(f"Scores by {criterion}", "micro-F1, mean over tasks, points", models, metrics, recipe)
    for (model, metric), values in means.items():
        step = metrics.index(metric) - (len(metrics) - 1) / 2
        at = models.index(model) + 0.8 * step / len(metrics)
        colour = PALETTE[metrics.index(metric) % len(PALETTE)]
        panel.plot([at] * len(values), values, "o", color=colour, ms=4, alpha=0.6, mec="none")
        panel.plot([at - 0.05, at + 0.05], [np.mean(values)] * 2, color=colour, lw=2)
    for place, metric in enumerate(metrics):
        panel.plot([], [], "o", color=PALETTE[place % len(PALETTE)], label=metric or "states")
    _add_key(panel)
    return figure


@with_look
def draw_clouds(models: Mapping[str, Axes], names: tuple[str, str], recipe: str) -> Figure:
    """A panel a model: states of the first and the last checkpoint, or of the last, on the two leading common axes."""
    legend = dict(zip(names, PALETTE, strict=False))
    heads = {}
    for model, axes in models.items():
        deviations = [states.std(0, ddof=1) for states in axes.clouds]
        spread = "SD " + " then ".join(f"{first:.2g}, {second:.2g}" for first, second in deviations)
        shift = f"\nshift, taken away: {axes.shift:.0%} of all" if len(axes.clouds) > 1 else ""
        heads[model] = f"{model}: {axes.share:.0%} of variance\n{spread}{shift}"
    below = ("first axis, around each checkpoint's mean", "second axis")
    figure, panels = _make_panels(
        heads, "Encoder states on common axes", recipe, legend, below, share_axes=False, size=7
    )
    for model, axes in models.items():
        for states, colour in zip(axes.clouds, (BLUE, VERMILION)[-len(axes.clouds) :], strict=True):
            panels[model].plot(*states.T, "o", color=colour, ms=1.6, alpha=0.35, mec="none")
    return figure


@with_look
def draw_layers(curves: Sequence[LayerCurve], baselines: Mapping[str, Mapping[str, float]], recipe: str) -> Figure:
    """A panel a task: each model's scores over its layers, its control and untrained twin; at the right those without.

    `baselines`: task -> name -> points, for the names of BASELINE_LINES.
    """
    models = _assign_colours(
        sorted({curve.model for curve in curves}, key=lambda name: (not _has_layers(curves, name), name))
    )
    flat = [name for name in models if not _has_layers(curves, name)]
    layered = len(flat) < len(models)
    title = "Probe scores by layer" if layered else "Probe scores with their controls and baselines"
    below = "layer as a share of the highest one probed; solid: trained, dashed: random weights, dotted: control task"
    if not layered:
        below = "one place a model; filled: trained, hollow: untrained, dash: control task"
    note = "; right: models without layers, hollow untrained" if flat and layered else ""
    below = f"{below}{note}\ngrey: {', '.join(BASELINE_WORDS)}"
    figure, panels = _make_panels({curve.task: curve.task for curve in curves}, title, recipe, models, (below, POINTS))
    highest = {name: max(1, *(int(curve.layers.max()) for curve in curves if curve.model == name)) for name in models}
    for curve in curves:
        panel, colour, style = panels[curve.task], models[curve.model], KIND_LINES[curve.kind]
        if curve.model in flat:
            at = 1.08 + 0.05 * flat.index(curve.model)
            fill = {"trained": colour, "untrained": "white", "control": "none"}[curve.kind]
            marker = "_" if curve.kind == "control" else "o"
            panel.plot([at], [curve.values.mean()], marker, color=colour, mfc=fill, ms=3.5, mew=0.9)
            continue
        at_layers = curve.layers / highest[curve.model]
        if len(curve.values) > 1:
            panel.fill_between(at_layers, curve.values.min(0), curve.values.max(0), color=colour, alpha=0.15, lw=0)
        panel.plot(at_layers, curve.values.mean(0), color=colour, lw=1.4, ls=style, marker="o", ms=2)
    for task, panel in panels.items():
        for name, style in BASELINE_LINES.items():
            if name in baselines.get(task, {}):
                panel.axhline(baselines[task][name], color=GREY, lw=0.9, ls=style, zorder=0)
        right = 1.08 + 0.05 * max(len(flat) - 1, 0) + 0.04 if flat else 1.03
        panel.set(ylim=(0, 100), xlim=(-0.03 if layered else 1.04, right))
        if not layered:
            panel.set_xticks([])
    return figure


def _has_layers(curves: Sequence[LayerCurve], model: str) -> bool:
    return any(curve.model == model and curve.layers.max() >= 0 for curve in curves)


def _assign_colours(names: Iterable[str]) -> dict[str, str]:
    return {name: PALETTE[place % len(PALETTE)] for place, name in enumerate(dict.fromkeys(names))}


def _make_panel(title: str, ylabel: str, names: Sequence[str], key: Sequence[str], recipe: str) -> tuple[Figure, Panel]:
    """One panel with a place for each name; above it room for the key, which `_add_key` writes."""
    ylabel, note = break_text(ylabel, 2.3, 8.5), break_recipe(recipe, 0.97 * FIGURE_WIDTH, NOTE)
    margin = 0.1 + (measure_height(ylabel, 8.5) - measure_height("line", 8.5)) / FIGURE_WIDTH
    room = (0.97 - margin) * FIGURE_WIDTH / max(len(names), 1)
    ticks = [break_text(name, 0.95 * room, 7.5) for name in names]
    foot = 0.3 + max(measure_height(tick, 7.5) for tick in ticks) + measure_height(note, NOTE)
    columns = _count_columns(key, (0.97 - margin) * FIGURE_WIDTH)
    height = 0.5 + -(-len(key) // columns) * 1.3 * measure_height("key", 8) + 2.4 + foot
    figure = Figure(figsize=(FIGURE_WIDTH, height))
    panel = figure.add_axes((margin, foot / height, 0.97 - margin, 2.4 / height))
    _style_panel(panel)
    panel.set_xticks(range(len(names)), ticks)
    panel.set_ylabel(ylabel)
    _write_title_and_recipe(figure, title, note)
    return figure, panel


def _add_key(panel: Panel) -> None:
    columns = _count_columns(panel.get_legend_handles_labels()[1], panel.get_position().width * FIGURE_WIDTH)
    panel.legend(fontsize=8, ncols=columns, loc="lower center", bbox_to_anchor=(0.5, 1.0), borderaxespad=0.2)


def _count_columns(labels: Sequence[str], room: float) -> int:
    widest = max((measure_line(label, 8) for label in labels), default=1.0)
    return max(1, min(len(labels), int(room / (widest + 0.45))))


def _make_panels(
    heads: Mapping[str, str],
    title: str,
    recipe: str,
    legend: Mapping[str, str],
    axes: tuple[str, str],
    *,
    share_axes: bool = True,
    size: float = 8,
) -> tuple[Figure, dict[str, Panel]]:
    """A panel for each name under its head, four side by side; `axes` names the two axes of all of them."""
    width, down = FIGURE_WIDTH * 1.25, -(-len(heads) // ACROSS)
    room = 0.9 * width / ACROSS
    broken = [break_text(head, 0.92 * room, size) for head in heads.values()]
    head = max(measure_height(text, size) for text in broken)
    columns = _count_columns(list(legend), 0.92 * width)
    key = -(-len(legend) // columns) * 1.3 * measure_height("key", 8)
    below = break_text(axes[0], 0.9 * width, 8)
    note = break_recipe(recipe, 0.97 * width, NOTE)
    top, panel_height, gap = 0.4 + key + head, 1.2, 0.3 + head
    foot = 0.4 + measure_height(below, 8) + measure_height(note, NOTE)
    height = top + down * panel_height + (down - 1) * gap + foot
    figure = Figure(figsize=(width, height))
    grid = figure.subplots(down, ACROSS, squeeze=False, sharex=share_axes, sharey=share_axes)
    figure.subplots_adjust(0.08, foot / height, 0.98, 1 - top / height, 0.28, gap / panel_height)
    for place, panel in enumerate(grid.flat):
        _style_panel(panel)
        panel.set_visible(place < len(heads))
        panel.tick_params(labelbottom=True)
    panels = dict(zip(heads, grid.flat, strict=False))
    for panel, text in zip(panels.values(), broken, strict=True):
        panel.set_title(text, fontsize=size, color=INK)
    dots = [Line2D([], [], ls="", marker="o", color=colour, label=name) for name, colour in legend.items()]
    figure.legend(handles=dots, ncols=columns, fontsize=8, loc="upper left", bbox_to_anchor=(0.06, 1 - 0.24 / height))
    at = (0.08 + measure_height(note, NOTE)) / height
    figure.text(0.53, at, below, fontsize=8, color="#333333", ha="center", va="bottom")
    figure.supylabel(break_text(axes[1], 0.9 * height, 8), fontsize=8, color="#333333", x=0.01)
    _write_title_and_recipe(figure, title, note)
    return figure, panels


def _style_panel(panel: Panel) -> None:
    panel.tick_params(labelsize=7.5)
    panel.grid(axis="y")


def _write_title_and_recipe(figure: Figure, title: str, note: str) -> None:
    """The title above, the recipe at the foot."""
    title = break_text(title, 0.97 * figure.get_figwidth(), 10, "bold")
    figure.text(0.012, 1 - 0.06 / figure.get_figheight(), title, fontsize=10, fontweight="bold", color=INK, va="top")
    figure.text(0.012, 0.04 / figure.get_figheight(), note, fontsize=NOTE, color=GREY, va="bottom", linespacing=1.1)
