"""People, token metrics and probes side by side: how far each moves with the training seed, and what certainty costs.

Reads STUDY (votes.jsonl, pairs.jsonl, metrics.parquet, scores.parquet, what there is), prints one table and draws one
figure. --published adds the papers' numbers with their "+-" turned into the standard deviation that it stands for.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from analysis.arguments import add_json_argument, deliver


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, what to add, and the prices."""
    parser.add_argument("study", metavar="STUDY", type=Path, help="study folder, e.g. runs/demo")
    parser.add_argument("--published", action="store_true", help="add the papers' own spreads")
    parser.add_argument("--margin", type=float, default=2.0, help="points to which a mean should be known (default 2)")
    parser.add_argument("--pay", type=float, metavar="MONEY", help="pay an hour of rating, to price the certainty")
    parser.add_argument("--machine", type=float, metavar="MONEY", help="price an hour of training")
    parser.add_argument("--figure", metavar="STEM", help="write STEM.png and STEM.pdf")
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compare, print."""
    from analysis.compare_text import compare_text, document, figure
    from analysis.costs import cost
    from analysis.published import published
    from analysis.report import methods_of
    from analysis.study import read_study
    from dialogue.errors import InputError

    study = read_study(args.study)
    methods = methods_of(study)
    if not methods:
        raise InputError(
            f"{args.study} has no architecture with two seeds or more that were judged; nothing to compare."
        )
    costs = [cost(m, study, args.margin, an_hour=args.pay, machine_hour=args.machine) for m in methods]
    papers = [cell for cell in published() if cell.checkpoint == "last"] if args.published else []
    found = document(methods, costs, papers)
    if args.figure:
        from analysis.plots import save

        save(figure(methods, found["signature"]), args.figure)
    deliver(args, compare_text(methods, costs, papers, args.margin) + f"\n\n{found['signature']}", found)
