"""Show the share of ties in each HumanExp, how much it varies in sets of votes, and its 95 % interval.

Writes ties.json, ties.png and ties.pdf beside the votes (or to --out) and prints tables and plain sentences.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.analysis.arguments import (
    READING,
    add_clusters_argument,
    add_json_argument,
    add_vote_arguments,
    clusters_given,
    deliver,
    reading,
)
from seedvote.dialogue.command_line import given, next_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which votes, and how sets are drawn."""
    add_vote_arguments(parser)
    parser.add_argument(
        "--sets", type=int, default=50_000, help="sets to sample if there is no exact distribution (default 50000)"
    )
    parser.add_argument(
        "--size", type=int, help="votes in a set, exactly (default: 200, or half of a HumanExp that has fewer)"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the sampled sets (default 0)")
    parser.add_argument(
        "--unit",
        choices=["vote", "pair", "item", "dialogue", "rater", "pair+rater", "item+rater", "dialogue+rater"],
        default="vote",
        help="what is drawn to form a set: single votes, as in the papers (default), or pairs, dialogues, ... until it "
        "has its votes, the last one cut at random",
    )
    add_clusters_argument(parser)
    parser.add_argument("--replace", action="store_true", help="draw sets with replacement")
    parser.add_argument(
        "--method",
        choices=["exact", "sample"],
        default="exact",
        help="compute the distribution exactly (default) or sample it",
    )
    parser.add_argument(
        "--mixed", action="store_true", help="add a mixed logit with crossed effects of raters and pairs"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write (default: beside the votes)")
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Analyse, write and print."""
    from seedvote.analysis.questions.ties.showing import ties
    from seedvote.dialogue.files import write_json

    names = ("size", "unit", "replace", "method", "sets", "clusters", "mixed", "seed")
    result = ties(args.votes, **{name: getattr(args, name) for name in names}, **reading(args))
    out = args.out or (args.votes if args.votes.is_dir() else args.votes.parent)
    write_json(out / "ties.json", result.document)
    result.plot().save(out / "ties")
    then = next_command("python -m analysis agreement", args.votes, *given(args, *READING), *clusters_given(args))
    deliver(args, result, more=f"\n\nWritten: {out / 'ties'}.json, .png and .pdf", then=then)
