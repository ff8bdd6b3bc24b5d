"""Systems that answered the same items, compared item by item.

Scores are averaged over repetitions of an item, then over runs (training seeds) of a system. A difference is paired by
item, and items of one cluster (document, passage, dialogue) are drawn together: the jackknife of stats.intervals. Where
a system has several runs, the spread between them is added whole, each system's own, with Satterthwaite's (1946)
degrees of freedom; the part of it that is items is counted twice, which makes intervals wider, never too narrow. Holm's
correction runs over all contrasts of one metric.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from analysis.stats.cluster_freedom import cluster_freedom
from analysis.stats.intervals import Interval, bounds, mean_interval
from analysis.stats.net_preference import unanimous
from analysis.stats.sign_tests import holm_where
from dialogue.errors import InputError
from dialogue.importing.run_logs import RunLog, Score, cluster_names, field_of
from dialogue.signature import signature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
POWER = 0.8
ALL_TASKS = "mean of all tasks"


@dataclass(frozen=True, slots=True)
class SystemScore:
    """One system in one task and metric, over the items that all systems answered."""

    system: str
    runs: int
    repetitions: float  # mean number a run and item
    mean: float
    low: float | None
    high: float | None
    run_sd: float | None  # between its runs


@dataclass(frozen=True, slots=True)
class RunContrast:
    """The first system's mean minus the second's, paired by item."""

    first: str
    second: str
    difference: float
    se: float
    df: float
    low: float | None  # None where no interval is known: every item differs by the same
    high: float | None
    p: float | None
    p_holm: float | None
    alike: bool | None  # shown to lie within the margin; None without one
    items_needed: int | None  # to show this difference with power .8; None where more items alone would not do
    over_runs: bool  # the error allows for new runs of both systems


@dataclass(frozen=True, slots=True)
class MetricAnswer:
    """All systems in one task and metric."""

    task: str
    metric: str
    items: int
    clusters: int
    omitted: int  # items that some system did not answer
    is_share: bool  # every score lies within 0 and 1: shown in points
    systems: tuple[SystemScore, ...]  # the highest mean first
    contrasts: tuple[RunContrast, ...]
    level: tuple[str, ...]  # systems not shown to be below the highest


@dataclass(frozen=True, slots=True)
class RunsAnswer:
    """Every task and metric that two systems or more share."""

    metrics: tuple[MetricAnswer, ...]
    cluster: str  # the field that groups items; empty: items are independent
    margin: float | None
    cautions: tuple[str, ...]
    signature: str


@dataclass(frozen=True, eq=False)
class _Scores:
    """The scores of one system in one task and metric: a row a run, a column an item."""

    values: Floats  # (runs, items)
    repetitions: float


@dataclass(frozen=True, eq=False)
class _Compared:
    """One task and metric with the scores it rests on."""

    metric: MetricAnswer
    scores: Mapping[str, _Scores]
    codes: Ints


def answer(
    systems: Mapping[str, Sequence[RunLog]],
    *,
    metric: str = "",
    cluster: str = "auto",
    margin: float | None = None,
    level: float = 0.95,
) -> RunsAnswer:
    """Compare `systems` (name -> its runs); `metric` keeps one, `cluster` names a field, `none` or `auto`."""
    if len(systems) < 2:
        raise InputError(
            f"One system ({next(iter(systems), 'none')}) has nothing to be compared with; name two or more."
        )
    every = [run for runs in systems.values() for run in runs]
    group = _cluster_field(every, cluster)
    cautions: list[str] = []
    compared = [
        entry
        for key in _shared_metrics(systems, metric)
        if (entry := _compared(key, systems, group, cautions, margin=margin, level=level))
    ]
    if not compared:
        raise InputError("No item was answered by all systems, so nothing can be paired: " + "; ".join(cautions))
    metrics = [entry.metric for entry in compared] + list(_over_tasks(compared, systems, level, margin))
    cautions += [
        f"{name}: {failed} item{'s' * (failed != 1)} without a score (they failed)"
        for name, runs in systems.items()
        if (failed := sum(run.failed for run in runs))
    ]
    cautions += [note for run in every for note in run.notes]
    return RunsAnswer(
        tuple(metrics),
        group,
        margin,
        tuple(dict.fromkeys(cautions)),
        signature(
            systems=len(systems),
            runs=len(every),
            unit=group or "item",
            paired="item",
            holm="within metric",
            level=level,
            **({"margin": margin} if margin is not None else {}),
        ),
    )


def _cluster_field(runs: Sequence[RunLog], cluster: str) -> str:
    if cluster == "none":
        return ""
    if cluster == "auto":
        return next(iter(cluster_names(runs)), "")
    for run in runs:
        for score in run.scores:
            if field_of(score.fields, cluster) is None:
                known = sorted({name for s in run.scores[:50] for name in s.fields})
                raise InputError(
                    f"{score.place}: item {score.item} has no field {cluster!r}; it has {', '.join(known) or 'none'}. "
                    "Name another one by --cluster, or --cluster none."
                )
    return cluster


Key = tuple[str, str]


def _shared_metrics(systems: Mapping[str, Sequence[RunLog]], metric: str) -> list[Key]:
    """Task and metric of every score that two systems or more have, in the order of the first log."""
    owners: dict[Key, set[str]] = defaultdict(set)
    for name, runs in systems.items():
        for run in runs:
            for score in run.scores:
                owners[score.task, score.metric].add(name)
    shared = [key for key, names in owners.items() if len(names) > 1]
    wanted = [key for key in shared if not metric or metric in (key[1], f"{key[0]}:{key[1]}")]
    if not wanted:
        held = "; ".join(
            f"{name}: {', '.join(sorted(f'{t}:{m}' for (t, m), who in owners.items() if name in who))}"
            for name in systems
        )
        lack = f"the metric {metric!r}" if metric else "a task and metric"
        raise InputError(f"No two systems have {lack} in common. They have: {held}.")
    return wanted


def _compared(
    key: Key,
    systems: Mapping[str, Sequence[RunLog]],
    group: str,
    cautions: list[str],
    *,
    margin: float | None,
    level: float,
) -> _Compared | None:
    by_run = {
        name: [rows for run in runs if (rows := [s for s in run.scores if (s.task, s.metric) == key])]
        for name, runs in systems.items()
    }
    by_run = {name: runs for name, runs in by_run.items() if runs}
    _check_questions(by_run)
    answered = [{score.item for score in run} for runs in by_run.values() for run in runs]
    common = set.intersection(*answered)
    items = [item for item in dict.fromkeys(score.item for score in next(iter(by_run.values()))[0]) if item in common]
    omitted = len(set.union(*answered)) - len(items)
    if len(items) < 2:
        cautions.append(f"{key[0]}, {key[1]}: {len(items)} item{'s' * (len(items) != 1)} answered by all systems")
        return None
    scores = {name: _arranged(runs, items) for name, runs in by_run.items()}
    codes = _clusters(by_run, items, group)
    if not codes.any():
        raise InputError(
            f"All items of {key[0]} have the same {group}, so no error can be given; name another field by --cluster."
        )
    values = np.concatenate([system.values for system in scores.values()])
    is_share = bool(values.min() >= 0 and values.max() <= 1)
    ranked = sorted((_standing(name, system, codes, is_share, level) for name, system in scores.items()), key=_by_mean)
    contrasts = []
    for first, second in combinations([standing.system for standing in ranked], 2):
        error = _error([scores[first].values, scores[second].values], [1, -1], codes, is_share, level)
        contrasts.append(_contrast(first, second, error, level, margin, items=len(items)))
    clusters = int(codes.max()) + 1
    metric = MetricAnswer(*key, len(items), clusters, omitted, is_share, tuple(ranked), tuple(contrasts), ())
    return _Compared(_corrected(metric, 1 - level), scores, codes)


def _by_mean(standing: SystemScore) -> float:
    return -standing.mean


def _corrected(metric: MetricAnswer, alpha: float) -> MetricAnswer:
    adjusted = holm_where([contrast.p for contrast in metric.contrasts])
    contrasts = tuple(replace(c, p_holm=p) for c, p in zip(metric.contrasts, adjusted, strict=True))
    best = metric.systems[0].system
    below = {c.second for c in contrasts if c.first == best and c.p_holm is not None and c.p_holm < alpha}
    level = tuple(standing.system for standing in metric.systems if standing.system not in below)
    return replace(metric, contrasts=contrasts, level=level)


def _check_questions(by_run: Mapping[str, Sequence[Sequence[Score]]]) -> None:
    """Refuse items that bear one id and ask different things: then the runs saw different versions of the data."""
    seen: dict[str, tuple[str, Score]] = {}
    for name, runs in by_run.items():
        for run in runs:
            for score in run:
                before = seen.setdefault(score.item, (name, score)) if score.question else None
                if before and before[1].question != score.question:
                    raise InputError(
                        f"{score.place}: item {score.item} of {score.task} asks something else than in {before[0]} "
                        f"({before[1].place}): the runs saw different versions of the data, or ids are row numbers of "
                        "shuffled files. Evaluate both on the same items."
                    )


def _arranged(runs: Sequence[Sequence[Score]], items: Sequence[str]) -> _Scores:
    places = {item: place for place, item in enumerate(items)}
    values = np.zeros((len(runs), len(items)))
    counts = np.zeros((len(runs), len(items)))
    for number, run in enumerate(runs):
        for score in run:
            if (place := places.get(score.item)) is not None:
                values[number, place] += score.score
                counts[number, place] += 1
    return _Scores(values / counts, float(counts.mean()))


def _clusters(by_run: Mapping[str, Sequence[Sequence[Score]]], items: Sequence[str], group: str) -> Ints:
    if not group:
        return np.arange(len(items))
    names = {score.item: field_of(score.fields, group) for runs in by_run.values() for run in runs for score in run}
    return np.unique([str(names[item]) for item in items], return_inverse=True)[1].astype(np.int64)


@dataclass(frozen=True, slots=True)
class _Error:
    """A mean over items and runs with its error; bounds are None where nothing varies and no range is known."""

    value: float
    se: float
    df: float
    low: float | None
    high: float | None
    variance_items: float
    variance_runs: float
    over_runs: bool


def _error(rows: Sequence[Floats], signs: Sequence[int], codes: Ints, is_share: bool, level: float) -> _Error:
    """The signed sum of system means: rows[k] (runs, items), signs[k] +1 or -1."""
    per_item = sum((sign * row.mean(axis=0) for sign, row in zip(signs, rows, strict=True)), np.zeros(len(codes)))
    interval = _over_items(per_item, codes, is_share=is_share, alone=len(rows) == 1, level=level)
    spread = _between_runs([row.mean(axis=1) for row in rows])
    if not any(part for part, _ in spread):
        known = interval.se > 0 or is_share
        ends = (interval.low, interval.high) if known else (None, None)
        return _Error(interval.value, interval.se, interval.df, ends[0], ends[1], interval.se**2, 0.0, bool(spread))
    return _summed(interval.value, [(interval.se**2, interval.df)], spread, is_share, level)


def _over_items(values: Floats, codes: Ints, *, is_share: bool, alone: bool, level: float) -> Interval:
    """The mean over items: of a share on the logit scale, of a difference of shares within -1 and 1."""
    by = {"cluster": codes} if len(np.unique(codes)) < len(codes) else {}
    if is_share and alone:
        return mean_interval(values, by=by, level=level, share=True)
    interval = mean_interval(values, by=by, level=level)
    if interval.se == 0:
        low, high = unanimous(interval.value, interval.df + 1, (1 - level) / 2)
        return replace(interval, low=low, high=high) if is_share else interval
    df = min(cluster_freedom(values, codes), interval.df) if by else interval.df
    low, high = bounds(interval.value, interval.se, df, level, share=False)
    low, high = (max(low, -1.0), min(high, 1.0)) if is_share else (low, high)
    return replace(interval, df=df, low=low, high=high)


def _between_runs(means: Sequence[Floats]) -> list[tuple[float, float]]:
    """Each system's variance of its mean over runs, with its freedom; none unless every system has two runs or more,
    since one run says nothing of others."""
    if any(len(runs) < 2 for runs in means):
        return []
    return [(float(runs.var(ddof=1)) / len(runs), len(runs) - 1.0) for runs in means]


Parts = Sequence[tuple[float, float]]


def _summed(value: float, by_items: Parts, by_runs: Parts, is_share: bool, level: float) -> _Error:
    """Independent variances added, with Satterthwaite's degrees of freedom."""
    items, runs = (sum(part for part, _ in parts) for parts in (by_items, by_runs))
    variance = items + runs
    df = variance**2 / sum(part**2 / free for part, free in (*by_items, *by_runs))
    reach = float(stdtrit(df, (1 + level) / 2)) * math.sqrt(variance)
    low, high = value - reach, value + reach
    ends = (max(low, -1.0), min(high, 1.0)) if is_share else (low, high)
    return _Error(value, math.sqrt(variance), df, ends[0], ends[1], items, runs, bool(by_runs))


def _standing(name: str, scores: _Scores, codes: Ints, is_share: bool, level: float) -> SystemScore:
    error = _error([scores.values], [1], codes, is_share, level)
    low = max(error.low, 0.0) if is_share and error.low is not None else error.low
    runs = scores.values.mean(axis=1)
    run_sd = float(runs.std(ddof=1)) if len(runs) > 1 else None
    return SystemScore(name, len(runs), scores.repetitions, error.value, low, error.high, run_sd)


def _contrast(first: str, second: str, error: _Error, level: float, margin: float | None, *, items: int) -> RunContrast:
    return RunContrast(
        first,
        second,
        error.value,
        error.se,
        error.df,
        error.low,
        error.high,
        _p_value(error),
        None,
        None if margin is None else _alike(error, margin, 1 - level),
        _items_needed(error, 1 - level, items),
        error.over_runs,
    )


def _p_value(error: _Error) -> float | None:
    """Two-sided, of no difference; where all clusters differ by the same, the one that `unanimous` bounds imply."""
    if error.se > 0:
        return 2 * float(stdtr(error.df, -abs(error.value) / error.se))
    if error.low is None:
        return None
    return float(min(1.0, 2 * (1 / (1 + abs(error.value))) ** (error.df + 1)))


def _alike(error: _Error, margin: float, alpha: float) -> bool:
    if error.se > 0:
        return bool(abs(error.value) + stdtrit(error.df, 1 - alpha) * error.se < margin)
    return error.low is not None and error.high is not None and max(-error.low, error.high) < margin


def _items_needed(error: _Error, alpha: float, items: int) -> int | None:
    """How many items show this difference with power .8, the share of clusters and the runs as they are."""
    if error.value == 0 or error.variance_items == 0:
        return None
    reach = float(stdtrit(error.df, 1 - alpha / 2) + stdtrit(error.df, POWER))
    spare = (error.value / reach) ** 2 - error.variance_runs
    return math.ceil(items * error.variance_items / spare) if spare > 0 else None


def _over_tasks(
    compared: Iterable[_Compared],
    systems: Mapping[str, Sequence[RunLog]],
    level: float,
    margin: float | None,
) -> Iterable[MetricAnswer]:
    """For every metric that all runs have in several tasks, the plain mean over tasks, which are taken as given."""
    by_metric: dict[str, list[_Compared]] = defaultdict(list)
    for entry in compared:
        if all(name in entry.scores and len(entry.scores[name].values) == len(runs) for name, runs in systems.items()):
            by_metric[entry.metric.metric].append(entry)
    for name, tasks in by_metric.items():
        if len(tasks) > 1 and len({task.metric.is_share for task in tasks}) == 1:
            yield _mean_of_tasks(name, tasks, list(systems), level, margin)


def _mean_of_tasks(
    name: str, tasks: Sequence[_Compared], systems: Sequence[str], level: float, margin: float | None
) -> MetricAnswer:
    is_share = tasks[0].metric.is_share
    means = {s: np.mean([task.scores[s].values.mean(axis=1) for task in tasks], axis=0) for s in systems}  # by run
    items = sum(task.metric.items for task in tasks)

    def error_of(names: Sequence[str]) -> _Error:
        signs = [1, -1][: len(names)]
        by_items = []
        for task in tasks:
            rows = [task.scores[system].values.mean(axis=0, keepdims=True) for system in names]
            error = _error(rows, signs, task.codes, is_share, level)
            by_items.append((error.se**2 / len(tasks) ** 2, error.df))
        value = sum(sign * float(means[system].mean()) for sign, system in zip(signs, names, strict=True))
        if not any(part for part, _ in by_items):
            return _Error(value, 0.0, math.inf, None, None, 0.0, 0.0, over_runs=False)
        return _summed(value, by_items, _between_runs([means[system] for system in names]), is_share, level)

    standings = []
    for system, mean in means.items():
        error = error_of([system])
        repetitions = float(np.mean([task.scores[system].repetitions for task in tasks]))
        run_sd = float(mean.std(ddof=1)) if len(mean) > 1 else None
        standings.append(SystemScore(system, len(mean), repetitions, error.value, error.low, error.high, run_sd))
    standings.sort(key=_by_mean)
    contrasts = [
        _contrast(first.system, second.system, error_of([first.system, second.system]), level, margin, items=items)
        for first, second in combinations(standings, 2)
    ]
    clusters, omitted = (sum(getattr(task.metric, field) for task in tasks) for field in ("clusters", "omitted"))
    whole = MetricAnswer(ALL_TASKS, name, items, clusters, omitted, is_share, tuple(standings), tuple(contrasts), ())
    return _corrected(whole, 1 - level)
