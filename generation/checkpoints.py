"""Weights on disk: safetensors files that are whole or absent, in STUDY/models/<model>-<seed>/.

`untrained`, `epoch-N`, `last` and `best_...` hold weights; `resume` holds weights and Adam's moments, so that training
goes on after a crash as if nothing had happened; config.json says how the model is built and trained.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import load_file, save
from torch import Tensor

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, digest, read_json, replaceable, temporary_name, write_json
from seedvote.generation.models.architectures import build_model
from seedvote.generation.models.interface import DialogueModel
from seedvote.generation.vocabulary import Vocabulary

PRUNED = "pruned.json"


@dataclass(frozen=True, slots=True)
class TrainedModel:
    """A folder of STUDY/models."""

    folder: Path
    model: str
    seed: int

    @property
    def speaks(self) -> str:
        """What it was trained to say, as config.json has it."""
        return str(read_json(self.folder / "config.json").get("speak", "reply"))

    @property
    def architecture(self) -> str:
        """Its name without what varies with its seed."""
        return str(read_json(self.folder / "config.json").get("model", self.model))

    @property
    def named_seeds(self) -> tuple[int, int, int]:
        """The seeds of its first weights, of the order of its data and of its dropout."""
        vary = read_json(self.folder / "config.json").get("vary", "all")
        init, order, dropout = (self.seed if vary in ("all", what) else 0 for what in ("init", "order", "dropout"))
        return init, order, dropout

    def weights(self, checkpoint: str) -> Path:
        """The weights file of a checkpoint that is there."""
        path = self.folder / f"{checkpoint}.safetensors"
        if not path.exists():
            names = sorted(
                weights_file.stem for weights_file in self.folder.glob("*.safetensors") if weights_file.stem != "resume"
            )
            pruned = " Its weights were removed (--keep-epochs)." if checkpoint in pruned_hashes(self.folder) else ""
            has = ", ".join(names) or "none"
            raise InputError(f"{self.folder} has no checkpoint {checkpoint!r}.{pruned} It has: {has}.")
        return path


def save_weights(path: Path, tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> None:
    """Write tensors and text notes as one safetensors file, whole or not at all."""
    try:
        with atomic(path, "wb") as handle:
            # safetensors refuses tensors that are not contiguous in memory, as views may be.
            handle.write(save({name: part.detach().cpu().contiguous() for name, part in tensors.items()}, dict(notes)))
    except OSError as error:
        raise InputError(
            f"{path} could not be written ({error.strerror}). The last good checkpoint is kept; "
            "make room and run the same command again to go on."
        ) from error


def name_again(source: Path, target: Path) -> None:
    """Give a weights file a second name without a second copy."""
    temporary = temporary_name(target)
    temporary.unlink(missing_ok=True)
    # A hard link: unlike a symbolic one it outlives the epoch's own file. Renamed, because os.link replaces nothing.
    os.link(source, temporary)
    temporary.replace(replaceable(target))
    temporary.unlink(missing_ok=True)  # a rename onto another name of the same file does nothing


def epoch_of(path: Path) -> int | None:
    """The epoch of a weights file, None where there is no such file."""
    return int(read_notes(path)["epoch"]) if path.exists() else None


def prune_epochs(folder: Path, every: int | None) -> int:
    """Remove the weights of single epochs but each `every`-th (0: all of them; None: none); how many went.

    `untrained`, `last` and the best ones have names of their own and stay, whichever epoch they are. The epoch that an
    encoder picked stays under its number too, since training further forgets the pick.
    """
    if every is None:
        return 0
    picked = epoch_of(folder / "best_encoder.safetensors")
    paths = [
        path
        for path in sorted(folder.glob("epoch-*.safetensors"))
        if (epoch := int(path.stem.removeprefix("epoch-"))) != picked and (every == 0 or epoch % every)
    ]
    if paths:  # first: states of weights that are gone differ from stale ones only by this hash
        write_json(folder / PRUNED, pruned_hashes(folder) | {path.stem: digest(path) for path in paths})
    for path in paths:
        path.unlink(missing_ok=True)
    return len(paths)


def pruned_hashes(folder: Path) -> dict[str, str]:
    """Checkpoint -> SHA-256 of the weights that it had when they were removed."""
    return read_json(folder / PRUNED) if (folder / PRUNED).exists() else {}


def read_weights(path: Path) -> dict[str, Tensor]:
    """Tensors of a safetensors file."""
    try:
        return load_file(path)
    except (OSError, safetensors.SafetensorError) as error:
        raise InputError(
            f"{path} does not hold complete weights ({error}). Remove its folder and train again."
        ) from error


def read_notes(path: Path) -> dict[str, str]:
    """The text notes of a safetensors file."""
    with safetensors.safe_open(path, framework="pt") as handle:
        return handle.metadata() or {}


def find_trained(study: str | Path) -> list[TrainedModel]:
    """All model folders of a study, in order of name and seed."""
    models = []
    for config in Path(study, "models").glob("*/config.json"):
        model, _, seed = config.parent.name.rpartition("-")
        models.append(TrainedModel(config.parent, model, int(seed)))
    if not models:
        raise InputError(f"{study}/models holds no trained model. Train some: python -m generation train {study}")
    return sorted(models, key=lambda trained: (trained.model, trained.seed))


def named_checkpoints(models: Sequence[TrainedModel], names: str) -> list[str]:
    """The checkpoints of a comma-separated list; `all`: whatever every one of these models has."""
    if names != "all":
        return names.split(",")
    by_model = [{path.stem for path in trained.folder.glob("*.safetensors")} - {"resume"} for trained in models]
    return sorted(set.intersection(*by_model))


def kind_of(models: Sequence[TrainedModel]) -> str:
    """The one thing that all these models speak."""
    kinds = {trained.speaks: trained.folder for trained in models}
    if len(kinds) > 1:
        speakers = ", ".join(f"{folder} speaks {kind}" for kind, folder in sorted(kinds.items()))
        raise InputError(f"{speakers}. A study holds models of one kind: put the others into another study folder.")
    return next(iter(kinds))


def find_repliers(study: str | Path) -> list[TrainedModel]:
    """All models of a study, which must speak replies: an agent's words are no answers to be weighed."""
    models = find_trained(study)
    if (kind := kind_of(models)) != "reply":
        raise InputError(f"The models of {study} speak {kind}, no replies. Use a study trained without --speak.")
    return models


def load_model(trained: TrainedModel, checkpoint: str, vocabulary: Vocabulary) -> DialogueModel:
    """A model with the weights of a checkpoint, ready to answer."""
    path, config = trained.weights(checkpoint), read_json(trained.folder / "config.json")
    check_vocabulary(config, vocabulary, trained.folder)
    with torch.random.fork_rng(devices=[]):
        model = build_any(config["model"], len(vocabulary), config["sizes"])
    model.load_state_dict(read_weights(path))
    return model.eval()


def build_any(model: str, words: int, sizes: dict[str, Any]) -> DialogueModel:
    """One of the five with fresh weights, or a pretrained model, from torch's global generator: seed it first."""
    if "base" not in sizes:
        return build_model(model, words, sizes)
    # Here: the library behind it takes seconds to load, and only such models need it.
    from seedvote.generation.pretrained import PretrainedModel

    return PretrainedModel(words, sizes)


def check_vocabulary(config: Mapping[str, Any], vocabulary: Vocabulary, folder: Path) -> None:
    """A model speaks only the vocabulary that it was trained with."""
    if config["vocabulary"] != vocabulary.hash:
        raise InputError(
            f"{folder} was trained with another vocabulary.json. Restore that file, or remove the folder and train."
        )


def weights_hash(trained: TrainedModel, checkpoint: str) -> str:
    """SHA-256 of a checkpoint's weights."""
    return digest(trained.weights(checkpoint))
