"""Picks the epoch by an encoder from elsewhere: `best_encoder`, next to the checkpoints that training names itself.

It reads epochs that are saved and changes no weights, so it may be asked for later, or with another encoder. Replies
to the validation contexts are those that training scored (greedy); the score is the cosine of the encoder's vectors of
reply and reference. What was scored stands in encoder.json, and only what is missing there is scored.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import torch

from seedvote.dialogue.files import digest, read_json, write_json
from seedvote.generation import checkpoints
from seedvote.generation.metrics.embedding import Yardstick, cosines, local_encoder
from seedvote.generation.numbering import Data
from seedvote.generation.training import Settings, epochs_done, validation_texts

BY_ENCODER = "best_encoder"
SCORED = "encoder.json"


@dataclass(frozen=True, slots=True)
class Encoder:
    """A local folder of a Hugging Face encoder, and a hash of what stands in it."""

    folder: Path
    key: str

    @property
    def name(self) -> str:
        """Its name in messages."""
        return self.folder.resolve().name


def encoder_of(folder: Path) -> Encoder:
    """The encoder in this folder; one that cannot be read is refused before anything is trained."""
    local_encoder(folder)
    hasher = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        hasher.update(f"{path.relative_to(folder).as_posix()} {digest(path)}\n".encode())
    return Encoder(folder, hasher.hexdigest()[:12])


def is_selected(folder: Path, encoder: Encoder, epochs: int) -> bool:
    """Whether every epoch was scored by this very encoder, and the best one named."""
    is_named = (folder / f"{BY_ENCODER}.safetensors").exists()
    return is_named and set(range(1, max(epochs, epochs_done(folder)) + 1)) <= set(_read_scores(folder, encoder))


def forget_selection(folder: Path) -> None:
    """The best of fewer epochs is not the best of all: to be called before a model is trained further."""
    (folder / f"{BY_ENCODER}.safetensors").unlink(missing_ok=True)


def select_epoch(folder: Path, settings: Settings, data: Data, device: torch.device, encoder: Encoder) -> int:
    """Score what is not scored yet, name the best epoch (the first of equals), and say which it is."""
    scores, embed = _read_scores(folder, encoder), None
    for epoch in [epoch for epoch in range(1, epochs_done(folder) + 1) if epoch not in scores]:
        embed = embed or local_encoder(encoder.folder)
        scores[epoch] = _score_epoch(folder, f"epoch-{epoch}", settings, data, device, embed)
        record = {"encoder": encoder.name, "key": encoder.key, "scores": {str(n): scores[n] for n in sorted(scores)}}
        write_json(folder / SCORED, record)
    best = max(scores, key=lambda epoch: (scores[epoch], -epoch))
    if checkpoints.epoch_of(chosen := folder / f"{BY_ENCODER}.safetensors") != best:
        checkpoints.name_again(folder / f"epoch-{best}.safetensors", chosen)
    return best


def _score_epoch(
    folder: Path, checkpoint: str, settings: Settings, data: Data, device: torch.device, embed: Yardstick
) -> float:
    """Mean cosine of reply and reference over the validation contexts, 0-100."""
    trained = checkpoints.TrainedModel(folder, settings.model, settings.seed)
    model = checkpoints.load_model(trained, checkpoint, data.vocabulary).to(device)
    _, texts = validation_texts(model, data, device)
    ours, theirs = (embed([" ".join(pair[side]) for pair in texts]) for side in (0, 1))
    return float(cosines(ours, theirs).mean())


def _read_scores(folder: Path, encoder: Encoder) -> dict[int, float]:
    path = folder / SCORED
    record = read_json(path) if path.exists() else {}
    return {int(n): float(value) for n, value in record["scores"].items()} if record.get("key") == encoder.key else {}
