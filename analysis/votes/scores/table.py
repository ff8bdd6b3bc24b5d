"""Reads score tables of probes, token metrics and every other evaluator: Parquet, CSV, JSON Lines, tables in memory.

A table has one row an example with the columns of `dialogue.records.Score`; several are read as one. The counts in
`stats` come from Parquet and from memory, which can hold them.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from analysis.votes.columns import columns_in_memory, read_columns
from dialogue.errors import InputError

NEEDED = ("evaluator", "task", "model", "seed", "checkpoint", "item", "rater", "score")
NAMING = ("evaluator", "task", "checkpoint", "rater", "condition")  # may be empty
TEXTS = (*NAMING, "model", "item", "cluster", "reason")
TYPES = {**dict.fromkeys(TEXTS, pa.string()), "seed": pa.int64(), "score": pa.float64()}


def read_scores(sources: Sequence[Any], *, needed: Sequence[str] = NEEDED) -> pa.Table:
    """All rows of the files, DataFrames or mappings, checked for the needed columns; other names are empty texts."""
    return pa.concat_tables([_whole(source, needed) for source in sources], promote_options="default")


def _whole(source: Any, needed: Sequence[str]) -> pa.Table:
    on_disk = isinstance(source, str | Path)
    table, name = (_file(Path(source)), source) if on_disk else (_in_memory(source), "scores")
    if absent := [column for column in needed if column not in table.column_names]:
        raise InputError(f"{name}: column {', '.join(absent)} missing; a score table has {', '.join(needed)}.")
    for column in NAMING:
        if column not in table.column_names:
            table = table.append_column(column, pa.array([""] * len(table)))
        elif table[column].null_count:  # as CSV gives an empty text
            table = table.set_column(table.column_names.index(column), column, table[column].fill_null(""))
    return table


def _file(path: Path) -> pa.Table:
    if path.suffix != ".parquet":
        return pa.table(dict(read_columns(path, TYPES, record="").arrays))
    try:
        return pq.read_table(path)
    except FileNotFoundError as error:
        raise InputError(f"{path} cannot be read: there is no such file.") from error
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path} cannot be read as Parquet ({error}).") from error


def _in_memory(source: Any) -> pa.Table:
    columns = dict(columns_in_memory("scores", source, TYPES).arrays)
    if "stats" in source:
        columns["stats"] = pa.array(source["stats"], from_pandas=True)
    return pa.table(columns)
