"""Which examples a probe is fitted on, chosen on and reported on; no dialogue is ever on two sides.

Where the split is not the usual one, `banner` says so, and commands print it above their numbers.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from dialogue.corpora.examples import Example, examples
from dialogue.corpora.reading import Corpus
from dialogue.errors import InputError
from probes.tasks.catalogue import tasks_of


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

    def only(self, items: Set[str]) -> Splits:
        """These examples alone; the banner says how many are left."""
        sides = [[e for e in side if e.item in items] for side in (self.fit, self.choose, self.report)]
        if not sides[0] or not sides[2]:
            raise InputError(f"No example of {self.names[0]} or of {self.names[2]} has a state in every array.")
        kept = replace(self, fit=sides[0], choose=sides[1], report=sides[2])
        left = f"A SUBSET: {len(kept.members):,} of {len(self.members):,} examples have a state in every array."
        return replace(kept, banner=f"{self.banner}\n{left}".strip())

    @property
    def condition(self) -> str:
        """For the score table: what was fitted on and what is reported."""
        return f"fit={self.names[0]},report={self.names[2]}"


def plan_splits(corpus: Corpus, report: str) -> Splits:
    """Fit on train, choose on valid, report on test (or on valid, as the papers did).

    Where train has no annotation, the split that is not reported takes its place, under a banner that says so.
    """
    kind = kind_of_corpus(corpus)
    annotated = {name: _asked(corpus, name, kind) for name in ("train", "valid", "test")}
    if not annotated[report]:
        lacks = "no example" if kind == "text" else "no annotated example"
        raise InputError(f"The {report} split of this corpus has {lacks}, so nothing can be reported on it.")
    fit, banner = "train", ""
    if kind == "text":
        free = ", ".join(task.name for task in tasks_of(kind))
        banner = f"This corpus has no annotations: asked is what needs none ({free}); the other tasks are left out."
    if not annotated["train"]:
        fit = "valid" if report == "test" else "test"
        told = f"NOT THE OFFICIAL SPLIT: train has no annotation here, so probes are fitted on {fit}."
        banner = f"{banner}\n{told}".strip()
    elif report == "valid":
        told = "Reported on valid, the split that also chose the checkpoints: comparable with the papers, optimistic."
        banner = f"{banner}\n{told}".strip()
    if not annotated[fit]:
        raise InputError(f"Neither train nor {fit} has annotated examples: there is nothing to fit on.")
    choose = "valid" if fit == "train" and annotated["valid"] else ""
    # A dialogue on two sides would let a probe recall instead of read.
    _check_apart(annotated)
    return Splits((fit, choose, report), annotated[fit], annotated.get(choose, []), annotated[report], banner)


def kind_of_corpus(corpus: Corpus) -> str:
    """What can be asked of a corpus: `multiwoz` or `personachat`, or `text` where nothing is annotated."""
    marked = (turn.belief is not None for dialogue in corpus.dialogues for turn in dialogue.turns)
    return "text" if corpus.name == "multiwoz" and not any(marked) else corpus.name


def _asked(corpus: Corpus, split: str, kind: str) -> list[Example]:
    every = examples(corpus.split(split))
    return [example for example in every if kind != "multiwoz" or example.context[-1].belief is not None]


def _check_apart(annotated: dict[str, list[Example]]) -> None:
    seen: dict[str, str] = {}
    for split, members in annotated.items():
        for name in {example.dialogue.dialogue for example in members}:
            if seen.setdefault(name, split) != split:
                raise InputError(
                    f"Dialogue {name} is in both {seen[name]} and {split}; splits must not share dialogues."
                )
