"""Ranks on disk: STUDY/ranks.parquet, a row an option and checkpoint, gathered from one file a checkpoint.

The files of the checkpoints stay in STUDY/ranks, so that a run that was killed goes on, and a model that was trained
anew is ranked anew.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from seedvote.dialogue.files import atomic
from seedvote.dialogue.signature import signature
from seedvote.generation.ranking import RankedOption

SCHEMA = pa.schema(
    [
        ("question", pa.string()),
        ("option", pa.int64()),
        ("model", pa.string()),
        ("seed", pa.int64()),
        ("checkpoint", pa.string()),
        ("logprob", pa.float64()),
        ("tokens", pa.int64()),
        ("logprob_alone", pa.float64()),
        ("unknown", pa.int64()),
    ]
)


def write_ranks(
    path: Path, options: Iterable[RankedOption], model: str, seed: int | None, checkpoint: str, *, texts: str, key: str
) -> None:
    """The ranks of one checkpoint, with the hash of the questions and the key of all that they follow from."""
    rows = sorted(options, key=lambda ranked: (ranked.question, ranked.option))
    columns = [
        [ranked.question for ranked in rows],
        [ranked.option for ranked in rows],
        [model] * len(rows),
        [seed] * len(rows),
        [checkpoint] * len(rows),
        [ranked.logprob for ranked in rows],
        [ranked.tokens for ranked in rows],
        [ranked.alone for ranked in rows],
        [ranked.unknown for ranked in rows],
    ]
    schema = SCHEMA.with_metadata({"texts": texts, "key": key})
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(path, "wb") as handle:
        pq.write_table(pa.Table.from_arrays(arrays, schema=schema), handle, compression="zstd")


def is_ranked(path: Path, key: str) -> bool:
    """Whether the ranks with this very key are there."""
    return path.exists() and _describe(path).get(b"key", b"").decode() == key


def gather(study: Path, texts: str) -> tuple[Path, int, int]:
    """Write ranks.parquet from all checkpoints ranked on these texts; its path, checkpoints and rows."""
    parts = [
        path for path in sorted((study / "ranks").glob("*.parquet")) if _describe(path).get(b"texts") == texts.encode()
    ]
    path, rows = study / "ranks.parquet", 0
    recipe = signature(checkpoints=len(parts), texts=texts)
    schema = SCHEMA.with_metadata({"format": "ranks", "signature": recipe})
    with atomic(path, "wb") as handle, pq.ParquetWriter(handle, schema, compression="zstd") as writer:
        for part in parts:
            table = pq.read_table(part)
            rows += len(table)
            writer.write_table(table.cast(schema))
    return path, len(parts), rows


def _describe(path: Path) -> dict[bytes, bytes]:
    return dict(pq.read_schema(path).metadata or {})
