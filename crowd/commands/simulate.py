"""Let simulated raters work through a study over real HTTP: they read the pages and send the forms a person would.

Without --url a server is started for the run, on a free port. Every vote is marked as simulated. With --concurrency 1
the same seed gives the same votes, even if the run was killed and started again.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.shell.command_line import repeat_options, tell_next

if TYPE_CHECKING:
    pass


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Study, crowd and server."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder that holds pairs.jsonl")
    parser.add_argument("--raters", type=int, default=60, help="how many raters (default: 60)")
    parser.add_argument("--seed", type=int, required=True, help="for the raters, and for the study if it is new")
    parser.add_argument("--concurrency", type=int, default=1, help="raters at the same time (default: 1)")
    parser.add_argument("--clickers", type=float, default=0.1, help="share who click without reading (default: 0.1)")
    parser.add_argument("--leave", type=float, default=0.0, help="probability of leaving during a sitting (default: 0)")
    parser.add_argument("--url", help="address of a running server (default: start one)")
    parser.add_argument("--pairs", type=Path, metavar="FILE", help="pairs, or sets of responses (default: in STUDY)")
    parser.add_argument("--questions", type=Path, metavar="FILE", help="questions instead: the form choice of hit.toml")
    parser.add_argument(
        "--hit", type=Path, metavar="FILE", help="hit.toml (default: STUDY/hit.toml, or the paper's HIT)"
    )
    parser.add_argument("--database", metavar="URL", help="postgresql+psycopg://... (default: STUDY/crowd.sqlite)")


def run(args: argparse.Namespace) -> None:
    """Let the raters work, then print what they did."""
    from contextlib import nullcontext

    from seedvote.crowd.simulation.crowd import SimulatedCrowd, check_server, reader_of, run_server
    from seedvote.crowd.simulation.raters import draw_habits
    from seedvote.crowd.study_folder import hit_of, pairs_file
    from seedvote.dialogue.errors import InputError

    if args.raters < 1 or args.concurrency < 1:
        raise InputError("--raters and --concurrency must be whole numbers, 1 or more.")
    if not (0 <= args.clickers <= 1 and 0 <= args.leave <= 1):
        raise InputError(f"--clickers is {args.clickers} and --leave {args.leave}; both must be shares from 0 to 1.")
    hit = hit_of(args.study, args.hit, args.questions)
    path = pairs_file(args.study, args.pairs or args.questions, hit.form)
    reader = reader_of(path, hit.form, seed=args.seed)
    raters = [draw_habits(n, seed=args.seed, clickers=args.clickers, leave=args.leave) for n in range(args.raters)]
    with nullcontext(check_server(args.url)) if args.url else run_server(*_serve_arguments(args)) as url:
        result = SimulatedCrowd(url, reader, raters, args.concurrency).run_rounds()
    print(
        f"{result.answered} judgements (checks included) by {args.raters} simulated raters in {result.seconds:.1f} s."
    )
    print("Their last sittings ended: " + ", ".join(f"{n} {how}" for how, n in sorted(result.endings.items())) + ".")
    tell_next("python -m crowd export", args.study, *repeat_options(args, "database"))


def _serve_arguments(args: argparse.Namespace) -> list[str]:
    """The arguments of `serve` that give the same study."""
    options = {
        "--pairs": args.pairs,
        "--questions": args.questions,
        "--hit": args.hit,
        "--database": args.database,
        "--seed": args.seed,
    }
    return [str(args.study), *(str(x) for name, value in options.items() if value is not None for x in (name, value))]
