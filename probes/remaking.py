"""The commands that make the tables and figures of a study, each as it can be typed in this study.

A command as it stands in a manual may not work here: the corpus may lie elsewhere, states may be those of a part of
the examples, a step before it may not have been taken yet, and what was probed by several classifiers or at every
checkpoint would be lost if the command named fewer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seedvote.dialogue.command_line import next_command
from seedvote.dialogue.corpora.examples import examples
from seedvote.dialogue.corpora.reading import Corpus
from seedvote.dialogue.files import read_json
from seedvote.probes.classifiers.catalogue import CLASSIFIERS
from seedvote.probes.splits import Splits
from seedvote.probes.states import Representation

SPLITS = "train,valid,test"  # what `generation encode` reads if nothing is said


@dataclass(frozen=True, slots=True)
class Remaking:
    """The study, and what its commands need to know; paths are None where they are the study's own.

    `splits` and `limit`: what was encoded. `partial`: whether some examples of the corpus have no state. `classifiers`:
    those that ran.
    """

    study: Path
    corpus: Path | None = None
    scores: Path | None = None
    report: str = "test"
    splits: str = SPLITS
    limit: int | None = None
    partial: bool = False
    classifiers: tuple[str, ...] = ()

    def typed(self, command: str, *words: object) -> str:
        """One command on the study and its corpus, quoted for the shell."""
        return next_command(f"python -m {command}", self.study, *words, *self._repeat_options(corpus=self.corpus))

    def made_by(self, command: str, classifier: str = "", *, missing: str = "") -> str:
        """The command behind a table, after those it needs and that were not given yet; `&&` stands between them."""
        parts = {
            "generation train": lambda: self._train() or [self.papers()],
            "generation score": lambda: [*self._sampled(), self.typed("generation score")],
            "generation encode": lambda: [*self._train(), self.encode()] if self._own() else [self.papers()],
            "probes run": lambda: [*(self._encoded() if missing else []), self.run(classifier)],
            "probes list": lambda: [self._list()],
        }[command]()
        return " && ".join(parts)

    def papers(self) -> str:
        """The command that writes the tables: for those that need no other."""
        return self.typed("probes papers", *self._repeat_options(scores=self.scores), *self._reported())

    def plot(self) -> str:
        """The command that draws the figures."""
        return self.typed("probes plot", *self._repeat_options(scores=self.scores))

    def encode(self) -> str:
        """Encode every checkpoint, on the contexts that have states by now."""
        splits = ["--splits", self.splits] if self.splits != SPLITS else []
        return self.typed("generation encode", "--checkpoints", "all", *splits, *self._repeat_options(limit=self.limit))

    def run(self, classifier: str = "") -> str:
        """Probe every checkpoint by this classifier, and by those that ran, whose scores would be lost otherwise."""
        names = dict.fromkeys(name for name in (*self.classifiers, classifier) if name)
        option_names = [name for name in names if name in CLASSIFIERS and CLASSIFIERS[name].by_name]
        words = ["--checkpoints", "all"]
        words += ["--classifier", ",".join(option_names)] if option_names not in ([], ["logistic"]) else []
        words += ["--protocol", "paper"] if "paper" in names else []
        words += ["--solver", "sklearn"] if "logistic-sklearn" in names and classifier != "logistic" else []
        words += ["--subset"] if self.partial else []
        return self.typed("probes run", *words, *self._reported(), *self._repeat_options(out=self.scores))

    def _list(self) -> str:
        corpus = self.corpus or self.study / "corpus"
        return next_command("python -m probes list", "--corpus", corpus, *self._reported())

    def _reported(self) -> list[str]:
        return ["--report", self.report] if self.report != "test" else []

    def _repeat_options(self, **options: object) -> list[str]:
        return [word for name, value in options.items() if value is not None for word in (f"--{name}", str(value))]

    def _train(self) -> list[str]:
        trained = any((self.study / "models").glob("*/*.safetensors"))
        return [] if trained else [self.typed("generation train")]

    def _sampled(self) -> list[str]:
        answered = (self.study / "responses.jsonl").exists()
        return [] if answered else [*self._train(), self.typed("generation sample")]

    def _own(self) -> bool:
        """Whether states are made by `generation encode` from models of the study: there are some, or no states yet."""
        return not self._train() or not any((self.study / "states").glob("*.npy"))

    def _encoded(self) -> list[str]:
        checkpoints = (self.study / "models").glob("*/*.safetensors")
        names = {f"{path.parent.name}-{path.stem}" for path in checkpoints if path.stem != "resume"}
        encoded = {path.stem for path in (self.study / "states").glob("*.npy")}
        return [*self._train(), self.encode()] if self._own() and (not encoded or names - encoded) else []


def remaking(
    study: Path,
    corpus: Corpus,
    representations: Sequence[Representation],
    sides: Splits,
    *,
    corpus_path: Path | None,
    scores: Path | None,
    report: str,
    classifiers: Sequence[str],
) -> Remaking:
    """What the commands need to know, from the states that are there and the classifiers that ran."""
    common = set.intersection(*(set(who.ids) for who in representations)) if representations else set()
    partial = bool(representations) and not all(example.item in common for example in sides.members)
    recorded_splits = [read_json(who.path.with_suffix(".json")).get("splits") for who in representations]
    splits = next((names for names in recorded_splits if names), SPLITS.split(","))
    limits = []
    for split in splits:
        items = [example.item for example in examples(corpus.split(split))]
        have = sum(item in common for item in items)
        limits += [have] if 0 < have < len(items) else []
    return Remaking(
        study, corpus_path, scores, report, ",".join(splits), max(limits, default=None), partial, tuple(classifiers)
    )
