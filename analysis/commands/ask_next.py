"""Draw the pairs that people should vote on next, more often where judges are in doubt, each with its known chance.

  python -m analysis ask-next runs/mine --pairs 200 --out runs/next
  python -m analysis judge runs/mine --votes runs/next/votes.jsonl --labels weights chance

Votes on pairs that judges are sure of teach little. So a pair's chance rises with the spread of the verdicts on it.
Half of it (--even) is the same for all, since a judge may be sure and wrong. Because every chance is known and above 0,
estimates that weigh votes by it are those of all pairs. The folder has the drawn pairs, the checks and hit.toml.
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import refuse_below, tell_next

if TYPE_CHECKING:
    from seedvote.analysis.votes.verdicts import Bench

CHANCE = "chance"  # the field of pairs.jsonl


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """How many pairs, by whose doubt, and where to."""
    add = parser.add_argument
    add("study", type=Path, help="study folder with pairs.jsonl and verdicts.jsonl")
    add("--pairs", type=int, required=True, metavar="N", help="pairs that are drawn, on average")
    add("--out", type=Path, required=True, metavar="FOLDER", help="folder of the drawn pairs, for crowd serve")
    add("--judges", default="", metavar="NAME,...", help="judges whose doubt counts (default: all)")
    add(
        "--even",
        type=float,
        default=0.5,
        metavar="SHARE",
        help="part of a chance that all share (default .5)",
    )
    add("--seed", type=int, default=0, help="seed of the draw (default 0)")


def run(args: argparse.Namespace) -> None:
    """Draw, write, and say how often pairs in doubt were drawn."""
    import numpy as np

    from seedvote.analysis.arguments import split_names
    from seedvote.analysis.stats.powered import spread_chances
    from seedvote.analysis.votes.verdicts import benches_beside
    from seedvote.dialogue.files import write_records
    from seedvote.dialogue.records import Pair
    from seedvote.dialogue.seeds import child_seed
    from seedvote.dialogue.signature import signature

    refuse_below(args, pairs=1)
    if not 0 < args.even <= 1:
        raise InputError(f"--even is {args.even:g}; write a share above 0 and up to 1: every pair needs a chance.")
    if (args.out / "pairs.jsonl").exists():
        raise InputError(f"{args.out} holds pairs already, which may have votes. Name another folder.")
    benches = benches_beside(args.study, None, split_names(args.judges))
    pairs = [pair for pair in benches[0].pairs.values() if pair.kind == "real"]
    doubts = np.array([measure_doubt(benches, pair.pair) for pair in pairs])
    chances = spread_chances(doubts, args.pairs, args.even)
    is_drawn = np.random.default_rng(child_seed(args.seed, "ask-next")).random(len(pairs)) < chances
    drawn_pairs = [
        replace(pair, extra={**pair.extra, CHANCE: float(chance)})
        for pair, chance, chosen in zip(pairs, chances, is_drawn, strict=True)
        if chosen
    ]
    checks = [pair for pair in benches[0].pairs.values() if pair.kind == "check"]
    recipe = signature(
        pairs=len(pairs), drawn=len(drawn_pairs), checks=len(checks), even=args.even, seed=args.seed,
        judges=",".join(sorted({bench.judge for bench in benches})).replace(" ", "_"),
    )  # fmt: skip
    args.out.mkdir(parents=True, exist_ok=True)
    write_records(args.out / "pairs.jsonl", [*drawn_pairs, *checks], signature=recipe, kind=Pair)
    if (args.study / "hit.toml").exists():
        shutil.copy(args.study / "hit.toml", args.out / "hit.toml")
    middle = float(np.median(doubts))
    print(
        f"{len(drawn_pairs):,} of {len(pairs):,} pairs are drawn, with chances of {chances.min():.3f} to "
        f"{chances.max():.3f}."
    )
    print(f"{int((doubts[is_drawn] > middle).sum()):,} of them are among the half that judges doubt most.")
    print(f"{args.out}/pairs.jsonl holds them with {len(checks):,} checks. After the votes: python -m analysis judge "
          f"{args.study} --votes {args.out}/votes.jsonl --labels weights {CHANCE}")  # fmt: skip
    print(recipe)
    tell_next("python -m crowd serve", args.out)


def measure_doubt(benches: Sequence[Bench], pair: str) -> float:
    """The standard deviation of a verdict (1 for a, -1 for b, 0 a tie) over orders, draws and judges; 1 for none."""
    shares = [its for bench in benches if (its := bench.shares(pair)) is not None]
    if not shares:
        return 1.0
    first, second = (sum(its[side] for its in shares) / len(shares) for side in (0, 1))
    return float(max(first + second - (first - second) ** 2, 0.0) ** 0.5)
