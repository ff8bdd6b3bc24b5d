"""Which system raters prefer, how surely, and whether two may be called alike.

Net preference (share for the first minus share for the second, ties in the denominator) with an interval that allows
for pairs and raters; the exact sign test; left against right; change over the rounds; Davidson's model with ties, or
Rao and Kupper's, for two or many systems, with the chance that the order is wrong. The claim "alike" is tested only
against a margin that you state: --margin, before you look. Who stood behind a and b is read from pairs.jsonl.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from analysis.arguments import add_json_argument, add_vote_arguments, deliver, votes_from


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
    import numpy as np

    from analysis.plain import plain
    from analysis.preference import prefer
    from analysis.preference_report import calibrated, document, preference_text, ranked
    from analysis.systems import contrasts, fixed_sides, match
    from dialogue.seeds import child_seed
    from dialogue.signature import signature

    folder = args.votes if args.votes.is_dir() else args.votes.parent
    path = args.pairs or (folder / "pairs.jsonl" if (folder / "pairs.jsonl").exists() else None)
    votes = votes_from(args, kinds=("real", "control") if path else ("real",))
    matches = match(votes, path) if path else fixed_sides(votes)
    generator = np.random.default_rng(child_seed(args.seed, "preference"))
    found = [prefer(contrast, margin=args.margin) for contrast in contrasts(matches)]
    strengths, refusal = ranked(matches, args.model, args.unit, args.sets, generator)
    recipe = signature(
        votes=len(matches.votes), pairs=len(np.unique(matches.votes.pair)), unit=found[0].net.unit, margin=args.margin,
        model=args.model, sets=args.sets, by=args.unit, seed=args.seed,
    )  # fmt: skip
    said = plain(document(matches, found, strengths, refusal, calibrated(matches), recipe, known=path is not None))
    if args.figure and said["davidson"]:
        from analysis.figures import draw_ranking

        draw_ranking(said, args.figure)
    deliver(args, preference_text(said), said)
