"""How far raters agree: Fleiss' kappa, Krippendorff's alpha, Gwet's AC1, each label and each rater, with intervals.

The intervals draw pairs (or dialogues) and raters anew: --clusters. With --labels any, every value of the choice is a
label of its own: numbers are ordered as numbers, and --labels low,middle,high gives words an order. Without an order
there is no ordinal or interval alpha. The usual labels are ordered a, tie, b.
"""

from __future__ import annotations

import argparse
import csv
from typing import TYPE_CHECKING

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
    votes_from,
)
from seedvote.dialogue.command_line import given, next_command

if TYPE_CHECKING:
    from seedvote.analysis.votes.votes import Votes


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The votes, how labels are read, how the intervals are computed."""
    add_vote_arguments(parser)
    parser.add_argument(
        "--labels",
        default="tie",
        metavar="tie|any|L1,L2",
        help="tie: a, b and tie (default); any: every value found; or the labels in rising order",
    )
    add_clusters_argument(parser)
    add_people_arguments(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of the random halves (default 0)")
    parser.add_argument(
        "--posteriors", metavar="FILE", help="write the probability that each label is a pair's true label, as CSV"
    )
    parser.add_argument(
        "--model",
        choices=("dawid-skene", "mace"),
        default="dawid-skene",
        help="whose probabilities --posteriors writes (default dawid-skene)",
    )
    parser.add_argument(
        "--figure",
        metavar="STEM",
        help="draw the coefficients (STEM.png, .pdf) and the raters (STEM-raters.*, STEM-spam.*)",
    )
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compute, print."""
    from seedvote.analysis.questions.agreement.showing import agreement

    options = {name: getattr(args, name) for name in ("labels", "clusters", "seed", "raters", "by")}
    result = agreement(args.votes, **options, **reading(args))
    if args.posteriors:
        write_posteriors(
            args.posteriors, votes_from(args, labels="tie" if args.labels == "tie" else "any").given(), args.model
        )
    deliver(args, result, then=_then(args, result.document["votes"]))


def _then(args: argparse.Namespace, votes: int) -> str:
    """Preference reads a, b and tie only, two or more; of other labels, what their votes vary with comes next."""
    if args.labels == "tie" and votes > 1:
        return next_command("python -m analysis preference", args.votes, *given(args, *READING), *clusters_given(args))
    if study := study_beside(args.votes):
        return next_command("python -m analysis report", study, *clusters_given(args), *given(args, *SAID_OF_VOTES))
    return "python -m analysis plan"


def write_posteriors(path: str, votes: Votes, model: str) -> None:
    """One line a pair: the chance of each label being its hidden truth, by Dawid and Skene's model or by MACE's."""
    from seedvote.analysis.questions.agreement.answer import hidden_truth, spam_model
    from seedvote.dialogue.files import atomic

    fitted = spam_model(votes) if model == "mace" else hidden_truth(votes)
    with atomic(path) as handle:
        table = csv.writer(handle, lineterminator="\n")
        table.writerow(["pair", *votes.labels])
        table.writerows([name, *row] for name, row in zip(votes.pairs, fitted.posterior.round(6), strict=True))
