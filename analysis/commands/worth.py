"""What every evaluator that scores both sides of a pair is worth in votes of people.

Token metrics, judges, your own scores (import-scores), the length of a response: for each the correlation of its
differences with people's votes, and the part of the votes that it could save, with an interval that allows for
dialogues and raters; and all of them together. No language model is needed.
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
    """The study, and its votes."""
    parser.add_argument("study", type=Path, help="study folder with pairs.jsonl and votes")
    parser.add_argument("--votes", type=Path, metavar="FILE", help="votes of people (default: STUDY/votes.jsonl)")
    add_naming_arguments(parser)
    add_clusters_argument(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of folds and groups (default 0)")
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compute, print."""
    from seedvote.analysis.questions.worth import worth

    result = worth(args.study, votes=args.votes, clusters=args.clusters, seed=args.seed, **reading(args))
    deliver(args, result, then=next_command("python -m analysis report", args.study, *clusters_given(args)))
