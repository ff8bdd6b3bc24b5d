"""Ask people on Prolific to return a submission: for work that was not done, or that a fault of yours made impossible.

Prolific sends them a message with your reason. Each request goes through the ledger and is sent once; one without an
answer is settled by asking Prolific. Who returns is not paid, so say with `pay --compensate` what their work was worth.
Without --yes it prints whom it would ask, and sends nothing.
"""

from __future__ import annotations

import argparse

from dialogue.command_line import given, tell_next

SAID = {"confirmed": "asked", "refused": "refused"}
OWN = {"reason": None}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch, whom, and why."""
    from crowd.arguments import add_launched

    add_launched(parser, "request-return")
    parser.add_argument(
        "--submission", metavar="ID", action="append", required=True, help="whom to ask; may be given several times"
    )
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why, as the person will read it")


def run(args: argparse.Namespace) -> int:
    """Print whom; with --yes, ask."""
    from crowd.marketplaces.money_lock import money_lock

    with money_lock(args.study, args.database, needed=args.yes):
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from crowd.arguments import again, market_of
    from crowd.marketplaces.reviewing import all_done, send_messages, to_review
    from crowd.study_folder import opened
    from dialogue.errors import InputError

    if not args.reason.strip():
        raise InputError("--reason is empty; the person must be told why.")
    with opened(args.study, args.database) as store:
        market = market_of(args, store)
        reviewed = to_review(market, store, "return", args.submission)
        for one in reviewed:
            done = f"{one.answers} answers here: pay --compensate pays for them" if one.answers else "no answer here"
            print(f"  {one.row.key}  {one.row.state}, {done}")
        if not args.yes:
            print(f"Nobody was asked. They would read: {args.reason.strip()!r}. Add --yes to send it.")
            named = [word for name in args.submission for word in ("--submission", name)]
            tell_next("python -m crowd request-return", *again(args, **OWN), *named, "--yes")
            return 0
        rows = list(send_messages(market, store, "return", reviewed, args.reason.strip()))
        for row in rows:
            why = f": {row.why}" if row.why else ""
            print(f"  {SAID.get(row.state, 'uncertain')}  {row.submission}{why}")
    tell_next("python -m crowd verify", args.study, *given(args, "database"))
    return 0 if all_done(rows) else 1
