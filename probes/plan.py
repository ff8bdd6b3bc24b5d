"""The plan of a probe study: the sides of the split, the labels on each, and controls that say nothing of the text."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence, Set
from dataclasses import dataclass, field, replace

import numpy as np

from seedvote.dialogue.corpora.examples import Example, iterate_examples
from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.jobs import JOB_THREADS
from seedvote.dialogue.seeds import child_seed
from seedvote.dialogue.signature import signature
from seedvote.probes.classifiers.catalogue import CLASSIFIERS, FitSettings
from seedvote.probes.tasks.catalogue import tasks_of, tokenize_words
from seedvote.probes.tasks.labels import Labels, label_sides
from seedvote.probes.tasks.own import OwnLabels, refuse_constant

# Which examples a probe is fitted on, chosen on and reported on; no dialogue is ever on two sides.
#
# Where the split is not the usual one, `banner` says so, and commands print it above their numbers.


@dataclass(frozen=True, slots=True)
class Splits:
    """The examples of each side (`choose` may be empty), and a banner that says what is unusual."""

    names: tuple[str, str, str]
    fit: Sequence[Example]
    choose: Sequence[Example]
    report: Sequence[Example]
    banner: str

    @property
    def members(self) -> list[Example]:
        """Every example once, those fitted first: choice and report may be of the same split."""
        return list({e.item: e for side in (self.fit, self.choose, self.report) for e in side}.values())

    @property
    def fit_and_report(self) -> tuple[Sequence[Example], Sequence[Example]]:
        """The two sides that every study has."""
        return self.fit, self.report

    def only(self, items: Set[str]) -> Splits:
        """These examples alone; the banner says how many are left."""
        sides = [[e for e in side if e.item in items] for side in (self.fit, self.choose, self.report)]
        if not sides[0] or not sides[2]:
            raise InputError(f"No example of {self.names[0]} or of {self.names[2]} has a state in every array.")
        subset = replace(self, fit=sides[0], choose=sides[1], report=sides[2])
        sentence = f"A SUBSET: {len(subset.members):,} of {len(self.members):,} examples have a state in every array."
        return replace(subset, banner=f"{self.banner}\n{sentence}".strip())

    @property
    def condition(self) -> str:
        """For the score table: what was fitted on and what is reported."""
        return f"fit={self.names[0]},report={self.names[2]}"


def plan_splits(corpus: Corpus, report: str, own: Sequence[OwnLabels] = (), *, annotated: bool = True) -> Splits:
    """Fit on train, choose on valid, report on test (or on valid, as the papers did).

    Where train has no annotation, the split that is not reported takes its place, under a banner that says so. With
    labels of the user's `own`, the examples that all of them label; not `annotated` where nothing else is asked.
    """
    kind = kind_of_corpus(corpus) if annotated else "labels"
    by_split = {name: _select_examples(corpus, name, kind, own) for name in ("train", "valid", "test")}
    what = {"text": "example", "labels": "labelled example"}.get(kind, "annotated example")
    if not by_split[report]:
        raise InputError(f"The {report} split of this corpus has no {what}, so nothing can be reported on it.")
    fit, banner = "train", "\n".join(labels.describe(list(iterate_examples(corpus.dialogues))) for labels in own)
    if kind == "text":
        free = ", ".join(task.name for task in tasks_of(kind))
        sentence = f"This corpus has no annotations: asked is what needs none ({free}); the other tasks are left out."
        banner = f"{banner}\n{sentence}".strip()
    if not by_split["train"]:
        fit = "valid" if report == "test" else "test"
        lacks = "label" if kind == "labels" else "annotation"
        sentence = f"NOT THE OFFICIAL SPLIT: train has no {lacks} here, so probes are fitted on {fit}."
        banner = f"{banner}\n{sentence}".strip()
    elif report == "valid":
        sentence = (
            "Reported on valid, the split that also chose the checkpoints: comparable with the papers, optimistic."
        )
        banner = f"{banner}\n{sentence}".strip()
    if not by_split[fit]:
        raise InputError(
            f"Neither train nor {fit} has {what}s: there is nothing to fit on. {report} has {len(by_split[report]):,}."
        )
    choose = "valid" if fit == "train" and by_split["valid"] else ""
    # A dialogue on two sides would let a probe recall instead of read.
    _refuse_shared_dialogues(by_split)
    return Splits((fit, choose, report), by_split[fit], by_split.get(choose, []), by_split[report], banner)


def kind_of_corpus(corpus: Corpus) -> str:
    """What can be asked of a corpus: `multiwoz` or `personachat`, or `text` where nothing is annotated."""
    marked = (turn.belief is not None for dialogue in corpus.dialogues for turn in dialogue.turns)
    return "text" if corpus.name == "multiwoz" and not any(marked) else corpus.name


def _select_examples(corpus: Corpus, split: str, kind: str, own: Sequence[OwnLabels]) -> list[Example]:
    every = (
        example
        for example in iterate_examples(corpus.split(split))
        if all(example.item in labels.labels for labels in own)
    )
    return [example for example in every if kind != "multiwoz" or example.context[-1].belief is not None]


def _refuse_shared_dialogues(by_split: dict[str, list[Example]]) -> None:
    homes: dict[str, str] = {}
    for split, members in by_split.items():
        for name in {example.dialogue.dialogue for example in members}:
            if homes.setdefault(name, split) != split:
                raise InputError(
                    f"Dialogue {name} is in both {homes[name]} and {split}; splits must not share dialogues."
                )


# The plan of a probe study: the tasks, their labels on each side of the split, and how a probe is fitted.
#
# Nothing here depends on a representation, so all of them get the same examples, labels and shuffles.


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
        fit, choose, report = label_sides(task, splits.fit, sides)
        digest = _hash_labels((fit, choose, report), items)
        labelled_tasks.append(LabelledTask(task.name, fit, choose, report, types, digest))
    return Plan(splits.condition, fitted, chosen, reported, tuple(labelled_tasks))


def _list_items(examples: Sequence[Example]) -> SideItems:
    return SideItems(tuple(e.item for e in examples), tuple(e.dialogue.dialogue for e in examples))


def _word_types(sides: Sequence[Sequence[Example]]) -> tuple[list[str], tuple[np.ndarray, ...]]:
    """The newest word of every example, and for each side the number of its type."""
    words = [[(tokenize_words(example.context[-1].text) or [""])[-1] for example in side] for side in sides]
    every = [word for side in words for word in side]
    number = {word: place for place, word in enumerate(sorted(set(every)))}
    return every, tuple(np.array([number[word] for word in side], np.int64) for side in words)


def _hash_labels(parts: Sequence[Labels], items: str) -> str:
    content = hashlib.sha256(items.encode())
    for part in parts:
        content.update("\n".join(part.classes).encode())
        for numbers in (part.starts, part.columns, part.unseen):
            content.update(np.ascontiguousarray(numbers).tobytes())
    return content.hexdigest()


# Labels that say nothing of the text, fitted as the true ones are, to tell reading from remembering.
#
# `shuffled`: the true labels of the fitted examples in another order, scored on the true labels: what is left when
# states and labels have nothing to do with each other, which is roughly the constant answer.
#
# `control_task` (Hewitt and Liang 2019): every word type gets the labels of a fitted example drawn at random, and an
# example has those of the newest word before its answer, on every side of the split. Only a classifier that learns the
# words by heart can answer it. The score minus the score on this task is what they call selectivity.

TRUE, SHUFFLED, CONTROL_TASK = "", "shuffled", "control-task"


def labels_of_every_kind(labelled: LabelledTask, *, seed: int) -> dict[str, LabelledTask]:
    """The task itself, with shuffled labels, and as a control task."""
    return {
        TRUE: labelled,
        SHUFFLED: shuffled_labels(labelled, seed=seed),
        CONTROL_TASK: control_task(labelled, seed=seed),
    }


def shuffled_labels(labelled: LabelledTask, *, seed: int) -> LabelledTask:
    """The labels of the fitted examples in a random order; those to choose and report on stay true."""
    generator = np.random.default_rng(child_seed(seed, "shuffled labels", labelled.task))
    return replace(labelled, fit=labelled.fit.take(generator.permutation(len(labelled.fit.unseen))))


def control_task(labelled: LabelledTask, *, seed: int) -> LabelledTask:
    """Labels by word type, of the same kind and as frequent as the true ones."""
    generator = np.random.default_rng(child_seed(seed, "control task", labelled.task))
    types = labelled.word_types
    draws = generator.integers(len(labelled.fit.unseen), size=1 + max(int(side.max(initial=0)) for side in types))
    fit, choose, report = (labelled.fit.take(draws[side]) for side in types)
    return replace(labelled, fit=fit, choose=choose, report=report)
