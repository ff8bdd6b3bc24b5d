"""Reject submissions on Prolific, with its categories and a message that the person reads.

A rejection is never undone and harms a person's record, so each submission is named; failed checks alone reject nobody.
Each goes through the ledger and is sent once. Without --yes it prints whom it would reject, and sends nothing.
"""

from __future__ import annotations

import argparse

from dialogue.command_line import given, tell_next

SAID = {"confirmed": "rejected", "refused": "refused"}
OWN = {"category": None, "message": None}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch, whom, and why."""
    from crowd.arguments import add_launched

    add_launched(parser, "reject")
    parser.add_argument(
        "--submission", metavar="ID", action="append", required=True, help="whom to reject; may be given several times"
    )
    parser.add_argument("--category", metavar="WORD", required=True, help="Prolific's category, e.g. FAILED_CHECK")
    parser.add_argument("--message", metavar="TEXT", required=True, help="why, as the person will read it")


def run(args: argparse.Namespace) -> int:
    """Print whom; with --yes, reject."""
    from crowd.marketplaces.money_lock import money_lock

    with money_lock(args.study, args.database, needed=args.yes):
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from crowd.arguments import again, market_of
    from crowd.marketplaces.reviewing import all_done, send_messages, to_review
    from crowd.study_folder import opened

    message = args.message.strip()
    _check(args.category, message)
    with opened(args.study, args.database) as store:
        market = market_of(args, store)
        reviewed = to_review(market, store, "rejection", args.submission)
        for one in reviewed:
            done = f"{one.answers} answers here: pay --compensate pays for them" if one.answers else "no answer here"
            print(f"  {one.row.key}  {one.row.state}, {done}")
        if not args.yes:
            print(f"Nobody was rejected. They would read: {message!r}. Add --yes to send it.")
            named = [word for name in args.submission for word in ("--submission", name)]
            tell_next("python -m crowd reject", *again(args, **OWN), *named, "--yes")
            return 0
        rows = list(send_messages(market, store, "rejection", reviewed, f"{args.category} {message}"))
        for row in rows:
            why = f": {row.why}" if row.why else ""
            print(f"  {SAID.get(row.state, 'uncertain')}  {row.submission}{why}")
    tell_next("python -m crowd verify", args.study, *given(args, "database"))
    return 0 if all_done(rows) else 1


def _check(category: str, message: str) -> None:
    from crowd.marketplaces.prolific.client import REJECTION_CATEGORIES, SHORTEST_REJECTION
    from dialogue.errors import InputError

    if category not in REJECTION_CATEGORIES:
        raise InputError(f"--category is {category}; Prolific takes {', '.join(REJECTION_CATEGORIES)}.")
    if len(message) < SHORTEST_REJECTION:
        raise InputError(
            f"--message has {len(message)} letters; Prolific asks for {SHORTEST_REJECTION}, so that the person can see "
            "what was wrong."
        )
