"""What a judge, that is a program which rules on pairs as a rater would, is worth beside people.

Prints its habits, which need no person (orders that contradict each other, the first place, ties, length, its own
family, circles); its agreement with votes, next to what one more person would reach; and people's net preference, win
rate and ties with its help on the pairs that nobody voted on, with intervals that allow for pairs and raters. The gain
says how many votes the judge is worth. Verdicts stand in STUDY/verdicts.jsonl: `python -m evaluators judge` makes them.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.analysis.arguments import (
    add_clusters_argument,
    add_json_argument,
    add_naming_arguments,
    clusters_given,
    deliver,
    reading,
)
from seedvote.dialogue.command_line import next_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, its verdicts, and how the pairs with votes were drawn."""
    parser.add_argument("study", type=Path, help="study folder with pairs.jsonl")
    parser.add_argument("--votes", type=Path, metavar="FILE", help="votes of people (default: STUDY/votes.jsonl)")
    parser.add_argument(
        "--verdicts", type=Path, metavar="FILE", help="verdicts of judges (default: STUDY/verdicts.jsonl)"
    )
    parser.add_argument("--judges", default="", metavar="NAME,...", help="these judges only (default: all)")
    parser.add_argument(
        "--labels",
        nargs="+",
        metavar=("HOW", "COLUMN"),
        help="how the pairs with votes were drawn: random, strata COLUMN, weights COLUMN (fields of pairs.jsonl)",
    )
    parser.add_argument(
        "--tuned-on", type=Path, metavar="FILE", help="pairs that the prompt was written by, one id a line: left out"
    )
    add_naming_arguments(parser)
    add_clusters_argument(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of folds and groups (default 0)")
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compute, print."""
    from seedvote.analysis.questions.judge.asking import judged

    result = judged(
        args.study, votes=args.votes, verdicts=args.verdicts, judges=[n for n in args.judges.split(",") if n],
        labels=args.labels, tuned_on=args.tuned_on, clusters=args.clusters, seed=args.seed, **reading(args),
    )  # fmt: skip
    deliver(args, result, then=next_command("python -m analysis report", args.study, *clusters_given(args)))
