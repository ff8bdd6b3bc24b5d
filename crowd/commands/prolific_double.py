"""Serve a Prolific of this machine, without people or money, to try commands or programs of your own against it.

It has the interface of docs.prolific.com: drafts, places, submissions, approvals, bonuses. It refuses what is
documented as refused. Approvals and bonuses come some time after the call. `--unkind` makes calls fail at random.
"""

from __future__ import annotations

import argparse
import sys
import time

from seedvote.dialogue.shell.command_line import refuse_below, tell_next

LASTING = True
ODDS = 0.2  # of a failure, of an unkind call


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where, and how unkind."""
    parser.add_argument("--port", type=int, default=8767, help="port on this machine (default: 8767)")
    parser.add_argument("--currency", default="GBP", choices=("GBP", "USD"), help="of the workspace (default: GBP)")
    parser.add_argument("--delay", type=int, default=20, metavar="S", help="seconds until money moves (default: 20)")
    parser.add_argument("--unkind", type=int, metavar="SEED", help="let calls fail at random, by this seed")


def run(args: argparse.Namespace) -> None:
    """Serve until Ctrl-C."""
    import random

    from seedvote.crowd.marketplaces.prolific.calling import ENDPOINT, TOKEN
    from seedvote.crowd.marketplaces.prolific.double import FAILURES, Prolific, serving_double
    from seedvote.crowd.marketplaces.prolific.double import TOKEN as VALUE

    refuse_below(args, delay=0)
    prolific = Prolific(slow=args.delay > 0, currency=args.currency, retry_after="1")
    if args.unkind is not None:
        draw = random.Random(args.unkind)
        prolific.upset = lambda *_: draw.choice(FAILURES) if draw.random() < ODDS else None
    with serving_double(prolific, args.port) as server:
        print(f"A Prolific of this machine answers at {server.url} until Ctrl-C. Use it from another terminal:")
        print(f"  export {ENDPOINT}={server.url} {TOKEN}={VALUE}")
        tell_next("python -m crowd launch STUDY --prolific --public-url http://127.0.0.1:8765")
        sys.stdout.flush()
        while True:
            time.sleep(args.delay or 1)
            prolific.deliver()
