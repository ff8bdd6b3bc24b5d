"""Which figures of a study's probes can be drawn, and why the others cannot; `plots` draws, this asks for the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dialogue.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from probes.summary import Cell, TaskScore


@dataclass(frozen=True, slots=True)
class FiguresAsked:
    """What the figures are drawn from; a path that is None is the study's own."""

    study: Path
    corpus: Path | None = None
    states: Sequence[Path] | None = None
    scores: Path | None = None
    classifier: str = "logistic"
    metric: str = "bleu2"


def figures_of(asked: FiguresAsked) -> dict[str, Figure | str]:
    """Every figure, or the reason why there is none, by its name."""
    import pyarrow.parquet as pq

    from probes import layers, summary

    path = asked.scores or asked.study / "scores.parquet"
    every = summary.read_task_scores(path)
    there = sorted({score.classifier for score in every} - {"majority"})
    if asked.classifier not in there:
        raise InputError(
            f"{path} has no scores by {asked.classifier}. It has: {', '.join(there)}. Name one: --classifier."
        )
    of_classifier = [s for s in every if s.classifier in (asked.classifier, "majority")]
    scores = layers.top_layers([s for s in of_classifier if not s.labels])
    recipe = (pq.read_schema(path).metadata or {}).get(b"signature", b"").decode()
    return {
        "layers": _layers(of_classifier, recipe),
        "evolution": _evolution(asked, scores, recipe),
        "difficulty": _difficulty(summary.cells(scores), recipe),
        "selection": _selection(scores, recipe),
        f"beside-{asked.metric}": _beside(asked.study / "metrics.parquet", scores, asked.metric, recipe),
        "states": _states(asked, recipe),
    }


def figures_without_scores(asked: FiguresAsked, reason: str, recipe: str) -> dict[str, Figure | str]:
    """What can be drawn before anything was probed, the states, and this reason for all others."""
    return dict.fromkeys(("evolution", "difficulty", "selection"), reason) | {"states": _states(asked, recipe)}


def save_figures(figures: Mapping[str, Figure | str], folder: Path) -> dict[str, str]:
    """Write what could be drawn; the reason for each that could not, empty where it was."""
    from probes import plots

    for name, found in figures.items():
        if not isinstance(found, str):
            plots.save_figure(found, folder / name)
    return {name: found if isinstance(found, str) else "" for name, found in figures.items()}


def _layers(scores: list[TaskScore], recipe: str) -> Figure | str:
    from probes import layers, plots

    baselines: dict[str, dict[str, float]] = {}
    for score in scores:
        if score.evaluator == "baseline":
            baselines.setdefault(score.task, {})[score.model] = score.f1
    return plots.by_layer(layers.layer_curves(scores), baselines, recipe)


def _evolution(asked: FiguresAsked, scores: list[TaskScore], recipe: str) -> Figure | str:
    from dialogue.command_line import next_command
    from probes import comparisons, plots

    every = comparisons.courses(scores)
    courses = [course for course in every if len(course.epochs) > 2 and len(course.values)]
    if not courses and any(course.epochs.max() > 0 for course in every):
        return "a course needs three checkpoints in order that all seeds of a model have, and fewer were probed"
    if not courses:
        study = asked.study
        words = [study, "--checkpoints", "all", *(["--corpus", asked.corpus] if asked.corpus else [])]
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


def _difficulty(cells: list[Cell], recipe: str) -> Figure | str:
    from probes import comparisons, plots

    means = {(c.task, c.model, c.checkpoint): c.seeds.mean for c in cells if c.evaluator == "probe"}
    there = {checkpoint for _, _, checkpoint in means}
    checkpoint = next((name for name in ("best_bleu", "last") if name in there), min(there - {"untrained"}, default=""))
    words = {c.task: c.seeds.mean for c in cells if c.model == "bag_of_words"}
    level, by = comparisons.difficulty_by(means, words)
    groups = comparisons.means_by_difficulty(means, checkpoint, level)
    if not groups:
        return "no trained model"
    return plots.difficulty_bars(groups, f"{recipe}|checkpoint:{checkpoint or 'none'}|difficulty by:{by}")


def _selection(scores: list[TaskScore], recipe: str) -> Figure | str:
    from probes import comparisons, plots

    found = comparisons.by_selector(scores)
    if len({metric for _, metric in found}) < 2:
        return plots.selectors(comparisons.by_checkpoint(scores), recipe, by="checkpoint")
    return plots.selectors(found, recipe, by="the metric that selected the checkpoint")


def _beside(path: Path, scores: list[TaskScore], metric: str, recipe: str) -> Figure | str:
    from probes import comparisons, plots

    if not path.exists():
        return f"{path} is not there: python -m generation score"
    found = comparisons.beside(scores, comparisons.read_metric(path, metric))
    return plots.scatter(found, metric, recipe) if found else f"fewer than three models have both {metric} and probes"


def _states(asked: FiguresAsked, recipe: str) -> Figure | str:
    from dialogue.corpora.reading import read_corpus
    from probes import clouds, plots, splits, states

    sides = splits.plan_splits(read_corpus(asked.corpus or asked.study / "corpus"), "test")
    items = [[example.item for example in side] for side in (sides.fit, sides.report)]
    try:
        found = states.find(asked.study, asked.states, "all")
    except InputError as error:
        return str(error)
    axes = clouds.model_axes(found, items)
    return plots.clouds(axes, ("untrained", "last"), recipe) if axes else "no model has states of these examples"
