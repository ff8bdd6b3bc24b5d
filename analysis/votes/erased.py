"""Replies and likelihoods of models while something was erased: STUDY/erasers and STUDY/erased, put together.

What was decoded with other erasers than those that are there now is refused, and so are contexts that differ.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from dialogue.errors import InputError
from dialogue.files import digest, read_json

ERASERS = "erasers"  # the folder of a study


@dataclass(frozen=True, eq=False)
class ErasedReplies:
    """One eraser of one checkpoint, or none: what the model then says, a row a context."""

    told: Mapping[str, Any]  # its entry in erasers.json; empty where nothing is erased
    nll: NDArray[np.float64]
    tokens: NDArray[np.float64]
    changed: NDArray[np.float64]
    bleu2: NDArray[np.float64]
    acts: NDArray[np.str_] | None


@dataclass(frozen=True, eq=False)
class ErasedCheckpoint:
    """One model, seed and checkpoint with all of its erasers; `clusters` has a number for the dialogue of each row."""

    model: str
    seed: int | None
    checkpoint: str
    items: tuple[str, ...]
    clusters: NDArray[np.int64]
    plain: ErasedReplies
    erased: tuple[ErasedReplies, ...]
    left_out: Mapping[str, str]  # task -> why it has no eraser


def read_erased(study: Path) -> list[ErasedCheckpoint]:
    """Every checkpoint that was decoded behind its erasers."""
    found = [_checkpoint(study, told) for told in sorted((study / ERASERS).glob("*/erasers.json"))]
    if not found:
        raise InputError(
            f"{study} has no erasers. Make them: python -m generation encode {study} --pooling decoder --checkpoints "
            f"last, then python -m probes erase {study}, then python -m generation erased {study}."
        )
    if len({one.items for one in found}) > 1:
        raise InputError(f"The models of {study} answered different contexts: python -m generation erased {study}.")
    return found


def _checkpoint(study: Path, told: Path) -> ErasedCheckpoint:
    about, folder = read_json(told), study / "erased" / told.parent.name
    if any("flat" not in one for one in about["erasers"] if "file" in one):
        raise InputError(
            f"{told} is of an earlier version, whose erasers left directions that hardly vary as they were. Make them "
            f"anew: python -m probes erase {study}, then python -m generation erased {study}."
        )
    plain, items, clusters = _replies(folder / "none.parquet", {}, None)
    erased = []
    for one in about["erasers"]:
        if "file" in one:
            path = folder / f"{Path(one['file']).stem}.parquet"
            replies, others, _ = _replies(path, one, digest(told.parent / one["file"]))
            if others != items:
                raise InputError(f"{path} has other contexts than none.parquet: python -m generation erased {study}.")
            erased.append(replies)
    left = {one["task"]: one["left_out"] for one in about["erasers"] if "left_out" in one}
    seed = about["seed"]
    codes = np.unique(np.array(clusters), return_inverse=True)[1].astype(np.int64)
    return ErasedCheckpoint(
        str(about["model"]), None if seed is None else int(seed), str(about["checkpoint"]), items, codes, plain,
        tuple(erased), left,
    )  # fmt: skip


def _replies(
    path: Path, told: Mapping[str, Any], eraser: str | None
) -> tuple[ErasedReplies, tuple[str, ...], list[str]]:
    again = f"Decode again: python -m generation erased {path.parents[2]}."
    try:
        table = pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} is not there, or not whole. {again}") from error
    if eraser is not None and (table.schema.metadata or {}).get(b"eraser") != eraser.encode():
        raise InputError(f"{path} was made with another eraser than is there now. {again}")
    numbers = {name: np.asarray(table[name].to_numpy(), np.float64) for name in ("nll", "tokens", "changed", "bleu2")}
    acts = None if table["acts"].null_count else np.array(table["acts"].to_pylist(), str)
    return ErasedReplies(told, **numbers, acts=acts), tuple(table["item"].to_pylist()), table["cluster"].to_pylist()
