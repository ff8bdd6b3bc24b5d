"""Reads score tables: the Parquet files of probes, token metrics and every other evaluator.

A table has one row an example with the columns of `dialogue.records.Score`; several files are read as one table.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dialogue.errors import InputError

NEEDED = ("evaluator", "task", "model", "seed", "checkpoint", "item", "rater", "score")


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
