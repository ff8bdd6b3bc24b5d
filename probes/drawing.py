"""Which figures of a study's probes can be drawn, and why the others cannot; `plots` draws, this asks for the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seedvote.probes.summary import Cell, TaskScore


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

    from seedvote.probes import layers, summary

    path = request.scores or request.study / "scores.parquet"
    every = summary.read_task_scores(path)
    classifiers = sorted({score.classifier for score in every} - {"majority"})
    if request.classifier not in classifiers:
        raise InputError(
            f"{path} has no scores by {request.classifier}. It has: {', '.join(classifiers)}. Name one: --classifier."
        )
    of_classifier = [s for s in every if s.classifier in (request.classifier, "majority")]
    scores = layers.top_layers([s for s in of_classifier if not s.labels])
    recipe = (pq.read_schema(path).metadata or {}).get(b"signature", b"").decode()
    return {
        "layers": _draw_layers(of_classifier, recipe),
        "evolution": _draw_evolution(request, scores, recipe),
        "difficulty": _draw_difficulty(summary.cells(scores), recipe),
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
    from seedvote.probes import plots

    for name, figure in figures.items():
        if not isinstance(figure, str):
            plots.save_figure(figure, folder / name)
    return {name: figure if isinstance(figure, str) else "" for name, figure in figures.items()}


def _draw_layers(scores: list[TaskScore], recipe: str) -> Figure | str:
    from seedvote.probes import layers, plots

    baselines: dict[str, dict[str, float]] = {}
    for score in scores:
        if score.evaluator == "baseline":
            baselines.setdefault(score.task, {})[score.model] = score.f1
    return plots.by_layer(layers.layer_curves(scores), baselines, recipe)


def _draw_evolution(request: FigureRequest, scores: list[TaskScore], recipe: str) -> Figure | str:
    from seedvote.dialogue.command_line import next_command
    from seedvote.probes import comparisons, plots

    every = comparisons.courses(scores)
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
    return plots.evolution(courses, best, recipe)


def _draw_difficulty(cells: list[Cell], recipe: str) -> Figure | str:
    from seedvote.probes import comparisons, plots

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
    return plots.difficulty_bars(groups, f"{recipe}|checkpoint:{checkpoint or 'none'}|difficulty by:{source}")


def _draw_selection(scores: list[TaskScore], recipe: str) -> Figure | str:
    from seedvote.probes import comparisons, plots

    means = comparisons.by_selector(scores)
    if len({metric for _, metric in means}) < 2:
        return plots.selectors(comparisons.by_checkpoint(scores), recipe, criterion="checkpoint")
    return plots.selectors(means, recipe, criterion="the metric that selected the checkpoint")


def _draw_metric_comparison(path: Path, scores: list[TaskScore], metric: str, recipe: str) -> Figure | str:
    from seedvote.probes import comparisons, plots

    if not path.exists():
        return f"{path} is not there: python -m generation score"
    by_task = comparisons.compare_metric(scores, comparisons.read_metric(path, metric))
    return (
        plots.scatter(by_task, metric, recipe) if by_task else f"fewer than three models have both {metric} and probes"
    )


def _draw_states(request: FigureRequest, recipe: str) -> Figure | str:
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.probes import clouds, plots, splits, states

    sides = splits.plan_splits(read_corpus(request.corpus or request.study / "corpus"), "test")
    items = [[example.item for example in side] for side in (sides.fit, sides.report)]
    try:
        representations = states.find_states(request.study, request.states, "all")
    except InputError as error:
        return str(error)
    axes = clouds.model_axes(representations, items)
    return plots.clouds(axes, ("untrained", "last"), recipe) if axes else "no model has states of these examples"
