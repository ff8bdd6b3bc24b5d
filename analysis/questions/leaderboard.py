"""Systems in order of a weighted mean of tasks: each is the mean over its training seeds, with ranks that hold at once.

Dialogues are shared, so a difference is paired by dialogue. Two questions are kept apart: what the systems as they were
trained would do on other dialogues, and what other trainings of them would do as well. The second rests on the seeds of
each system alone (stats/seed_levels.py), so a system with one seed has no answer to it.

Without weights the tasks are those of one unit: the mean of a share of dialogues and a share of turns says nothing.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedvote.analysis.showing.page import Axis, Row, RowFigure, Section
from seedvote.analysis.showing.result import Result
from seedvote.analysis.showing.tables import Table
from seedvote.analysis.showing.words import count, number, p_value, to_plain, warn_of_few_seeds
from seedvote.analysis.stats.paired.rank_sets import WayApart, rank_sets
from seedvote.analysis.stats.seed_levels import SeedLevels, ranks_over_seeds, seed_levels
from seedvote.analysis.stats.sign_tests import holm_where
from seedvote.analysis.stats.spread import SeedRange, seed_range
from seedvote.analysis.votes.scores.paired import clean_values
from seedvote.analysis.votes.study import ReportRequest, Study, read_study
from seedvote.dialogue.cards import LATE, TaskCard
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
SETS = 20_000
ROUNDING = 0.05  # of a printed number
PLAIN_CHECKPOINTS = ("last", "published")
TASK_SUCCESS = "task"  # the evaluator whose tasks come first
Seed = int | None


@dataclass(frozen=True, slots=True)
class RankedTask:
    """A task that counts, with its weight."""

    name: str
    title: str
    weight: float
    most: float = math.inf  # the highest score there is, where that is known; the lowest is then 0


@dataclass(frozen=True, slots=True)
class RankedSpan:
    """A 95 % interval, cut at the ends of the scale, and the ranks that hold for all systems at once."""

    low: float
    high: float
    best: int
    worst: int


@dataclass(frozen=True, slots=True)
class StepDown:
    """How far a system is above the next one, over new seeds and dialogues."""

    value: float
    low: float
    high: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class Standing:
    """One system; `anew` and `step` are None where one seed tells nothing of others."""

    system: str
    seeds: int
    tasks: tuple[float, ...]  # mean over seeds, in the order of the answer's tasks
    macro: float
    rank: int
    trained: RankedSpan  # these very models on other dialogues
    anew: RankedSpan | None  # other trainings on other dialogues
    over_seeds: SeedRange | None
    step: StepDown | None


@dataclass(frozen=True, slots=True)
class LeaderboardAnswer:
    """All systems from the best to the worst."""

    standings: tuple[Standing, ...]
    tasks: tuple[RankedTask, ...]
    dialogues: int
    unequal: tuple[str, ...]  # systems that did not answer all of them
    out: tuple[str, ...]  # what does not count, and why
    claims: Mapping[str, Mapping[str, float]]
    signature: str

    @property
    def lone(self) -> tuple[str, ...]:
        """Systems with one seed."""
        return tuple(standing.system for standing in self.standings if standing.seeds == 1)


def answer(
    studies: Sequence[Study],
    *,
    weights: Mapping[str, float] | None = None,
    condition: str = "",
    claims: Path | None = None,
    seed: int = 0,
) -> LeaderboardAnswer:
    """The order of all systems of one or more studies on the same dialogues."""
    values, parts, measures = _collect_measures(studies, condition)
    systems = sorted({system for system, _ in values})
    if not systems:
        raise InputError(
            "No scores were found that systems could be ordered by. Make some, e.g. python -m evaluators task STUDY."
        )
    tasks, out = _rank_tasks(values, measures, systems, weights or {})
    models = [model for model in values if all(task.name in values[model] for task in tasks)]
    names = sorted({name for model in models for task in tasks for name in parts[model][task.name]})
    share = sum(task.weight for task in tasks)
    macro = np.array([sum(t.weight * values[model][t.name] for t in tasks) / share for model in models])
    adds = np.array(
        [
            sum(t.weight * np.array([parts[model][t.name].get(name, 0.0) for name in names]) for t in tasks) / share
            for model in models
        ],
        np.float64,
    )
    places = [np.array([k for k, (name, _) in enumerate(models) if name == system]) for system in systems]
    if len(names) < 2:
        raise InputError("One dialogue alone tells no error; scores of two dialogues or more are needed.")
    levels = seed_levels(macro, adds, places)
    by_task = [tuple(float(np.mean([values[models[k]][task.name] for k in at])) for task in tasks) for at in places]
    covered = [{n for k in at for t in tasks for n in parts[models[k]][t.name]} for at in places]
    ranges = [seed_range(macro[at].tolist()) for at in places]
    return LeaderboardAnswer(
        tuple(_order_systems(systems, levels, by_task, ranges, sum(t.weight * t.most for t in tasks) / share, seed)),
        tuple(tasks),
        len(names),
        tuple(system for system, known in zip(systems, covered, strict=True) if len(known) < len(names)),
        tuple(out),
        read_printed(claims) if claims else {},
        signature(
            systems=len(systems),
            tasks=[f"{t.name}={t.weight:g}" for t in tasks],
            condition=condition or "clean",
            unit="dialogue+seed",
            ranks="simultaneous",
            sets=SETS,
            level=0.95,
            seed=seed,
        ),
    )


@dataclass(frozen=True, slots=True)
class Measure:
    """One task of one evaluator."""

    evaluator: str
    card: TaskCard
    order: tuple[bool, int, str]  # task success first, then as the cards say

    @property
    def unit(self) -> tuple[str, ...]:
        """What it must share with another measure before their mean means anything."""
        card = self.card
        return self.evaluator, card.unit, f"{card.scale:g}", card.level, card.aggregate


Model = tuple[str, Seed]
ByTask = dict[Model, dict[str, float]]
Parts = dict[Model, dict[str, dict[str, float]]]


def highest_score(card: TaskCard) -> float:
    """The highest score of a task as it is shown: of a share its scale, of BLEU 100, of Combined 200."""
    known = {"bleu": 100.0, "combined": 200.0}
    return card.scale if card.unit == "share" else known.get(card.aggregate, math.inf)


def _collect_measures(studies: Sequence[Study], condition: str) -> tuple[ByTask, Parts, dict[str, Measure]]:
    """System and seed -> task -> value, and what each dialogue adds to its error; task -> what it measures."""
    lists: dict[Model, dict[str, list[tuple[float, dict[str, float]]]]] = defaultdict(lambda: defaultdict(list))
    measures: dict[str, Measure] = {}
    for study in studies:
        for key, card, seed, value in clean_values(study.scores, condition) if study.scores else ():
            if card.better == "lower" or card.unit not in ("share", "points"):
                continue
            system = key.model if key.checkpoint in PLAIN_CHECKPOINTS else f"{key.model} {key.checkpoint}"
            system = system if len(studies) == 1 else f"{study.name}/{system}"
            owner = study.scores.cards.get(key.evaluator) if study.scores else None
            place = key.evaluator != TASK_SUCCESS, owner.order if owner else LATE, key.evaluator
            name = key.task
            if measures.setdefault(name, Measure(key.evaluator, card, place)).evaluator != key.evaluator:
                name = f"{key.evaluator} {key.task}"  # another evaluator has a task of this name
                measures.setdefault(name, Measure(key.evaluator, card, place))
            adds = dict(zip(value.clusters, (value.parts * card.scale).tolist(), strict=True))
            lists[system, seed][name].append((value.value * card.scale, adds))
    values = {
        model: {name: float(np.mean([v for v, _ in many])) for name, many in by.items()} for model, by in lists.items()
    }
    parts = {
        model: {name: _average_measures([p for _, p in many]) for name, many in by.items()}
        for model, by in lists.items()
    }
    return values, parts, measures


def _average_measures(many: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Several raters or rules of one task count as their mean."""
    names = dict.fromkeys(name for parts in many for name in parts)
    return {name: sum(parts.get(name, 0.0) for parts in many) / len(many) for name in names}


def _tell_lacking(tasks: Sequence[str], systems: Sequence[str]) -> str:
    verb, them = ("do", "them") if len(tasks) > 1 else ("does", "it")
    lack = "lack" if len(systems) > 1 else "lacks"
    return f"{', '.join(tasks)} {verb} not count: {', '.join(systems)} {lack} {them}."


def _rank_tasks(
    values: ByTask, measures: Mapping[str, Measure], systems: Sequence[str], weights: Mapping[str, float]
) -> tuple[list[RankedTask], list[str]]:
    """The tasks that count: those with a weight, else the main ones of the first unit that all systems have."""
    if unknown := [name for name in weights if name not in measures]:
        raise InputError(f"--weights names {unknown[0]!r}; there are {', '.join(sorted(measures))}.")
    has = {name: {system for (system, _), by in values.items() if name in by} for name in measures}
    wanted = [name for name in measures if name in weights or (not weights and measures[name].card.main)]
    complete = [name for name in wanted if len(has[name]) == len(systems) and weights.get(name, 1.0) > 0]
    lacking: dict[tuple[str, ...], list[str]] = defaultdict(list)  # systems -> tasks that they have no score of
    for name in wanted:
        if without := tuple(sorted(set(systems) - has[name])):
            lacking[without].append(measures[name].card.title)
    out = [_tell_lacking(tasks, without) for without, tasks in lacking.items()]
    if not complete:
        raise InputError(
            f"No task is there for all of {', '.join(systems)}. {' '.join(out)} Name some: --weights jga=1"
        )
    if not weights:
        first = min(complete, key=lambda name: measures[name].order)
        of_another_unit = [name for name in complete if measures[name].unit != measures[first].unit]
        complete = [name for name in complete if name not in of_another_unit]
        if of_another_unit:
            names = ", ".join(of_another_unit)
            out.append(f"Of another unit, so not averaged: {names}. --weights {of_another_unit[0]}=1 orders by one.")
    return [
        RankedTask(name, measures[name].card.title, weights.get(name, 1.0), highest_score(measures[name].card))
        for name in complete
    ], out


def _order_systems(
    systems: Sequence[str],
    levels: SeedLevels,
    by_task: Sequence[tuple[float, ...]],
    ranges: Sequence[SeedRange | None],
    highest: float,
    seed: int,
) -> list[Standing]:
    order = sorted(range(len(systems)), key=lambda k: -levels.means[k])
    trained, anew, steps = (
        _rank_trained(levels, highest, seed),
        _rank_retrained(levels, highest),
        _list_steps(levels, order),
    )
    return [
        Standing(
            systems[k],
            int(levels.seeds[k]),
            by_task[k],
            float(levels.means[k]),
            rank + 1,
            trained[k],
            anew[k],
            ranges[k],
            steps[rank],
        )
        for rank, k in enumerate(order)
    ]


def _rank_trained(levels: SeedLevels, highest: float, seed: int) -> list[RankedSpan]:
    """These very models on other dialogues."""
    generator = np.random.default_rng(child_seed(seed, "leaderboard"))
    by_dialogue = WayApart(levels.dialogues - 1.0, levels.apart**2, levels.apart**2)
    sets = rank_sets(levels.means, levels.trained, levels.apart, (by_dialogue,), sets=SETS, generator=generator)
    return [
        _cut_span(RankedSpan(float(mean - far), float(mean + far), int(best), int(worst)), highest)
        for mean, far, best, worst in zip(
            levels.means, levels.reach_as_trained(), sets.all_low, sets.all_high, strict=True
        )
    ]


def _rank_retrained(levels: SeedLevels, highest: float) -> list[RankedSpan | None]:
    """Other trainings on other dialogues; None for one seed."""
    best, worst = ranks_over_seeds(levels)
    return [
        _cut_span(RankedSpan(float(mean - far), float(mean + far), int(best[k]), int(worst[k])), highest)
        if math.isfinite(far)
        else None
        for k, (mean, far) in enumerate(zip(levels.means, levels.reach(), strict=True))
    ]


def _cut_span(span: RankedSpan, highest: float) -> RankedSpan:
    """The interval cut where no score can be: that takes nothing from how often it holds the truth."""
    if math.isinf(highest):
        return span
    return replace(span, low=min(max(span.low, 0.0), highest), high=max(min(span.high, highest), 0.0))


def _list_steps(levels: SeedLevels, order: Sequence[int]) -> list[StepDown | None]:
    """From each system to the next in order; None behind the last, and where either has one seed."""
    pairs = np.array([*pairwise(order)], np.int64).reshape(-1, 2)
    above, below = pairs.T
    gap, reach = levels.means[above] - levels.means[below], levels.contrast_reach(above, below)
    p = [
        min(1.0, 2 * float(tail)) if math.isfinite(far) else None
        for tail, far in zip(levels.contrast_tail(above, below), reach, strict=True)
    ]
    steps: list[StepDown | None] = [
        None if adjusted is None else StepDown(float(value), float(value - far), float(value + far), adjusted)
        for value, far, adjusted in zip(gap, reach, holm_where(p), strict=True)
    ]
    return [*steps, None]


def read_printed(path: Path) -> dict[str, dict[str, float]]:
    """System -> column -> printed number; the columns are names of tasks, and `macro`."""
    try:
        rows: Iterable[Mapping[str, str | None]] = list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}). Expected a CSV with a column system.") from None
    printed: dict[str, dict[str, float]] = {}
    for n, row in enumerate(rows, start=2):
        if not (row.get("system") or "").strip():
            raise InputError(f"{path}:{n}: no system. Expected columns such as system,jga,success,macro.")
        try:
            numbers = {name: float(text) for name, text in row.items() if name != "system" and text and text.strip()}
        except (TypeError, ValueError):
            raise InputError(f"{path}:{n}: a number was expected under every column but system.") from None
        printed[str(row["system"]).strip().lower()] = numbers
    return printed


def parts(answer: LeaderboardAnswer) -> list[Table | str]:
    """The table, what to know of it, and the recipe."""
    return [standings_table(answer), "\n".join(leaderboard_notes(answer)), answer.signature]


def standings_table(answer: LeaderboardAnswer) -> Table:
    """A line for every system; without two seeds anywhere there is nothing to say of new ones."""
    head = ["rank, as trained", "system", "seeds", "macro", "95 %, as trained"]
    if anew := any(standing.anew for standing in answer.standings):
        head += ["95 %, new seeds", "rank, new seeds", "range of seeds"]
    head += [task.title for task in answer.tasks] if len(answer.tasks) > 1 else []
    head += ["to the next", "p (Holm)"] if anew else []
    printed = any(answer.claims.get(standing.system.lower()) for standing in answer.standings)
    rows = [
        [
            *_format_cells(standing, anew, len(answer.tasks) > 1),
            *([_format_claims(answer, standing)] if printed else []),
        ]
        for standing in answer.standings
    ]
    return Table([*head, *(["printed"] if printed else [])], rows, "Systems by the weighted mean of tasks")


def _format_cells(standing: Standing, anew: bool, several: bool) -> list[str]:
    cells = [
        span_ranks(standing.trained),
        standing.system,
        str(standing.seeds),
        f"{standing.macro:.1f}",
        span_reach(standing.trained),
    ]
    if anew:
        spread = standing.over_seeds
        cells += [
            span_reach(standing.anew),
            span_ranks(standing.anew),
            f"{spread.low:.1f}-{spread.high:.1f}" if spread else "-",
        ]
    cells += [f"{value:.1f}" for value in standing.tasks] if several else []
    if anew and (step := standing.step):
        cells += [f"{step.value:.1f} ({number(step.low, 1)} to {number(step.high, 1)})", p_value(step.p_holm)]
    return cells + ["-"] * (2 if anew and not standing.step else 0)


def span_ranks(span: RankedSpan | None) -> str:
    """`2-4`, or a dash."""
    if span is None:
        return "-"
    return str(span.best) if span.best == span.worst else f"{span.best}-{span.worst}"


def span_reach(span: RankedSpan | None) -> str:
    """`61.0-64.2`, or a dash."""
    return "-" if span is None else f"{span.low:.1f}-{span.high:.1f}"


def _format_claims(answer: LeaderboardAnswer, standing: Standing) -> str:
    """The printed numbers, with ! behind those that are not what was computed."""
    claims = answer.claims.get(standing.system.lower(), {})
    ours = {
        **{task.name: value for task, value in zip(answer.tasks, standing.tasks, strict=True)},
        "macro": standing.macro,
    }
    return (
        ", ".join(
            f"{name} {value:g}{' !' if name in ours and abs(ours[name] - value) > ROUNDING + 1e-9 else ''}"
            for name, value in claims.items()
        )
        or "-"
    )


def leaderboard_notes(answer: LeaderboardAnswer) -> Iterator[str]:
    """What the reader of the table must know."""
    weights = ", ".join(f"{task.title} {task.weight:g}" for task in answer.tasks)
    tasks = count(len(answer.tasks), "task")
    yield f"Macro is the mean of {tasks} (weights: {weights}) on {answer.dialogues:,} dialogues."
    yield "Ranks hold for all systems at once (95 %). As trained: these very models on other dialogues."
    if len(answer.lone) == len(answer.standings):
        yield "No system has two seeds, so nothing is known of other trainings."
    else:
        yield "New seeds: other trainings on other dialogues, from each system's own seeds."
        if answer.lone:
            yield f"One seed: {', '.join(answer.lone)}. So nothing is known of other trainings of them."
        yield from warn_of_few_seeds(standing.over_seeds for standing in answer.standings)
    if answer.unequal:
        yield f"Not all dialogues were answered by {', '.join(answer.unequal)}; compare with care."
    yield from answer.out


def row_figures(answer: LeaderboardAnswer) -> tuple[RowFigure, ...]:
    """Every system's mean of the tasks, with its interval and its ranks."""
    spans = [standing.anew or standing.trained for standing in answer.standings]
    axis = Axis(min(0.0, *(span.low for span in spans)), max(100.0, *(span.high for span in spans)))
    rows = tuple(
        Row(
            standing.system if standing.anew else f"{standing.system} (as trained)",
            note := f"{standing.macro:.1f} ({span.low:.1f} to {span.high:.1f}), rank {span_ranks(span)}",
            axis.interval(span.low, standing.macro, span.high, "c0"),
            described=note,
        )
        for standing, span in zip(answer.standings, spans, strict=True)
    )
    return (
        RowFigure(
            "Mean of the tasks, by system",
            rows,
            axis.ticks((0, 25, 50, 75, 100)),
            "points, the mean of all tasks",
            note_head="mean (95 % interval)",
            name="leaderboard",
        ),
    )


def document(answer: LeaderboardAnswer) -> dict[str, Any]:
    """The stable keys of `--json`."""
    keys = {
        "systems": [
            {
                **asdict(standing),
                "tasks": dict(zip((task.name for task in answer.tasks), standing.tasks, strict=True)),
                "printed": answer.claims.get(standing.system.lower()),
            }
            for standing in answer.standings
        ],
        "weights": {task.name: task.weight for task in answer.tasks},
        "dialogues": answer.dialogues,
        "one_seed": answer.lone,
        "not_all_answered": answer.unequal,
        "not_counted": answer.out,
        "signature": answer.signature,
    }
    return dict(to_plain(keys))


def section(answer: LeaderboardAnswer) -> Section:
    """What the report shows."""
    return Section(
        "leaderboard",
        "Task success of every system",
        (),
        row_figures(answer),
        tables=(standings_table(answer),),
        notes=tuple(leaderboard_notes(answer)),
    )


def leaderboard(
    *studies: Any, weights: Mapping[str, float] | None = None, condition: str = "", claims: Any = None, seed: int = 0
) -> Result:
    """Systems in order with simultaneous ranks (`python -m analysis leaderboard`); `studies` are folders."""
    folders = [read_study(Path(study), votes_too=False) for study in studies]
    order = answer(folders, weights=weights, condition=condition, claims=claims and Path(claims), seed=seed)
    return Result(document(order), parts(order), lambda: row_figures(order))


def in_report(request: ReportRequest) -> LeaderboardAnswer | None:
    """As of `analysis leaderboard STUDY`; None where task success was not scored."""
    scores = request.study.scores
    is_scored = scores is not None and any(key.evaluator == TASK_SUCCESS for key in scores.values)
    return answer([request.study]) if is_scored else None
