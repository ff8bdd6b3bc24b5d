"""Draw the figures of a study's probes into STUDY/probes/. A figure is drawn if its data exist.

evolution     scores over epochs, a band over seeds (needs epoch-N: probes run --checkpoints all)
difficulty    means over easy, medium and hard tasks, by the untrained recurrent models
selection     scores at the checkpoint that each metric selected (needs two or more best_... checkpoints)
beside-bleu2  probe scores against a token metric, with their rank correlation (needs STUDY/metrics.parquet)
states        states of the first and the last checkpoint on common principal axes (fitted on train)
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from dialogue.command_line import tell_next

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from probes.comparisons import Axes
    from probes.states import Representation
    from probes.summary import Cell, TaskScore


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, and where its parts lie."""
    add = parser.add_argument
    add("study", type=Path, metavar="STUDY", help="folder of the study")
    add("--corpus", type=Path, metavar="PATH", help="the corpus (default: STUDY/corpus)")
    add("--scores", type=Path, metavar="FILE", help="score table (default: STUDY/scores.parquet)")
    add("--classifier", default="logistic", help="classifier whose scores are drawn (default: logistic)")
    add("--metric", default="bleu2", help="token metric to compare with (default: bleu2)")


def run(args: argparse.Namespace) -> None:
    """Draw what can be drawn; say what cannot and why."""
    import pyarrow.parquet as pq

    from dialogue.errors import InputError
    from probes import plots, summary

    path = args.scores or args.study / "scores.parquet"
    every = summary.read_task_scores(path)
    there = sorted({score.classifier for score in every} - {"majority"})
    if args.classifier not in there:
        raise InputError(
            f"{path} has no scores by {args.classifier}. It has: {', '.join(there)}. Name one: --classifier."
        )
    scores = [s for s in every if not s.labels and s.classifier in (args.classifier, "majority")]
    recipe = (pq.read_schema(path).metadata or {}).get(b"signature", b"").decode()
    cells = summary.cells(scores)
    figures = {
        "evolution": _evolution(scores, recipe),
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


def _evolution(scores: list[TaskScore], recipe: str) -> Figure | str:
    from probes import comparisons, plots

    courses = [course for course in comparisons.courses(scores) if len(course.epochs) > 2 and len(course.values)]
    if not courses:
        return "the score table has no epoch-N checkpoints: probes run --checkpoints all"
    best: dict[str, float] = {}
    for score in scores:
        if score.evaluator == "baseline" and score.model != "bag_of_words":
            best[score.task] = max(score.f1, best.get(score.task, 0.0))
    return plots.evolution(courses, best, recipe)


def _difficulty(cells: list[Cell], recipe: str) -> Figure | str:
    from probes import comparisons, plots

    means = {(c.task, c.model, c.checkpoint): c.seeds.mean for c in cells if c.evaluator == "probe"}
    there = {checkpoint for _, _, checkpoint in means}
    checkpoint = "best_bleu" if "best_bleu" in there else "last"
    groups = comparisons.means_by_difficulty(means, checkpoint)
    return (
        plots.difficulty_bars(groups, f"{recipe}|checkpoint:{checkpoint}") if groups else "no untrained recurrent model"
    )


def _selection(scores: list[TaskScore], recipe: str) -> Figure | str:
    from probes import comparisons, plots

    found = comparisons.by_selector(scores)
    if len({metric for _, metric in found}) < 2:
        return "the score table has fewer than two best_... checkpoints"
    return plots.selectors(found, recipe)


def _beside(path: Path, scores: list[TaskScore], metric: str, recipe: str) -> Figure | str:
    from probes import comparisons, plots

    if not path.exists():
        return f"{path} is not there: python -m generation score"
    found = comparisons.beside(scores, comparisons.read_metric(path, metric))
    return plots.scatter(found, metric, recipe) if found else f"fewer than three models have both {metric} and probes"


def _states(args: argparse.Namespace, recipe: str) -> Figure | str:
    from dialogue.corpora.reading import read_corpus
    from probes import plots, splits, states

    sides = splits.plan_splits(read_corpus(args.corpus or args.study / "corpus"), "test")
    items = [[example.item for example in side] for side in (sides.fit, sides.report)]
    by_model: dict[str, dict[str, Representation]] = {}
    for who in states.find(args.study, None, "all"):
        by_model.setdefault(f"{who.model}-{who.seed}", {})[who.checkpoint] = who
    axes = {name: _axes(found, items) for name, found in by_model.items() if {"untrained", "last"} <= set(found)}
    return plots.clouds(axes, ("untrained", "last"), recipe) if axes else "no model has states both untrained and last"


def _axes(found: dict[str, Representation], items: list[list[str]]) -> Axes:
    from probes.comparisons import common_axes

    pair = (found["untrained"], found["last"])
    return common_axes([who.rows(items[0]) for who in pair], [who.rows(items[1]) for who in pair])
