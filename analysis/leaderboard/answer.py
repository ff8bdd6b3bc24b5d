"""Systems by a weighted mean of tasks: each is the mean over its training seeds, with ranks that may be told at once.

Dialogues are shared, so a difference is paired by dialogue. The spread between seeds is pooled over the systems that
have two or more, and stands in for it where a system has one. Rank intervals hold for all systems at once (Mogstad,
Romano, Shaikh and Wilhelm 2024).
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from analysis.reading.scores.conditions import clean_values
from analysis.reading.study import Study
from analysis.stats.mean_over_seeds import replicates_by_dialogue
from analysis.stats.paired.rank_sets import rank_sets
from analysis.stats.reruns import BOTH, between
from analysis.stats.sign_tests import holm
from dialogue.cards import TaskCard
from dialogue.errors import InputError
from dialogue.seeds import child_seed
from dialogue.signature import signature

Floats = NDArray[np.float64]
SETS = 20_000
PLAIN_CHECKPOINTS = ("last", "published")
Seed = int | None


@dataclass(frozen=True, slots=True)
class RankedTask:
    """A task that counts, with its weight."""

    name: str
    title: str
    weight: float
    most: float = math.inf  # the highest score there is, where that is known; the lowest is then 0


@dataclass(frozen=True, slots=True)
class Standing:
    """One system."""

    system: str
    seeds: int
    tasks: tuple[float, ...]  # mean over seeds, in the order of the answer's tasks
    macro: float
    se: float
    low: float
    high: float
    rank: int
    best: int  # by the simultaneous 95 % interval
    worst: int
    step: float | None = None  # to the next
    step_low: float | None = None
    step_high: float | None = None
    p_holm: float | None = None


@dataclass(frozen=True, slots=True)
class LeaderboardAnswer:
    """All systems from the best to the worst."""

    standings: tuple[Standing, ...]
    tasks: tuple[RankedTask, ...]
    seed_sd: float | None  # pooled over systems, beyond the noise of dialogues; None where no system has two seeds
    freedom: float
    dialogues: int
    unequal: tuple[str, ...]  # systems that did not answer all of them
    out: tuple[str, ...]  # what does not count, and why
    claims: Mapping[str, Mapping[str, float]]
    signature: str


def answer(
    studies: Sequence[Study], *, weights: Mapping[str, float] | None = None, condition: str = "",
    claims: Path | None = None, seed: int = 0,
) -> LeaderboardAnswer:  # fmt: skip
    """The order of all systems of one or more studies on the same dialogues."""
    values, parts, titles, most = _collected(studies, condition)
    systems = sorted({system for system, _ in values})
    if not systems:
        raise InputError(
            "No scores were found that systems could be ordered by. Make some, e.g. python -m evaluators task STUDY."
        )
    tasks, out = _tasks(values, titles, most, systems, weights or {})
    replicates = [one for one in values if all(task.name in values[one] for task in tasks)]
    names = sorted({name for one in replicates for task in tasks for name in parts[one][task.name]})
    share = sum(task.weight for task in tasks)
    macro = np.array([sum(t.weight * values[one][t.name] for t in tasks) / share for one in replicates])
    adds = np.array(
        [sum(t.weight * _row(parts[one][t.name], names) for t in tasks) / share for one in replicates], np.float64
    )
    places = {system: np.array([k for k, one in enumerate(replicates) if one[0] == system]) for system in systems}
    estimate = estimate_systems(macro, adds, [places[system] for system in systems])
    by_task = {
        system: tuple(float(np.mean([values[replicates[k]][task.name] for k in at])) for task in tasks)
        for system, at in places.items()
    }
    highest = sum(t.weight * t.most for t in tasks) / share
    counts = {s: len(at) for s, at in places.items()}
    standings = [_within(one, highest) for one in _ordered(systems, estimate, by_task, counts, seed)]
    covered = {
        system: {n for k in at for t in tasks for n in parts[replicates[k]][t.name]} for system, at in places.items()
    }
    return LeaderboardAnswer(
        tuple(standings), tuple(tasks), estimate.seed_sd, estimate.freedom, len(names),
        tuple(system for system, found in covered.items() if len(found) < len(names)), tuple(out),
        read_printed(claims) if claims else {},
        signature(
            systems=len(systems), tasks=[f"{t.name}={t.weight:g}" for t in tasks], condition=condition or "clean",
            unit="dialogue+seed", ranks="simultaneous", sets=SETS, level=0.95, seed=seed,
        ),
    )  # fmt: skip


Replicate = tuple[str, Seed]
ByTask = dict[Replicate, dict[str, float]]
Parts = dict[Replicate, dict[str, dict[str, float]]]


def _within(one: Standing, highest: float) -> Standing:
    """The interval cut where no score can be: that takes nothing from how often it holds the truth."""
    if math.isinf(highest):
        return one
    return replace(one, low=min(max(one.low, 0.0), highest), high=max(min(one.high, highest), 0.0))


def highest_score(card: TaskCard) -> float:
    """The highest score of a task as it is shown: of a share its scale, of BLEU 100, of Combined 200."""
    known = {"bleu": 100.0, "combined": 200.0}
    return card.scale if card.unit == "share" else known.get(card.aggregate, math.inf)


def _collected(studies: Sequence[Study], condition: str) -> tuple[ByTask, Parts, dict[str, str], dict[str, float]]:
    """System and seed -> task -> value, and what each dialogue adds to its error; task -> title, highest score."""
    lists: dict[Replicate, dict[str, list[tuple[float, dict[str, float]]]]] = defaultdict(lambda: defaultdict(list))
    titles: dict[str, str] = {}
    most: dict[str, float] = {}
    for study in studies:
        for key, card, seed, value in clean_values(study.scores, condition) if study.scores else ():
            if card.better == "lower" or card.unit not in ("share", "points"):
                continue
            system = key.model if key.checkpoint in PLAIN_CHECKPOINTS else f"{key.model} {key.checkpoint}"
            system = system if len(studies) == 1 else f"{study.name}/{system}"
            name = key.task
            adds = dict(zip(value.clusters, (value.parts * card.scale).tolist(), strict=True))
            lists[system, seed][name].append((value.value * card.scale, adds))
            titles[name] = card.title if card.main else f"{card.title} "
            most[name] = max(highest_score(card), most.get(name, 0.0))
    values = {
        one: {name: float(np.mean([v for v, _ in many])) for name, many in by.items()} for one, by in lists.items()
    }
    parts = {one: {name: _averaged([p for _, p in many]) for name, many in by.items()} for one, by in lists.items()}
    return values, parts, titles, most


def _averaged(many: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Several raters or rules of one task count as their mean."""
    names = dict.fromkeys(name for one in many for name in one)
    return {name: sum(one.get(name, 0.0) for one in many) / len(many) for name in names}


def _row(adds: Mapping[str, float], names: Sequence[str]) -> Floats:
    return np.array([adds.get(name, 0.0) for name in names])


def _tasks(
    values: ByTask, titles: Mapping[str, str], most: Mapping[str, float], systems: Sequence[str],
    weights: Mapping[str, float],
) -> tuple[list[RankedTask], list[str]]:  # fmt: skip
    """The tasks that count: those with a weight, else every main one that all systems have."""
    if unknown := [name for name in weights if name not in titles]:
        raise InputError(f"--weights names {unknown[0]!r}; there are {', '.join(sorted(titles))}.")
    has = {name: {one[0] for one, by in values.items() if name in by} for name in titles}
    wanted = [name for name in titles if name in weights or (not weights and not titles[name].endswith(" "))]
    kept = [name for name in wanted if len(has[name]) == len(systems) and weights.get(name, 1.0) > 0]
    out = [
        f"{titles[name].strip()} does not count: {', '.join(sorted(set(systems) - has[name]))} lack it."
        for name in wanted if len(has[name]) < len(systems)
    ]  # fmt: skip
    if not kept:
        raise InputError(
            f"No task is there for all of {', '.join(systems)}. {' '.join(out)} Name some: --weights jga=1"
        )
    return [RankedTask(name, titles[name].strip(), weights.get(name, 1.0), most[name]) for name in kept], out


@dataclass(frozen=True, slots=True, eq=False)
class SystemEstimate:
    """The systems' means over seeds with their covariance and the errors of their differences."""

    values: Floats
    covariance: Floats
    apart: Floats
    freedom: float
    seed_sd: float | None


def estimate_systems(macro: Floats, adds: Floats, places: Sequence[NDArray[np.int64]]) -> SystemEstimate:
    """From one value a system and seed, what each dialogue adds to it (values, dialogues), and each system's places."""
    found = replicates_by_dialogue(macro, adds)
    if adds.shape[1] < 2:
        raise InputError("One dialogue alone tells no error; scores of two dialogues or more are needed.")
    average = np.zeros((len(places), len(macro)))
    for row, at in enumerate(places):
        average[row, at] = 1 / len(at)
    shared = average @ found.covariance[BOTH] @ average.T
    several = [at for at in places if len(at) > 1]
    freedom_seeds = sum(len(at) - 1 for at in several)
    sizes = np.array([len(at) for at in places], np.float64)
    pooled = 0.0
    if several:
        spreads = [(len(at) - 1, *between(found, at)) for at in several]
        pooled = max(0.0, sum(df * (observed - noise) for df, observed, noise in spreads) / freedom_seeds)
    covariance = shared + np.diag(pooled / sizes)
    variance = np.diag(covariance)
    apart = np.sqrt(np.maximum(variance[:, None] + variance[None, :] - 2 * covariance, 0.0))
    freedom = _freedom(shared, pooled / sizes, adds.shape[1] - 1.0, freedom_seeds)
    return SystemEstimate(
        average @ macro, covariance, apart, freedom, math.sqrt(pooled) if several else None
    )  # fmt: skip


def _freedom(shared: Floats, of_seeds: Floats, dialogues: float, seeds: int) -> float:
    """Satterthwaite's for the typical variance: that of dialogues and that of seeds are estimated apart."""
    if not seeds or not of_seeds.any():
        return dialogues
    one, other = float(np.diag(shared).mean()), float(of_seeds.mean())
    return max((one + other) ** 2 / (one**2 / dialogues + other**2 / seeds), float(min(seeds, dialogues)))


def _ordered(
    systems: Sequence[str], found: SystemEstimate, by_task: Mapping[str, tuple[float, ...]], seeds: Mapping[str, int],
    seed: int,
) -> list[Standing]:  # fmt: skip
    generator = np.random.default_rng(child_seed(seed, "leaderboard"))
    sets = rank_sets(
        found.values, found.covariance, found.apart, found.freedom, sets=SETS, generator=generator
    )  # fmt: skip
    order = sorted(range(len(systems)), key=lambda k: -found.values[k])
    reach = float(stdtrit(found.freedom, 0.975))
    steps = [_step(found, a, b, reach) for a, b in pairwise(order)]
    adjusted = holm(np.array([p for *_, p in steps])) if steps else np.zeros(0)
    standings = []
    for rank, k in enumerate(order, start=1):
        value, se = float(found.values[k]), float(math.sqrt(found.covariance[k, k]))
        step = (*steps[rank - 1][:3], float(adjusted[rank - 1])) if rank < len(order) else ()
        standings.append(
            Standing(
                systems[k],
                seeds[systems[k]],
                by_task[systems[k]],
                value,
                se,
                value - reach * se,
                value + reach * se,
                rank,
                int(sets.all_low[k]),
                int(sets.all_high[k]),
                *step,
            )
        )
    return standings


def _step(found: SystemEstimate, a: int, b: int, reach: float) -> tuple[float, float, float, float]:
    gap, se = float(found.values[a] - found.values[b]), float(found.apart[a, b])
    if se <= 0:
        return gap, gap, gap, float(gap == 0)
    return gap, gap - reach * se, gap + reach * se, 2 * float(stdtr(found.freedom, -gap / se))


def read_printed(path: Path) -> dict[str, dict[str, float]]:
    """System -> column -> printed number; the columns are names of tasks, and `macro`."""
    try:
        rows: Iterable[Mapping[str, str | None]] = list(csv.DictReader(path.read_text("utf-8-sig").splitlines()))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read ({error}). Expected a CSV with a column system.") from None
    found: dict[str, dict[str, float]] = {}
    for n, row in enumerate(rows, start=2):
        if not (row.get("system") or "").strip():
            raise InputError(f"{path}:{n}: no system. Expected columns such as system,jga,success,macro.")
        try:
            numbers = {name: float(text) for name, text in row.items() if name != "system" and text and text.strip()}
        except (TypeError, ValueError):
            raise InputError(f"{path}:{n}: a number was expected under every column but system.") from None
        found[str(row["system"]).strip().lower()] = numbers
    return found
