"""Which system raters prefer, with what certainty, and whether two systems are equivalent.

Prints the net preference (the share for the first minus the share for the second, with ties in the denominator) and an
interval that allows for dialogues and raters; the exact sign test; left against right; change over the rounds; and a
ranking of the systems by Davidson's model with ties, or Rao and Kupper's, with the chance that the order is wrong. Two
systems are called equivalent only within a margin that you state before you look at the votes (--margin). pairs.jsonl
says which systems a and b are.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.analysis.arguments import (
    READING,
    SAID_OF_VOTES,
    add_clusters_argument,
    add_json_argument,
    add_people_arguments,
    add_vote_arguments,
    clusters_given,
    deliver,
    reading,
    study_beside,
)
from seedvote.dialogue.command_line import given, next_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The votes, their pairs, the margin and the model."""
    add_vote_arguments(parser)
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="pairs.jsonl (default: the one beside the votes)")
    parser.add_argument(
        "--margin",
        type=float,
        metavar="M",
        help="net preference, 0 to 1, below which systems count as equivalent (e.g. 0.1)",
    )
    parser.add_argument(
        "--model",
        choices=("davidson", "rao-kupper"),
        default="davidson",
        help="model of the ranking (default davidson)",
    )
    add_clusters_argument(parser)
    add_people_arguments(parser)
    parser.add_argument("--sets", type=int, default=5000, help="draws behind the sets of ranks (default 5000)")
    parser.add_argument(
        "--careful",
        action=argparse.BooleanOptionalAction,
        help="add a Bayesian hierarchical model, for few or unequal raters (default: if they are worth fewer than 8)",
    )
    parser.add_argument(
        "--mixed",
        action="store_true",
        help="add a mixed logit of the decisive votes, with crossed effects of raters and pairs",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of these samples (default 0)")
    parser.add_argument(
        "--figure", metavar="STEM", help="draw the comparisons and the ranks: STEM.png, STEM-NAME.png and .pdf"
    )
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compute, print."""
    from seedvote.analysis.questions.preference.showing import preference

    names = ("pairs", "margin", "model", "clusters", "sets", "careful", "mixed", "seed", "raters", "by")
    result = preference(args.votes, **{name: getattr(args, name) for name in names}, **reading(args))
    deliver(args, result, then=_then(args))


def _then(args: argparse.Namespace) -> str:
    """Probes where models were encoded and not probed yet; of a whole study the report; of votes alone the plan."""
    study = study_beside(args.votes)
    if study and (study / "states").is_dir() and not (study / "scores.parquet").exists():
        return next_command("python -m probes run", study)
    if study:
        return next_command("python -m analysis report", study, *clusters_given(args), *given(args, *SAID_OF_VOTES))
    return next_command("python -m analysis report", args.votes, *given(args, *READING), *clusters_given(args))
