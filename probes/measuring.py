"""One measure of every representation and task of a study: a part file each; finished parts are kept."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from seedvote.dialogue.devices import use_threads
from seedvote.dialogue.files import read_json, write_json
from seedvote.dialogue.jobs import JOB_THREADS, content_key
from seedvote.probes.plan import LabelledTask, Plan
from seedvote.probes.states import Representation
from seedvote.probes.suite import Material


@dataclass(frozen=True, slots=True)
class MeasuredPart:
    """One representation and task: where its measure lies, and the key of what it follows from."""

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
        """What it follows from, whatever the checkpoint is called."""
        return self.key

    def read(self) -> dict[str, Any]:
        """What is there."""
        return {name: value for name, value in read_json(self.path).items() if name != "key"}


def list_parts(
    folder: Path, measure: str, representations: Iterable[Representation], plan: Plan, recipe: str
) -> list[MeasuredPart]:
    """All the work there is; `measure` is the name that its files bear."""
    return [
        MeasuredPart(
            who,
            labelled,
            folder / f"{who.evaluator}-{who.name}" / f"{labelled.task}.{measure}.json",
            content_key(who.digest, labelled.digest, recipe),
        )
        for who in representations
        for labelled in plan.labelled_tasks
    ]


def measure_parts(plan: Plan, todo: Sequence[MeasuredPart], measure: Callable[[Material, LabelledTask], Any]) -> int:
    """Measure each part of one representation by a frozen dataclass, written when it is done; how many there were."""
    # The number of threads moves the last bits, and parts made on different machines must agree.
    with use_threads(JOB_THREADS):
        material = Material(todo[0].representation, plan)
        for part in todo:
            write_json(part.path, asdict(measure(material, part.labelled)) | {"key": part.key})
    return len(todo)


def measure_again(first: MeasuredPart, twin: MeasuredPart) -> None:
    """File the measure of `first` under the name of `twin`, whose states are the same."""
    write_json(twin.path, read_json(first.path))
