"""Reads score tables (the Parquet files of probes, token metrics and others) and reduces them to one value a seed.

A table has one row an example with the columns of `dialogue.records.Score`; several files are read as one table.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dialogue.errors import InputError

KEY = ("evaluator", "task", "model", "seed", "checkpoint", "rater", "condition")
NEEDED = ("evaluator", "task", "model", "seed", "checkpoint", "item", "rater", "score")


@dataclass(frozen=True, slots=True)
class SeedValue:
    """One evaluator's value for one trained model, with its examples' summable statistics."""

    evaluator: str
    task: str
    model: str
    seed: int | None
    checkpoint: str
    rater: str
    condition: str
    value: float
    examples: int


def read_scores(paths: Sequence[str | Path]) -> pa.Table:
    """All rows of the given Parquet files, checked for the columns that every score needs."""
    tables = [_one_file(Path(path)) for path in paths]
    return pa.concat_tables(tables, promote_options="default")


def _one_file(path: Path) -> pa.Table:
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path} cannot be read as Parquet ({error}).") from error
    if absent := [name for name in NEEDED if name not in table.column_names]:
        raise InputError(f"{path}: column {', '.join(absent)} missing; a score table has {', '.join(NEEDED)}.")
    if "condition" not in table.column_names:
        table = table.append_column("condition", pa.array([""] * len(table)))
    return table


def seed_values(table: pa.Table) -> list[SeedValue]:
    """One value for each (evaluator, task, model, seed, checkpoint, rater, condition).

    The value is micro-F1 where the examples carry tp, fp and fn, else the mean score.
    Rows in, groups out.
    """
    counts = _counts(table)
    flat = table.select([*KEY, "score"])
    for name, column in counts.items():
        flat = flat.append_column(name, pa.array(column))
    sums = [("score", "mean"), ("score", "count"), *((name, "sum") for name in counts)]
    grouped = flat.group_by(list(KEY), use_threads=False).aggregate(sums)
    return [_seed_value(row) for row in grouped.to_pylist()]


def _counts(table: pa.Table) -> Mapping[str, npt.NDArray[np.float64]]:
    if "stats" not in table.column_names:
        return {}
    stats = table.column("stats").combine_chunks()
    names = {field.name for field in stats.type}
    if not {"tp", "fp", "fn"} <= names:
        return {}
    return {name: np.asarray(pc.fill_null(pc.struct_field(stats, name), np.nan)) for name in ("tp", "fp", "fn")}


def _seed_value(row: Mapping[str, Any]) -> SeedValue:
    value = float(row["score_mean"])
    hits = row.get("tp_sum")
    if hits is not None and np.isfinite(hits):
        missed = row["fp_sum"] + row["fn_sum"]
        value = 2 * hits / (2 * hits + missed) if hits + missed else 1.0
    return SeedValue(**{name: row[name] for name in KEY}, value=value, examples=row["score_count"])
