"""The plan of a probe study: the tasks, their labels on each side of the split, and how a probe is fitted.

Nothing here depends on a representation, so all of them get the same examples, labels and shuffles.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.jobs import JOB_THREADS
from seedvote.dialogue.signature import signature
from seedvote.probes.classifiers.catalogue import CLASSIFIERS, FitSettings
from seedvote.probes.splits import Splits, kind_of_corpus
from seedvote.probes.tasks.catalogue import tasks_of
from seedvote.probes.tasks.labels import Labels, label
from seedvote.probes.tasks.own import OwnLabels, refuse_constant
from seedvote.probes.tasks.words import tokens


@dataclass(frozen=True, slots=True)
class Options:
    """Which classifier (a name in probes/classifiers/catalogue.py) is fitted, and how.

    `shuffle_seed` draws the labels of the controls.
    """

    method: str = "logistic"
    settings: FitSettings = field(default_factory=FitSettings)
    shuffle_seed: int = 0

    @property
    def recipe(self) -> str:
        """What the scores depend on, besides states and labels."""
        how = CLASSIFIERS[self.method].recipe(self.settings)
        return signature(
            probe=self.method, **how, shuffle=self.shuffle_seed, control="newest word", threads=JOB_THREADS
        )


@dataclass(frozen=True, slots=True)
class SideItems:
    """The examples of one side of the split, by name."""

    items: tuple[str, ...]
    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LabelledTask:
    """One task with its labels on the three sides of the split, and the hash of labels and items.

    `word_types` numbers the newest word of each example on the three sides, for the control task.
    """

    task: str
    fit: Labels
    choose: Labels
    report: Labels
    word_types: tuple[np.ndarray, ...]
    digest: str


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that does not depend on the representation."""

    condition: str
    fit: SideItems
    choose: SideItems
    report: SideItems
    labelled_tasks: tuple[LabelledTask, ...]

    @property
    def items(self) -> tuple[str, ...]:
        """Every example that a representation must cover."""
        return (*self.fit.items, *self.choose.items, *self.report.items)


def lay_out(corpus: Corpus, tasks: str, splits: Splits, own: Sequence[OwnLabels] = ()) -> Plan:
    """Label the examples of every side for the tasks wanted, and by the labels that the user brought."""
    sides = splits.fit, splits.choose, splits.report
    fitted, chosen, reported = map(_list_items, sides)
    words, types = _word_types(sides)
    items = "\n".join((*fitted.items, *chosen.items, *reported.items, *words))
    labelled_tasks = []
    for brought in own:
        refuse_constant(brought, splits.fit, splits.names[0])
    chosen_tasks = tasks_of(kind_of_corpus(corpus), tasks) if tasks else []
    for task in [*chosen_tasks, *(brought.task() for brought in own)]:
        fit, choose, report = label(task, splits.fit, sides)
        digest = _digest((fit, choose, report), items)
        labelled_tasks.append(LabelledTask(task.name, fit, choose, report, types, digest))
    return Plan(splits.condition, fitted, chosen, reported, tuple(labelled_tasks))


def _list_items(examples: Sequence[Example]) -> SideItems:
    return SideItems(tuple(e.item for e in examples), tuple(e.dialogue.dialogue for e in examples))


def _word_types(sides: Sequence[Sequence[Example]]) -> tuple[list[str], tuple[np.ndarray, ...]]:
    """The newest word of every example, and for each side the number of its type."""
    words = [[(tokens(example.context[-1].text) or [""])[-1] for example in side] for side in sides]
    every = [word for side in words for word in side]
    number = {word: place for place, word in enumerate(sorted(set(every)))}
    return every, tuple(np.array([number[word] for word in side], np.int64) for side in words)


def _digest(parts: Sequence[Labels], items: str) -> str:
    content = hashlib.sha256(items.encode())
    for part in parts:
        content.update("\n".join(part.classes).encode())
        for numbers in (part.starts, part.columns, part.unseen):
            content.update(np.ascontiguousarray(numbers).tobytes())
    return content.hexdigest()
