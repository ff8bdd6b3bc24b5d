"""Compare people, token metrics and probes: how much each varies with seeds, items and raters.

Reads votes.jsonl, pairs.jsonl and every score table of STUDY, as their cards say. Prints one table of
methods, the chance that a re-run reverses the order of two architectures, and the cost of knowing a mean; draws one
figure. --published adds the papers' numbers, with each printed "+-" converted to a standard deviation.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from seedvote.analysis.arguments import (
    SAID_OF_VOTES,
    add_clusters_argument,
    add_json_argument,
    add_judges_argument,
    add_question_argument,
    add_unverified_argument,
    deliver,
)
from seedvote.dialogue.command_line import given, next_command
from seedvote.dialogue.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, what to add, and the prices."""
    parser.add_argument("study", metavar="STUDY", type=Path, help="study folder, e.g. runs/demo")
    parser.add_argument("--published", action="store_true", help="add the papers' own numbers")
    parser.add_argument(
        "--within", type=float, default=2.0, metavar="POINTS", help="wanted precision of a mean, in points (default 2)"
    )
    parser.add_argument("--margin", help=argparse.SUPPRESS)  # once the name of --within; elsewhere a net preference
    parser.add_argument("--pay", type=float, metavar="MONEY", help="pay for an hour of rating, to price the study")
    parser.add_argument(
        "--machine", type=float, metavar="MONEY", help="price of an hour of training, to price the study"
    )
    parser.add_argument("--figure", metavar="STEM", help="write STEM.png and STEM.pdf")
    add_clusters_argument(parser)
    add_question_argument(parser)
    add_unverified_argument(parser)
    add_judges_argument(parser)
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compare, print."""
    from seedvote.analysis.questions.comparison.asking import compare
    from seedvote.analysis.votes.forms import read_elsewhere

    if args.margin is not None:
        raise InputError(f"compare has no --margin; the wanted precision of a mean is --within {args.margin}.")
    names = ("within", "pay", "machine", "published", "clusters", "with_judges")
    try:
        options: dict[str, Any] = {"unverified": args.unverified or "", "question": args.question or ""}
        result = compare(args.study, **{name: getattr(args, name) for name in names}, **options)
    except InputError as error:
        if not args.study.is_file() or "a score table has" not in str(error):
            raise
        if instead := read_elsewhere(args.study):
            raise InputError(f"compare puts people beside metrics. {instead}") from error
        step = next_command("python -m analysis preference", args.study)
        raise InputError(f"{error} compare puts people beside metrics; for votes alone type: {step}") from error
    deliver(args, result, then=_then(args))


def _then(args: argparse.Namespace) -> str:
    return next_command("python -m analysis report", args.study, *given(args, *SAID_OF_VOTES))
