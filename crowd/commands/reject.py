"""Reject submissions on Prolific, with its categories and a message that the person reads.

A rejection is never undone and harms a person's record, so each submission is named; failed checks alone reject nobody.
Each goes through the ledger and is sent once. Without --yes it prints whom it would reject, and sends nothing.
"""

from __future__ import annotations

import argparse

from seedvote.dialogue.shell.command_line import tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch, whom, and why."""
    from seedvote.crowd.arguments import add_submissions

    add_submissions(parser, "reject", "whom to reject")
    parser.add_argument("--category", metavar="WORD", required=True, help="Prolific's category, e.g. FAILED_CHECK")
    parser.add_argument("--message", metavar="TEXT", required=True, help="why, as the person will read it")


def run(args: argparse.Namespace) -> int:
    """Print whom; with --yes, reject."""
    from seedvote.crowd.arguments import send_by_hand

    message = args.message.strip()
    _check_reason(args.category, message)
    own = {"category": args.category, "message": message}
    code, words = send_by_hand(args, "rejection", f"{args.category} {message}", own, print)
    tell_next(*words)
    return code


def _check_reason(category: str, message: str) -> None:
    from seedvote.crowd.marketplaces.prolific.client import REJECTION_CATEGORIES, SHORTEST_REJECTION
    from seedvote.dialogue.errors import InputError

    if category not in REJECTION_CATEGORIES:
        raise InputError(f"--category is {category}; Prolific takes {', '.join(REJECTION_CATEGORIES)}.")
    if len(message) < SHORTEST_REJECTION:
        raise InputError(
            f"--message has {len(message)} letters; Prolific asks for {SHORTEST_REJECTION}, so that the person can see "
            "what was wrong."
        )
