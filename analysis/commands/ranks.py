"""Compare systems that people ranked, several at a time: mean ranks, and every two systems within the same rankings.

Takes the ratings.jsonl of a study of response sets, or any table with one row a rank (columns rank, system, item,
rater). Rank 1 is the best; equals share the mean of their ranks. The comparisons that one ranking implies are one
answer of one rater, so the intervals allow for items and raters and never take them as independent votes. Several
questions are analysed one by one (--question).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.analysis.arguments import add_clusters_argument, add_json_argument, deliver
from seedvote.dialogue.command_line import given, next_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The table, and how it is named."""
    parser.add_argument("table", type=Path, metavar="FILE", help="ranks: CSV, JSON, Excel, Parquet, ...; or a STUDY")
    parser.add_argument("--columns", default="", metavar="OURS=THEIRS,...", help="rank, system, item, rater, dialogue")
    parser.add_argument("--question", default="", metavar="NAME", help="which of several questions")
    parser.add_argument("--figure", metavar="STEM", help="draw the mean ranks: STEM.png and STEM.pdf")
    add_clusters_argument(parser)
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compare, print."""
    from seedvote.analysis.questions.ratings.asking import ranks
    from seedvote.analysis.votes.inputs import ratings_file
    from seedvote.dialogue.importing.naming import parse_names

    columns = parse_names(args.columns, "--columns")
    result = ranks(args.table, clusters=args.clusters, columns=columns, question=args.question)
    ours = ratings_file(args.table)
    then = (
        next_command("python -m analysis report", args.table, *given(args, "question"))
        if ours
        else "python -m analysis plan"
    )
    deliver(args, result, then=then)
