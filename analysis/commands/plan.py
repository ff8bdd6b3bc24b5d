"""How many votes, raters and seeds you need to say something, what they cost, and whether a running study may stop.

Without VOTES from what you assume (--ties, --pair-icc, --rater-icc); with VOTES from what they show, and with an
always-valid interval, so that looking early costs no false alarm. The tables give votes for a difference or for a
margin of equivalence, for votes as independent as coins and for votes of a crowd, and the price of peeking.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from analysis.arguments import add_json_argument, add_vote_arguments, deliver, reading


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What is asked, what is assumed, what it costs."""
    add_vote_arguments(parser, needed=False)
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="pairs.jsonl (default: the one beside the votes)")
    parser.add_argument("--difference", type=float, default=0.16, help="net preference to be shown (default .16)")
    parser.add_argument(
        "--margin",
        type=float,
        help="margin of equivalence (tables: .167; a running study is called alike only if given)",
    )
    parser.add_argument("--size", type=int, default=200, help="votes of the study to be judged (default 200)")
    parser.add_argument("--power", type=float, default=0.8, help="(default .8)")
    parser.add_argument("--alpha", type=float, default=0.05, help="(default .05)")
    parser.add_argument("--ties", type=float, default=0.35, help="share of ties (default .35, the papers')")
    parser.add_argument("--per-pair", type=float, default=3, help="votes a pair (default 3)")
    parser.add_argument("--per-rater", type=float, default=12, help="votes a rater (default 12)")
    parser.add_argument("--pair-icc", type=float, default=0.3, help="how alike votes on a pair are (default .3)")
    parser.add_argument("--rater-icc", type=float, default=0.1, help="how alike a rater's votes are (default .1)")
    parser.add_argument("--price", type=float, metavar="DOLLARS", help="pay for one vote")
    parser.add_argument("--fee", type=float, default=0.2, help="the platform's share on top (default .2)")
    parser.add_argument("--seed-sd", type=float, metavar="SD", help="SD over seeds of a score, for the number of seeds")
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulated stopping (default 0)")
    parser.add_argument(
        "--figure", metavar="STEM", help="draw power and stopping: STEM.png, STEM-stopping.png (and .pdf)"
    )
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Assume or measure, plan, print."""
    from analysis.notebook import plan

    asked = (
        *("pairs", "difference", "margin", "size", "power", "alpha", "ties", "per_pair", "per_rater", "pair_icc"),
        *("rater_icc", "price", "fee", "seed_sd", "seed"),
    )
    found = plan(args.votes, **{name: getattr(args, name) for name in asked}, **reading(args))
    if args.figure:
        found.plot().save(args.figure)
    deliver(args, str(found), found.document)
