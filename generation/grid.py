"""The models that `generation train` makes, as jobs: what each follows from, whether it is done, and how it is made."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from seedvote.dialogue import jobs
from seedvote.dialogue.errors import InputError
from seedvote.generation.checkpoints import TrainedModel, prune_epochs
from seedvote.generation.devices import pick_device, threads
from seedvote.generation.matrices import remove_stale
from seedvote.generation.numbering import Data
from seedvote.generation.selecting import Encoder, forget_selection, is_selected, select_epoch
from seedvote.generation.training import Settings, epochs_done, is_trained, read_log, recipe_of, train


@dataclass(frozen=True)
class Grid:
    """What is the same for every model of a study; `encoder` picks an epoch too, if there is one.

    `keep` says which epochs keep weights of their own (`checkpoints.prune_epochs`).
    """

    study: Path
    data: Data
    device: str
    encoder: Encoder | None
    keep: int | None = None

    def __post_init__(self) -> None:
        if self.encoder and not self.data.valid:
            raise InputError("--encoder scores validation contexts, and there are none: give --valid a number above 0.")

    def folder(self, settings: Settings) -> Path:
        """Where a model lies."""
        return self.study / "models" / f"{settings.model}-{settings.seed}"

    def done(self, settings: Settings) -> bool:
        """Whether this very model is trained to the end, and its epoch picked if that is asked for."""
        folder = self.folder(settings)
        picked = self.encoder is None or is_selected(folder, self.encoder, settings.epochs)
        return picked and is_trained(folder, settings, self.data)

    def prune(self, settings: Settings) -> int:
        """Remove the epochs that are not to be kept; how many went."""
        return prune_epochs(self.folder(settings), self.keep)

    def job(self, settings: Settings, row: int) -> jobs.Job:
        """One model, and the row of its progress bar."""
        picked = [self.encoder.key] if self.encoder else []
        key = jobs.content_key(settings.epochs, *recipe_of(settings, self.data).items(), *picked)
        return jobs.Job(f"{settings.model}-{settings.seed}", key, (settings, row))


def train_one(grid: Grid, piece: tuple[Settings, int]) -> str:
    """Train a model to the end, or go on with it, and pick its epoch; one line of how it ended."""
    tqdm.set_lock(threading.RLock())  # its own is a semaphore, which a process that is killed leaves behind
    settings, row = piece
    folder, device = grid.folder(settings), pick_device(grid.device)
    for half in folder.glob(".*.tmp"):  # of an attempt that was killed while it wrote
        half.unlink(missing_ok=True)
    if epochs_done(folder) < settings.epochs:
        forget_selection(folder)
    # An encoder reads every epoch, so none goes before it has picked one.
    train(folder, settings, grid.data, device, bar_row=row, keep=None if grid.encoder else grid.keep)
    last = read_log(folder)[-1]
    results = [f"{name} {last[name]:.3f}" for name in ("loss", "valid_loss", "joint", "bleu2") if name in last]
    if grid.encoder:
        with threads(settings.threads):
            best = select_epoch(folder, settings, grid.data, device, grid.encoder)
        results.append(f"{grid.encoder.name} picks epoch {best}")
        grid.prune(settings)
    line = f"{folder.name}: {last['epoch']} epochs, {', '.join(results)}"
    if removed := remove_stale(grid.study, TrainedModel(folder, settings.model, settings.seed)):
        names = ", ".join(str(path.relative_to(grid.study)) for path in removed)
        line += f"\n{folder.name}: states of earlier weights removed (make them anew by generation encode): {names}"
    return line
