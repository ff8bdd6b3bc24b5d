"""What the pictures show: courses, difficulty, selection, a token metric, layers, and clouds of states.

Scores come in and go out in points (0-100); nothing is drawn here, and no file is written. Difficulty is that of the
second probe paper.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

import numpy as np

from seedvote.probes.plan import CONTROL_TASK, TRUE
from seedvote.probes.states import Representation, common_items, layer_of
from seedvote.probes.summary import TaskScore, sum_groups

RECURRENT = ("seq2seq", "seq2seq_attn", "hred", "bilstm_attn")
EASY, MEDIUM = 50.0, 25.0  # points of the untrained recurrent models above which a task is easy, or medium
DIFFICULTIES = ("easy", "medium", "hard")


@dataclass(frozen=True, slots=True)
class Course:
    """One model on one task over its epochs (0 is untrained); `values` in points (seeds x epochs)."""

    task: str
    model: str
    epochs: np.ndarray
    values: np.ndarray


def epoch_of(checkpoint: str) -> int | None:
    """0 for `untrained`, N for `epoch-N` and its like elsewhere, nothing for a checkpoint chosen by a metric.

    >>> epoch_of("untrained"), epoch_of("epoch-12"), epoch_of("checkpoint-500"), epoch_of("best_bleu")
    (0, 12, 500, None)
    """
    number = re.fullmatch(r"(?:epoch|step|checkpoint)-(\d+)", checkpoint)
    return 0 if checkpoint == "untrained" else int(number[1]) if number else None


def score_courses(scores: Iterable[TaskScore]) -> list[Course]:
    """The course of every model and task, over the epochs that all its seeds have."""
    by_course: dict[tuple[str, str], dict[int, dict[int | None, float]]] = defaultdict(lambda: defaultdict(dict))
    for score in scores:
        epoch = epoch_of(score.checkpoint)
        if score.evaluator == "probe" and epoch is not None:
            by_course[score.task, score.model][epoch][score.seed] = score.f1
    return [_model_course(task, model, by_epoch) for (task, model), by_epoch in sorted(by_course.items())]


def _model_course(task: str, model: str, by_epoch: Mapping[int, Mapping[int | None, float]]) -> Course:
    seeds = set.intersection(*(set(values) for values in by_epoch.values()))
    epochs = sorted(by_epoch)
    rows = [[by_epoch[epoch][seed] for epoch in epochs] for seed in sorted(seeds, key=str)]
    return Course(task, model, np.array(epochs), np.array(rows).reshape(len(seeds), len(epochs)))


@dataclass(frozen=True, slots=True)
class DifficultyGroup:
    """One model on the tasks of one difficulty: mean over tasks, and the SD across tasks (n-1), in points."""

    model: str
    difficulty: str
    tasks: tuple[str, ...]
    mean: float
    sd: float


Means = Mapping[tuple[str, str, str], float]  # (task, model, checkpoint) -> mean micro-F1 over seeds, in points


def task_difficulty(means: Means) -> dict[str, str]:
    """Each task is easy, medium or hard by the mean of the untrained recurrent models."""
    untrained: dict[str, list[float]] = defaultdict(list)
    for (task, model, checkpoint), f1 in means.items():
        if checkpoint == "untrained" and model in RECURRENT:
            untrained[task].append(f1)
    return rank_difficulty(untrained)


def rank_difficulty(untrained: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """Each task is easy, medium or hard by the mean of the untrained recurrent models, in points."""
    means = {task: fmean(scores) for task, scores in untrained.items()}
    return {task: "easy" if f1 > EASY else "medium" if f1 >= MEDIUM else "hard" for task, f1 in means.items()}


def difficulty_by(means: Means, words: Mapping[str, float]) -> tuple[dict[str, str], str]:
    """The level of each task, and whose scores it is by: untrained recurrent models, else any untrained, else words."""
    if levels := task_difficulty(means):
        return levels, "untrained recurrent models"
    untrained = {(task, RECURRENT[0], at): f1 for (task, _, at), f1 in means.items() if at == "untrained"}
    if levels := task_difficulty(untrained):
        return levels, "untrained models"
    return task_difficulty({(task, RECURRENT[0], "untrained"): f1 for task, f1 in words.items()}), "bag of words"


def means_by_difficulty(means: Means, checkpoint: str, level: Mapping[str, str] | None = None) -> list[DifficultyGroup]:
    """Every model's mean over the easy, the medium and the hard tasks at one checkpoint."""
    level = task_difficulty(means) if level is None else level
    models = dict.fromkeys(model for (task, model, at) in means if at == checkpoint and task in level)
    return [
        group
        for model in models
        for name in DIFFICULTIES
        if (group := _difficulty_group(means, level, model, checkpoint, name))
    ]


def _difficulty_group(
    means: Means, level: Mapping[str, str], model: str, checkpoint: str, name: str
) -> DifficultyGroup | None:
    tasks = tuple(task for task in level if level[task] == name and (task, model, checkpoint) in means)
    if not tasks:
        return None
    values = [means[task, model, checkpoint] for task in tasks]
    return DifficultyGroup(
        model, name, tasks, float(np.mean(values)), float(np.std(values, ddof=1)) if len(values) > 1 else np.nan
    )


@dataclass(frozen=True, slots=True)
class MetricComparison:
    """Probe scores against a token metric: one point a model, seed and checkpoint; Spearman's rank correlation."""

    task: str
    models: tuple[str, ...]
    checkpoints: tuple[str, ...]
    metric: np.ndarray
    probe: np.ndarray
    correlation: float
    p: float


def compare_metric(
    scores: Sequence[TaskScore], metric: Mapping[tuple[str, int | None, str], float]
) -> list[MetricComparison]:
    """For every task with three points or more that are not all equal."""
    from scipy.stats import spearmanr  # a second to load, and for this alone

    comparisons = []
    for task in dict.fromkeys(score.task for score in scores):
        points = [
            (s.model, s.checkpoint, metric[s.model, s.seed, s.checkpoint], s.f1)
            for s in scores
            if s.task == task and s.evaluator == "probe" and (s.model, s.seed, s.checkpoint) in metric
        ]
        x, y = np.array([p[2] for p in points]), np.array([p[3] for p in points])
        if len(points) >= 3 and np.ptp(x) and np.ptp(y):
            rank = spearmanr(x, y)
            models, checkpoints = tuple(p[0] for p in points), tuple(p[1] for p in points)
            comparisons.append(
                MetricComparison(task, models, checkpoints, x, y, float(rank.statistic), float(rank.pvalue))
            )
    return comparisons


def read_metric(path: Path, name: str) -> dict[tuple[str, int | None, str], float]:
    """Mean over items of one token metric, of every model, seed and checkpoint."""
    groups = sum_groups(path, ["task", "model", "seed", "checkpoint"], ["score"], "generation score", tasks=[name])
    return {key[1:]: group.mean("score") for key, group in groups.items()}


@dataclass(frozen=True, slots=True)
class Axes:
    """States of one or two checkpoints (n x 2 each), each around its own mean, on their two leading common axes.

    `share` of the variance around the means lies on these axes; `shift` of all variance is the distance between the
    means, which is the same for every state.
    """

    clouds: tuple[np.ndarray, ...]
    share: float
    shift: float


def common_axes(fit: Sequence[np.ndarray], plotted: Sequence[np.ndarray]) -> Axes:
    """Axes from the training states of all checkpoints together, applied to the states shown of each."""
    # Around one mean of all, the first axis would be the line between the checkpoints' means and little else.
    means = [np.asarray(states, np.float64).mean(0) for states in fit]
    around = np.concatenate([states - mean for states, mean in zip(fit, means, strict=True)])
    variance, axes = np.linalg.eigh(around.T @ around / len(around))
    # eigh sorts upwards: the last two columns, the largest first.
    clouds = tuple((states - mean) @ axes[:, :-3:-1] for states, mean in zip(plotted, means, strict=True))
    between = np.repeat(means, [len(states) for states in fit], axis=0).var(0).sum()
    within = float(variance.sum())
    share = float(variance[-2:].sum()) / within if within > 0 else np.nan
    return Axes(clouds, share, float(between) / (float(between) + within) if between + within > 0 else np.nan)


def by_selector(scores: Iterable[TaskScore]) -> dict[tuple[str, str], list[float]]:
    """(model, metric) -> for each training seed the mean over tasks at the checkpoint that the metric chose."""
    chosen = (score for score in scores if score.checkpoint.startswith("best_"))
    return {(model, name.removeprefix("best_")): f1 for (model, name), f1 in by_checkpoint(chosen).items()}


def by_checkpoint(scores: Iterable[TaskScore]) -> dict[tuple[str, str], list[float]]:
    """(model, checkpoint) -> for each training seed the mean over tasks."""
    by_seed: dict[tuple[str, str], dict[int | None, list[float]]] = defaultdict(lambda: defaultdict(list))
    for score in scores:
        if score.evaluator == "probe":
            by_seed[score.model, score.checkpoint][score.seed].append(score.f1)
    return {key: [float(np.mean(values)) for values in seeds.values()] for key, seeds in sorted(by_seed.items())}


# Representations that are layers of one model: its scores over them, and its top layer alone.


def top_layers(scores: Iterable[TaskScore]) -> list[TaskScore]:
    """The highest probed layer of every model alone, under the model's name; models without layers as they are."""
    rows = [(score, *layer_of(score.model)) for score in scores]
    tops: dict[str, int] = {}
    for _, model, layer in rows:
        if layer is not None:
            tops[model] = max(layer, tops.get(model, 0))
    return [score for score, model, layer in rows if layer is None or layer == tops[model]]


@dataclass(frozen=True, slots=True)
class LayerCurve:
    """One model on one task over its layers; `values` in points (seeds x layers), and what it is: see `curves`."""

    task: str
    model: str
    kind: str
    layers: np.ndarray
    values: np.ndarray


def layer_curves(scores: Iterable[TaskScore]) -> list[LayerCurve]:
    """For each task and model its scores as `trained`, `untrained` and on the `control` task, over seeds and layers.

    `trained` is the one checkpoint that stands for the model: last, or else the first by name. A model without layers
    has one place.
    """
    by_curve: dict[tuple[str, str, str], dict[int, dict[object, list[float]]]] = {}
    every = [score for score in scores if score.evaluator in ("probe", "control")]
    chosen = _choose_checkpoints(every)
    for score in every:
        model, layer = layer_of(score.model)
        kind = _kind_of_curve(score, chosen[model])
        if kind:
            of_layer = by_curve.setdefault((score.task, model, kind), defaultdict(lambda: defaultdict(list)))
            of_layer[-1 if layer is None else layer][score.seed].append(score.f1)
    return [_make_curve(*key, by_layer) for key, by_layer in by_curve.items()]


def _choose_checkpoints(scores: Sequence[TaskScore]) -> dict[str, str]:
    """The checkpoint of each model that stands for it trained."""
    checkpoints: dict[str, set[str]] = defaultdict(set)
    for score in scores:
        checkpoints[layer_of(score.model)[0]].add(score.checkpoint)
    return {
        model: "last" if "last" in names else min(names - {"untrained"}, default="")
        for model, names in checkpoints.items()
    }


def _kind_of_curve(score: TaskScore, chosen: str) -> str:
    if score.checkpoint == "untrained":
        return "untrained" if score.labels == TRUE else ""
    if score.checkpoint != chosen:
        return ""
    return {TRUE: "trained", CONTROL_TASK: "control"}.get(score.labels, "")


def _make_curve(
    task: str, model: str, kind: str, by_layer: Mapping[int, Mapping[object, Sequence[float]]]
) -> LayerCurve:
    layers = sorted(by_layer)
    seeds = sorted(set.intersection(*(set(by_layer[layer]) for layer in layers)), key=str)
    values = [[float(np.mean(by_layer[layer][seed])) for layer in layers] for seed in seeds]
    return LayerCurve(task, model, kind, np.array(layers), np.array(values).reshape(len(seeds), len(layers)))


# Whose states are drawn together: a model untrained and trained, its top layer where it has several.


def model_axes(representations: Sequence[Representation], items: Sequence[Sequence[str]]) -> dict[str, Axes]:
    """For each model and seed its states untrained and last, or those of its one checkpoint, on common axes.

    `items`: the examples that fit the axes, and those that are shown; of both, those that have states.
    """
    axes = {}
    for name, (first, last) in _pair_with_untrained(representations).items():
        whose = [last] if first is None or first.width != last.width else [first, last]
        known = common_items(whose)
        sides = [[item for item in side if item in known] for side in items]
        if all(len(side) > 1 for side in sides):
            axes[name] = common_axes(*([_widen_states(who.rows(side)) for who in whose] for side in sides))
    return axes


@dataclass(frozen=True, slots=True)
class CloudSpread:
    """One checkpoint's states around their own mean: the SD along its own two leading axes, and what these hold.

    `share` of its variance lies on the two axes. `shift` is how far its mean is from that of the untrained twin, as a
    share of the variance of both together (NaN without a twin): no part of the axes.
    """

    model: str
    checkpoint: str
    first: float
    second: float
    share: float
    shift: float


def cloud_spreads(representations: Sequence[Representation], items: Sequence[Sequence[str]]) -> Iterator[CloudSpread]:
    """Every model and seed untrained, after each epoch, and at last; the axes are fitted on the first side alone."""
    models: dict[tuple[str, int | None], list[Representation]] = {}
    for who in _keep_top_layers(representations):
        if who.checkpoint == "last" or epoch_of(who.checkpoint) is not None:
            models.setdefault((layer_of(who.model)[0], who.seed), []).append(who)
    for (model, seed), whose in sorted(models.items(), key=str):
        name = model if seed is None else f"{model}-{seed}"
        raw = next((_split_states(who, items) for who in whose if who.checkpoint == "untrained"), None)
        for who in sorted(whose, key=_in_order):
            fit, plotted = _split_states(who, items)
            if min(len(fit), len(plotted)) < 2:
                continue
            own = common_axes([fit], [plotted])
            like = raw is not None and raw[0].shape == fit.shape and who.checkpoint != "untrained"
            shift = common_axes([raw[0], fit], [raw[1], plotted]).shift if raw is not None and like else math.nan
            first, second = own.clouds[0].std(0)
            yield CloudSpread(name, who.checkpoint, float(first), float(second), own.share, shift)


def _in_order(who: Representation) -> float:
    epoch = epoch_of(who.checkpoint)
    return math.inf if epoch is None else epoch


def _split_states(who: Representation, items: Sequence[Sequence[str]]) -> tuple[np.ndarray, np.ndarray]:
    known = set(who.ids)
    fit, plotted = (_widen_states(who.rows([item for item in side if item in known])) for side in items)
    return fit, plotted


def _pair_with_untrained(
    representations: Sequence[Representation],
) -> dict[str, tuple[Representation | None, Representation]]:
    """For each model its untrained twin, of the same seed if there is one, and the checkpoint that stands for it."""
    models: dict[tuple[str, int | None], list[Representation]] = {}
    for who in _keep_top_layers(representations):
        models.setdefault((layer_of(who.model)[0], who.seed), []).append(who)
    pairs: dict[str, tuple[Representation | None, Representation]] = {}
    for (model, seed), whose in models.items():
        trained = [who for who in whose if who.checkpoint != "untrained"]
        if trained:
            last = next((who for who in trained if who.checkpoint == "last"), trained[0])
            siblings = [who for (name, _), them in models.items() if name == model for who in them]
            twins = sorted((w for w in siblings if w.checkpoint == "untrained"), key=lambda w: w.seed != seed)
            pairs[model if seed is None else f"{model}-{seed}"] = (next(iter(twins), None), last)
    return pairs


def _keep_top_layers(representations: Sequence[Representation]) -> list[Representation]:
    tops: dict[str, int] = {}
    for model, layer in (layer_of(who.model) for who in representations):
        tops[model] = max(layer or 0, tops.get(model, 0))
    return [who for who in representations if (layer_of(who.model)[1] or 0) == tops[layer_of(who.model)[0]]]


def _widen_states(states: np.ndarray) -> np.ndarray:
    """At least two columns, since there are two axes."""
    return states if states.shape[1] > 1 else np.hstack([states, np.zeros_like(states)])
