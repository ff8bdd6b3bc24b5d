"""Every table and figure of the two probe papers in their layout, from one study: STUDY/papers/, with an index.

The tables: sizes, BLEU-2 by seed with its decoding, difficulty, selection by each metric, scores over epochs, the
principal axes of the states, and label distributions. Each classifier has a table of probe tasks, with ± as the papers
print it and the SD. The figures are those of probes plot. The index names every table and figure with the command that
makes its numbers, and says what is missing and why.

  python -m probes papers runs/demo
"""

from __future__ import annotations

import argparse
import csv
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.shell.command_line import repeat_options, tell_next

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from seedvote.probes.states import Representation


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
    from seedvote.dialogue.corpora.reading import read_corpus
    from seedvote.dialogue.files import atomic
    from seedvote.dialogue.signature import signature
    from seedvote.probes import comparisons, papers, summary
    from seedvote.probes.papers import plan_remaking
    from seedvote.probes.plan import lay_out, plan_splits
    from seedvote.probes.plots import save_figures
    from seedvote.probes.states import common_items

    path, corpus = args.scores or args.study / "scores.parquet", read_corpus(args.corpus or args.study / "corpus")
    scores = summary.read_task_scores(path) if args.scores or path.exists() else []
    sides, (representations, no_states) = plan_splits(corpus, args.report), _find_states(args.study)
    how = plan_remaking(
        args.study,
        corpus,
        representations,
        sides,
        corpus_path=args.corpus,
        scores=args.scores,
        report=args.report,
        classifiers=list(dict.fromkeys(s.classifier for s in scores if s.evaluator == "probe")),
    )
    if how.partial:
        sides = sides.only(common_items(representations))
    plan, chosen_scores = lay_out(corpus, "all", sides), [s for s in scores if s.classifier == args.classifier]
    tasks, items = (
        [labelled.task for labelled in plan.labelled_tasks],
        [[e.item for e in side] for side in sides.fit_and_report],
    )
    tables = [
        papers.size_table(args.study),
        papers.bleu_by_seed(args.study),
        *papers.probe_tables(summary.gather_cells(scores), tasks, corpus.name),
        papers.difficulty_table(summary.gather_cells(chosen_scores)),
        papers.selection_table(chosen_scores),
        papers.course_table(chosen_scores),
        papers.states_table(list(comparisons.cloud_spreads(representations, items)), no_states),
        papers.label_table(plan),
    ]
    if not scores:
        tables = [
            replace(table, missing=f"there is no {path}") if table.command == "probes run" else table
            for table in tables
        ]
    recipe = signature(corpus=corpus.name, tables=len(tables), split=sides.condition)
    reasons = save_figures(_draw_figures(args, path if scores else None, recipe), args.study / "probes")
    figures, folder = {name: reasons[name] for name in papers.FIGURES}, args.study / "papers"
    print(sides.banner + "\n" if sides.banner else "", end="")
    for table in tables:
        if table.missing:
            command = how.made_by(table.command, table.classifier, missing=table.missing)
            print(f"{table.name}: not written, {table.missing}: {command}")
            continue
        with atomic(folder / f"{table.name}.md") as handle:
            handle.write(papers.paper_page(table))
        with atomic(folder / f"{table.name}.csv") as handle:
            csv.writer(handle, lineterminator="\n").writerows([table.head, *table.rows])
    with atomic(folder / "index.md") as handle:
        handle.write(papers.index_page(tables, figures, how, f"{sides.banner}\n\n{recipe}".strip()))
    print(
        f"{folder / 'index.md'}: {sum(not table.missing for table in tables)} of {len(tables)} tables, "
        f"{sum(not reason for reason in figures.values())} of {len(figures)} figures\n{recipe}"
    )
    tell_next("python -m probes plot", args.study, *repeat_options(args, "corpus"))


def _draw_figures(args: argparse.Namespace, scores: Path | None, recipe: str) -> dict[str, Figure | str]:
    from seedvote.probes.plots import FigureRequest, figures_of, figures_without_scores

    request = FigureRequest(args.study, args.corpus, None, scores, args.classifier)
    if scores:
        return figures_of(request)
    return figures_without_scores(request, f"there is no {args.study / 'scores.parquet'}", recipe)


def _find_states(study: Path) -> tuple[list[Representation], str]:
    """The states of the study, or why there are none."""
    from seedvote.dialogue.errors import InputError
    from seedvote.probes import states

    try:
        return states.find_states(study, None, "all"), ""
    except InputError as error:
        return [], str(error)
