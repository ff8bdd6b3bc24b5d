"""Ask people on Prolific to return a submission: for work that was not done, or that a fault of yours made impossible.

Prolific sends them a message with your reason. Each request goes through the ledger and is sent once; one without an
answer is settled by asking Prolific. Who returns is not paid, so say with `pay --compensate` what their work was worth.
Without --yes it prints whom it would ask, and sends nothing.
"""

from __future__ import annotations

import argparse

from seedvote.dialogue.shell.command_line import tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch, whom, and why."""
    from seedvote.crowd.arguments import add_submissions

    add_submissions(parser, "request-return", "whom to ask")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why, as the person will read it")


def run(args: argparse.Namespace) -> int:
    """Print whom; with --yes, ask."""
    from seedvote.crowd.arguments import send_by_hand
    from seedvote.dialogue.errors import InputError

    reason = args.reason.strip()
    if not reason:
        raise InputError("--reason is empty; the person must be told why.")
    code, words = send_by_hand(args, "return", reason, {"reason": reason}, print)
    tell_next(*words)
    return code
