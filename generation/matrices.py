"""Which matrices of states a study's own checkpoints call for, and how one of them is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seedvote.dialogue import jobs
from seedvote.dialogue.conditions import condition_folders
from seedvote.dialogue.files import clear_halves, digest, read_json
from seedvote.generation.checkpoints import TrainedModel, load_model, pruned_hashes, weights_hash
from seedvote.generation.devices import pick_device, threads
from seedvote.generation.encoding import Form, write_states, write_states_again
from seedvote.generation.erasing import FOLDERS
from seedvote.generation.numbering import Numbered, examples_hash
from seedvote.generation.question_rows import QUESTION_STATES
from seedvote.generation.vocabulary import Vocabulary

STATES_FOLDERS = ("states", QUESTION_STATES, *FOLDERS.values())


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


def list_matrices(folder: Path, models: list[TrainedModel], checkpoints: list[str], encoding: Encoding) -> list[Matrix]:
    """One for every model and checkpoint."""
    same = examples_hash(encoding.contexts), encoding.splits, encoding.form, encoding.vocabulary.hash, jobs.JOB_THREADS
    matrices = []
    for trained, checkpoint in ((trained, checkpoint) for trained in models for checkpoint in checkpoints):
        weights = weights_hash(trained, checkpoint)
        path, key = folder / f"{trained.folder.name}-{checkpoint}.npy", jobs.content_key(weights, *same)
        matrices.append(Matrix(trained, checkpoint, weights, path, key))
    return matrices


def encode_matrix(encoding: Encoding, matrix: Matrix) -> None:
    """Write the states of one checkpoint; a job for any process."""
    trained, device = matrix.trained, pick_device(encoding.device)
    model = load_model(trained, matrix.checkpoint, encoding.vocabulary).to(device)
    clear_halves(matrix.path)
    with threads(jobs.JOB_THREADS):
        write_states(
            matrix.path,
            model,
            encoding.contexts,
            encoding.form,
            name=trained.model,
            seed=trained.seed,
            checkpoint=matrix.checkpoint,
            weights=matrix.weights,
            key=matrix.key,
            splits=encoding.splits,
            device=device,
        )


def to_encode(every: Sequence[Matrix]) -> tuple[list[Matrix], list[tuple[Matrix, Matrix]]]:
    """Of one model's checkpoints with the same weights, one to be encoded, and the others as pairs (it, other).

    What is done is in neither. `last`, for one, has the weights of the last epoch, and every `best_...` those of some.
    """
    groups: dict[tuple[Path, str], list[Matrix]] = {}
    for matrix in every:
        groups.setdefault((matrix.trained.folder, matrix.key), []).append(matrix)
    todo, again = [], []
    for group in groups.values():
        done = [matrix for matrix in group if matrix.done]
        first, twins = (done or group)[0], [matrix for matrix in group if matrix not in done]
        todo += [] if done else [first]
        again += [(first, twin) for twin in twins if twin is not first]
    return todo, again


def encode_again(first: Matrix, twin: Matrix) -> None:
    """File the states of `first` under the name of `other`, whose weights are the same."""
    clear_halves(twin.path)
    write_states_again(first.path, twin.path, twin.checkpoint)


def remove_stale(study: Path, trained: TrainedModel) -> list[Path]:
    """Remove the states of checkpoints that have other weights by now, or none; which they were.

    Another number of epochs, or another encoder that picks, gives a checkpoint's name to other weights.
    """
    removed = []
    for folder in (place / name for place in (study, *condition_folders(study)) for name in STATES_FOLDERS):
        for path in sorted(folder.glob(f"{trained.folder.name}-*.json")):
            sidecar, checkpoint = read_json(path), path.stem.removeprefix(f"{trained.folder.name}-")
            weights = trained.folder / f"{checkpoint}.safetensors"
            ours = "weights" in sidecar and sidecar.get("checkpoint") == checkpoint  # not a user's own array
            now = digest(weights) if weights.exists() else pruned_hashes(trained.folder).get(checkpoint)
            if ours and now != sidecar["weights"]:
                path.unlink()  # first: where a sidecar is, the matrix is whole
                path.with_suffix(".npy").unlink(missing_ok=True)
                removed.append(path.with_suffix(".npy"))
    return removed
