"""Encoder states of contexts: one row per item in a `.npy` file that probes can map, with a JSON sidecar.

The rows stand in the order given, whatever the batches; where the sidecar is, the matrix is whole. Memory does not grow
with the number of contexts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import pad

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import as_json, atomic, from_json, read_json, write_json
from seedvote.dialogue.records import States
from seedvote.dialogue.signature import signature
from seedvote.generation.batches import Contexts, stack_contexts
from seedvote.generation.checkpoints import name_again
from seedvote.generation.erasing import seen_by_decoder, view_widths
from seedvote.generation.models.interface import DialogueModel
from seedvote.generation.numbering import Numbered
from seedvote.generation.vocabulary import LONGEST_CONTEXT, PAD

WINDOW = 4096  # contexts that are sorted by length and written at a time: memory does not grow with their number


@dataclass(frozen=True, slots=True)
class Form:
    """Which numbers stand for a context.

    pooling: `own` (the architecture's: last state of recurrent models, mean over real tokens of the transformer),
    `mean` (of the top outputs, over real tokens), `padded` (as in the papers' code: padding up to 100 tokens is
    read like words), or `decoder` (all that the decoder sees: generation/erasing.py).
    layers: `top`, or `all` side by side from the lowest (own and padded only).
    """

    pooling: str = "own"
    layers: str = "top"
    dtype: str = "float32"


def write_states(
    path: Path,
    model: DialogueModel,
    examples: Sequence[Numbered],
    form: Form,
    *,
    name: str,
    seed: int,
    checkpoint: str,
    weights: str,
    key: str,
    splits: Sequence[str],
    device: torch.device,
) -> None:
    """Write `path` (.npy) and its sidecar; the sidecar comes last, so that where it is, the matrix is whole."""
    with atomic(path, "wb") as handle:
        width = _stream(handle, path.name, model, examples, form, device)
    pooling, views = pooling_name(model, form), {}
    if form.pooling == "decoder":
        views = {"views": view_widths(model, examples[0].context, device)}
    sidecar = States(
        name,
        seed,
        checkpoint,
        [e.item for e in examples],
        pooling,
        width,
        form.dtype,
        torch.get_num_threads(),
        weights,
        "",
        {"splits": list(splits), "key": key, **views},
    )
    write_json(path.with_suffix(".json"), as_json(replace(sidecar, signature=_recipe(sidecar))))


def write_states_again(source: Path, path: Path, checkpoint: str) -> None:
    """Give a matrix and its sidecar a second name: the same weights are known as another checkpoint, too."""
    sidecar_path = source.with_suffix(".json")
    sidecar = replace(from_json(States, read_json(sidecar_path), str(sidecar_path)), checkpoint=checkpoint)
    path.with_suffix(".json").unlink(missing_ok=True)  # where a sidecar is, the matrix is its own
    name_again(source, path)
    write_json(path.with_suffix(".json"), as_json(replace(sidecar, signature=_recipe(sidecar))))


def _recipe(sidecar: States) -> str:
    return signature(
        model=sidecar.model,
        seed=sidecar.seed,
        checkpoint=sidecar.checkpoint,
        pooling=sidecar.pooling,
        splits=sidecar.extra["splits"],
        states=len(sidecar.ids),
        threads=sidecar.threads,
        weights=sidecar.weights[:12],
    )


def pooling_name(model: DialogueModel, form: Form) -> str:
    """What the sidecar says: `last`, `mean`, `padded last`, `last of all layers`, ..."""
    if form.pooling in ("mean", "decoder") and form.layers == "all":
        raise InputError(
            f"--pooling {form.pooling} knows no single layers; with --layers all, use --pooling own or padded."
        )
    names = {"own": model.pooling, "mean": "mean", "padded": f"padded {model.pooling}", "decoder": "decoder"}
    pooling = names[form.pooling]
    return pooling if form.layers == "top" else f"{pooling} of all layers"


def _stream(
    handle: IO[bytes], name: str, model: DialogueModel, examples: Sequence[Numbered], form: Form, device: torch.device
) -> int:
    """Write a .npy file block by block; the width of a row."""
    width = 0
    for start in range(0, len(examples), WINDOW):
        contexts = [example.context for example in examples[start : start + WINDOW]]
        block = encode_block(model, contexts, form, device).astype(form.dtype)
        if not start:
            width = block.shape[1]
            # The header alone: np.save would need the whole matrix in memory.
            header = {"descr": block.dtype.str, "fortran_order": False, "shape": (len(examples), width)}
            np.lib.format.write_array_header_1_0(handle, header)
        handle.write(block.tobytes())
    if not width:
        raise InputError(f"There is no context to encode for {name}.")
    return width


def encode_block(
    model: DialogueModel, contexts: Sequence[Sequence[int]], form: Form, device: torch.device, batch_size: int = 128
) -> np.ndarray[tuple[int, ...], np.dtype[np.float32]]:
    """Context vectors (contexts x width), in the order given."""
    order = sorted(range(len(contexts)), key=lambda row: len(contexts[row]))
    parts = []
    with torch.inference_mode():
        for start in range(0, len(order), batch_size):
            batch = stack_contexts([contexts[row] for row in order[start : start + batch_size]], device)
            parts.append(_vectors(model, batch, form).float().cpu())
    vectors = torch.cat(parts).numpy()
    block = np.empty_like(vectors)
    block[order] = vectors
    return block


def _vectors(model: DialogueModel, batch: Contexts, form: Form) -> Tensor:
    if form.pooling == "padded":
        longest = max(LONGEST_CONTEXT, batch.tokens.shape[1])  # an agent's belief comes on top of its dialogue
        tokens = pad(batch.tokens, (0, longest - batch.tokens.shape[1]), value=PAD)
        batch = Contexts(tokens, torch.full_like(batch.lengths, longest))
    encoded = model.encode(batch)
    if form.pooling == "decoder":
        return torch.cat(list(seen_by_decoder(model, encoded).values()), 1)
    if form.pooling == "mean":
        real = encoded.mask[:, :, None]
        return (encoded.memory * real).sum(1) / real.sum(1)
    return encoded.vectors[:, -1] if form.layers == "top" else encoded.vectors.flatten(1)
