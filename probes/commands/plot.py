"""Draw the figures of a study's probes into STUDY/probes/. A figure is drawn if its data exist.

layers        scores by layer, with baselines, control and untrained twin; models without layers at the right
evolution     scores over epochs, a band over seeds (needs epoch-N or step-N: probes run --checkpoints all)
difficulty    means over easy, medium and hard tasks, by untrained models, or by a bag of words where there are none
selection     scores at the checkpoint that each metric selected, or else at every checkpoint
beside-bleu2  probe scores against a token metric, with their rank correlation (needs STUDY/metrics.parquet)
states        states of the first and the last checkpoint on common principal axes (fitted on train)

Of a model with layers, all but the first show its highest layer.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dialogue.command_line import tell_next
from dialogue.errors import InputError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from probes.summary import Cell, TaskScore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, and where its parts lie."""
    add = parser.add_argument
    add("study", type=Path, metavar="STUDY", help="folder of the study")
    add("--corpus", type=Path, metavar="PATH", help="the corpus (default: STUDY/corpus)")
    add("--states", nargs="+", type=Path, metavar="FILE", help="these arrays (default: those in STUDY/states)")
    add("--scores", type=Path, metavar="FILE", help="score table (default: STUDY/scores.parquet)")
    add("--classifier", default="logistic", help="classifier whose scores are drawn (default: logistic)")
    add("--metric", default="bleu2", help="token metric to compare with (default: bleu2)")


def run(args: argparse.Namespace) -> None:
    """Draw what can be drawn; say what cannot and why."""
    import pyarrow.parquet as pq

    from probes import layers, plots, summary

    path = args.scores or args.study / "scores.parquet"
    every = summary.read_task_scores(path)
    there = sorted({score.classifier for score in every} - {"majority"})
    if args.classifier not in there:
        raise InputError(
            f"{path} has no scores by {args.classifier}. It has: {', '.join(there)}. Name one: --classifier."
        )
    of_classifier = [s for s in every if s.classifier in (args.classifier, "majority")]
    scores = layers.top_layers([s for s in of_classifier if not s.labels])
    recipe = (pq.read_schema(path).metadata or {}).get(b"signature", b"").decode()
    cells = summary.cells(scores)
    figures = {
        "layers": _layers(of_classifier, recipe),
        "evolution": _evolution(args.study, scores, recipe),
        "difficulty": _difficulty(cells, recipe),
        "selection": _selection(scores, recipe),
        f"beside-{args.metric}": _beside(args.study / "metrics.parquet", scores, args.metric, recipe),
        "states": _states(args, recipe),
    }
    for name, found in figures.items():
        if isinstance(found, str):
            print(f"{name}: not drawn, {found}")
        else:
            plots.save_figure(found, args.study / "probes" / name)
            print(f"{name}: {args.study / 'probes' / name}.png and .pdf")
    tell_next("python -m analysis compare", args.study)


def _layers(scores: list[TaskScore], recipe: str) -> Figure | str:
    from probes import layers, plots

    baselines: dict[str, dict[str, float]] = {}
    for score in scores:
        if score.evaluator == "baseline":
            baselines.setdefault(score.task, {})[score.model] = score.f1
    return plots.by_layer(layers.layer_curves(scores), baselines, recipe)


def _evolution(study: Path, scores: list[TaskScore], recipe: str) -> Figure | str:
    from dialogue.command_line import next_command
    from probes import comparisons, plots

    courses = [course for course in comparisons.courses(scores) if len(course.epochs) > 2 and len(course.values)]
    if not courses:
        probe = next_command("python -m probes run", study, "--checkpoints", "all")
        if list((study / "states").glob("*-epoch-*.npy")) or not (study / "models").exists():
            return f"the score table has no epoch-N checkpoints: {probe}"
        encode = next_command("python -m generation encode", study, "--checkpoints", "all")
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


def _states(args: argparse.Namespace, recipe: str) -> Figure | str:
    from dialogue.corpora.reading import read_corpus
    from probes import clouds, plots, splits, states

    sides = splits.plan_splits(read_corpus(args.corpus or args.study / "corpus"), "test")
    items = [[example.item for example in side] for side in (sides.fit, sides.report)]
    try:
        found = states.find(args.study, args.states, "all")
    except InputError as error:
        return str(error)
    axes = clouds.model_axes(found, items)
    return plots.clouds(axes, ("untrained", "last"), recipe) if axes else "no model has states of these examples"
