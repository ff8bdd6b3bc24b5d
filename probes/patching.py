"""Which dialogues are patched into which: for every target some with its label, and as many with another one.

Both kinds come from other dialogues, and both are drawn among the contexts that are nearest in turns. So they differ
from the target in the same ways, but for the label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import write_json
from seedvote.dialogue.jobs import content_key
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature
from seedvote.probes.plan import LabelledTask, SideItems

SAME, OTHER = "same", "other"
NEAREST = 10  # contexts by number of turns, among which a source is drawn


@dataclass(frozen=True, slots=True)
class PatchOptions:
    """How many targets, how many sources of each kind, and the seed that draws them."""

    limit: int | None
    draws: int
    seed: int


@dataclass(frozen=True, slots=True)
class PatchDraw:
    """The sources of one task: (target, kind, draw, source), and how many targets found too few."""

    task: str
    pairs: tuple[tuple[str, str, int, str], ...]
    targets: int
    left_out: int


def draw_sources(labelled: LabelledTask, side: SideItems, turns: Mapping[str, int], options: PatchOptions) -> PatchDraw:
    """Draw sources for targets that are spread evenly over the side; a label is the whole set of labels."""
    labels = labelled.report
    sets = [tuple(sorted(part)) for part in np.split(labels.columns, labels.starts[1:-1])]
    number = {labels_of_item: place for place, labels_of_item in enumerate(dict.fromkeys(sets))}
    label = np.array([number[labels_of_item] for labels_of_item in sets])
    clusters = np.unique(np.array(side.clusters), return_inverse=True)[1]
    length = np.array([turns[item] for item in side.items])
    is_known = labels.unseen == 0  # of a label that training lacks nobody knows whether it is the same
    generator = np.random.default_rng(child_seed(options.seed, "patch", labelled.task))
    many = min(options.limit or len(side.items), len(side.items))
    targets = np.unique(np.linspace(0, len(side.items) - 1, many).round().astype(int))
    pairs: list[tuple[str, str, int, str]] = []
    left_out = 0
    for target in targets:
        elsewhere = is_known & is_known[target] & (clusters != clusters[target])
        drawn = {
            kind: _draw_nearest(np.flatnonzero(elsewhere & mask), length, int(length[target]), options.draws, generator)
            for kind, mask in ((SAME, label == label[target]), (OTHER, label != label[target]))
        }
        if min(map(len, drawn.values())) < options.draws:
            left_out += 1
            continue
        pairs += [
            (side.items[target], kind, draw, side.items[source])
            for kind, sources in drawn.items()
            for draw, source in enumerate(sources)
        ]
    return PatchDraw(labelled.task, tuple(pairs), len(targets) - left_out, left_out)


def _draw_nearest(
    candidates: np.ndarray, length: np.ndarray, wanted: int, draws: int, generator: np.random.Generator
) -> np.ndarray:
    mixed = generator.permutation(candidates)
    nearest = mixed[np.argsort(np.abs(length[mixed] - wanted), kind="stable")][: max(NEAREST, draws)]
    return generator.permutation(nearest)[:draws]


def write_plan(folder: Path, draw: PatchDraw, split: str, options: PatchOptions) -> Path:
    """Write one task's sources."""
    if not draw.pairs:
        raise InputError(
            f"{draw.task}: no context has {options.draws} others of its label and of another one. Leave the task out, "
            "or ask for fewer: --draws 1"
        )
    path = folder / f"{draw.task}.json"
    record: dict[str, Any] = {
        "task": draw.task,
        "split": split,
        "targets": draw.targets,
        "left_out": draw.left_out,
        "key": content_key(draw.task, split, draw.pairs),
        "signature": signature(task=draw.task, targets=draw.targets, draws=options.draws, seed=options.seed),
        "pairs": [list(pair) for pair in draw.pairs],
    }
    write_json(path, record)
    return path


def remove_other_plans(folder: Path, tasks: Sequence[str]) -> None:
    """A plan of an earlier call that was not asked for again would be patched too."""
    for path in folder.glob("*.json"):
        if path.stem not in tasks:
            path.unlink()
