"""Which matrices of states a study's own checkpoints call for, and how one of them is made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dialogue import jobs
from dialogue.files import clear_halves, read_json
from generation.checkpoints import TrainedModel, load_model, weights_hash
from generation.devices import pick_device, threads
from generation.encoding import Form, write_states
from generation.numbering import Numbered, examples_hash
from generation.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class Matrix:
    """One checkpoint's states: where they go, and the hash of all they follow from."""

    trained: TrainedModel
    checkpoint: str
    weights: str
    path: Path
    key: str

    @property
    def done(self) -> bool:
        """Whether states with this very key are there."""
        sidecar = self.path.with_suffix(".json")
        return self.path.exists() and sidecar.exists() and read_json(sidecar).get("key") == self.key


@dataclass(frozen=True, slots=True)
class Encoding:
    """What is the same for every checkpoint."""

    contexts: list[Numbered]
    splits: list[str]
    form: Form
    vocabulary: Vocabulary
    device: str


def matrices(folder: Path, models: list[TrainedModel], checkpoints: list[str], encoding: Encoding) -> list[Matrix]:
    """One for every model and checkpoint."""
    same = examples_hash(encoding.contexts), encoding.splits, encoding.form, encoding.vocabulary.hash, jobs.JOB_THREADS
    found = []
    for trained, checkpoint in ((trained, checkpoint) for trained in models for checkpoint in checkpoints):
        weights = weights_hash(trained, checkpoint)
        path, key = folder / f"{trained.folder.name}-{checkpoint}.npy", jobs.content_key(weights, *same)
        found.append(Matrix(trained, checkpoint, weights, path, key))
    return found


def encode_matrix(encoding: Encoding, matrix: Matrix) -> None:
    """Write the states of one checkpoint; a job for any process."""
    trained, device = matrix.trained, pick_device(encoding.device)
    model = load_model(trained, matrix.checkpoint, encoding.vocabulary).to(device)
    clear_halves(matrix.path)
    with threads(jobs.JOB_THREADS):
        write_states(
            matrix.path, model, encoding.contexts, encoding.form, name=trained.model, seed=trained.seed,
            checkpoint=matrix.checkpoint, weights=matrix.weights, key=matrix.key, splits=encoding.splits, device=device,
        )  # fmt: skip
