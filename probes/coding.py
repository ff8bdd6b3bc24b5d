"""The description lengths of a whole study: one part file per representation and task; finished parts are kept."""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from seedvote.dialogue.files import read_json, write_json
from seedvote.dialogue.jobs import JOB_THREADS, content_key
from seedvote.probes import codelength
from seedvote.probes.codelength import Codelength
from seedvote.probes.devices import threads
from seedvote.probes.plan import LabelledTask, Plan
from seedvote.probes.probing import Material
from seedvote.probes.states import Representation


@dataclass(frozen=True, slots=True)
class CodePart:
    """One representation and task: where its code length lies, and the key of what it follows from."""

    representation: Representation
    labelled: LabelledTask
    path: Path
    key: str

    @property
    def done(self) -> bool:
        """A whole part with this very key is there."""
        return self.path.exists() and read_json(self.path).get("key") == self.key

    @property
    def content(self) -> Hashable:
        """What the length follows from, whatever the checkpoint is called."""
        return self.key

    def read(self) -> Codelength:
        """What is there."""
        record = read_json(self.path)
        return Codelength(tuple(record["examples"]), tuple(record["bits"]), record["uniform"])


@dataclass(frozen=True, slots=True)
class Coding:
    """What is the same for every representation: the examples, their order in blocks, data against penalty."""

    plan: Plan
    blocks: list[np.ndarray]
    c: float


def code_parts(folder: Path, representations: Iterable[Representation], plan: Plan, recipe: str) -> list[CodePart]:
    """All the work there is."""
    return [
        CodePart(
            who,
            labelled,
            folder / f"{who.evaluator}-{who.name}" / f"{labelled.task}.codelength.json",
            content_key(who.digest, labelled.digest, recipe),
        )
        for who in representations
        for labelled in plan.labelled_tasks
    ]


def code(coding: Coding, todo: Sequence[CodePart]) -> int:
    """Send the labels of each part of one representation, each written when it is coded; how many there were."""
    # The number of threads moves the last bits, and parts made on different machines must agree.
    with threads(JOB_THREADS):
        material = Material(todo[0].representation, coding.plan)
        for part in todo:
            code_length = codelength.online(
                material.features, material.axes, part.labelled.fit, coding.blocks, c=coding.c
            )
            write_json(part.path, dataclasses.asdict(code_length) | {"key": part.key})
    return len(todo)


def code_again(first: CodePart, twin: CodePart) -> None:
    """File the code length of `first` under the name of `other`, whose states are the same."""
    write_json(twin.path, read_json(first.path))
