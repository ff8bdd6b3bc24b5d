"""Which system raters prefer, how surely, and whether two may be called alike.

Net preference (share for the first minus share for the second, ties in the denominator) with an interval that allows
for pairs and raters; the exact sign test; left against right; change over the rounds; Davidson's model with ties, or
Rao and Kupper's, for two or many systems, with the chance that the order is wrong. The claim "alike" is tested only
against a margin that you state: --margin, before you look. Who stood behind a and b is read from pairs.jsonl.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from analysis.arguments import READING, add_json_argument, add_vote_arguments, deliver, reading, study_beside
from dialogue.command_line import given, next_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The votes, their pairs, the margin and the model."""
    add_vote_arguments(parser)
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="pairs.jsonl (default: the one beside the votes)")
    parser.add_argument("--margin", type=float, metavar="M", help="net preference below which systems count as alike")
    parser.add_argument("--model", choices=("davidson", "rao-kupper"), default="davidson", help="model of strengths")
    parser.add_argument(
        "--unit",
        choices=("pair+rater", "pair", "dialogue", "rater", "vote"),
        default="pair+rater",
        help="ranks: from the clustered errors (default pair+rater), or from bootstrap sets of whole pairs, ...",
    )
    parser.add_argument("--sets", type=int, default=1000, help="drawn sets behind the ranks (default 1000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the drawn sets (default 0)")
    parser.add_argument("--figure", metavar="STEM", help="draw the ranking: STEM.png and STEM.pdf")
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compute, print."""
    from analysis.notebook import preference

    asked = ("pairs", "margin", "model", "unit", "sets", "seed")
    found = preference(args.votes, **{name: getattr(args, name) for name in asked}, **reading(args))
    if args.figure:
        found.plot().save(args.figure)
    study = study_beside(args.votes)
    if study and (study / "states").is_dir() and not (study / "scores.parquet").exists():
        then = next_command("python -m probes run", study)
    elif study:
        then = next_command("python -m analysis report", study)
    else:
        then = next_command("python -m analysis plan", args.votes, *given(args, *READING))
    deliver(args, str(found), found.document, then=then)
