"""Every table and figure of the two probe papers in their layout, from one study: STUDY/papers/, with an index.

Sizes, BLEU-2 by seed with its decoding, a table of probe tasks for each classifier (with ± as the papers print it and
the SD), difficulty, selection by each metric, scores over epochs, the principal axes of the states, and label
distributions; and the figures, as probes plot draws them. The index names every table and figure with the command that
makes its numbers, and says what is not there and why.

  python -m probes papers runs/demo
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path
from typing import TYPE_CHECKING

from dialogue.command_line import given, tell_next

if TYPE_CHECKING:
    from probes.papers import PaperTable
    from probes.splits import Splits


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
    from probes.drawing import FiguresAsked, figures_of, save_figures
    from probes.plan import lay_out

    corpus = read_corpus(args.corpus or args.study / "corpus")
    sides = splits.plan_splits(corpus, args.report)
    plan = lay_out(corpus, "all", sides)
    scores = summary.read_task_scores(args.scores or args.study / "scores.parquet")
    tasks, of = [one.task for one in plan.labelled_tasks], [s for s in scores if s.classifier == args.classifier]
    tables = [
        papers.sizes(args.study), papers.bleu_by_seed(args.study),
        *papers.probe_tables(summary.cells(scores), tasks, corpus.name), papers.difficulty(summary.cells(of)),
        papers.selection(of), papers.course_table(of), _states(args.study, sides), papers.labels(plan),
    ]  # fmt: skip
    asked = FiguresAsked(args.study, args.corpus, None, args.scores, args.classifier)
    reasons = save_figures(figures_of(asked), args.study / "probes")
    drawn = {name: reasons[name] for name in papers.FIGURES}
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


def _states(study: Path, sides: Splits) -> PaperTable:
    from dialogue.errors import InputError
    from probes import clouds, papers, states

    try:
        found = states.find(study, None, "all")
    except InputError as error:
        return papers.states_table([], str(error))
    items = [[example.item for example in side] for side in (sides.fit, sides.report)]
    return papers.states_table(list(clouds.cloud_spreads(found, items)), "")
