"""Look for responses that name the model that wrote them: raters would not judge blind.

Prints each with its pair and leaves with code 1 if there are any. `serve` warns of them too.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, or the pairs."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="pairs to look at (default: STUDY/pairs.jsonl)")


def run(args: argparse.Namespace) -> int:
    """Print them."""
    from seedvote.crowd.rating.leaks import find_leaks
    from seedvote.crowd.study_folder import pairs_file
    from seedvote.dialogue.files import read_records
    from seedvote.dialogue.records import Pair

    path = pairs_file(args.study, args.pairs)
    pairs = read_records(path, Pair)
    leaks_found = list(find_leaks(pairs))
    for leak in leaks_found:
        print(f"{leak.pair}: a response names its model {leak.model}: {leak.excerpt}")
    print(f"{len(leaks_found)} of the {2 * len(pairs)} responses in {path} name the model that wrote them.")
    tell_next("python -m crowd serve", args.study, *repeat_options(args, "pairs"))
    return 1 if leaks_found else 0
