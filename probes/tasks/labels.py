"""Labels of every example as columns; the set of labels comes from the training examples alone.

A label that training does not have cannot be predicted: it stays a miss of its example, and is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

import numpy as np
from scipy.sparse import csr_array

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.errors import InputError
from seedvote.probes.tasks.catalogue import LabelRule, ProbeTask


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of one task on a list of examples.

    Example i has the label columns `columns[starts[i]:starts[i + 1]]`, and `unseen[i]` labels more that training does
    not have.
    """

    task: str
    many: bool
    classes: tuple[str, ...]
    starts: np.ndarray
    columns: np.ndarray
    unseen: np.ndarray
    unseen_classes: int

    def take(self, rows: np.ndarray) -> Labels:
        """The labels of some of the examples, in the order given."""
        parts = [self.columns[self.starts[row] : self.starts[row + 1]] for row in rows]
        columns = np.concatenate([np.zeros(0, np.int32), *parts])
        starts = np.cumsum([0, *map(len, parts)])
        return replace(self, starts=starts, columns=columns, unseen=self.unseen[rows])

    @property
    def examples(self) -> np.ndarray:
        """The example of each entry of `columns`."""
        return np.repeat(np.arange(len(self.unseen)), np.diff(self.starts))

    def dense(self) -> np.ndarray:
        """One row an example, one boolean column a label."""
        matrix = np.zeros((len(self.unseen), len(self.classes)), bool)
        matrix[self.examples, self.columns] = True
        return matrix

    def sparse(self) -> csr_array:
        """The same matrix in double precision, without its zeros."""
        shape = len(self.unseen), len(self.classes)
        return csr_array((np.ones(len(self.columns)), self.columns, self.starts), shape)

    def counts(self) -> np.ndarray:
        """How many examples have each label."""
        return np.bincount(self.columns, minlength=len(self.classes))


def label_sides(task: ProbeTask, train: Sequence[Example], sides: Sequence[Sequence[Example]]) -> list[Labels]:
    """The labels of each list of examples, with the label set and whatever else the rule needs from `train`."""
    rule = task.rule_from(train)
    classes = tuple(sorted(set(chain.from_iterable(map(rule, train)))))
    if not classes:
        raise InputError(f"{task.name}: no training example, so there is no label to learn.")
    return [_label_examples(task, rule, classes, examples) for examples in sides]


def _label_examples(task: ProbeTask, rule: LabelRule, classes: tuple[str, ...], examples: Sequence[Example]) -> Labels:
    column = {name: index for index, name in enumerate(classes)}
    sets = [list(dict.fromkeys(rule(example))) for example in examples]
    known = [[column[name] for name in names if name in column] for names in sets]
    return Labels(
        task.name,
        task.many,
        classes,
        starts=np.cumsum([0, *map(len, known)]),
        columns=np.fromiter(chain.from_iterable(known), np.int32),
        unseen=np.array([len(names) - len(part) for names, part in zip(sets, known, strict=True)], np.int32),
        unseen_classes=len(set(chain.from_iterable(sets)) - set(classes)),
    )
