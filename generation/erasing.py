"""What a decoder sees of a context, and the same model after something was erased from it.

A decoder sees two things: the state that it starts from (h and c of every layer, one vector a context) and, if it
attends, the memory (one vector a position). Erasing what a probe read from one vector would leave all others as they
were, so an eraser has a linear map for each of the two, and that of the memory is applied to every position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
import torch
from torch import Tensor, nn

from seedvote.dialogue.errors import InputError
from seedvote.generation.batches import Contexts, stack_contexts
from seedvote.generation.models.interface import DecoderState, DialogueModel, Encoded

FOLDERS = {"decoder": "decoder_states"}  # pooling -> the folder of a study in which it does not meet other states
PARTS = ("mean", "read", "write", "flat")
PLACES = {"last": (1, 1), "third": (1, 3), "two_thirds": (2, 3)}  # of a context: how far into it single positions are


def seen_by_decoder(model: DialogueModel, encoded: Encoded) -> dict[str, Tensor]:
    """All that the decoder sees, as vectors of a context: `state`; the memory's `mean`, and single positions of it."""
    if not model.is_erasable:
        raise InputError(
            "What a pretrained model's decoder sees is no vector: --pooling decoder and `erased` are for the five."
        )
    views = {}
    if encoded.state:
        views["state"] = torch.cat([part.flatten(1) for part in encoded.state], 1)
    if model.attends:
        real = encoded.mask[:, :, None].to(encoded.memory.dtype)
        views["mean"] = (encoded.memory * real).sum(1) / real.sum(1)
        last, rows = encoded.mask.sum(1) - 1, torch.arange(len(encoded.mask), device=encoded.mask.device)
        views |= {name: encoded.memory[rows, last * part // parts] for name, (part, parts) in PLACES.items()}
    return views


@torch.inference_mode()
def view_widths(model: DialogueModel, context: Sequence[int], device: torch.device) -> dict[str, int]:
    """How wide each of these vectors is."""
    encoded = model.encode(stack_contexts([context], device))
    return {name: part.shape[1] for name, part in seen_by_decoder(model, encoded).items()}


class LinearEraser(nn.Module):
    """What `read` finds in a vector, and then the directions that are `flat`, are set to what they are on average.

    In double precision, whatever that of the model: `read` multiplies what hardly varies by up to a million.
    """

    def __init__(self, mean: Tensor, reading: Tensor, writing: Tensor, flat: Tensor) -> None:
        super().__init__()
        # No buffers: those would follow the model to single precision.
        self.mean, self.read, self.write, self.flat = (part.double() for part in (mean, reading, writing, flat))

    def forward(self, x: Tensor) -> Tensor:
        """Vectors (... x width)."""
        mean, reading, writing, flat = (part.to(x.device) for part in (self.mean, self.read, self.write, self.flat))
        vectors = x.double()
        vectors = vectors - (vectors - mean) @ reading.T @ writing.T
        return (vectors - (vectors - mean) @ flat @ flat.T).to(x.dtype)


class ErasedModel(DialogueModel):
    """A model whose decoder sees erased states; it trains nothing and shares all weights with the one inside."""

    def __init__(self, inside: DialogueModel, erasers: Mapping[str, LinearEraser]) -> None:
        nn.Module.__init__(self)  # no output layer of its own
        self.inside, self.output = inside, inside.output
        self.pooling, self.attends = inside.pooling, inside.attends
        self.erasers = nn.ModuleDict(dict(erasers))

    def encode(self, contexts: Contexts) -> Encoded:
        """Read, then erase; the context vector stays as it was read."""
        encoded = self.inside.encode(contexts)
        state, memory = encoded.state, encoded.memory
        if "state" in self.erasers:
            flat = self.erasers["state"](torch.cat([part.flatten(1) for part in state], 1))
            pieces = flat.split([part[0].numel() for part in state], 1)
            state = tuple(piece.view_as(part) for piece, part in zip(pieces, state, strict=True))
        if "memory" in self.erasers:
            memory = self.erasers["memory"](memory)
        return replace(encoded, state=state, memory=memory)

    def decode_targets(self, encoded: Encoded, inputs: Tensor) -> Tensor:
        """As the model inside."""
        return self.inside.decode_targets(encoded, inputs)

    def start_state(self, encoded: Encoded) -> DecoderState:
        """As the model inside."""
        return self.inside.start_state(encoded)

    def decode_step(self, encoded: Encoded, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        """As the model inside."""
        return self.inside.decode_step(encoded, state, tokens)


def read_eraser(path: Path) -> dict[str, LinearEraser]:
    """The maps of a file that `probes erase` wrote: `state` and `memory`, one or both."""
    try:
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
            sites = sorted({name.partition(".")[0] for name in file.files})
            parts = {site: [file[f"{site}.{part}"] for part in PARTS] for site in sites}
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise InputError(f"{path} is not a whole eraser ({error}). Make it again: python -m probes erase.") from error
    return {site: LinearEraser(*(torch.from_numpy(part) for part in arrays)) for site, arrays in parts.items()}


def with_eraser(model: DialogueModel, erasers: Mapping[str, LinearEraser], name: str) -> ErasedModel:
    """The model behind these maps, which must fit all that its decoder sees."""
    widths = view_widths(model, [1], next(model.parameters()).device)
    needed = {"state": widths.get("state"), "memory": widths.get("mean")}
    wanted = {site: width for site, width in needed.items() if width is not None}
    erased = {site: len(eraser.mean) for site, eraser in erasers.items()}
    if erased != wanted:
        raise InputError(f"{name} is for vectors of {erased}; this model's decoder sees {wanted}. Make erasers again.")
    return ErasedModel(model, erasers)
