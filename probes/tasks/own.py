"""Labels that the user brings: any table with the columns item and label is a task of its own, named like its file.

An item that stands in several rows, or whose label is a list, has several labels. Labels of contexts that the corpus
does not hold are refused, and so are those that tell nothing apart; contexts without a label are left out and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from seedvote.dialogue.corpora.examples import Example
from seedvote.dialogue.errors import InputError
from seedvote.dialogue.files import digest
from seedvote.dialogue.tables.reading import read_table
from seedvote.dialogue.tables.table import cell_text
from seedvote.probes.tasks.catalogue import ProbeTask, fixed_rule, or_none


@dataclass(frozen=True, slots=True)
class OwnLabels:
    """One file: the labels of every item, in the order of the file, and how it was read."""

    path: Path
    labels: Mapping[str, Sequence[str]] = field(repr=False)
    empty: int

    @property
    def name(self) -> str:
        """The task's name: that of the file without its endings."""
        return self.path.name.partition(".")[0]

    @property
    def many(self) -> bool:
        """Whether any item has several labels, or none."""
        return any(len(labels) != 1 for labels in self.labels.values())

    @property
    def recipe(self) -> str:
        """Its name and the hash of its content."""
        return f"{self.name}@{digest(self.path)[:8]}"

    def task(self) -> ProbeTask:
        """What is asked of a state."""
        return ProbeTask(
            self.name, self.many, fixed_rule(lambda example: or_none(self.labels[example.item])), "your labels"
        )

    def describe(self, members: Sequence[Example]) -> str:
        """How many of these examples have a label, and which."""
        known = [tuple(or_none(self.labels[example.item])) for example in members if example.item in self.labels]
        counts = Counter(name for names in known for name in names)
        (first, most), kind = counts.most_common(1)[0], "several labels" if self.many else "one label"
        several = sum(len(names) > 1 for names in known)
        return (
            f"{self.path}: task {self.name}, {kind} an example"
            + (f" ({several:,} have more than one)" if self.many else "")
            + f", {len(counts):,} different, {first!r} on {most / len(known):.0%}. "
            + f"{len(known):,} of {len(members):,} examples have a label, the others are left out"
            + (f"; {self.empty:,} rows have none." if self.empty else ".")
        )


def read_own_labels(paths: Sequence[Path], taken: Sequence[str], known: Sequence[str]) -> list[OwnLabels]:
    """The labels of every file; `taken` are names of tasks, `known` the items of the corpus."""
    brought = [_read_labels(path) for path in paths]
    names = Counter([*taken, *(own.name for own in brought)])
    for own in brought:
        if names[own.name] > 1:
            raise InputError(f"{own.path}: another task is called {own.name}. Give the file another name.")
        _refuse_strange(own, known)
        _refuse_twins(own)
    return brought


def _read_labels(path: Path) -> OwnLabels:
    table = read_table(path)
    if absent := [name for name in ("item", "label") if name not in table.columns]:
        raise InputError(
            f"{path} has no column {' and none '.join(absent)}; it has {', '.join(table.names) or 'none'}. Labels need "
            "the columns item (dialogue:n, n = index of the answered utterance) and label."
        )
    labels: dict[str, dict[str, None]] = {}
    empty = 0
    for where, row in table.rows():
        item, names = cell_text(row["item"]).strip(), _read_names(row["label"], where)
        if not item:
            raise InputError(f"{where}: no item here.")
        if names is None:
            empty += 1
        else:
            labels.setdefault(item, {}).update(dict.fromkeys(names))
    if not labels:
        raise InputError(f"{path} holds no label.")
    return OwnLabels(path, {item: tuple(names) for item, names in labels.items()}, empty)


def _read_names(value: Any, where: str) -> list[str] | None:
    """The labels of a cell; None where it is empty. An empty list says that the item has none of the labels."""
    if isinstance(value, dict):
        raise InputError(f"{where}: label is an object, where a word or a list of words is expected.")
    if isinstance(value, list):
        return [text for part in value if (text := cell_text(part).strip())]
    text = cell_text(value).strip()
    return [text] if text else None


def _refuse_strange(own: OwnLabels, known: Sequence[str]) -> None:
    """A label of another corpus, or of another numbering, would be left out without a word."""
    corpus_items = set(known)
    if strange := [item for item in own.labels if item not in corpus_items]:
        raise InputError(
            f"{own.path}: {len(strange):,} of its {len(own.labels):,} items are no contexts of this corpus, e.g. "
            f"{', '.join(map(repr, strange[:3]))}. The corpus has {', '.join(map(repr, known[:3]))} (dialogue:n, n = "
            "index of the answered utterance)."
        )


def _refuse_twins(own: OwnLabels) -> None:
    """`Yes` and `yes` would be two labels."""
    spelt: dict[str, str] = {}
    for name in (name for names in own.labels.values() for name in names):
        if (first := spelt.setdefault(name.casefold(), name)) != name:
            raise InputError(
                f"{own.path}: the labels {first!r} and {name!r} differ only in capitals. Spell them the same way."
            )


def refuse_constant(own: OwnLabels, fitted: Sequence[Example], split: str) -> None:
    """Where all fitted examples have the same label there is nothing to learn."""
    if len(kinds := {frozenset(own.labels[example.item]) for example in fitted}) < 2:
        label = ", ".join(sorted(next(iter(kinds), ()))) or "none"
        raise InputError(
            f"{own.path}: all {len(fitted):,} labelled examples of {split} have the label {label}, so there is nothing "
            "to tell apart. Label examples of both kinds there."
        )
