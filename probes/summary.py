"""From the score table to the numbers people read: micro-F1 per seed, its spread over seeds, and its controls."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seedvote.dialogue.errors import InputError
from seedvote.probes.controls import CONTROL_TASK, SHUFFLED, TRUE
from seedvote.probes.scoring import Spread, micro_f1, spread

KEY = ("evaluator", "task", "model", "seed", "checkpoint", "rater", "condition")


@dataclass(frozen=True, slots=True)
class TaskScore:
    """Micro-F1 in points of one representation on one task under one rater."""

    evaluator: str
    task: str
    model: str
    seed: int | None
    checkpoint: str
    rater: str
    condition: str
    f1: float
    examples: int

    @property
    def classifier(self) -> str:
        """The rater without its seed."""
        return self.rater.split(":")[0]

    @property
    def labels(self) -> str:
        """Which control it was fitted to; empty for the true labels."""
        return self.condition.partition(",labels=")[2]


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell of the papers' tables: a model's checkpoint on a task, over its training seeds.

    `rater_sd` is the SD over the classifier's own seeds, averaged over training seeds (NaN where it has one or none),
    `above_shuffled` the points above the same probe fitted on shuffled labels, and `selectivity` the points above the
    same probe on its control task (NaN where a control was not fitted).
    """

    evaluator: str
    task: str
    model: str
    checkpoint: str
    classifier: str
    seeds: Spread
    rater_sd: float
    above_shuffled: float = math.nan
    selectivity: float = math.nan


def read_whole(path: Path, columns: Sequence[str], command: str) -> pa.Table:
    """Columns of a table that `python -m <command> STUDY` writes; one that is missing or broken is to be made anew."""
    again = f"python -m {command} {path.parent}"
    if not path.exists():
        raise InputError(f"{path} is not there. Make it: {again}.")
    try:
        return pq.read_table(path, columns=list(columns))
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read as a score table. Make it again: {again}.") from error


def read_task_scores(path: Path) -> list[TaskScore]:
    """Sum the counts of each representation and task, and take their micro-F1."""
    columns = read_whole(path, [*KEY, "stats"], "probes run").flatten()
    wanted = [(f"stats.{name}", "sum") for name in ("tp", "fp", "fn")]
    rows = columns.group_by(list(KEY)).aggregate([*wanted, ([], "count_all")]).to_pylist()
    return sorted(map(_score, rows), key=lambda s: (s.task, s.evaluator, s.model, str(s.seed), s.checkpoint, s.rater))


def _score(row: Mapping[str, Any]) -> TaskScore:
    f1 = 100 * micro_f1(*(row[f"stats.{name}_sum"] for name in ("tp", "fp", "fn")))
    return TaskScore(**{name: row[name] for name in KEY}, f1=f1, examples=row["count_all"])


def cells(scores: Iterable[TaskScore]) -> list[Cell]:
    """Gather the seeds of each model, checkpoint, task and classifier."""
    groups: dict[tuple[str, ...], list[TaskScore]] = defaultdict(list)
    for score in scores:
        groups[score.task, score.model, score.checkpoint, score.classifier].append(score)
    return [_cell(group) for group in groups.values() if any(score.labels == TRUE for score in group)]


def _cell(group: Sequence[TaskScore]) -> Cell:
    true = [score for score in group if score.labels == TRUE]
    shuffled, control_task = (
        [score.f1 for score in group if score.labels == kind] for kind in (SHUFFLED, CONTROL_TASK)
    )
    by_seed: dict[int | None, list[float]] = defaultdict(list)
    for score in true:
        by_seed[score.seed].append(score.f1)
    # First over the classifier's seeds, then over training seeds: only the latter are the model's.
    over = spread([float(np.mean(values)) for values in by_seed.values()])
    sds = [float(np.std(values, ddof=1)) for values in by_seed.values() if len(values) > 1]
    first = true[0]
    return Cell(
        first.evaluator,
        first.task,
        first.model,
        first.checkpoint,
        first.classifier,
        over,
        rater_sd=float(np.mean(sds)) if sds else math.nan,
        above_shuffled=over.mean - float(np.mean(shuffled)) if shuffled else math.nan,
        selectivity=over.mean - float(np.mean(control_task)) if control_task else math.nan,
    )
