"""Which examples a probe is fitted on, chosen on and reported on; no dialogue is ever on two sides.

Where the split is not the usual one, `banner` says so, and commands print it above their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from seedvote.dialogue.corpora.examples import Example, examples
from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.errors import InputError
from seedvote.probes.tasks.catalogue import tasks_of
from seedvote.probes.tasks.own import OwnLabels


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
    fit, banner = "train", "\n".join(labels.describe(list(examples(corpus.dialogues))) for labels in own)
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
        example for example in examples(corpus.split(split)) if all(example.item in labels.labels for labels in own)
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
