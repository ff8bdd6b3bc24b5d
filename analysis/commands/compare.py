"""People, token metrics and probes side by side: how far each moves with seeds, items and raters.

Reads STUDY (votes.jsonl, pairs.jsonl, metrics.parquet, scores.parquet, what there is). Prints one table of methods, the
chance that a re-run reverses two architectures, and what a stated certainty costs; draws one figure. --published adds
the papers' numbers with their "+-" turned into the standard deviation that it stands for.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from analysis.arguments import add_json_argument, deliver
from dialogue.command_line import next_command


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
    from analysis.notebook import compare

    asked = ("margin", "pay", "machine", "published")
    found = compare(args.study, **{name: getattr(args, name) for name in asked})
    if args.figure:
        found.plot().save(args.figure)
    deliver(args, str(found), found.document, then=next_command("python -m analysis report", args.study))
