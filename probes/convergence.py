"""How every fit ended: a table with one row per problem, and a warning for those that did not reach their optimum."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from seedvote.dialogue.files import atomic
from seedvote.probes.suite import ScorePart

FIT_SCHEMA = pa.schema(
    [
        ("representation", pa.string()),
        ("task", pa.string()),
        ("rater", pa.string()),
        ("control", pa.bool_()),
        ("c", pa.float64()),
        ("problem", pa.string()),
        ("passes", pa.int64()),
        ("gradient", pa.float64()),
        ("gap", pa.float64()),
        ("converged", pa.bool_()),
    ]
)


def endings(parts: Iterable[ScorePart]) -> pa.Table:
    """One row for each label of a many-label task, and for each one-label task."""
    return pa.concat_tables([FIT_SCHEMA.empty_table(), *(table for part in parts for table in _read_endings(part))])


def _read_endings(part: ScorePart) -> Iterator[pa.Table]:
    for fit in json.loads(pq.read_schema(part.path).metadata[b"fits"]):
        n = len(fit["problems"])
        same = {
            "representation": part.representation.name,
            "task": part.labelled.task,
            "rater": fit["rater"],
            "control": fit["control"],
            "c": fit["c"],
        }
        columns: dict[str, Any] = {name: [value] * n for name, value in same.items()}
        yield pa.table(
            columns | {"problem": fit["problems"]} | {k: fit[k] for k in FIT_SCHEMA.names[6:]}, schema=FIT_SCHEMA
        )


def write_endings(path: Path, table: pa.Table) -> None:
    """Write the table whole."""
    with atomic(path, "wb") as handle:
        pq.write_table(table, handle, compression="zstd")


def warnings(table: pa.Table, limit: int = 3) -> list[str]:
    """One sentence for each task of each representation that has problems short of their optimum."""
    short: dict[tuple[str, str, str], dict[str, float]] = {}
    for row in table.filter(pc.invert(table["converged"])).to_pylist():
        if not row["control"]:
            short.setdefault((row["representation"], row["task"], row["rater"]), {})[row["problem"]] = row["gap"]
    return [_phrase_warning(*key, problems, limit) for key, problems in short.items()]


def _phrase_warning(who: str, task: str, rater: str, gaps: Mapping[str, float], limit: int) -> str:
    worst = sorted(gaps, key=lambda problem: gaps[problem], reverse=True)
    names = ", ".join(worst[:limit]) + (", ..." if len(worst) > limit else "")
    known = [gap for gap in gaps.values() if not math.isnan(gap)]
    far = f", up to {100 * max(known):.2g} % of its value above its optimum" if known else ""
    return f"Not converged: {len(gaps):,} problems of {task} on {who}, fitted by {rater} ({names}){far}."
