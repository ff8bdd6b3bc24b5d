"""Block a rater by hand: no further work, and no vote of theirs counts. Their pairs are offered to others again.

RATER is the person's id at the marketplace (or in ?rater=), or the hash in votes.jsonl. They see the page that a rater
sees whom the gate blocked, and are paid for the work done. `unblock` takes it back.
"""

from __future__ import annotations

import argparse

from dialogue.command_line import given, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Study, person and reason."""
    from crowd.arguments import add_rater

    add_rater(parser)
    parser.add_argument("--why", metavar="TEXT", help="kept in the event log")


def run(args: argparse.Namespace) -> None:
    """Decide, and say what followed."""
    from crowd.arguments import decided_by_hand

    print(decided_by_hand(args, "block", args.why))
    tell_next("python -m crowd status", args.study, *given(args, "database"))
