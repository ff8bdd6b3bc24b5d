"""Find out how many votes, raters and seeds you need, what they cost, and whether a running study may stop.

Without VOTES the plan follows from what you assume (--ties, --pair-icc, --rater-icc). With VOTES it follows from what
they show, and each comparison gets an interval that stays valid no matter how often you look. The tables give the votes
needed to show a difference, or to show that two systems are equivalent within a margin: for independent votes, for
votes of a crowd, and for a study that may stop early.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.analysis.arguments import (
    READING,
    SAID_OF_VOTES,
    add_clusters_argument,
    add_json_argument,
    add_vote_arguments,
    clusters_given,
    deliver,
    reading,
    study_beside,
)
from seedvote.dialogue.command_line import given, next_command
from seedvote.dialogue.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is asked, what is assumed, what it costs."""
    add_vote_arguments(parser, needed=False)
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="pairs.jsonl (default: the one beside the votes)")
    parser.add_argument(
        "--difference", type=float, default=0.16, metavar="D", help="net preference to be shown, 0 to 1 (default .16)"
    )
    parser.add_argument(
        "--margin",
        type=float,
        metavar="M",
        help="net preference, 0 to 1, below which systems count as equivalent (default: .167 in the tables, none for "
        "a running study)",
    )
    parser.add_argument("--size", type=int, default=200, help="votes of the planned study (default 200)")
    parser.add_argument("--power", type=float, default=0.8, help="power (default .8)")
    parser.add_argument("--alpha", type=float, default=0.05, help="significance level (default .05)")
    parser.add_argument("--ties", type=float, default=0.35, help="share of ties (default .35, as in the papers)")
    parser.add_argument("--per-pair", type=float, default=3, help="votes per pair (default 3)")
    parser.add_argument("--per-rater", type=float, default=12, help="votes per rater (default 12)")
    parser.add_argument("--pair-icc", type=float, default=0.3, help="correlation of votes on one pair (default .3)")
    parser.add_argument("--rater-icc", type=float, default=0.1, help="correlation of one rater's votes (default .1)")
    parser.add_argument("--per-dialogue", type=float, default=1, help="pairs per dialogue (default 1)")
    parser.add_argument(
        "--dialogue-icc",
        type=float,
        default=0.1,
        help="correlation of votes on different pairs of one dialogue (default .1)",
    )
    parser.add_argument(
        "--rater-cv",
        type=float,
        default=0,
        help="SD of the votes per rater, divided by their mean (default 0: equal work)",
    )
    parser.add_argument("--price", type=float, metavar="DOLLARS", help="pay for one vote")
    parser.add_argument("--fee", type=float, default=0.2, help="marketplace fee, as a share of the pay (default .2)")
    parser.add_argument("--seed-sd", type=float, metavar="SD", help="a score's SD over seeds, to plan the seeds")
    parser.add_argument(
        "--judge-correlation",
        type=float,
        metavar="R",
        help="a judge's correlation with people's pair means (see judge)",
    )
    parser.add_argument("--unlabelled", type=int, metavar="N", help="further pairs that the judge alone rules on")
    parser.add_argument(
        "--rater-share", type=float, metavar="S", help="part of the variance that raters make (default: this crowd's)"
    )
    parser.add_argument(
        "--verdict-price", type=float, metavar="DOLLARS", help="price of the judge's verdicts on one pair, all orders"
    )
    add_clusters_argument(parser)
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulated early stopping (default 0)")
    parser.add_argument(
        "--figure", metavar="STEM", help="draw power and stopping: STEM.png, STEM-stopping.png (and .pdf)"
    )
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Assume or measure, plan, print."""
    from seedvote.analysis.questions.planning.asking import plan

    if args.votes is None and (stated := given(args, *READING)):
        raise InputError(f"{' '.join(stated)} says how votes are to be read: name their table too, or leave it out.")
    names = (
        *("pairs", "difference", "margin", "size", "power", "alpha", "ties", "per_pair", "per_rater", "pair_icc"),
        *("rater_icc", "per_dialogue", "dialogue_icc", "rater_cv", "price", "fee", "seed_sd", "clusters", "seed"),
        *("judge_correlation", "unlabelled", "rater_share", "verdict_price"),
    )
    result = plan(args.votes, **{name: getattr(args, name) for name in names}, **reading(args))
    deliver(args, result, then=_then(args))


def _then(args: argparse.Namespace) -> str:
    """A study has its report; otherwise the plan is for votes to come, whose raters are checked."""
    if args.votes is not None and (study := study_beside(args.votes)):
        return next_command("python -m analysis report", study, *clusters_given(args), *given(args, *SAID_OF_VOTES))
    return "python -m crowd plan-checks"
