"""Score tables in Parquet: one part per representation and task, written whole, then joined.

Rows are scores as in docs/format.md, one per example, with counts that add up to the micro-F1 of any set of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from seedvote.dialogue.cards import PROBE, metadata
from seedvote.dialogue.files import atomic
from seedvote.probes.plan import LabelledTask, Plan
from seedvote.probes.probing import ScoredPrediction
from seedvote.probes.states import Representation

STATS = pa.struct([(name, pa.float64()) for name in ("tp", "fp", "fn")])
SCORE_SCHEMA = pa.schema(
    [
        ("evaluator", pa.string()),
        ("task", pa.string()),
        ("model", pa.string()),
        ("seed", pa.int64()),
        ("checkpoint", pa.string()),
        ("item", pa.string()),
        ("rater", pa.string()),
        ("score", pa.float64()),
        ("stats", STATS),
        ("cluster", pa.string()),
        ("condition", pa.string()),
    ]
)


def scores(who: Representation, labelled: LabelledTask, plan: Plan, outcome: ScoredPrediction) -> pa.Table:
    """One row an example, with its counts."""
    n = len(plan.report.items)
    counts = outcome.counts
    stats = [pa.array(part, pa.float64()) for part in (counts.tp, counts.fp, counts.fn)]
    same = {
        "evaluator": "control" if outcome.labels else who.evaluator,
        "task": labelled.task,
        "model": who.model,
        "seed": who.seed,
        "checkpoint": who.checkpoint,
        "rater": outcome.answer.rater,
        "condition": plan.condition + (f",labels={outcome.labels}" if outcome.labels else ""),
    }
    columns = {name: pa.repeat(pa.scalar(value, SCORE_SCHEMA.field(name).type), n) for name, value in same.items()}
    columns |= {
        "item": pa.array(plan.report.items),
        "score": pa.array(counts.example_f1),
        "stats": pa.StructArray.from_arrays(stats, names=["tp", "fp", "fn"]),
        "cluster": pa.array(plan.report.clusters),
    }
    return pa.table([columns[name] for name in SCORE_SCHEMA.names], schema=SCORE_SCHEMA)


def convergence(outcomes: Iterable[ScoredPrediction]) -> list[dict[str, object]]:
    """Per rater, how each optimisation ended, in a form for JSON."""
    return [
        {
            "rater": outcome.answer.rater,
            "control": bool(outcome.labels),
            "c": outcome.answer.c,
            "problems": outcome.answer.convergence.problems,
            "passes": outcome.answer.convergence.passes.tolist(),
            "gradient": _list_finite(outcome.answer.convergence.gradient),
            "gap": _list_finite(outcome.answer.convergence.gap),
            "converged": outcome.answer.convergence.converged.tolist(),
        }
        for outcome in outcomes
    ]


def _list_finite(numbers: np.ndarray) -> list[float | None]:
    return [float(number) if np.isfinite(number) else None for number in numbers]


def write_part(path: Path, parts: Sequence[pa.Table], key: str, ended: list[dict[str, object]]) -> None:
    """Write the scores of one representation and task with the key they follow from and how the fits ended."""
    # The key lies in Parquet's footer, which is written last: a file that was cut off has none and is made again.
    table = pa.concat_tables(parts).replace_schema_metadata({"key": key, "fits": json.dumps(ended)})
    with atomic(path, "wb") as handle:
        pq.write_table(table, handle, compression="zstd")


def write_again(source: Path, path: Path, who: Representation, key: str) -> None:
    """Write the part at `source` as that of `who`, whose states are the same; how the fits ended comes along."""
    table = pq.read_table(source)
    notes = {**table.schema.metadata, b"key": key.encode()}
    for name, value in (("model", who.model), ("seed", who.seed), ("checkpoint", who.checkpoint)):
        field = SCORE_SCHEMA.field(name)
        same = pa.repeat(pa.scalar(value, field.type), len(table))
        table = table.set_column(SCORE_SCHEMA.get_field_index(name), field, same)
    with atomic(path, "wb") as handle:
        pq.write_table(table.replace_schema_metadata(notes), handle, compression="zstd")


def part_key(path: Path) -> str | None:
    """The key of a finished part, or nothing where there is no whole part."""
    try:
        return str((pq.read_schema(path).metadata or {}).get(b"key", b""), "ascii")
    except (OSError, pa.ArrowInvalid):
        return None


def join(paths: Sequence[Path], out: Path, signature: str) -> int:
    """Write all parts into one table; how many rows it has."""
    rows = 0
    schema = SCORE_SCHEMA.with_metadata(metadata(signature, {"probe": PROBE}))
    with atomic(out, "wb") as handle, pq.ParquetWriter(handle, schema, compression="zstd") as writer:
        for path in paths:
            part = pq.read_table(path).replace_schema_metadata(schema.metadata)
            writer.write_table(part)
            rows += len(part)
    return rows
