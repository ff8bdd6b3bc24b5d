"""Writes hidden states as representations, one a layer: `states/<model>.layer-NN-<checkpoint>.npy` with a sidecar.

Contexts go through the model a piece at a time. A finished piece is kept until all are there, so a run that was killed
goes on behind its last piece; where a sidecar is, its matrix is whole and stands for just these weights and contexts.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seedvote.dialogue.engines.chat import lock_journal
from seedvote.dialogue.files import as_json, atomic, clear_halves, read_json, write_json
from seedvote.dialogue.jobs import content_key
from seedvote.dialogue.records import States
from seedvote.dialogue.signature import signature
from seedvote.generation.imports.hidden_states import StateReader
from seedvote.generation.imports.prompting import ReadContext

PIECE = 256  # contexts: what a run that was killed loses at most


@dataclass(frozen=True, slots=True)
class LayerStates:
    """The states of one model: which layers, and how they are pooled, batched and stored."""

    model: str
    seed: int | None
    checkpoint: str
    layers: Sequence[int]
    pooling: str
    batch: int
    dtype: str
    splits: Sequence[str]

    def path(self, folder: Path, layer: int) -> Path:
        """Where a layer's matrix lies."""
        parts = [f"{self.model.replace('/', '_')}.layer-{layer:02d}", self.seed, self.checkpoint]
        return folder / ("-".join(str(part) for part in parts if part is not None) + ".npy")


def write_layers(
    folder: Path,
    reader: StateReader,
    prompts: Sequence[ReadContext],
    items: Sequence[str],
    wanted: LayerStates,
    tell: Callable[[int], object],
) -> int:
    """Write what is not there yet; how many matrices were. `tell` counts contexts."""
    key = _states_key(reader.facts(), prompts, items, wanted)
    missing = [layer for layer in wanted.layers if not _is_done(wanted.path(folder, layer), key)]
    if not missing:
        tell(len(items))
        return len(wanted.layers)
    pieces = wanted.path(folder, 0).with_suffix(".pieces")
    now = pieces / content_key(key, missing)
    with lock_journal(pieces / "lock"):
        for stale in (
            piece_folder for piece_folder in pieces.iterdir() if piece_folder.is_dir() and piece_folder != now
        ):
            shutil.rmtree(stale)
        if wanted.batch > 1:
            reader.check_padding(prompts, wanted.pooling)
        work = replace(wanted, layers=missing)
        parts = [
            _write_piece(now / f"{start:07d}.npz", reader, prompts[start : start + PIECE], work, tell)
            for start in range(0, len(items), PIECE)
        ]
        for layer in missing:
            _write_layer(wanted.path(folder, layer), parts, layer, reader, items, work, key)
        shutil.rmtree(pieces)
    return len(wanted.layers) - len(missing)


def _states_key(
    facts: dict[str, str], prompts: Sequence[ReadContext], items: Sequence[str], wanted: LayerStates
) -> str:
    """A name for all that the states of a layer follow from; padding changes nothing, so the batch is not in it."""
    texts = [[item, prompt.tokens] for item, prompt in zip(items, prompts, strict=True)]
    how = [wanted.model, wanted.seed, wanted.checkpoint, wanted.pooling, wanted.dtype, list(wanted.splits)]
    return content_key(json.dumps([facts, texts, how], sort_keys=True))


def _is_done(path: Path, key: str) -> bool:
    sidecar = path.with_suffix(".json")
    return path.exists() and sidecar.exists() and read_json(sidecar).get("key") == key


def _write_piece(
    path: Path, reader: StateReader, prompts: Sequence[ReadContext], wanted: LayerStates, tell: Callable[[int], object]
) -> Path:
    """The states of some contexts, of all wanted layers, in a file that is whole or not there."""
    if not path.exists():
        matrices = reader.pooled(prompts, wanted.layers, wanted.pooling, wanted.batch)
        with atomic(path, "wb") as handle:
            layers: dict[str, Any] = {str(n): matrix for n, matrix in zip(wanted.layers, matrices, strict=True)}
            np.savez(handle, **{name: matrix.astype(wanted.dtype) for name, matrix in layers.items()})
    tell(len(prompts))
    return path


def _write_layer(
    path: Path,
    parts: Sequence[Path],
    layer: int,
    reader: StateReader,
    items: Sequence[str],
    wanted: LayerStates,
    key: str,
) -> None:
    clear_halves(path)
    width = 0
    with atomic(path, "wb") as handle:
        for part in parts:
            with np.load(part) as piece:
                block = piece[str(layer)]
            if not width:
                width = block.shape[1]
                header = {"descr": block.dtype.str, "fortran_order": False, "shape": (len(items), width)}
                np.lib.format.write_array_header_1_0(handle, header)
            handle.write(block.tobytes())
    facts, threads = reader.facts(), torch.get_num_threads()
    recipe = signature(
        model=wanted.model,
        seed=wanted.seed,
        checkpoint=wanted.checkpoint,
        layer=f"{layer}/{reader.depth}",
        pooling=wanted.pooling,
        template=facts["template"],
        precision=facts["precision"],
        splits=list(wanted.splits),
        states=len(items),
        threads=threads,
        weights=facts["weights"],
    )
    details = {"layer": layer, "layers": reader.depth + 1, "splits": list(wanted.splits), "key": key}
    write_json(
        path.with_suffix(".json"),
        as_json(
            States(
                wanted.model,
                wanted.seed,
                wanted.checkpoint,
                list(items),
                wanted.pooling,
                width,
                wanted.dtype,
                threads,
                facts["weights"],
                recipe,
                details,
            )
        ),
    )
