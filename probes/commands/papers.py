"""Every table of the two probe papers in their layout, from one study: STUDY/papers/, with an index of what is where.

Sizes, BLEU-2 by seed with its decoding, a table of probe tasks for each classifier (with ± as the papers print it and
the SD), difficulty, selection by each metric, and label distributions. The index names every table and figure with the
command that makes its numbers, and says what is not there and why. Figures are drawn by probes plot.

  python -m probes papers runs/demo
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

from dialogue.command_line import given, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study and its corpus."""
    add = parser.add_argument
    add("study", type=Path, metavar="STUDY", help="folder of the study")
    add("--corpus", type=Path, metavar="PATH", help="the corpus (default: STUDY/corpus)")
    add("--scores", type=Path, metavar="FILE", help="score table (default: STUDY/scores.parquet)")
    add("--classifier", default="logistic", help="whose scores difficulty and selection show (default: logistic)")
    add("--report", choices=("valid", "test"), default="test", help="split that was reported on (default: test)")


def run(args: argparse.Namespace) -> None:
    """Write what there is; say what is not."""
    from dialogue.corpora.reading import read_corpus
    from dialogue.files import atomic
    from dialogue.signature import signature
    from probes import papers, splits, summary
    from probes.plan import lay_out

    corpus = read_corpus(args.corpus or args.study / "corpus")
    sides = splits.plan_splits(corpus, args.report)
    plan = lay_out(corpus, "all", sides)
    scores = summary.read_task_scores(args.scores or args.study / "scores.parquet")
    tasks, of = [one.task for one in plan.labelled_tasks], [s for s in scores if s.classifier == args.classifier]
    tables = [
        papers.sizes(args.study), papers.bleu_by_seed(args.study),
        *papers.probe_tables(summary.cells(scores), tasks, corpus.name), papers.difficulty(summary.cells(of)),
        papers.selection(of), papers.labels(plan),
    ]  # fmt: skip
    drawn = {name: _drawn(args.study / "probes" / f"{name}.png") for name in papers.FIGURES}
    folder, recipe = args.study / "papers", signature(corpus=corpus.name, tables=len(tables), split=sides.condition)
    print(sides.banner + "\n" if sides.banner else "", end="")
    for table in tables:
        if table.missing:
            print(f"{table.name}: not written, {table.missing}: python -m {table.command} {args.study}")
            continue
        with atomic(folder / f"{table.name}.md") as handle:
            handle.write(papers.paper_page(table))
        with atomic(folder / f"{table.name}.csv") as handle:
            csv.writer(handle, lineterminator="\n").writerows([table.head, *table.rows])
    with atomic(folder / "index.md") as handle:
        handle.write(papers.index(tables, drawn, args.study, f"{sides.banner}\n\n{recipe}".strip()))
    print(f"{folder / 'index.md'}: {sum(not one.missing for one in tables)} of {len(tables)} tables, "
          f"{sum(not said for said in drawn.values())} of {len(drawn)} figures\n{recipe}")  # fmt: skip
    tell_next("python -m probes plot", args.study, *given(args, "corpus"))


def _drawn(path: Path) -> str:
    return "" if path.exists() else "not drawn yet"
