"""What is asked of every representation, and the work that follows from it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dialogue.corpora.examples import Example
from dialogue.corpora.reading import Corpus
from dialogue.errors import InputError
from dialogue.signature import signature
from probes.splits import Splits, plan
from probes.tasks.catalogue import tasks_of
from probes.tasks.labels import Labels, label

PROTOCOLS = ("standard", "paper")
SOLVERS = ("batched", "sklearn")


@dataclass(frozen=True, slots=True)
class Options:
    """How a probe is fitted. `c` are the strengths of the data against the penalty, one of them chosen on valid."""

    classifier: str = "logistic"
    solver: str = "batched"
    protocol: str = "standard"
    c: tuple[float, ...] = (1.0,)
    mlp_seeds: tuple[int, ...] = (0, 1, 2)
    shuffle_seed: int = 0

    @property
    def method(self) -> str:
        """The rater's name, without a seed."""
        if self.protocol == "paper":
            return "paper"
        return self.classifier if self.solver == "batched" else f"{self.classifier}-{self.solver}"

    def signature(self, task: str, splits: Splits) -> str:
        """The recipe of one task's scores."""
        return signature(
            probe=task, classifier=self.classifier, solver=self.solver, protocol=self.protocol, c=self.c,
            mlp_seeds=self.mlp_seeds if self.classifier == "mlp" else None, shuffle=self.shuffle_seed,
            fit=splits.names[0], choose=splits.names[1] or None, report=splits.names[2],
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Side:
    """The examples of one side of the split, by name."""

    items: tuple[str, ...]
    clusters: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """One task with its labels on the three sides of the split, and the recipe and hash of all that."""

    task: str
    fit: Labels
    choose: Labels
    report: Labels
    signature: str
    digest: str


@dataclass(frozen=True, slots=True)
class Study:
    """Everything that does not depend on the representation."""

    options: Options
    condition: str
    fit: Side
    choose: Side
    report: Side
    questions: tuple[Question, ...]

    @property
    def items(self) -> tuple[str, ...]:
        """Every example that a representation must cover."""
        return (*self.fit.items, *self.choose.items, *self.report.items)


def lay_out(corpus: Corpus, tasks: str, report: str, options: Options) -> tuple[Study, Splits]:
    """Label the examples of every side for the tasks wanted."""
    splits = plan(corpus, report)
    if len(options.c) > 1 and not splits.choose:
        raise InputError(
            "Several values of --c need a split to choose on, and this corpus has none left. Give one value."
        )
    sides = splits.fit, splits.choose, splits.report
    questions = []
    for task in tasks_of(corpus.name, tasks):
        fit, choose, report_side = label(task, splits.fit, sides)
        recipe = options.signature(task.name, splits)
        digest = _digest((fit, choose, report_side), recipe)
        questions.append(Question(task.name, fit, choose, report_side, recipe, digest))
    fitted, chosen, reported = map(_side, sides)
    return Study(options, splits.condition, fitted, chosen, reported, tuple(questions)), splits


def _side(examples: Sequence[Example]) -> Side:
    return Side(tuple(e.item for e in examples), tuple(e.dialogue.dialogue for e in examples))


def _digest(parts: Sequence[Labels], recipe: str) -> str:
    content = hashlib.sha256(recipe.encode())
    for part in parts:
        content.update("\n".join(part.classes).encode())
        for numbers in (part.starts, part.columns, part.unseen):
            content.update(np.ascontiguousarray(numbers).tobytes())
    return content.hexdigest()
