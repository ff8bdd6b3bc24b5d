"""Every way of judging the models of one study as panels over architectures and seeds, people first.

Which tasks are compared, in which order and on which scale is what the evaluators' cards say. What is not compared is
kept with the reason, so that nothing is dropped in silence.

Votes give the strength of every trained model that they connect, and how far it moves with items and raters. Strengths
are the least-squares solution of s_i - s_j = mean(i chosen) - mean(j chosen) over the pairs that compare models i and
j; those of models that votes connect sum to zero. Covariances are cluster-robust by dialogue and by rater, and by both
at once (Cameron, Gelbach and Miller 2011); `analysis/votes/clusters.py` has the rule. Every part is a jackknife (CV3 of
MacKinnon, Nielsen and Webb 2023): the usual G/(G-1) is too small where few raters gave most votes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from seedvote.analysis.stats.intervals import count_groups, cross_codes, kish, unit_name
from seedvote.analysis.stats.reruns import BOTH
from seedvote.analysis.votes.clusters import clusters_of
from seedvote.analysis.votes.scores.files import Scores, Unused
from seedvote.analysis.votes.scores.panel import OPTION_DRAWS, PEOPLE, POINTS, Panel, Scale, System
from seedvote.analysis.votes.scores.values import Floats, Key, Value, scale_of
from seedvote.analysis.votes.study import Study
from seedvote.analysis.votes.systems import placed
from seedvote.analysis.votes.votes import Votes
from seedvote.dialogue.cards import ASIDE, LATE, LONGEST, Card, TaskCard
from seedvote.dialogue.records import Candidate, Pair

DRAW = re.compile(r"candidates draw \d+")
CONSTANT = "constant"  # the condition of one sentence for every context
SEVERAL = 6  # names in a line; more are counted
MINOR = "its card does not compare models by it"
FURTHER = "further draws of the same models"
PERTURBED = "other conditions are never pooled with clean scores"
BASELINE = "baselines stand beside what they are for"
CONTROL = "controls stand beside what they are for"
Values = Mapping[Key, Mapping[int | None, Value]]


def compared_panels(study: Study, clusters: str = "auto") -> tuple[list[Panel], list[Unused]]:
    """People, then every evaluator in the order of its card; and what of the study they do not show."""
    panels: list[Panel] = []
    omissions: list[Unused] = []
    votes = study.votes
    if votes is not None and study.pairs:
        panels += people_panels(votes, study.pairs, clusters)
    if study.scores is not None:
        compared, other_keys = kept_keys(study.scores)
        panels += _panels_with_draws(study.scores, compared)
        omissions += [*other_keys, *study.scores.left_out]
    return sorted(panels, key=_panel_order), omissions


def _panel_order(panel: Panel) -> tuple[int, str, bool, str, str]:
    return panel.shown.order, panel.shown.group, panel.checkpoint != "last", panel.checkpoint, panel.name


def kept_keys(scores: Scores) -> tuple[Values, list[Unused]]:
    """The groups of scores that models are compared by, and the others by the reason why not."""
    clean = {(key.evaluator, key.task) for key in scores.values if not key.condition}
    compared: dict[Key, Mapping[int | None, Value]] = {}
    omissions: dict[tuple[str, str], dict[str, None]] = {}
    for key, values in scores.values.items():
        perturbed = scores.perturbed(key) or bool(key.condition and (key.evaluator, key.task) in clean)
        if why := _why_not(key, scores.cards, perturbed):
            omissions.setdefault((key.evaluator, why), {})[
                {BASELINE: key.model, CONTROL: key.model, MINOR: key.task}.get(why, f"of {key.condition}")
            ] = None
        else:
            compared[key] = values
    titles = {
        evaluator: scores.cards[evaluator].title if evaluator in scores.cards else evaluator
        for evaluator, _ in omissions
    }
    return compared, [
        Unused(f"{titles[evaluator]} {_list_names(list(names))}", why) for (evaluator, why), names in omissions.items()
    ]


def _why_not(key: Key, cards: Mapping[str, Card], perturbed: bool) -> str:
    """Why a group of scores is not compared; empty where it is."""
    if key.evaluator in ASIDE:
        return CONTROL if key.evaluator == "control" else BASELINE
    card = cards.get(key.evaluator)
    task = card and card.task(key.task)
    if (card is not None and key.model in card.baselines) or key.condition == CONSTANT:
        return BASELINE
    if task and not task.main:
        return MINOR
    if " draw " in key.condition:
        return OPTION_DRAWS if DRAW.fullmatch(key.condition) else FURTHER
    return PERTURBED if perturbed else ""


def _list_names(names: Sequence[str]) -> str:
    surplus = len(names) - SEVERAL
    return ", ".join(names) if surplus < 2 else f"{', '.join(names[:SEVERAL])} and {surplus} more"


def score_panels(values: Values, cards: Mapping[str, Card], unit: str = "dialogue") -> list[Panel]:
    """One panel for each evaluator, task, checkpoint, rater and condition: rows of two conditions are never pooled.

    Raters are pooled where the evaluator's card says that they are drawn from many.
    """
    several: dict[tuple[str, str], tuple[set[str], set[str]]] = {}
    scales: dict[Key, dict[System, dict[str, Value]]] = {}
    for key, by_seed in values.items():
        is_drawn = key.evaluator in cards and cards[key.evaluator].raters == "drawn"
        raters, conditions = several.setdefault((key.evaluator, key.task), (set(), set()))
        raters.add("" if is_drawn else key.rater)
        conditions.add(key.condition)
        systems = scales.setdefault(scale_of(key)._replace(rater="") if is_drawn else scale_of(key), {})
        for seed, value in by_seed.items():
            systems.setdefault(System(key.model, seed), {})[key.rater] = value
    panels = []
    for key, values_of in scales.items():
        raters, conditions = several[key.evaluator, key.task]
        suffixes = [key.rater] if len(raters) > 1 else []
        suffixes += [key.condition or "clean"] if len(conditions) > 1 else []
        suffix = "".join(f", {name}" for name in suffixes)
        panels.append(panel_of_scale(key, suffix, values_of, scale_from(key, cards), unit))
    return panels


def panel_of_scale(
    key: Key, suffix: str, values_of: Mapping[System, Mapping[str, Value]], scale: Scale, unit: str
) -> Panel:
    """The panel of system -> rater -> value; `suffix` is added to the task's name.

    Where raters are drawn from many, as the seeds of a discriminator are, each of them judges every model: a value is
    the mean over them, and their spread is a part of its error like that of the dialogues.
    """
    systems = tuple(sorted(values_of, key=lambda system: (system.model, -1 if system.seed is None else system.seed)))
    table = [[values_of[system][name] for name in sorted(values_of[system])] for system in systems]
    labels = {label: k for k, label in enumerate(dict.fromkeys(c for row in table for v in row for c in v.clusters))}
    means = [scale.factor * np.array([value.value for value in row]) for row in table]
    parts_of = [scale.factor * np.stack([_spread_parts(value, labels) for value in row]) for row in table]
    values, parts = np.array([row.mean() for row in means]), np.stack([row.mean(0) for row in parts_of])
    covariance, clusters, by_rater = {"items": _cluster_covariance(parts)}, {"items": len(labels)}, None
    raters = {tuple(sorted(names)) for names in values_of.values()}
    if len(raters) == 1 and len(means[0]) > 1:  # else some model lacks a rater, and their spread is not known
        deviations = np.stack([(row - row.mean()) / len(row) for row in means])
        covariance["raters"], clusters["raters"] = _cluster_covariance(deviations), len(means[0])
        by_rater = np.stack([row[:, None] + len(labels) * part for row, part in zip(means, parts_of, strict=True)], 1)
        unit += "+rater"
    covariance["both"] = sum(covariance.values(), np.zeros_like(covariance["items"]))
    return Panel(
        key.evaluator,
        key.task + suffix,
        key.checkpoint,
        systems,
        values,
        covariance,
        clusters,
        {system.model: row[0].examples for system, row in zip(systems, table, strict=True)},
        values[:, None] + len(labels) * parts,
        unit=unit,
        scale=replace(scale, title=scale.title + suffix),
        by_rater=by_rater,
    )


def _spread_parts(value: Value, labels: Mapping[str, int]) -> Floats:
    """What each of all dialogues adds to a value's error."""
    row = np.zeros(len(labels))
    row[[labels[label] for label in value.clusters]] = value.parts
    return row


def _cluster_covariance(parts: Floats) -> Floats:
    """Covariance from what each cluster adds: (systems, clusters) to (systems, systems); NaN for one cluster."""
    groups = parts.shape[1]
    return parts @ parts.T * (groups / (groups - 1) if groups > 1 else math.nan)


def _panels_with_draws(scores: Scores, compared: Values) -> list[Panel]:
    """The panels of the first draw of false options; those that were asked with further draws keep all of them.

    Each draw asks about the same dialogues, so that the variance can tell the draw's part from the dialogue's.
    """
    values_by_draw: dict[str, dict[Key, Mapping[int | None, Value]]] = {}
    for key, values in scores.values.items():
        first = compared.get(key._replace(condition=""))
        if (
            DRAW.fullmatch(key.condition)
            and first is not None
            and (first.keys() == values.keys() and all(first[seed].clusters == values[seed].clusters for seed in first))
        ):
            values_by_draw.setdefault(key.condition, {})[key._replace(condition="")] = values
    panels_by_draw = [
        {_scale_name(panel): panel for panel in score_panels(values, scores.cards, scores.unit)}
        for values in values_by_draw.values()
    ]
    return [
        _add_draws(panel, [draws[name] for draws in panels_by_draw if name in draws])
        for panel in score_panels(compared, scores.cards, scores.unit)
        for name in [_scale_name(panel)]
    ]


def _scale_name(panel: Panel) -> tuple[str, str, str]:
    return panel.kind, panel.name, panel.checkpoint


def _add_draws(panel: Panel, panels_by_draw: Sequence[Panel]) -> Panel:
    """The panel with the cells of every draw that has all of its models."""
    cells = [
        draw.cells for draw in (panel, *panels_by_draw) if draw.systems == panel.systems and draw.cells is not None
    ]
    return replace(panel, by_draw=np.stack(cells)) if len(cells) > 1 else panel


def scale_from(key: Key, cards: Mapping[str, Card]) -> Scale:
    """How a task is shown by its card; under its own name, with no unit and no direction, where it has none."""
    card = cards.get(key.evaluator)
    task = card.task(key.task) if card else None
    if card is None or task is None:
        group, order = (shortened(key.evaluator), LATE) if card is None else (card.title, card.order)
        unnamed = key.task if card is not None and card.tasks else ""
        return Scale(group, shortened(key.task), order, "", better="neither", carded=False, unnamed=unnamed)
    chance = None if task.chance is None else task.scale * task.chance
    return Scale(card.title, task.title, card.order, shown_unit(task), task.scale, task.better, chance)


def shortened(name: str) -> str:
    """A name that no card bounds, as a row of a table can hold it.

    >>> shortened("m" * 50 + "-" + "n" * 50)
    'mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm...nnnnnnnnnnnnnnnnn'
    """
    name = " ".join(name.split())
    return name if len(name) <= LONGEST else f"{name[:40]}...{name[43 - LONGEST :]}"


def shown_unit(task: TaskCard) -> str:
    """The unit of scores after scaling; empty for a bare number.

    >>> shown_unit(TaskCard(unit="share", scale=100.0)), shown_unit(TaskCard(unit="nats"))
    ('points', 'nats')
    """
    if task.unit == "none":
        return ""
    if (task.unit, task.scale) in (("share", 100.0), ("points", 1.0)):
        return POINTS
    return task.unit + ("" if task.scale == 1 else f" x {task.scale:g}")


class Baseline(NamedTuple):
    """What something that knows little scores on one task, as shown."""

    kind: str
    task: str
    checkpoint: str
    name: str
    value: float


def baselines_beside(scores: Scores) -> tuple[Baseline, ...]:
    """The baselines of every task: rows of models that the evaluator's card names, its own or under `baseline`."""
    baselines = []
    for key, seeds in scores.values.items():
        if (
            (kind := _owner_of_baseline(key, scores.cards))
            and not scores.perturbed(key)
            and " draw " not in key.condition
        ):
            scale = scale_from(key._replace(evaluator=kind), scores.cards)
            mean = scale.factor * float(np.mean([value.value for value in seeds.values()]))
            baselines.append(Baseline(kind, key.task, key.checkpoint, key.model.replace("_", " "), mean))
    return tuple(baselines)


def _owner_of_baseline(key: Key, cards: Mapping[str, Card]) -> str:
    """The evaluator that a baseline stands beside; empty for what is no baseline."""
    owner = (
        cards
        if key.evaluator == "baseline"
        else {key.evaluator: cards[key.evaluator]}
        if key.evaluator in cards
        else {}
    )
    # A card that names the task goes before one that takes every task.
    fitting = [name for name, card in owner.items() if key.model in card.baselines and card.task(key.task)]
    return min(fitting, key=lambda name: key.task not in owner[name].tasks, default="")


def best_baseline(panel: Panel, baselines: Sequence[Baseline]) -> Baseline | None:
    """The baseline that does best on a panel's task; the highest where no direction is known."""
    task = panel.name.partition(", ")[0]
    rivals = [baseline for baseline in baselines if (baseline.kind, baseline.task) == (panel.kind, task)]
    sign = -1 if panel.shown.better == "lower" else 1
    return max(rivals, key=lambda baseline: sign * baseline.value, default=None)


# Strengths by votes


Ints = npt.NDArray[np.int64]
PEOPLE_SCALE = Scale(PEOPLE, "net preference", 0)
CHUNK = 500  # clusters left out at once: a matrix of all systems for each
JudgedModel = tuple[str, str, int | None]  # checkpoint, model, seed


def people_panels(votes: Votes, pairs: Sequence[Pair], clusters: str = "auto") -> list[Panel]:
    """One panel for each set of models that votes connect."""
    known = {p.pair: p for p in pairs if p.kind == "real" and _trained_model(p.a) != _trained_model(p.b)}
    chosen = placed(votes, known).select(np.array([name in known for name in votes.pairs], bool)[votes.pair])
    if not len(chosen):
        return []
    met = [known[chosen.pairs[code]] for code in chosen.pair]
    models = sorted({_trained_model(side) for p in met for side in (p.a, p.b)}, key=_model_order)
    place = {model: k for k, model in enumerate(models)}
    sides = np.array([[place[_trained_model(p.a)], place[_trained_model(p.b)]] for p in met])
    net = np.where(chosen.tie, 0.0, np.where(chosen.choice == chosen.labels.index("a"), 1.0, -1.0))
    # Everything that is not a rater is what items are: dialogues, contexts or pairs, whichever the rule takes.
    by = clusters_of(chosen, clusters, part=True)
    ways = {"raters" if name == "rater" else "items": codes for name, codes in by.items()}
    ways = ways or {"items": np.arange(len(chosen))}
    gram = np.zeros((len(models), len(models)))
    np.add.at(gram, (sides[:, 0], sides[:, 1]), 1)
    count, part = connected_components(gram, directed=False)
    return [
        _fit_strengths(
            [models[k] for k in np.flatnonzero(part == seed)],
            sides[rows],
            net[rows],
            chosen.pair[rows],
            {way: codes[rows] for way, codes in ways.items()},
            np.flatnonzero(part == seed),
            unit_name(by),
        )
        for seed in range(count)
        for rows in [part[sides[:, 0]] == seed]
    ]


def _trained_model(side: Candidate) -> JudgedModel:
    return side.checkpoint, side.model, side.seed


def _model_order(model: JudgedModel) -> tuple[str, str, int]:
    return model[0], model[1], -1 if model[2] is None else model[2]


def _fit_strengths(
    models: Sequence[JudgedModel], sides: Ints, score: Floats, pair: Ints, ways: Mapping[str, Ints], of: Ints, unit: str
) -> Panel:
    """Least squares on the votes between `models`, whose codes in `sides` are `of`."""
    first, second = np.searchsorted(of, sides).T
    size = len(models)
    gram, total = np.zeros((size, size)), np.zeros(size)
    for row, column, sign in ((first, first, 1), (second, second, 1), (first, second, -1), (second, first, -1)):
        np.add.at(gram, (row, column), sign)
    np.add.at(total, first, score)
    np.add.at(total, second, -score)
    # Votes fix differences only, so the matrix is singular; its pseudo-inverse is the solution that sums to zero.
    inverse = np.linalg.pinv(gram, hermitian=True)
    strength = inverse @ total
    residual = score - (strength[first] - strength[second])

    def by(codes: Ints) -> Floats:
        """100 x 100 times the covariance (systems, systems) for one way of clustering."""
        moved = left_out(gram, first, second, residual, np.unique(codes, return_inverse=True)[1])
        return 1e4 * (1 - 1 / len(moved) if len(moved) > 1 else np.nan) * moved.T @ moved

    by_way = {way: by(codes) for way, codes in ways.items()}
    covariance = sum(by_way.values(), np.zeros((size, size)))
    covariance = covariance - by(cross_codes(list(ways.values()))) if len(ways) > 1 else covariance
    checkpoints = "/".join(sorted({model[0] for model in models}))
    examples = {
        name: len(np.unique(pair[np.isin(first, at) | np.isin(second, at)]))
        for name in {model[1] for model in models}
        for at in [[k for k, model in enumerate(models) if model[1] == name]]
    }
    return Panel(
        PEOPLE,
        "net preference",
        checkpoints,
        tuple(System(*model[1:]) for model in models),
        100 * strength,
        {**by_way, BOTH: covariance},
        {way: count_groups(codes) for way, codes in ways.items()},
        examples,
        effective={way: kish(codes) for way, codes in ways.items()},
        unit=unit,
        scale=PEOPLE_SCALE,
    )


def left_out(gram: Floats, first: Ints, second: Ints, residual: Floats, codes: Ints) -> Floats:
    """How far the strengths move (clusters, systems) when a cluster's votes are left out: the jackknife, exactly.

    Without cluster g the strengths differ by (X'X - Xg'Xg)^-1 Xg'e_g.
    """
    number, size = int(codes.max()) + 1, len(gram)
    sums = np.zeros((number, size))
    np.add.at(sums, (codes, first), residual)
    np.add.at(sums, (codes, second), -residual)
    moved = np.empty((number, size))
    order, ends = np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))
    for start in range(0, number, CHUNK):
        stop = min(start + CHUNK, number)
        rows = order[(ends[start - 1] if start else 0) : ends[stop - 1]]
        remainder = np.repeat(gram[None], stop - start, axis=0)
        for row, column, sign in ((first, first, -1), (second, second, -1), (first, second, 1), (second, first, 1)):
            np.add.at(remainder, (codes[rows] - start, row[rows], column[rows]), sign)
        moved[start:stop] = _solve_strengths(remainder, sums[start:stop])
    return moved


def _solve_strengths(gram: Floats, sums: Floats) -> Floats:
    """The solutions that sum to zero; the shortest where what is left connects fewer systems."""
    try:
        solution = np.linalg.solve(gram + 1.0, sums[..., None])[..., 0]  # all ones: the only direction not determined
    except np.linalg.LinAlgError:
        solution = np.full_like(sums, np.inf)
    # No vote is worth more than 1, so a strength that leaps belongs to a system that lost its votes.
    loose = ~(np.abs(solution) < 2).all(1)
    solution[loose] = (np.linalg.pinv(gram[loose], hermitian=True) @ sums[loose][..., None])[..., 0]
    return np.asarray(solution)
