"""What every command that fits probes reads: the corpus and its split, the states, the labels.

What is returned fits together: every representation has a state for every example of the plan.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seedvote.probes.plan import Plan, Splits
    from seedvote.probes.states import Representation


@dataclass(frozen=True, slots=True)
class Inputs:
    """The sides of the split of `corpus`, the labels on them, the states of the study and then the baselines.

    `folder` is where the probes of the study lie, and `own_labels` the recipe of labels that the user brought.
    """

    corpus: str
    sides: Splits
    plan: Plan
    representations: list[Representation]
    folder: Path
    own_labels: list[str]


def add_input_arguments(parser: argparse.ArgumentParser) -> None:
    """Which study, and which of its states and tasks."""
    add = parser.add_argument
    add("study", type=Path, metavar="STUDY", help="folder of the study")
    add("--corpus", type=Path, metavar="PATH", help="the corpus (default: STUDY/corpus)")
    add("--states", nargs="+", type=Path, metavar="FILE", help="these arrays (default: those in STUDY/states)")
    add("--subset", action="store_true", help="use only the examples that have a state in every array")
    add("--tasks", help="task names, comma-separated, or all of the corpus (default: all, or with --labels none)")
    add(
        "--labels",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="tasks of your own: tables with the columns item and label, each named like its file",
    )
    add("--checkpoints", default="", metavar="NAMES", help="comma-separated, or all (default: all but epoch-N)")


def read_inputs(args: argparse.Namespace, report: str, *, terms: bool = False) -> Inputs:
    """Read what the arguments of `add_input_arguments` name, to report on that split; write the baselines' features.

    `terms`: baselines by TF-IDF too.
    """
    from seedvote.dialogue.corpora.examples import iterate_examples
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.probes import states, suite
    from seedvote.probes.plan import lay_out, plan_splits
    from seedvote.probes.tasks.catalogue import TASKS
    from seedvote.probes.tasks.own import read_own_labels

    corpus = read_corpus(args.corpus or args.study / "corpus")
    members = list(iterate_examples(corpus.dialogues))
    own = read_own_labels(args.labels, [task.name for task in TASKS], [example.item for example in members])
    tasks = args.tasks or ("" if own else "all")
    sides = plan_splits(corpus, report, own, annotated=bool(tasks))
    representations = states.find_states(args.study, args.states, args.checkpoints)
    if args.subset:
        sides = sides.only(states.common_items(representations))
    plan, folder = lay_out(corpus, tasks, sides, own), args.study / "probes"
    for who in representations:
        states.check_covers(who, plan.items)
    baselines = suite.write_baselines(
        folder / "baselines", sides, max(who.width for who in representations), terms=terms
    )
    return Inputs(corpus.name, sides, plan, representations + baselines, folder, [labels.recipe for labels in own])
