"""Which of several evaluated systems scores higher, item by item, from the logs of their evaluations.

Scores are averaged over repetitions of an item, then over runs (training seeds) of a system. A difference is paired by
item, and items of one cluster (document, passage, dialogue) are drawn together: the jackknife of stats.intervals. Where
a system has several runs, the spread between them is added whole, each system's own, with Satterthwaite's (1946)
degrees of freedom; the part of it that is items is counted twice, which makes intervals wider, never too narrow. Holm's
correction runs over all contrasts of one metric.

A table with one row a training run has no items. Then the runs of a system are a sample of its seeds, a difference of
two means has Welch's (1947) interval, and one paired by seed the t of its differences. A seed means the same in two
systems only where it fixes the same data order or start, which no table says: it is stated by `paired`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from seedvote.analysis.showing.page import Axis, Row, RowFigure
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, p_value, to_plain
from seedvote.analysis.stats.intervals import Interval, bound_mean, cluster_freedom, mean_interval
from seedvote.analysis.stats.net_preference import bound_unanimous
from seedvote.analysis.stats.sign_tests import holm_where
from seedvote.dialogue.cards import is_lower_better
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.importing.run_logs import RunLog, Score, cluster_names, field_of, read_runs
from seedvote.dialogue.signature import signature
from seedvote.dialogue.tables.table import RawTable, table_in_memory

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
POWER = 0.8
ALL_TASKS = "mean of all tasks"
MOST_SENTENCES = 6
FEW_RUNS = 5


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
    lower_is_better: bool  # as the name of the metric says
    systems: tuple[SystemScore, ...]  # the best mean first
    contrasts: tuple[RunContrast, ...]
    level: tuple[str, ...]  # systems not shown to be worse than the best


@dataclass(frozen=True, slots=True)
class RunsAnswer:
    """Every task and metric that two systems or more share."""

    metrics: tuple[MetricAnswer, ...]
    paired: Literal["item", "run", ""]  # empty: runs without items, whose seeds are not taken as pairs
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
class _MetricScores:
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
    paired: bool = False,
    level: float = 0.95,
) -> RunsAnswer:
    """Compare `systems` (name -> its runs); `metric` keeps one, `cluster` names a field, `none` or `auto`.

    `paired`: of runs without items, those of one seed belong together in all systems.
    """
    if len(systems) < 2:
        raise InputError(
            f"One system ({next(iter(systems), 'none')}) has nothing to be compared with; name two or more."
        )
    logs = [run for runs in systems.values() for run in runs]
    if not all(score.item for run in logs for score in run.scores):
        return _compare_whole_runs(systems, metric, margin, level, is_paired=paired)
    if paired:
        raise InputError("These logs have items, and differences are paired by item already; leave --paired out.")
    group = _cluster_field(logs, cluster)
    cautions: list[str] = []
    entries = [
        entry
        for key in _shared_metrics(systems, metric)
        if (entry := _compare_metric(key, systems, group, cautions, margin=margin, level=level))
    ]
    if not entries:
        raise InputError("No item was answered by all systems, so nothing can be paired: " + "; ".join(cautions))
    metrics = [entry.metric for entry in entries] + list(_over_tasks(entries, systems, level, margin))
    cautions += [
        f"{name}: {failed} item{'s' * (failed != 1)} without a score (they failed)"
        for name, runs in systems.items()
        if (failed := sum(run.failed for run in runs))
    ]
    cautions += [note for run in logs for note in run.notes]
    return RunsAnswer(
        tuple(metrics),
        "item",
        group,
        margin,
        tuple(dict.fromkeys(cautions)),
        signature(
            systems=len(systems),
            runs=len(logs),
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
                fields = sorted({name for s in run.scores[:50] for name in s.fields})
                raise InputError(
                    f"{score.place}: item {score.item} has no field {cluster!r}; it has {', '.join(fields) or 'none'}. "
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
        metrics = "; ".join(
            f"{name}: {', '.join(sorted(f'{t}:{m}' for (t, m), who in owners.items() if name in who)) or 'none'}"
            for name in systems
        )
        subject = f"the metric {metric!r}" if metric else "a task and metric"
        raise InputError(f"No two systems have {subject} in common. They have: {metrics}.")
    return wanted


def _compare_metric(
    key: Key,
    systems: Mapping[str, Sequence[RunLog]],
    group: str,
    cautions: list[str],
    *,
    margin: float | None,
    level: float,
) -> _MetricScores | None:
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
    scores = {name: _arrange_scores(runs, items) for name, runs in by_run.items()}
    codes = _code_clusters(by_run, items, group)
    if not codes.any():
        raise InputError(
            f"All items of {key[0]} have the same {group}, so no error can be given; name another field by --cluster."
        )
    values = np.concatenate([system.values for system in scores.values()])
    is_share = bool(values.min() >= 0 and values.max() <= 1)
    ranked = _rank_systems(
        [_score_system(name, system, codes, is_share, level) for name, system in scores.items()], key
    )
    contrasts = []
    for first, second in combinations([standing.system for standing in ranked], 2):
        error = _estimate_error([scores[first].values, scores[second].values], [1, -1], codes, is_share, level)
        contrasts.append(_make_contrast(first, second, error, level, margin, items=len(items)))
    clusters = int(codes.max()) + 1
    lower = is_lower_better(key[1])
    metric = MetricAnswer(*key, len(items), clusters, omitted, is_share, lower, tuple(ranked), tuple(contrasts), ())
    return _MetricScores(_correct_metric(metric, 1 - level), scores, codes)


def _rank_systems(standings: Iterable[SystemScore], key: Key) -> list[SystemScore]:
    """The best mean first: the lowest where the metric's name says that lower is better."""
    return sorted(standings, key=lambda standing: standing.mean, reverse=not is_lower_better(key[1]))


def _correct_metric(metric: MetricAnswer, alpha: float) -> MetricAnswer:
    adjusted = holm_where([contrast.p for contrast in metric.contrasts])
    contrasts = tuple(replace(c, p_holm=p) for c, p in zip(metric.contrasts, adjusted, strict=True))
    best = metric.systems[0].system
    below = {c.second for c in contrasts if c.first == best and c.p_holm is not None and c.p_holm < alpha}
    level = tuple(standing.system for standing in metric.systems if standing.system not in below)
    return replace(metric, contrasts=contrasts, level=level)


def _check_questions(by_run: Mapping[str, Sequence[Sequence[Score]]]) -> None:
    """Refuse items that bear one id and ask different things: then the runs saw different versions of the data."""
    first_scores: dict[str, tuple[str, Score]] = {}
    for name, runs in by_run.items():
        for run in runs:
            for score in run:
                earlier = first_scores.setdefault(score.item, (name, score)) if score.question else None
                if earlier and earlier[1].question != score.question:
                    raise InputError(
                        f"{score.place}: item {score.item} of {score.task} asks something else than in {earlier[0]} "
                        f"({earlier[1].place}). The runs saw different versions of the data, or ids are row numbers of "
                        "shuffled files. Evaluate both on the same items."
                    )


def _arrange_scores(runs: Sequence[Sequence[Score]], items: Sequence[str]) -> _Scores:
    places = {item: place for place, item in enumerate(items)}
    values = np.zeros((len(runs), len(items)))
    counts = np.zeros((len(runs), len(items)))
    for number, run in enumerate(runs):
        for score in run:
            if (place := places.get(score.item)) is not None:
                values[number, place] += score.score
                counts[number, place] += 1
    return _Scores(values / counts, float(counts.mean()))


def _code_clusters(by_run: Mapping[str, Sequence[Sequence[Score]]], items: Sequence[str], group: str) -> Ints:
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


def _estimate_error(rows: Sequence[Floats], signs: Sequence[int], codes: Ints, is_share: bool, level: float) -> _Error:
    """The signed sum of system means: rows[k] (runs, items), signs[k] +1 or -1."""
    per_item = sum((sign * row.mean(axis=0) for sign, row in zip(signs, rows, strict=True)), np.zeros(len(codes)))
    interval = _over_items(per_item, codes, is_share=is_share, is_mean=len(rows) == 1, level=level)
    spread = _between_runs([row.mean(axis=1) for row in rows])
    over_runs = len(spread) == len(rows)
    if not any(part for part, _ in spread):
        has_range = interval.se > 0 or is_share
        ends = (interval.low, interval.high) if has_range else (None, None)
        return _Error(interval.value, interval.se, interval.df, ends[0], ends[1], interval.se**2, 0.0, over_runs)
    return _sum_variances(interval.value, [(interval.se**2, interval.df)], spread, is_share, level, over_runs)


def _over_items(values: Floats, codes: Ints, *, is_share: bool, is_mean: bool, level: float) -> Interval:
    """The mean over items: of a share on the logit scale, of a difference of shares within -1 and 1."""
    by = {"cluster": codes} if len(np.unique(codes)) < len(codes) else {}
    if is_share and is_mean:
        return mean_interval(values, by=by, level=level, share=True)
    interval = mean_interval(values, by=by, level=level)
    if interval.se == 0:
        low, high = bound_unanimous(interval.value, interval.df + 1, (1 - level) / 2)
        return replace(interval, low=low, high=high) if is_share else interval
    df = min(cluster_freedom(values, codes), interval.df) if by else interval.df
    low, high = bound_mean(interval.value, interval.se, df, level, share=False)
    low, high = (max(low, -1.0), min(high, 1.0)) if is_share else (low, high)
    return replace(interval, df=df, low=low, high=high)


def _between_runs(means: Sequence[Floats]) -> list[tuple[float, float]]:
    """Each system's variance of its mean over runs, with its freedom; none of a system with one run."""
    return [(float(runs.var(ddof=1)) / len(runs), len(runs) - 1.0) for runs in means if len(runs) > 1]


Parts = Sequence[tuple[float, float]]


def _sum_variances(
    value: float,
    by_items: Parts,
    by_runs: Parts,
    is_share: bool,
    level: float,
    over_runs: bool,
    most_df: float = math.inf,
) -> _Error:
    """Independent variances added, with Satterthwaite's degrees of freedom."""
    items, runs = (sum(part for part, _ in parts) for parts in (by_items, by_runs))
    variance = items + runs
    df = min(most_df, variance**2 / sum(part**2 / free for part, free in (*by_items, *by_runs)))
    reach = float(stdtrit(df, (1 + level) / 2)) * math.sqrt(variance)
    low, high = value - reach, value + reach
    ends = (max(low, -1.0), min(high, 1.0)) if is_share else (low, high)
    return _Error(value, math.sqrt(variance), df, ends[0], ends[1], items, runs, over_runs)


def _score_system(name: str, scores: _Scores, codes: Ints, is_share: bool, level: float) -> SystemScore:
    error = _estimate_error([scores.values], [1], codes, is_share, level)
    low = max(error.low, 0.0) if is_share and error.low is not None else error.low
    runs = scores.values.mean(axis=1)
    run_sd = float(runs.std(ddof=1)) if len(runs) > 1 else None
    return SystemScore(name, len(runs), scores.repetitions, error.value, low, error.high, run_sd)


def _make_contrast(
    first: str, second: str, error: _Error, level: float, margin: float | None, *, items: int
) -> RunContrast:
    return RunContrast(
        first,
        second,
        error.value,
        error.se,
        error.df,
        error.low,
        error.high,
        _error_p(error),
        None,
        None if margin is None else _is_equivalent(error, margin, 1 - level),
        _items_needed(error, 1 - level, items),
        error.over_runs,
    )


def _error_p(error: _Error) -> float | None:
    """Two-sided, of no difference; where all clusters differ by the same, the one that `bound_unanimous` implies."""
    if error.se > 0:
        return 2 * float(stdtr(error.df, -abs(error.value) / error.se))
    if error.low is None:
        return None
    return float(min(1.0, 2 * (1 / (1 + abs(error.value))) ** (error.df + 1)))


def _is_equivalent(error: _Error, margin: float, alpha: float) -> bool:
    if error.se > 0:
        return bool(abs(error.value) + stdtrit(error.df, 1 - alpha) * error.se < margin)
    return error.low is not None and error.high is not None and max(-error.low, error.high) < margin


def _items_needed(error: _Error, alpha: float, items: int) -> int | None:
    """How many items show this difference with power .8, the share of clusters and the runs as they are."""
    if error.value == 0 or error.variance_items == 0:
        return None
    reach = float(stdtrit(error.df, 1 - alpha / 2) + stdtrit(error.df, POWER))
    spare_variance = (error.value / reach) ** 2 - error.variance_runs
    return math.ceil(items * error.variance_items / spare_variance) if spare_variance > 0 else None


def _over_tasks(
    entries: Iterable[_MetricScores],
    systems: Mapping[str, Sequence[RunLog]],
    level: float,
    margin: float | None,
) -> Iterable[MetricAnswer]:
    """For every metric that all runs have in several tasks, the plain mean over tasks, which are taken as given."""
    by_metric: dict[str, list[_MetricScores]] = defaultdict(list)
    for entry in entries:
        if all(name in entry.scores and len(entry.scores[name].values) == len(runs) for name, runs in systems.items()):
            by_metric[entry.metric.metric].append(entry)
    for name, tasks in by_metric.items():
        if len(tasks) > 1 and len({task.metric.is_share for task in tasks}) == 1:
            yield _mean_of_tasks(name, tasks, list(systems), level, margin)


def _mean_of_tasks(
    name: str, tasks: Sequence[_MetricScores], systems: Sequence[str], level: float, margin: float | None
) -> MetricAnswer:
    is_share = tasks[0].metric.is_share
    means = {s: np.mean([task.scores[s].values.mean(axis=1) for task in tasks], axis=0) for s in systems}  # by run
    items = sum(task.metric.items for task in tasks)

    def error_of(names: Sequence[str]) -> _Error:
        signs = [1, -1][: len(names)]
        by_items = []
        for task in tasks:
            rows = [task.scores[system].values.mean(axis=0, keepdims=True) for system in names]
            error = _estimate_error(rows, signs, task.codes, is_share, level)
            by_items.append((error.se**2 / len(tasks) ** 2, error.df))
        value = sum(sign * float(means[system].mean()) for sign, system in zip(signs, names, strict=True))
        if not any(part for part, _ in by_items):
            return _Error(value, 0.0, math.inf, None, None, 0.0, 0.0, over_runs=False)
        spread = _between_runs([means[system] for system in names])
        return _sum_variances(value, by_items, spread, is_share, level, len(spread) == len(names))

    standings = []
    for system, by_run in means.items():
        error = error_of([system])
        repetitions = float(np.mean([task.scores[system].repetitions for task in tasks]))
        run_sd = float(by_run.std(ddof=1)) if len(by_run) > 1 else None
        standings.append(SystemScore(system, len(by_run), repetitions, error.value, error.low, error.high, run_sd))
    standings = _rank_systems(standings, (ALL_TASKS, name))
    contrasts = [
        _make_contrast(first.system, second.system, error_of([first.system, second.system]), level, margin, items=items)
        for first, second in combinations(standings, 2)
    ]
    clusters, omitted = (sum(getattr(task.metric, field) for task in tasks) for field in ("clusters", "omitted"))
    lower = is_lower_better(name)
    mean = MetricAnswer(
        ALL_TASKS, name, items, clusters, omitted, is_share, lower, tuple(standings), tuple(contrasts), ()
    )
    return _correct_metric(mean, 1 - level)


# Runs without items


def _compare_whole_runs(
    systems: Mapping[str, Sequence[RunLog]], metric: str, margin: float | None, level: float, *, is_paired: bool
) -> RunsAnswer:
    """The same of tables with one row a training run."""
    logs = [run for runs in systems.values() for run in runs]
    if any(score.item for run in logs for score in run.scores):
        raise InputError("Some logs have scores of items and some of whole runs; compare logs of one kind.")
    metrics = []
    for key in _shared_metrics(systems, metric):
        by_system = {
            name: by_run
            for name, runs in systems.items()
            if (by_run := {run.run: s.score for run in runs for s in run.scores if (s.task, s.metric) == key})
        }
        metrics.append(_compare_means_of_runs(key, by_system, margin, level, is_paired=is_paired))
    cautions = [
        f"{name}: {count(failed, 'score')} missing"
        for name, runs in systems.items()
        if (failed := sum(run.failed for run in runs))
    ]
    names = [{run.run for run in runs} for runs in systems.values()]
    if not is_paired and len(set.intersection(*names)) > 1:
        cautions.append(
            f"All systems have runs of the same {logs[0].told_apart}. If that fixes the same data order or start in "
            "each of them, compare run by run: --paired"
        )
    return RunsAnswer(
        tuple(metrics),
        "run" if is_paired else "",
        "",
        margin,
        (*cautions, *(note for run in logs for note in run.notes)),
        signature(
            systems=len(systems),
            runs=len(logs),
            unit="run",
            paired=logs[0].told_apart if is_paired else "no",
            holm="within metric",
            level=level,
            **({"margin": margin} if margin is not None else {}),
        ),
    )


def _compare_means_of_runs(
    key: Key, by_system: Mapping[str, Mapping[str, float]], margin: float | None, level: float, *, is_paired: bool
) -> MetricAnswer:
    every = [score for by_run in by_system.values() for score in by_run.values()]
    is_share = min(every) >= 0 and max(every) <= 1
    standings = []
    for name, by_run in by_system.items():
        scores = np.array([*by_run.values()])
        error = _mean_of_runs([scores], is_share, level)
        low = max(error.low, 0.0) if is_share and error.low is not None else error.low
        run_sd = float(scores.std(ddof=1)) if len(scores) > 1 else None
        standings.append(SystemScore(name, len(scores), 1.0, error.value, low, error.high, run_sd))
    ranked = _rank_systems(standings, key)
    contrasts = []
    for first, second in combinations([standing.system for standing in ranked], 2):
        if is_paired:
            shared = [run for run in by_system[first] if run in by_system[second]]
            if len(shared) < 2:
                raise InputError(
                    f"{first} and {second} have {count(len(shared), 'run')} of the same name in {key[1]}, and pairs "
                    "need two. Leave --paired out."
                )
            rows = [np.array([by_system[first][run] - by_system[second][run] for run in shared])]
        else:
            rows = [np.array([*by_system[name].values()]) for name in (first, second)]
        error = _mean_of_runs(rows, is_share, level)
        contrasts.append(_make_contrast(first, second, error, level, margin, items=0))
    answer_of_key = MetricAnswer(*key, 0, 0, 0, is_share, is_lower_better(key[1]), tuple(ranked), tuple(contrasts), ())
    return _correct_metric(answer_of_key, 1 - level)


def _mean_of_runs(rows: Sequence[Floats], is_share: bool, level: float) -> _Error:
    """The mean of one row, or the first's minus the second's, by Student's or Welch's t; without bounds from one run.

    Satterthwaite's degrees of freedom come out too large where a few runs face many, and their variance happens to be
    small. They are at most twice those of the fewer runs, and those of the fewer where these are two.
    """
    value = float(rows[0].mean() - rows[1].mean() if len(rows) > 1 else rows[0].mean())
    spread = _between_runs(rows)
    if len(spread) < len(rows) or not any(part for part, _ in spread):
        return _Error(value, 0.0, math.inf, None, None, 0.0, 0.0, over_runs=False)
    fewest, most = (pick(len(row) for row in rows) for pick in (min, max))
    most_df = 1.0 if fewest == 2 < most else 2.0 * (fewest - 1)
    return _sum_variances(value, [], spread, is_share, level, True, most_df)


def parts(answer: RunsAnswer) -> list[Table | str]:
    """Tables of means and contrasts, what they say, the cautions, and the recipe last."""
    return [*run_tables(answer), *findings(answer), *answer.cautions, answer.signature]


def run_tables(answer: RunsAnswer) -> Iterator[Table]:
    """Means, then contrasts, for all tasks and metrics together."""
    unit = "points" if all(metric.is_share for metric in answer.metrics) else "scores; shares in points"
    means = [_mean_cells(metric, system) for metric in answer.metrics for system in metric.systems]
    has_items = answer.paired == "item"
    head = ("task", "metric", "system", "runs", *(("items",) * has_items), "mean (95 %)", "SD of runs")
    yield Table(head, means, f"Mean scores, in {unit}")
    contrasts = [_contrast_cells(metric, contrast) for metric in answer.metrics for contrast in metric.contrasts]
    head = ("task", "metric", "difference", "value (95 %, each alone)", "p (Holm)", "conclusion")
    yield Table((*head, *(("items needed",) * has_items)), contrasts, f"Differences {_name_pairing(answer)}")


def _name_pairing(answer: RunsAnswer) -> str:
    if answer.paired == "run":
        return "paired by run (Student's t)"
    if not answer.paired:
        return "of independent runs (Welch's t)"
    grouping = f"items of one {answer.cluster} drawn together" if answer.cluster else "items independent"
    return f"paired by item, {grouping}"


def _mean_cells(metric: MetricAnswer, system: SystemScore) -> tuple[str, ...]:
    spread = "-" if system.run_sd is None else _format_scaled(metric, system.run_sd)
    value = _format_range(metric, system.mean, system.low, system.high)
    items = (f"{metric.items:,}",) * bool(metric.items)
    return metric.task, metric.metric, system.system, str(system.runs), *items, value, spread


def _contrast_cells(metric: MetricAnswer, contrast: RunContrast) -> tuple[str, ...]:
    is_open = contrast.items_needed is not None and not _is_shown(contrast)
    needed = (f"{contrast.items_needed:,}" if is_open else "-",) * bool(metric.items)
    return (
        metric.task,
        metric.metric,
        f"{contrast.first} - {contrast.second}",
        _format_range(metric, contrast.difference, contrast.low, contrast.high),
        p_value(contrast.p_holm),
        _name_conclusion(metric, contrast),
        *needed,
    )


def _is_shown(contrast: RunContrast) -> bool:
    return contrast.p_holm is not None and contrast.p_holm < 0.05


def _name_conclusion(metric: MetricAnswer, contrast: RunContrast) -> str:
    if _is_shown(contrast):
        direction = "lower (better)" if metric.lower_is_better else "higher"
        return f"{contrast.first} {direction}" + (", within the margin" if contrast.alike else "")
    if contrast.p is None:
        return "not known"
    return "equivalent" if contrast.alike else "not shown"


def _format_scaled(metric: MetricAnswer, value: float) -> str:
    return f"{100 * value:.1f}" if metric.is_share else f"{value:.4g}"


def _format_range(metric: MetricAnswer, value: float, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return _format_scaled(metric, value)
    return f"{_format_scaled(metric, value)} ({_format_scaled(metric, low)} to {_format_scaled(metric, high)})"


def findings(answer: RunsAnswer) -> Iterator[str]:
    """One for each metric, then what the errors allow for."""
    for metric in answer.metrics[:MOST_SENTENCES]:
        yield _metric_sentence(metric)
    if (surplus := len(answer.metrics) - MOST_SENTENCES) > 0:
        yield f"The tables hold {count(surplus, 'further metric')}."
    single = [system.runs == 1 for metric in answer.metrics for system in metric.systems]
    if answer.paired != "item":
        yield from _findings_of_runs(answer, single)
        return
    if all(single):
        yield "Each system has one run, so these intervals say nothing about another training seed or sampling seed."
    elif any(single):
        yield "Where a system has one run, the interval says nothing about another seed of it."
    if omitted := sum(metric.omitted for metric in answer.metrics):
        yield f"{count(omitted, 'item')} not answered by every system {'is' if omitted == 1 else 'are'} left out."


def _findings_of_runs(answer: RunsAnswer, single: Sequence[bool]) -> Iterator[str]:
    """What runs without items allow to say."""
    if any(single):
        who = "Each system" if all(single) else f"{count(sum(single), 'mean')} of {len(single)}"
        yield f"{who} has one run and no items, so no interval and no p can be given for it. Train further seeds."
    if all(single):
        return
    yield "The intervals speak of new training seeds on the same test items, and say nothing about new items."
    fewest = min(system.runs for metric in answer.metrics for system in metric.systems if system.runs > 1)
    if fewest < FEW_RUNS:
        yield f"With {fewest} runs of a system, an interval holds only if runs vary about normally."


def _metric_sentence(metric: MetricAnswer) -> str:
    best, where = metric.systems[0], f"{metric.task}, {metric.metric}"
    if not any(contrast.p is not None for contrast in metric.contrasts):
        return f"{where}: which system is better cannot be said from these scores."
    if len(metric.level) == 1:
        nearest = next(contrast for contrast in metric.contrasts if contrast.first == best.system)
        value = _format_range(metric, nearest.difference, nearest.low, nearest.high)
        if metric.lower_is_better:
            lead = f"{best.system} scores lowest, which is best: {value} against {nearest.second}"
        else:
            lead = f"{best.system} scores highest, by {value} over {nearest.second}"
        return f"{where}: {lead} ({p_value(nearest.p_holm)})."
    if len(metric.level) == len(metric.systems):
        return f"{where}: no system is shown to score {'lower' if metric.lower_is_better else 'higher'} than another."
    worse = "above" if metric.lower_is_better else "below"
    return f"{where}: {', '.join(metric.level)} lead, and none of them is shown to be {worse} another."


def row_figures(answer: RunsAnswer) -> tuple[RowFigure, ...]:
    """A row for each difference that has an interval, under the name of its metric where there are several."""
    scale = 100 if all(metric.is_share for metric in answer.metrics) else 1
    contrasts = [contrast for metric in answer.metrics for contrast in metric.contrasts if contrast.low is not None]
    if not contrasts:
        return ()
    ends = [scale * end for contrast in contrasts for end in (contrast.low, contrast.high) if end is not None]
    axis = Axis(min(0.0, *ends), max(0.0, *ends))
    rows: list[Row] = []
    for metric in answer.metrics:
        rows += [Row(f"{metric.task}, {metric.metric}")] if len(answer.metrics) > 1 else []
        rows += [_contrast_row(metric, contrast, axis, scale) for contrast in metric.contrasts if contrast in contrasts]
    return (
        RowFigure(
            f"Differences of systems, {'paired by item' if answer.paired == 'item' else 'over training runs'}",
            tuple(rows),
            axis.round_ticks(),
            f"difference of mean scores{' in points' if scale == 100 else ''}",
            across=((axis.at(0.0), "equal"),),
            note_head="difference (95 % interval)",
            name="run-differences",
        ),
    )


def _contrast_row(metric: MetricAnswer, contrast: RunContrast, axis: Axis, scale: float) -> Row:
    note = _format_range(metric, contrast.difference, contrast.low, contrast.high)
    low, high = (math.nan if end is None else scale * end for end in (contrast.low, contrast.high))
    marks = axis.interval(low, scale * contrast.difference, high, "c0")
    return Row(f"{contrast.first} - {contrast.second}", note, marks, described=note)


def document(answer: RunsAnswer) -> dict[str, Any]:
    """Every number, under the keys of `--json`."""
    written: dict[str, Any] = to_plain(answer)
    return written


def compare_runs(
    systems: Any,
    *,
    metric: str = "",
    cluster: str = "auto",
    margin: float | None = None,
    paired: bool = False,
    columns: Mapping[str, str] | None = None,
) -> Result:
    """Which system scores higher by the logs of its evaluation (`python -m analysis compare-runs`).

    `systems` names each one's logs: a mapping of name to a path, several or a DataFrame, or texts `NAME=PATH,PATH`. Or
    it is a DataFrame with a score a row, of all systems. `paired`: of a table with one row a training run, the runs of
    one seed belong together.
    """
    runs, lines = named_runs(systems, columns or {})
    comparison = answer(runs, metric=metric, cluster=cluster, margin=margin, paired=paired)
    return Result(document(comparison), parts(comparison), lambda: row_figures(comparison), lines)


def named_runs(systems: Any, columns: Mapping[str, str]) -> tuple[dict[str, list[RunLog]], list[str]]:
    """Name -> runs, and a line for each that says how it was read.

    Two arguments whose logs name one model are two systems only where they were given names; otherwise it is not known
    whether they are two seeds or two settings, and that is asked.
    """
    arguments: list[tuple[str, Any]]
    if isinstance(systems, Mapping):
        arguments = list(systems.items())
    elif hasattr(systems, "columns"):
        arguments = [("", systems)]
    else:
        arguments = [_split_argument(str(argument)) for argument in systems]
    runs: dict[str, list[RunLog]] = defaultdict(list)
    owners: dict[str, str] = {}
    for name, paths in arguments:
        for source in _list_paths(paths):
            logs = read_runs(source, columns)
            path = logs[0].path if isinstance(source, RawTable) else source
            held = list(dict.fromkeys(log.system for log in logs))
            if name and len(held) > 1:
                raise InputError(
                    f"{path} holds {len(held)} systems ({', '.join(held)}), so it cannot be {name}; leave {name}= out."
                )
            for log in logs:
                label = name or log.system
                if not name and owners.setdefault(label, str(path)) != str(path):
                    raise InputError(
                        f"{owners[label]} and {path} are both of {label}. Name them, if they are two settings: "
                        f"first={owners[label]} second={path}; or join them, if they are two runs of one: "
                        f"{label}={owners[label]},{path}"
                    )
                runs[label].append(log)
    return dict(runs), [
        _describe_logs(name, [log for log in logs if log.path == path])
        for name, logs in runs.items()
        for path in dict.fromkeys(log.path for log in logs)
    ]


def _split_argument(argument: str) -> tuple[str, Any]:
    """`NAME=PATH,PATH`, or a path alone; a path that exists is one, whatever signs it has."""
    if Path(argument).exists():
        return "", [argument]
    name, sign, paths = argument.partition("=")
    return (name, paths.split(",")) if sign else ("", argument.split(","))


def _list_paths(paths: Any) -> list[Path | RawTable]:
    if hasattr(paths, "columns"):
        return [table_in_memory("scores", paths)]
    return [Path(paths)] if isinstance(paths, str | Path) else [Path(path) for path in paths]


def _describe_logs(name: str, logs: Sequence[RunLog]) -> str:
    """The runs of one system in one file."""
    scores = [score for log in logs for score in log.scores]
    items = len({(score.task, score.item) for score in scores})
    tasks = len({score.task for score in scores})
    metrics = ", ".join(dict.fromkeys(score.metric for score in scores))
    task_count = f" of {tasks} tasks" if tasks > 1 else ""
    run_count = f" in {len(logs)} runs by {logs[0].told_apart}" if len(logs) > 1 else ""
    if not all(score.item for score in scores):
        runs = f"{count(len(logs), 'whole run')} by {logs[0].told_apart}"
        return f"Read as: {name}, {runs}{task_count}, {metrics} ({logs[0].tool}: {logs[0].path})."
    return f"Read as: {name}, {items:,} items{task_count}{run_count}, {metrics} ({logs[0].tool}: {logs[0].path})."
