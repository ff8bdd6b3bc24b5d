"""List the probe tasks of a corpus: labels, examples and the share of the most frequent label on each side."""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The corpus and the split to report on."""
    parser.add_argument("--corpus", required=True, metavar="PATH", help="the corpus, in any form that Seedvote reads")
    parser.add_argument(
        "--report", choices=("valid", "test"), default="test", help="split to report on (default: test)"
    )


def run(args: argparse.Namespace) -> None:
    """Print one line a task."""
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.probes.plan import lay_out, plan_splits

    corpus = read_corpus(args.corpus)
    splits = plan_splits(corpus, args.report)
    plan = lay_out(corpus, "all", splits)
    if splits.banner:
        print(splits.banner + "\n")
    fit, _, report = splits.names
    print(
        f"{corpus.name} {corpus.version}: {len(splits.fit):,} examples of {fit} to fit on, "
        f"{len(splits.choose):,} to choose on, {len(splits.report):,} of {report} to report on.\n"
    )
    print(f"{'task':<14} {'labels':>6}  {'kind':<4} {'most frequent':<28} {'share':>6}  unseen in {report}")
    for labelled in plan.labelled_tasks:
        counts = labelled.report.counts()
        share = counts.max() / len(labelled.report.unseen)
        kind = "many" if labelled.fit.many else "one"
        unseen = f"{labelled.report.unseen_classes:,} labels, {int(labelled.report.unseen.sum()):,} times"
        name = labelled.fit.classes[int(counts.argmax())]
        print(f"{labelled.task:<14} {len(labelled.fit.classes):>6,}  {kind:<4} {name[:28]:<28} {share:>6.1%}  {unseen}")
    path = Path(args.corpus)
    words = [path.parent] if path.name == "corpus" else ["runs/mine", "--corpus", path]
    tell_next("python -m probes run", *words)
