"""From the score table to the numbers people read: cells over seeds, and their table in every form."""

from __future__ import annotations

import csv
import io
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.formulas.counts import micro_f1
from seedvote.probes.plan import CONTROL_TASK, SHUFFLED, TRUE
from seedvote.probes.scoring import Spread, seed_spread

# From the score table to the numbers people read: micro-F1 per seed, its spread over seeds, and its controls.

ROWS_AT_ONCE = 1 << 17
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


@dataclass(frozen=True, slots=True)
class GroupSum:
    """The rows of a table with one key: how many there are, and of every summed column its sum and its numbers."""

    rows: int
    sums: Mapping[str, float]
    counts: Mapping[str, int]

    def mean(self, name: str) -> float:
        """Over the rows that have a number there; NaN where none has."""
        return self.sums[name] / self.counts[name] if self.counts[name] else math.nan


def sum_groups(
    path: Path, keys: Sequence[str], summed: Sequence[str], command: str, *, tasks: Sequence[str] = ()
) -> dict[tuple[Any, ...], GroupSum]:
    """Sums by key of a table that `python -m <command> STUDY` writes, batch by batch: it may exceed the memory.

    `tasks`: only rows of these. A table that is missing or broken is to be made anew.
    """
    again = f"python -m {command} {path.parent}"
    if not path.exists():
        raise InputError(f"{path} is not there. Make it: {again}.")
    groups: dict[tuple[Any, ...], GroupSum] = {}
    functions = [(name, function) for name in summed for function in ("sum", "count")]
    try:
        with pq.ParquetFile(path) as file:
            _refuse_lacking(file.schema_arrow, [*keys, *summed])
            for batch in file.iter_batches(ROWS_AT_ONCE, columns=[*keys, *summed]):
                table = pa.Table.from_batches([batch]).flatten()
                if tasks:
                    table = table.filter(pc.is_in(table["task"], pa.array(list(tasks))))
                for row in table.group_by(list(keys), use_threads=False).aggregate(
                    [*functions, ([], "count_all")]
                ).to_pylist():  # fmt: skip
                    _add_group(groups, tuple(row[name] for name in keys), row, summed)
    except (OSError, KeyError, pa.ArrowException) as error:
        raise InputError(f"{path} cannot be read as a score table. Make it again: {again}.") from error
    return groups


def _refuse_lacking(schema: pa.Schema, names: Sequence[str]) -> None:
    """A column that is asked for and missing is an error, where iter_batches would leave it out."""
    known = {field.name for column in schema for field in (column, *column.flatten())}
    if lacking := [name for name in names if name not in known]:
        raise KeyError(lacking[0])


def _add_group(
    groups: dict[tuple[Any, ...], GroupSum], key: tuple[Any, ...], row: Mapping[str, Any], summed: Sequence[str]
) -> None:
    earlier = groups.get(key, GroupSum(0, {}, {}))
    groups[key] = GroupSum(
        earlier.rows + row["count_all"],
        {name: earlier.sums.get(name, 0.0) + (row[f"{name}_sum"] or 0.0) for name in summed},
        {name: earlier.counts.get(name, 0) + row[f"{name}_count"] for name in summed},
    )


def read_task_scores(path: Path) -> list[TaskScore]:
    """Sum the counts of each representation and task, and take their micro-F1."""
    counts = ("stats.tp", "stats.fp", "stats.fn")
    scores = [
        TaskScore(
            **dict(zip(KEY, key, strict=True)),
            f1=100 * float(micro_f1(*(group.sums[name] for name in counts))),
            examples=group.rows,
        )
        for key, group in sum_groups(path, KEY, counts, "probes run").items()
    ]
    return sorted(scores, key=lambda s: (s.task, s.evaluator, s.model, str(s.seed), s.checkpoint, s.rater))


def gather_cells(scores: Iterable[TaskScore]) -> list[Cell]:
    """Gather the seeds of each model, checkpoint, task and classifier."""
    groups: dict[tuple[str, ...], list[TaskScore]] = defaultdict(list)
    for score in scores:
        groups[score.task, score.model, score.checkpoint, score.classifier].append(score)
    return [_seed_cell(group) for group in groups.values() if any(score.labels == TRUE for score in group)]


def _seed_cell(group: Sequence[TaskScore]) -> Cell:
    true = [score for score in group if score.labels == TRUE]
    shuffled, control_task = (
        [score.f1 for score in group if score.labels == kind] for kind in (SHUFFLED, CONTROL_TASK)
    )
    by_seed: dict[int | None, list[float]] = defaultdict(list)
    for score in true:
        by_seed[score.seed].append(score.f1)
    # First over the classifier's seeds, then over training seeds: only the latter are the model's.
    over = seed_spread([float(np.mean(values)) for values in by_seed.values()])
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


# The table of a corpus, for the terminal, as CSV and as LaTeX: the same cells, in points, in the same order.

CSV_HEADER = (
    "task",
    "evaluator",
    "model",
    "checkpoint",
    "classifier",
    "seeds",
    "f1",
    "seed_sd",
    "seed_sd_low",
    "seed_sd_high",
    "rater_sd",
    "above_shuffled",
    "selectivity",
)


def csv_table(cells: Sequence[Cell], signature: str) -> str:
    """One line a cell, in points; empty where a number cannot be had from so few seeds."""
    out = io.StringIO()
    out.write(f"# {signature}\n")
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    for cell in cells:
        over = cell.seeds
        numbers = (over.mean, over.sd, over.low, over.high, cell.rater_sd, cell.above_shuffled, cell.selectivity)
        names = (cell.task, cell.evaluator, cell.model, cell.checkpoint, cell.classifier, len(cell.seeds.values))
        writer.writerow([*names, *("" if math.isnan(number) else f"{number:.3f}" for number in numbers)])
    return out.getvalue()


def table_rows(cells: Sequence[Cell]) -> dict[tuple[str, str], dict[str, Cell]]:
    """One row for each model and checkpoint, trained models first and baselines last, with its cell of each task."""
    rows: dict[tuple[str, str], dict[str, Cell]] = {}
    for cell in sorted(
        cells, key=lambda cell: (cell.evaluator == "baseline", cell.model, _checkpoint_age(cell.checkpoint))
    ):
        name = f"{cell.model} ({cell.classifier})" if cell.classifier not in ("logistic", "majority") else cell.model
        rows.setdefault((name, cell.checkpoint), {})[cell.task] = cell
    return rows


def _checkpoint_age(checkpoint: str) -> tuple[int, int, str]:
    if checkpoint == "untrained":
        return 0, 0, ""
    number = checkpoint.removeprefix("epoch-")
    return (1, int(number), "") if number.isdigit() else (2, 0, checkpoint)


def terminal_table(cells: Sequence[Cell], tasks: Sequence[str], *, digits: int = 1) -> Iterator[str]:
    """A table for the terminal, a block of tasks at a time: mean over seeds, and the SD over seeds."""
    table = table_rows(cells)
    width = max(32, *(len(f"{model} {checkpoint}") for model, checkpoint in table))
    for start in range(0, len(tasks), 5):
        block = tasks[start : start + 5]
        yield f"{'':<{width}}" + "".join(f"{task:>16}" for task in block)
        for (model, checkpoint), row in table.items():
            yield f"{f'{model} {checkpoint}':<{width}}" + "".join(
                f"{_show_cell(row.get(task), digits):>16}" for task in block
            )
        yield ""


def _show_cell(cell: Cell | None, digits: int) -> str:
    if cell is None:
        return "-"
    sd = "" if math.isnan(cell.seeds.sd) else f" (sd {cell.seeds.sd:.{digits}f})"
    return f"{cell.seeds.mean:.{digits}f}{sd}"


def latex_table(cells: Sequence[Cell], tasks: Sequence[str], signature: str) -> str:
    """A table in the papers' form; the SD over seeds stands in brackets with its 95 % interval, in points."""
    lines = [f"% {signature}", "\\begin{tabular}{ll" + "r" * len(tasks) + "}", "\\hline"]
    lines.append(" & ".join(["Model", "Checkpoint", *map(_escape_latex, tasks)]) + " \\\\")
    lines.append("\\hline")
    for (model, checkpoint), row in table_rows(cells).items():
        lines.append(
            " & ".join([_escape_latex(model), _escape_latex(checkpoint), *(_show_in_latex(row.get(t)) for t in tasks)])
            + " \\\\"
        )
    return "\n".join([*lines, "\\hline", "\\end{tabular}", ""])


def _show_in_latex(cell: Cell | None) -> str:
    if cell is None:
        return "--"
    over = cell.seeds
    brackets = "" if math.isnan(over.sd) else f" (SD {over.sd:.1f} [{over.low:.1f}, {over.high:.1f}])"
    return f"{over.mean:.1f}{brackets}"


def _escape_latex(text: str) -> str:
    return text.replace("_", "\\_").replace("%", "\\%").replace("&", "\\&")


def list_departures(cells: Sequence[Cell], least: float = 1.0) -> list[str]:
    """Where the papers' protocol gives another number than ours, largest first."""
    ours = {(c.task, c.model, c.checkpoint): c for c in cells if c.classifier.startswith("logistic")}
    pairs = [(c, ours[c.task, c.model, c.checkpoint]) for c in cells if c.classifier == "paper"]
    ordered_pairs = sorted(pairs, key=lambda pair: -abs(pair[0].seeds.mean - pair[1].seeds.mean))
    return [
        f"The papers' protocol gives {paper.seeds.mean:.1f} instead of {our.seeds.mean:.1f} "
        f"for {paper.task} on {f'{paper.model} {paper.checkpoint}'.strip()}."
        for paper, our in ordered_pairs
        if abs(paper.seeds.mean - our.seeds.mean) >= least
    ]
