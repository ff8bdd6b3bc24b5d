"""Systems in order of a weighted mean of tasks: intervals for dialogues and seeds, ranks that hold all at once.

A system is the mean over its training seeds; one that has a single seed is marked. Ranks are simultaneous 95 %
intervals, and neighbours are compared paired by dialogue with Holm's correction.

Example: python -m analysis leaderboard runs/demo --weights jga=1,combined=1
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.analysis.arguments import add_json_argument, deliver
from seedvote.dialogue.command_line import next_command
from seedvote.dialogue.errors import InputError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The studies, and what counts how much."""
    add = parser.add_argument
    add("study", metavar="STUDY", nargs="+", type=Path, help="study folders whose systems answered the same dialogues")
    add(
        "--weights",
        default="",
        metavar="TASK=W",
        help="tasks that count, e.g. jga=1,combined=1 (default: all main ones)",
    )
    add(
        "--condition",
        default="",
        metavar="NAME",
        help="order under a condition, e.g. typos@0.5-0 (default: clean)",
    )
    add("--claims", type=Path, metavar="CSV", help="printed numbers to hold against: system, columns named as tasks")
    add("--seed", type=int, default=0, metavar="S", help="seed of the draws behind the ranks (default 0)")
    add("--figure", metavar="STEM", help="write STEM.png and STEM.pdf")
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, order, print."""
    from seedvote.analysis.questions.leaderboard import leaderboard

    weights = _weights(args.weights)
    result = leaderboard(*args.study, weights=weights, condition=args.condition, claims=args.claims, seed=args.seed)
    deliver(args, result, then=next_command("python -m analysis compare", args.study[0]))


def _weights(text: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for part in filter(None, text.split(",")):
        name, _, weight = part.partition("=")
        try:
            value = float(weight or 1)
        except ValueError:
            value = -1.0
        if not 0 < value < float("inf") or name in weights:
            raise InputError(f"--weights has {part!r}; write each task once with a number above 0: jga=1,combined=2")
        weights[name] = value
    return weights
