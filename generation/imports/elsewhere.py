"""States of a model from elsewhere in a study: its own weights, or random ones of its architecture as the control."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.seeds import parse_seeds
from seedvote.generation.devices import pick_device
from seedvote.generation.imports.hidden_states import StateReader
from seedvote.generation.imports.layer_files import LayerStates, write_layers
from seedvote.generation.imports.loading import model_place, precision_named
from seedvote.generation.imports.prompting import describe_changes


@dataclass(frozen=True, slots=True)
class StatesRequest:
    """The model, and which states of it are asked for."""

    folder: str
    fetch: bool
    device: str
    precision: str
    batch: int
    layers: str
    pooling: str
    model: str | None
    seed: int | None
    checkpoint: str
    dtype: str
    splits: Sequence[str]


def random_seeds(text: str | None) -> list[int]:
    """The seeds of the control."""
    try:
        return parse_seeds(text) if text else []
    except ValueError as error:
        raise InputError(f"--random-init is {text!r}: {error}. It takes seeds, e.g. 0-2") from error


def encode_elsewhere(
    options: StatesRequest, contexts: Sequence[Example], folder: Path, random: int | None, tell: Callable[[int], object]
) -> list[str]:
    """Write the layers that are not there yet, and what to say of them; with `random`, of random weights."""
    place = model_place(options.folder, fetch=options.fetch)
    device, precision = pick_device(options.device), precision_named(options.precision)
    reader = StateReader(place, device=device, precision=precision, seed=random)
    layers, pooling = reader.layers(options.layers), reader.pooling(options.pooling)
    name = options.model or place.name
    seed, checkpoint = (options.seed, options.checkpoint) if random is None else (random, "untrained")
    wanted = LayerStates(name, seed, checkpoint, layers, pooling, options.batch, options.dtype, options.splits)
    prompts = reader.prompts(contexts)
    earlier = write_layers(folder, reader, prompts, [example.item for example in contexts], wanted, tell)
    every = len(layers) == reader.depth + 1
    which = f"each layer of 0-{reader.depth}" if every else f"layer {', '.join(map(str, layers))} of 0-{reader.depth}"
    sentence = (
        f"{folder}: {len(layers)} matrices of {len(contexts)} contexts ({name}, {checkpoint}, {which}, {pooling})"
    )
    remarks = [f"{earlier} of {len(layers)} matrices were already there."] if earlier else []
    return [sentence, *remarks, *(describe_changes(prompts) if random is None else [])]
