"""Does the decoder use what the encoder holds? What changes when a task is erased, beyond random erasers of its rank.

Reads STUDY/erasers (probes erase) and STUDY/erased (generation erased). Prints what a probe reads before and after,
what the reference then costs, how many replies change and how, each with its interval for new dialogues and seeds, and
whether the decoder uses the task, does not, or whether that is not known.

Example: python -m analysis erasure runs/demo
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.analysis.arguments import add_json_argument, deliver
from seedvote.dialogue.command_line import next_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, and what is too little to matter."""
    add = parser.add_argument
    add("study", metavar="STUDY", type=Path, help="study folder with erasers/ and erased/")
    add("--margin", type=float, default=0.01, help="nats a token that are too few to matter (default .01)")
    add("--figure", metavar="STEM", help="write STEM.png and STEM.pdf")
    add_json_argument(parser)


def run(args: argparse.Namespace) -> None:
    """Read, compare, print."""
    from seedvote.analysis.questions.erasure import erasure

    result = erasure(args.study, margin=args.margin)
    deliver(args, result, then=next_command("python -m analysis compare", args.study))
