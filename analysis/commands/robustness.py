"""What typos, paraphrases and speech errors cost: the drop of every score, paired by dialogue, with seeds as a level.

Reads the score tables of STUDY (the clean corpus) and of STUDY/conditions/KIND@DOSE-SEED (made by evaluators perturb).
Prints every drop with its interval, what the highest dose costs beyond the lowest, and whether BLEU notices what joint
goal accuracy notices; draws dose against drop, one panel a kind.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.analysis.arguments import add_json_argument, deliver
from seedvote.dialogue.command_line import next_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, and which part of it."""
    parser.add_argument("study", metavar="STUDY", type=Path, help="study folder with conditions/, e.g. runs/demo")
    parser.add_argument("--kinds", default="", help="kinds of perturbation, separated by commas (default: all)")
    parser.add_argument("--tasks", default="", help="tasks such as jga,success (default: all main ones, and bleu)")
    parser.add_argument("--models", default="", help="models, separated by commas (default: all)")
    parser.add_argument("--by", choices=("domain",), default="", help="ask for each domain of the goals by itself")
    parser.add_argument("--figure", metavar="STEM", help="write STEM.png and STEM.pdf, a figure a task")
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, pair, print."""
    from seedvote.analysis.questions.robustness import robustness

    kinds, tasks, models = (
        [part for part in text.split(",") if part] for text in (args.kinds, args.tasks, args.models)
    )
    result = robustness(args.study, kinds=kinds, tasks=tasks, models=models, by=args.by)
    deliver(args, result, then=next_command("python -m analysis leaderboard", args.study))
