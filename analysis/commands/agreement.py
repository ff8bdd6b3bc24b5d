"""How far raters agree: Fleiss' kappa, Krippendorff's alpha, Gwet's AC1, per category, per rater, with intervals.

Intervals resample whole pairs (or dialogues: --unit). With --labels any every value is a label of its own; numbers are
ordered as numbers, and --labels low,middle,high gives an order to words, without which ordinal and interval alpha are
not defined. With a, b and tie the order is a, tie, b.
"""

from __future__ import annotations

import argparse
import csv
from typing import TYPE_CHECKING

from analysis.arguments import READING, add_json_argument, add_vote_arguments, deliver, reading, votes_from
from dialogue.command_line import given, next_command

if TYPE_CHECKING:
    from analysis.reading.votes import Votes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The votes, how labels are read, how intervals are drawn."""
    add_vote_arguments(parser)
    parser.add_argument(
        "--labels", default="tie", metavar="tie|any|L1,L2", help="a, b and tie (default), any, or labels in order"
    )
    parser.add_argument("--unit", choices=("pair", "dialogue"), default="pair", help="what the intervals resample")
    parser.add_argument("--sets", type=int, default=2000, help="bootstrap sets (default 2000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the bootstrap (default 0)")
    parser.add_argument("--posteriors", metavar="FILE", help="write Dawid and Skene's posterior of every pair as CSV")
    parser.add_argument(
        "--figure", metavar="STEM", help="draw coefficients (STEM.png, .pdf) and raters (STEM-raters.*)"
    )
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compute, print."""
    from analysis.notebook import agreement

    asked = {"labels": args.labels, "unit": args.unit, "sets": args.sets, "seed": args.seed}
    found = agreement(args.votes, **asked, **reading(args))
    if args.posteriors:
        write_posteriors(args.posteriors, votes_from(args, labels="tie" if args.labels == "tie" else "any"))
    if args.figure:
        found.plot().save(args.figure)
    then = next_command("python -m analysis preference", args.votes, *given(args, *READING))
    deliver(args, str(found), found.document, then=then if args.labels == "tie" else "")


def write_posteriors(path: str, votes: Votes) -> None:
    """One line a pair: the chance of each label being its hidden truth."""
    from analysis.notebook import SMOOTHING
    from analysis.stats.dawid_skene import dawid_skene
    from dialogue.files import atomic

    rater = votes.need("rater", "--posteriors")
    model = dawid_skene(votes.pair, rater, votes.choice, len(votes.labels), smoothing=SMOOTHING)
    with atomic(path) as handle:
        table = csv.writer(handle, lineterminator="\n")
        table.writerow(["pair", *votes.labels])
        table.writerows([name, *row] for name, row in zip(votes.pairs, model.posterior.round(6), strict=True))
