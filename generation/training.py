"""Training: one model, the epoch that an encoder picks, and the models of a study as jobs."""

from __future__ import annotations

import hashlib
import importlib
import itertools
import json
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from statistics import mean
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn
from tqdm import tqdm

from seedvote.dialogue import jobs
from seedvote.dialogue.adam import Adam
from seedvote.dialogue.devices import pick_device, use_determinism, use_threads
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import atomic, digest, read_json, write_json
from seedvote.dialogue.jobs import keep_freed_memory
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature
from seedvote.generation import checkpoints
from seedvote.generation.batches import Batch, plan_batches, stack_batch
from seedvote.generation.checkpoints import TrainedModel, build_any, prune_epochs
from seedvote.generation.encoding import remove_stale
from seedvote.generation.metrics.embedding import Yardstick, learned_words, local_encoder, row_cosines
from seedvote.generation.metrics.overlap import add_counts, bleu2, bleu_counts, f_measure, meteor_score, rouge_l_counts
from seedvote.generation.models.interface import DialogueModel, summed_cross_entropy
from seedvote.generation.numbering import Data, Numbered
from seedvote.generation.speaking.agent import Speaker, Spoken, joint_accuracy
from seedvote.generation.vocabulary import PAD

# Trains one architecture under one seed: teacher forcing, Adam, cross-entropy over real tokens, clipped gradients.
#
# The contract: the weights follow from (settings, data, seed, threads) to the bit on CPU, whatever ran before in the
# process and however often training was killed and started again. To that end every update draws from a generator
# seeded by (seed, epoch, number of the batch), the order of batches follows from (seed, epoch), and a checkpoint that
# is whole or absent holds weights and Adam's moments. Only this module seeds torch's global generator, and it puts it
# back.


@dataclass(frozen=True)
class Settings:
    """What determines the weights, with the data and the seed; `epochs` may grow later, where no schedule ends with it.

    When training stops (`epochs`, `patience`, `watched`) is no part of what determines the weights.
    """

    model: str
    seed: int
    sizes: dict[str, Any]
    epochs: int
    batch_size: int = 64
    learning_rate: float = 1e-3
    clip: float = 1.0
    threads: int = 1
    precision: str = "float32"  # of the products of an update; weights and Adam's moments are always float32
    deterministic: bool = False  # on CUDA: only algorithms that give the same bits again
    vary: str = "all"  # what follows from the seed; the rest follows from seed 0
    schedule: str = "constant"  # of the learning rate: after the warm-up it stays, or falls to 0 at the last update
    warmup: float = 0.0  # share of all updates in which the learning rate grows from 0
    accumulate: int = 1  # batches whose gradients make one update
    patience: int = 0  # epochs without a better `watched` after which training stops (0: never)
    watched: str = "valid_loss"

    @property
    def name(self) -> str:
        """What it is called in the study: its architecture or base, and what varies where that is not everything."""
        return self.model if self.vary == "all" else f"{self.model}.{self.vary}"

    def seed_of(self, what: str) -> int:
        """The seed of the first weights (`init`), of the order of the data or of dropout."""
        return self.seed if self.vary in ("all", what) else 0


# Of settings that a recipe names only where they differ.
DEFAULTS = {"deterministic": False, "vary": "all", "schedule": "constant", "warmup": 0.0, "accumulate": 1}
SCHEDULES = ("constant", "linear", "cosine")
LOWER_IS_BETTER = ("loss", "valid_loss")
VARIED = ("all", "init", "order", "dropout")


@dataclass
class _Progress:
    """Where training stands: `batch` updates of epoch `epoch` are done, with this summed loss over so many tokens."""

    epoch: int = 1
    batch: int = 0
    loss: float = 0.0
    tokens: int = 0
    updates: int = 0


# Checkpoint -> the measure on validation contexts (free-running) whose best epoch it is; the first of equals.
SELECTORS = {"best_bleu": "bleu2", "best_rouge": "rouge_l", "best_meteor": "meteor", "best_embedding": "embedding"}
SAVE_SECONDS = 300.0  # between two resume points inside a long epoch


# Called after each epoch with the model's folder and the line of its log.
Follower = Callable[[Path, dict[str, Any]], object]


def train_model(
    folder: Path,
    settings: Settings,
    data: Data,
    device: torch.device,
    *,
    bar_row: int = 0,
    keep: int | None = None,
    follow: Follower | None = None,
) -> None:
    """Train up to `settings.epochs`, going on from what the folder holds; `keep` as in `prune_epochs`."""
    _check_settings(folder, settings, data, device)
    if is_finished(folder, settings):
        return
    keep_freed_memory()
    # devices=[]: saving the generators of CUDA would start CUDA in every process.
    with torch.random.fork_rng(devices=[]), use_threads(settings.threads), use_determinism(settings.deterministic):
        run = _Run(folder, settings, data, device)
        run.start()
        name = f"{settings.name}-{settings.seed}"
        total = (settings.epochs - run.done.epoch + 1) * run.batches_an_epoch - run.done.batch
        with tqdm(total=total, desc=name, position=bar_row, leave=False, disable=None, unit="batch") as bar:
            while run.done.epoch <= settings.epochs and not is_finished(folder, settings):
                run.epoch(bar)
                checkpoints.prune_epochs(folder, keep)
                if follow:
                    follow(folder, read_log(folder)[-1])


def is_finished(folder: Path, settings: Settings) -> bool:
    """Whether all epochs are done, or so many without a better score that training stops."""
    done = epochs_done(folder)
    if done >= settings.epochs or not settings.patience or not done:
        return done >= settings.epochs
    log = [line for line in read_log(folder) if line["epoch"] <= done]
    if settings.watched not in log[-1]:
        known = ", ".join(name for name in log[-1] if name not in ("epoch", "seconds"))
        raise InputError(f"--stop-by is {settings.watched!r}, which training does not measure. Choose from {known}.")
    sign = -1 if settings.watched in LOWER_IS_BETTER else 1
    best = max(log, key=lambda line: (sign * line[settings.watched], -line["epoch"]))["epoch"]
    return bool(done - best >= settings.patience)


def epochs_done(folder: Path) -> int:
    """Epochs whose weights are `last`, 0 where there are none."""
    return checkpoints.epoch_of(folder / "last.safetensors") or 0


def recipe_of(settings: Settings, data: Data, device: str = "") -> dict[str, Any]:
    """What config.json holds: enough to rebuild the model and to see what it was trained on, and on which device.

    Without `device` it says what can be known before a job has one.
    """
    values = {**asdict(settings), "speak": data.speech.kind, "data": data.recipe, "vocabulary": data.vocabulary.hash}
    # More epochs continue from the same weights, so their number is no part of what determines them.
    for name in ("epochs", "patience", "watched"):
        del values[name]
    if settings.schedule != "constant" or settings.warmup:
        values["schedule"] = f"{settings.schedule} over {settings.epochs} epochs"
    sizes = ",".join(f"{name}={size}" for name, size in settings.sizes.items() if not isinstance(size, list))
    names = ("batch_size", "learning_rate", "clip", "threads", "precision", "speak", "data")
    parts = {name: values[name] for name in names}
    parts |= {name: values[name] for name, usual in DEFAULTS.items() if values[name] != usual}
    if device:
        values["device"] = parts["device"] = device
    return {"signature": signature(model=settings.model, seed=settings.seed, sizes=sizes, **parts), **values}


def is_trained(folder: Path, settings: Settings, data: Data) -> bool:
    """Whether the folder holds this very model, trained to the end."""
    path = folder / "config.json"
    same = path.exists() and not _recipe_changes(read_json(path), recipe_of(settings, data))
    return same and is_finished(folder, settings)


def _recipe_changes(theirs: dict[str, Any], ours: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    """What differs between two recipes, the version of this code included: name -> (theirs, ours)."""
    # An older folder does not say what was no choice, or was not written down.
    theirs = {"precision": "float32", "speak": "reply", "device": ours.get("device"), **DEFAULTS, **theirs}
    pairs = {name: (theirs.get(name), ours[name]) for name in ours if name != "signature"}
    pairs["version"] = (_recipe_version(theirs), _recipe_version(ours))
    return {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}


def _recipe_version(recipe: dict[str, Any]) -> str:
    return str(recipe.get("signature")).rpartition("|v:")[2]


def _check_settings(folder: Path, settings: Settings, data: Data, device: torch.device) -> None:
    """Write config.json, or check that the folder was begun with the same settings."""
    ours, path = recipe_of(settings, data, device.type), folder / "config.json"
    if not path.exists():
        return write_json(path, ours)
    for name, (theirs, wanted) in _recipe_changes(read_json(path), ours).items():
        if name == "version":
            raise InputError(
                f"{folder} was started with version {theirs} of Seedvote; this is {wanted}, whose weights "
                "differ in the last bits. Continue with that version, remove the folder to train again, or use another "
                "study."
            )
        raise InputError(
            f"{folder} was trained with {name} {theirs!r}, but {wanted!r} was asked for. "
            "Remove the folder to train again, or use another study."
        )
    return None


class _Run:
    """One training in progress: the model, its optimizer and where it stands."""

    def __init__(self, folder: Path, settings: Settings, data: Data, device: torch.device) -> None:
        self.folder, self.settings, self.data, self.device = folder, settings, data, device
        torch.manual_seed(child_seed(settings.seed_of("init"), "weights"))
        self.model = build_any(settings.model, len(data.vocabulary), settings.sizes).to(device)
        trained = [part for part in self.model.parameters() if part.requires_grad]
        self.optimizer = Adam(trained, settings.learning_rate, fused=True)
        self.done = _Progress()
        self.batches_an_epoch = len(self._plan_epoch(1))

    def _plan_epoch(self, epoch: int) -> list[list[int]]:
        return plan_batches(self.data.train, self.settings.batch_size, seed=self.settings.seed_of("order"), epoch=epoch)

    def start(self) -> None:
        """Write the untrained weights, or go on from the last resume point."""
        resume = self.folder / "resume.safetensors"
        if resume.exists():
            self._restore_resume(resume)
        elif not (path := self.folder / "untrained.safetensors").exists():
            checkpoints.save_weights(path, self.model.state_dict(), {"epoch": "0"})

    def epoch(self, bar: Any) -> None:
        """Run one epoch to its end (or from a resume point inside it), score it and save it."""
        plan, begun, saved = self._plan_epoch(self.done.epoch), time.monotonic(), time.monotonic()
        self.model.train()
        rows = ([self.data.train[row] for row in batch_rows] for batch_rows in plan[self.done.batch :])
        batches = make_ahead(lambda examples: stack_batch(examples, self.device), rows, self.device.type == "cuda")
        while group := list(itertools.islice(batches, self.settings.accumulate)):
            loss = self._update_weights(group)
            bar.update(len(group))
            bar.set_postfix(epoch=self.done.epoch, loss=f"{loss:.3f}", refresh=False)
            if time.monotonic() - saved > SAVE_SECONDS:
                self._save_resume()
                saved = time.monotonic()
        self._close_epoch(time.monotonic() - begun)

    def _update_weights(self, group: Sequence[Batch]) -> float:
        """One update by the mean loss over all tokens of these batches; that loss."""
        self.optimizer.forget_gradients()
        tokens, loss = sum(int((batch.targets != PAD).sum()) for batch in group), 0.0
        for number, batch in enumerate(group, self.done.batch):
            # At every batch, not once: after a restart dropout draws what it would have drawn.
            self._seed_draws(child_seed(self.settings.seed_of("dropout"), "update", self.done.epoch, number))
            with torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.precision == "bf16"):
                summed, _ = batch_loss(self.model, batch)
            torch.autograd.backward(summed / tokens)
            loss += float(summed.detach())
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip)
        number = self.done.batch + len(group)
        # Before the step: weights that are no numbers must never reach a checkpoint.
        if not math.isfinite(loss) or not math.isfinite(float(norm)):
            raise InputError(
                f"{self.folder}: the loss is no longer a number (epoch {self.done.epoch}, batch {number}). "
                "The last good checkpoint is kept. Train in a new study with a smaller --learning-rate or --clip."
            )
        self.optimizer.rate = self.settings.learning_rate * self._rate_share(self.done.updates)
        self.optimizer.step()
        self.done = _Progress(
            self.done.epoch, number, self.done.loss + loss, self.done.tokens + tokens, self.done.updates + 1
        )
        return loss / tokens

    def _seed_draws(self, seed: int) -> None:
        """Without CUDA torch.manual_seed notes its caller's whole stack for later, at every batch."""
        if self.device.type == "cpu":
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)

    def _rate_share(self, update: int) -> float:
        if self.settings.schedule == "constant" and not self.settings.warmup:
            return 1.0
        return rate_share(update, self._all_updates, self.settings.schedule, self.settings.warmup)

    @cached_property
    def _all_updates(self) -> int:
        batches = (len(self._plan_epoch(epoch)) for epoch in range(1, self.settings.epochs + 1))
        return sum(-(-number // self.settings.accumulate) for number in batches)

    def _close_epoch(self, seconds: float) -> None:
        """Weights, log and best selections first, the resume point after them, `last` at the very end."""
        epoch, done = self.done.epoch, self.done
        line = {
            "epoch": epoch,
            "loss": done.loss / done.tokens,
            **self._score_validation(),
            "seconds": round(seconds, 1),
        }
        path = self.folder / f"epoch-{epoch}.safetensors"
        checkpoints.save_weights(path, self.model.state_dict(), {"epoch": str(epoch)})
        # A crash between the log and the resume point scores an epoch twice; the later line holds.
        log = [*(old for old in read_log(self.folder) if old["epoch"] < epoch), line]
        with atomic(self.folder / "log.jsonl") as handle:
            handle.writelines(json.dumps(entry) + "\n" for entry in log)
        for name, measure in SELECTORS.items() if self.data.valid else ():
            best = max(log, key=lambda entry: (entry[measure], -entry["epoch"]))["epoch"]
            selection = self.folder / f"{name}.safetensors"
            if checkpoints.epoch_of(selection) != best:  # else its own file may be pruned
                checkpoints.name_again(self.folder / f"epoch-{best}.safetensors", selection)
        self.done = _Progress(epoch=epoch + 1, updates=done.updates)
        self._save_resume()
        checkpoints.name_again(path, self.folder / "last.safetensors")

    def _score_validation(self) -> dict[str, float]:
        valid, vocabulary = self.data.valid, self.data.vocabulary
        if not valid:
            return {}
        self.model.eval()
        loss = mean_loss(self.model, valid, self.settings.batch_size, self.device)
        # Greedy: with draws, the choice of the best epoch would have a noise of its own.
        answers, texts = validation_texts(self.model, self.data, self.device)
        embed = learned_words(self.model, vocabulary)
        ours, theirs = (embed([" ".join(pair[side]) for pair in texts]) for side in (0, 1))
        return {
            "valid_loss": loss,
            **({"joint": joint_accuracy(valid, answers)} if self.data.speech.kind == "task" else {}),
            # BLEU of summed counts, as papers report it; the others are means over contexts.
            "bleu2": bleu2(add_counts(bleu_counts(*pair) for pair in texts), smooth="exp"),
            "rouge_l": mean(f_measure(rouge_l_counts(*pair)) for pair in texts),
            "meteor": mean(meteor_score(*pair) for pair in texts),
            "embedding": float(row_cosines(ours, theirs).mean()),
        }

    def _save_resume(self) -> None:
        tensors = {f"weights.{name}": part for name, part in self.model.state_dict().items()}
        tensors |= self.optimizer.tensors()
        notes = {"progress": json.dumps(asdict(self.done))}
        checkpoints.save_weights(self.folder / "resume.safetensors", tensors, notes)

    def _restore_resume(self, path: Path) -> None:
        tensors = checkpoints.read_weights(path)
        self.done = _Progress(**json.loads(checkpoints.read_notes(path)["progress"]))
        weights = {name.removeprefix("weights."): part for name, part in tensors.items() if name.startswith("weights.")}
        self.model.load_state_dict(weights)
        self.optimizer.restore(tensors, self.done.updates)


P = TypeVar("P")
B = TypeVar("B")


def make_ahead(make: Callable[[P], B], parts: Iterable[P], ahead: bool) -> Iterator[B]:
    """Each made when it is asked for; `ahead`: by another thread, while a GPU is at work on the one before."""
    if not ahead:
        yield from map(make, parts)
        return
    with ThreadPoolExecutor(1) as pool:
        waiting: Future[B] | None = None
        for part in parts:
            following = pool.submit(make, part)
            if waiting is not None:
                yield waiting.result()
            waiting = following
        if waiting is not None:
            yield waiting.result()


def rate_share(update: int, updates: int, schedule: str, warmup: float) -> float:
    """The share of the learning rate at an update, counted from 0: a warm-up from 0, then constant, linear or cosine.

    >>> [rate_share(update, 10, "linear", 0.2) for update in (0, 1, 2, 6, 9)]
    [0.5, 1.0, 1.0, 0.5, 0.125]
    """
    warm = round(warmup * updates)
    if update < warm:
        return (update + 1) / warm
    left = (updates - update) / max(updates - warm, 1)
    return {"constant": 1.0, "linear": left, "cosine": (1 - math.cos(math.pi * left)) / 2}[schedule]


def batch_loss(model: DialogueModel, batch: Batch) -> tuple[Tensor, int]:
    """Summed cross-entropy of a batch under teacher forcing, and over how many real tokens."""
    real = batch.targets != PAD
    hidden = model.decode_targets(model.encode(batch.contexts), batch.inputs)[real]
    targets = batch.targets[real]
    return summed_cross_entropy(hidden, model.output.weight, model.output.bias, targets), len(targets)


def mean_loss(model: DialogueModel, examples: Sequence[Numbered], batch_size: int, device: torch.device) -> float:
    """Cross-entropy a token over examples, in nats."""
    total, tokens = 0.0, 0
    # By length, so that little of a batch is padding.
    order = sorted(examples, key=lambda e: (len(e.target), len(e.context)))
    with torch.no_grad():
        for start in range(0, len(order), batch_size):
            loss, count = batch_loss(model, stack_batch(order[start : start + batch_size], device))
            total, tokens = total + float(loss), tokens + count
    return total / tokens


def validation_texts(
    model: DialogueModel, data: Data, device: torch.device
) -> tuple[list[Spoken], list[tuple[list[str], list[str]]]]:
    """What a model answers to every validation context, greedily, and the words of each answer and its reference."""
    answers, spell = (
        Speaker(model, data.speech, data.vocabulary, device).answer_validation(data.valid),
        data.vocabulary.spell,
    )
    texts = [
        (spell(answer.tokens), spell(row.target[row.unscored[1] : -1]))
        for answer, row in zip(answers, data.valid, strict=True)
    ]
    return answers, texts


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The lines of log.jsonl, one an epoch."""
    path = folder / "log.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


# Picks the epoch by an encoder from elsewhere: `best_encoder`, next to the checkpoints that training names itself.
#
# It reads epochs that are saved and changes no weights, so it may be asked for later, or with another encoder. Replies
# to the validation contexts are those that training scored (greedy); the score is the cosine of the encoder's vectors
# of reply and reference. What was scored stands in encoder.json, and only what is missing there is scored.

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
    trained = checkpoints.TrainedModel(folder, settings.name, settings.seed)
    model = checkpoints.load_model(trained, checkpoint, data.vocabulary).to(device)
    _, texts = validation_texts(model, data, device)
    ours, theirs = (embed([" ".join(pair[side]) for pair in texts]) for side in (0, 1))
    return float(row_cosines(ours, theirs).mean())


def _read_scores(folder: Path, encoder: Encoder) -> dict[int, float]:
    path = folder / SCORED
    record = read_json(path) if path.exists() else {}
    return {int(n): float(value) for n, value in record["scores"].items()} if record.get("key") == encoder.key else {}


# The models that `generation train` makes, as jobs: what each follows from, whether it is done, and how it is made.


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
    callback: str = ""

    def __post_init__(self) -> None:
        follower_named(self.callback)
        if self.encoder and not self.data.valid:
            raise InputError("--encoder scores validation contexts, and there are none: give --valid a number above 0.")

    def folder(self, settings: Settings) -> Path:
        """Where a model lies."""
        return self.study / "models" / f"{settings.name}-{settings.seed}"

    def done(self, settings: Settings) -> bool:
        """Whether this very model is trained to the end, and its epoch picked if that is asked for."""
        folder = self.folder(settings)
        epochs = epochs_done(folder) if settings.patience else settings.epochs
        picked = self.encoder is None or is_selected(folder, self.encoder, epochs)
        return picked and is_trained(folder, settings, self.data)

    def prune(self, settings: Settings) -> int:
        """Remove the epochs that are not to be kept; how many went."""
        return prune_epochs(self.folder(settings), self.keep)

    def job(self, settings: Settings, row: int) -> jobs.Job:
        """One model, and the row of its progress bar."""
        picked = [self.encoder.key] if self.encoder else []
        key = jobs.content_key(settings.epochs, *recipe_of(settings, self.data).items(), *picked)
        return jobs.Job(f"{settings.name}-{settings.seed}", key, (settings, row))


def follower_named(name: str) -> Follower | None:
    """What is called after each epoch: `tensorboard`, or `module:function`; nothing where nothing is named."""
    if not name:
        return None
    if name == "tensorboard":
        return write_tensorboard
    module, _, function = name.partition(":")
    try:
        follower = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(f"--callback is {name!r}: {error}. Say tensorboard, or MODULE:FUNCTION.") from error
    return cast(Follower, follower)


def write_tensorboard(folder: Path, line: dict[str, Any]) -> None:
    """All numbers of an epoch, as TensorBoard shows them: tensorboard --logdir STUDY/models."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise InputError("--callback tensorboard needs that library. Type: pip install tensorboard") from error
    writer: Any = SummaryWriter(str(folder / "tensorboard"))  # untyped there
    for name, value in line.items():
        if name != "epoch":
            writer.add_scalar(name, value, line["epoch"])
    writer.close()


def train_one(grid: Grid, piece: tuple[Settings, int]) -> str:
    """Train a model to the end, or go on with it, and pick its epoch; one line of how it ended."""
    tqdm.set_lock(threading.RLock())  # its own is a semaphore, which a process that is killed leaves behind
    settings, row = piece
    folder, device = grid.folder(settings), pick_device(grid.device)
    for half in folder.glob(".*.tmp"):  # of an attempt that was killed while it wrote
        half.unlink(missing_ok=True)
    if not is_finished(folder, settings):
        forget_selection(folder)
    # An encoder reads every epoch, so none goes before it has picked one.
    keep, follow = None if grid.encoder else grid.keep, follower_named(grid.callback)
    train_model(folder, settings, grid.data, device, bar_row=row, keep=keep, follow=follow)
    last = read_log(folder)[-1]
    results = [f"{name} {last[name]:.3f}" for name in ("loss", "valid_loss", "joint", "bleu2") if name in last]
    if grid.encoder:
        with use_threads(settings.threads):
            best = select_epoch(folder, settings, grid.data, device, grid.encoder)
        results.append(f"{grid.encoder.name} picks epoch {best}")
        grid.prune(settings)
    line = f"{folder.name}: {last['epoch']} epochs, {', '.join(results)}"
    if removed := remove_stale(grid.study, TrainedModel(folder, settings.name, settings.seed)):
        names = ", ".join(str(path.relative_to(grid.study)) for path in removed)
        line += f"\n{folder.name}: states of earlier weights removed (make them anew by generation encode): {names}"
    return line
