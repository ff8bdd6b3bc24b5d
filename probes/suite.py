"""The whole suite: one part file per representation and task; finished parts are kept.

A part holds the hash of states, labels and options: it is done again when one of them changes, and only then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from seedvote.dialogue.files import atomic, write_json
from seedvote.dialogue.jobs import JOB_THREADS, Job, content_key
from seedvote.probes.baselines import baseline_features
from seedvote.probes.devices import pick_device, threads
from seedvote.probes.plan import LabelledTask, Options, Plan
from seedvote.probes.probing import Material, fit_and_score
from seedvote.probes.splits import Splits
from seedvote.probes.states import Representation, read_states
from seedvote.probes.table import convergence, part_key, scores, write_again, write_part

SHARE_A_SOLVE = 4  # representations in one solve: more gain little and take memory


@dataclass(frozen=True, slots=True)
class ScorePart:
    """One representation and task: where its scores lie, and the key of what they follow from."""

    representation: Representation
    labelled: LabelledTask
    options: Options
    path: Path
    key: str

    @property
    def done(self) -> bool:
        """A whole part with this very key is there."""
        return part_key(self.path) == self.key

    @property
    def content(self) -> Hashable:
        """What the scores follow from: not the checkpoint's name, but that of a baseline, which may need no fit."""
        who = self.representation
        name = who.name if who.evaluator == "baseline" else ""
        return who.evaluator, name, who.digest, self.labelled.task, self.labelled.digest, self.options.recipe


def score_parts(
    folder: Path, representations: Iterable[Representation], plan: Plan, methods: Sequence[Options]
) -> list[ScorePart]:
    """All the work there is."""
    return [
        _part(folder, who, labelled, options, plan.condition)
        for who in representations
        for labelled in plan.labelled_tasks
        for options in methods
    ]


def _part(folder: Path, who: Representation, labelled: LabelledTask, options: Options, condition: str) -> ScorePart:
    name = f"{labelled.task}.{options.method}.{condition}.parquet"
    key = hashlib.sha256(f"{who.digest} {who.name} {labelled.digest} {options.recipe}".encode()).hexdigest()
    return ScorePart(who, labelled, options, folder / f"{who.evaluator}-{who.name}" / name, key)


def write_baselines(folder: Path, splits: Splits, width: int) -> list[Representation]:
    """Write the baselines' features as representations like any other; `width` is that of the widest states."""
    examples, baselines = splits.members, []
    for name, features in baseline_features(splits.fit, examples, width=width):
        path = folder / f"{name}.npy"
        with atomic(path, "wb") as handle:
            np.save(handle, features)
        write_json(path.with_suffix(".json"), {"model": name, "ids": [example.item for example in examples]})
        baselines.append(read_states(path, evaluator="baseline"))
    return baselines


class Piece(Protocol):
    """Anything with a file in the folder of its representation, and a key of what it follows from."""

    @property
    def path(self) -> Path: ...
    @property
    def key(self) -> str: ...
    @property
    def content(self) -> Hashable: ...
    @property
    def done(self) -> bool: ...


P = TypeVar("P", bound=Piece)


def once_each(parts: Sequence[P]) -> tuple[list[P], list[tuple[P, P]]]:
    """Of parts of one content, one to be computed, and the others as pairs (it, other); what is done is in neither.

    Two names of a checkpoint, such as `last` and `epoch-25`, have the same states, hence the same results.
    """
    groups: dict[Hashable, list[P]] = {}
    for part in parts:
        groups.setdefault(part.content, []).append(part)
    todo, again = [], []
    for group in groups.values():
        done = {part.path for part in group if part.done}
        first = next((part for part in group if part.path in done), group[0])
        todo += [] if done else [first]
        again += [(first, part) for part in group if part is not first and part.path not in done]
    return todo, again


def as_jobs(todo: Sequence[Piece], *, per_job: int = 1) -> list[Job]:
    """So many representations are one job, with all their pieces."""
    groups: dict[str, list[Piece]] = {}
    for part in todo:
        groups.setdefault(part.path.parent.name, []).append(part)
    names = list(groups)
    batches = []
    for start in range(0, len(names), per_job):
        first, *later_names = names[start : start + per_job]
        pieces = [part for name in (first, *later_names) for part in groups[name]]
        name = f"{first}+{len(later_names)}" if later_names else first
        batches.append(Job(name, content_key(*[part.key for part in pieces]), pieces))
    return batches


def count_per_job(todo: Sequence[Piece], at_once: int | None) -> int:
    """How many representations share a job, hence a solve: up to TOGETHER while every process has a job."""
    representations = len({part.path.parent for part in todo})
    return max(1, min(SHARE_A_SOLVE, representations // (at_once or representations or 1)))


def probe_parts(shared: tuple[Plan, str], todo: Sequence[ScorePart]) -> int:
    """Fit and score each part of these representations, written as soon as it is done; how many there were."""
    plan, device = shared
    representations = {part.path.parent: part.representation for part in todo}
    by_task: dict[tuple[str, Options], list[ScorePart]] = {}
    for part in todo:
        by_task.setdefault((part.labelled.task, part.options), []).append(part)
    with threads(JOB_THREADS):
        device = pick_device(device)
        materials = {folder: Material(who, plan, device) for folder, who in representations.items()}
        for (_, options), group in by_task.items():
            answers = fit_and_score([materials[part.path.parent] for part in group], group[0].labelled, options)
            for part, outcomes in zip(group, answers, strict=True):
                tables = [scores(part.representation, part.labelled, plan, outcome) for outcome in outcomes]
                write_part(part.path, tables, part.key, convergence(outcomes))
    return len(todo)


def score_again(first: ScorePart, twin: ScorePart) -> None:
    """File the scores of `first` under the name of `other`, whose states are the same."""
    write_again(first.path, twin.path, twin.representation, twin.key)
