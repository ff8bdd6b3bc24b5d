"""The trials as jobs: each leaves one file with all its chances, and is done again only when its inputs change.

A file holds, for the replies of the test part (and of the part `choose`, whose dialogues were put aside), P(a person
wrote it) by every rater: `lstm seed k`, `length` and `bag`. Where several quarters are tested, one follows the other.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seedvote.dialogue.files import atomic, clear_halves
from seedvote.dialogue.jobs import Job, content_key
from seedvote.dialogue.seeds import child_seed
from seedvote.evaluators.detection.material import PARTS, DetectionMaterial
from seedvote.evaluators.detection.simple import Artefact, Gram, Predict, fit_bag, fit_length
from seedvote.evaluators.detection.trials import Showing, Trial

Floats = NDArray[np.float64]
SIMPLE = ("length", "bag")


@dataclass(frozen=True, slots=True)
class DetectionSettings:
    """What the discriminators follow from, beside the replies."""

    seeds: tuple[int, ...]
    lstm: bool
    seed: int  # of the split and the labels drawn by lot
    folds: int  # quarters of the dialogues that are tested, each by discriminators that did not see it


@dataclass(frozen=True, slots=True)
class TrialJob:
    """A trial and where its result lies."""

    trial: Trial
    path: Path


@dataclass(frozen=True, slots=True)
class TrialResult:
    """The chances that one trial found."""

    test: Mapping[str, Floats]  # rater -> P(person) of each reply of the test part
    chosen: Mapping[str, Floats]  # likewise of the dialogues put aside
    ranked: Mapping[str, Floats]  # likewise of the draws to be ranked
    artefacts: Sequence[Artefact]
    epochs: Mapping[str, Sequence[int]]  # rater -> the best epoch of each fold


def trial_jobs(
    study: Path, material: DetectionMaterial, trials_to_run: Sequence[Trial], settings: DetectionSettings
) -> list[TrialJob]:
    """Every trial with its file."""
    jobs = []
    words = hashlib.sha256("\n".join(material.words).encode()).hexdigest()
    for trial in trials_to_run:
        key = content_key(words, asdict(settings), trial.name, _text(trial))
        who = trial.who[0].decoding if trial.name == "shared" else trial.who[0].file_name
        name = "".join(letter if letter.isalnum() or letter in "-_.+" else "_" for letter in f"{who}-{trial.name}")
        jobs.append(TrialJob(trial, study / "discriminators" / f"{name}-{key[:16]}.npz"))
    return jobs


def as_detection_jobs(todo: Sequence[TrialJob]) -> list[Job]:
    """What is not there yet."""
    return [Job(fold.path.stem, fold.path.stem, fold) for fold in todo if not fold.path.exists()]


def discriminate(shared: tuple[Sequence[str], DetectionSettings], job: TrialJob) -> None:
    """Train every discriminator of one trial and write what they say."""
    words, settings = shared
    clear_halves(job.path)
    chances_of: dict[str, list[Floats]] = defaultdict(list)
    facts: dict[str, Any] = {"epochs": defaultdict(list)}
    for fold in range(settings.folds):
        artefacts = _one_fold(job.trial, fold, words, settings, chances_of, facts["epochs"])
        facts.setdefault("artefacts", [asdict(artefact) for artefact in artefacts])
    arrays = {name: np.concatenate(parts) for name, parts in chances_of.items()}
    arrays["told"] = np.frombuffer(json.dumps(facts).encode(), dtype=np.uint8).astype(np.float64)
    job.path.parent.mkdir(parents=True, exist_ok=True)
    with atomic(job.path, "wb") as handle:
        np.savez(handle, **arrays)  # type: ignore[arg-type]  # the stub takes the names for options


def _one_fold(
    trial: Trial,
    fold: int,
    words: Sequence[str],
    settings: DetectionSettings,
    chances_of: dict[str, list[Floats]],
    epochs: dict[str, list[int]],
) -> list[Artefact]:
    """Train on the other quarters; what is found is added, and the bag's artefacts are returned."""
    parts = {name: trial.part(name, fold) for name in PARTS}
    raters, artefacts = _simple(parts["fit"], parts["choose"], words)
    asked_replies = {
        name: [(showing.occasion, showing.reply) for showing in parts[name]] for name in ("choose", "test")
    }
    asked_replies["ranked"] = [(occasion, ranked_reply.tokens) for occasion, ranked_reply in trial.ranked_in(fold)]
    for rater, predict in raters.items():
        for name, rows in asked_replies.items():
            chances_of[f"{name}/{rater}"].append(predict([reply for _, reply in rows]))
    for seed in settings.seeds if settings.lstm else ():
        from seedvote.evaluators.detection.network import chance_of_a_person, fit_discriminator

        own = child_seed(settings.seed, "detection", "lstm", seed)
        fitted = fit_discriminator(parts["fit"], parts["choose"], len(words), own)
        for name, rows in asked_replies.items():
            chances_of[f"{name}/lstm seed {seed}"].append(chance_of_a_person(fitted.network, rows))
        epochs[f"lstm seed {seed}"].append(fitted.epochs)
    return artefacts


def read_result(path: Path) -> TrialResult:
    """What a job wrote."""
    with np.load(path) as stored:
        arrays = {name: stored[name] for name in stored.files}
    facts = json.loads(bytes(arrays.pop("told").astype(np.uint8)).decode())
    by_part: dict[str, dict[str, Floats]] = {"test": {}, "choose": {}, "ranked": {}}
    for name, values in arrays.items():
        part, _, rater = name.partition("/")
        by_part[part][rater] = values
    return TrialResult(
        by_part["test"],
        by_part["choose"],
        by_part["ranked"],
        [Artefact(**artefact) for artefact in facts["artefacts"]],
        facts["epochs"],
    )


def _simple(
    fit: Sequence[Showing], choose: Sequence[Showing], words: Sequence[str]
) -> tuple[dict[str, Predict], list[Artefact]]:
    def spelt(gram: Gram) -> str:
        return " ".join("(start)" if word == -1 else "(end)" if word == -2 else words[word] for word in gram)

    bag, artefacts = fit_bag(fit, choose, spelt)
    return dict(zip(SIMPLE, (fit_length(fit, choose), bag), strict=True)), artefacts


def _text(trial: Trial) -> str:
    """All that a trial's result follows from, hashed."""
    hashed = hashlib.sha256()
    for showing in trial.showings:
        at = showing.occasion
        text = f"{at.item} {at.place} {at.context} {showing.reply} {showing.human} {showing.of} {showing.weight}\n"
        hashed.update(text.encode())
    for occasion, reply in trial.ranked:
        hashed.update(f"{occasion.item} {reply.tokens} {reply.logprob}\n".encode())
    return hashed.hexdigest()
