"""Encoder states of contexts: one row an item in a `.npy` file that probes can map, with a JSON sidecar beside it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from dialogue.files import as_json, write_json
from dialogue.records import States
from dialogue.signature import signature
from generation.batches import stack_contexts
from generation.models.interface import Model
from generation.numbering import Numbered

WINDOW = 4096  # contexts that are sorted by length and written at a time: memory does not grow with their number


def write_states(
    path: Path, model: Model, examples: Sequence[Numbered], *, name: str, seed: int, checkpoint: str, weights: str,
    splits: Sequence[str], device: torch.device, batch_size: int = 128,
) -> None:  # fmt: skip
    """Write `path` (.npy) and its sidecar; the sidecar comes last, so that where it is, the matrix is whole."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        width = _stream(temporary, model, examples, device, batch_size)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    recipe = signature(
        model=name, seed=seed, checkpoint=checkpoint, pooling=model.pooling, splits=splits, states=len(examples),
        threads=torch.get_num_threads(), weights=weights[:12],
    )  # fmt: skip
    sidecar = States(
        name, seed, checkpoint, [e.item for e in examples], model.pooling, width, "float32", torch.get_num_threads(),
        weights, recipe, {"splits": list(splits)},
    )  # fmt: skip
    write_json(path.with_suffix(".json"), as_json(sidecar))


def _stream(path: Path, model: Model, examples: Sequence[Numbered], device: torch.device, batch_size: int) -> int:
    matrix: np.memmap | None = None
    for start in range(0, len(examples), WINDOW):
        rows = range(start, min(start + WINDOW, len(examples)))
        block = encode_block(model, [examples[row].context for row in rows], device, batch_size)
        if matrix is None:
            shape = (len(examples), block.shape[1])
            matrix = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
        matrix[rows.start : rows.stop] = block
    assert matrix is not None  # the caller gives at least one example
    matrix.flush()
    return int(matrix.shape[1])


def encode_block(
    model: Model, contexts: Sequence[Sequence[int]], device: torch.device, batch_size: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Context vectors (contexts x width), in the order given."""
    order = sorted(range(len(contexts)), key=lambda row: len(contexts[row]))
    parts = []
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            parts.append(
                model.encode(stack_contexts([contexts[row] for row in rows], device)).vectors[:, -1].float().cpu()
            )
    vectors = torch.cat(parts).numpy()
    block = np.empty_like(vectors)
    block[order] = vectors
    return block
