"""Compare systems that people rated on a scale (1 to 5, say), or with a slider.

Takes any table with one row a rating (columns score, system, item, rater), one column a system (--systems ours,theirs),
or one row a person (--wide KEY, whose columns are column, item and system). The ratings of one rater on one item belong
together: the difference of their means has an interval that allows for items and raters, as everywhere here, and so
does the odds ratio of a proportional-odds model, which does not take the steps of the scale as equal. It also prints
how often each system was rated higher, and the net preference that follows. Where raters or items differ from system to
system, a linear mixed model compares all ratings (rater, item and seed random). Several questions are analysed one by
one (--question).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.analysis.arguments import add_clusters_argument, add_json_argument, deliver
from seedvote.dialogue.command_line import given, next_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The table, and how it is named."""
    parser.add_argument("table", type=Path, metavar="FILE", help="ratings: CSV, JSON, Excel, Parquet, ...; or a STUDY")
    parser.add_argument("--systems", default="", metavar="S1,S2,...", help="one column a system: their names")
    parser.add_argument("--columns", default="", metavar="OURS=THEIRS,...", help="score, system, item, rater, dialogue")
    parser.add_argument(
        "--values", default="", metavar="NUMBER=WORD,...|FILE", help='words in numbers, e.g. 1="Not at all",2=Somewhat'
    )
    parser.add_argument("--wide", metavar="KEY", help="one row a person: KEY says item and system of each column")
    parser.add_argument("--question", default="", metavar="NAME", help="which of several questions")
    parser.add_argument("--figure", metavar="STEM", help="draw the differences: STEM.png and STEM.pdf")
    parser.add_argument("--mixed", action="store_true", help="a mixed model also where ratings come in pairs")
    add_clusters_argument(parser)
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compare, print."""
    from seedvote.analysis.questions.ratings.asking import ratings
    from seedvote.analysis.votes.inputs import ratings_file
    from seedvote.dialogue.importing.naming import parse_names

    result = ratings(
        args.table,
        systems=[name.strip() for name in args.systems.split(",") if name.strip()],
        clusters=args.clusters,
        columns=parse_names(args.columns, "--columns"),
        values=parse_names(args.values, "--values"),
        wide=args.wide,
        question=args.question,
        mixed=args.mixed,
    )
    ours = ratings_file(args.table)
    then = (
        next_command("python -m analysis report", args.table, *given(args, "question"))
        if ours
        else "python -m analysis plan"
    )
    deliver(args, result, then=then)
