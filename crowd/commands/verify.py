"""Ask the marketplace which visits it stands behind: votes count once their visit is confirmed.

Nothing is paid. Visits that it took back (returned, timed out, rejected) or never listed are set aside, and their pairs
are offered again. With --every it goes on asking until it is stopped with Ctrl-C.
"""

from __future__ import annotations

import argparse
import time

from dialogue.command_line import given, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch, and how often."""
    from crowd.arguments import add_launched

    add_launched(parser, "verify")
    parser.add_argument("--every", type=int, metavar="MINUTES", help="ask again every so many minutes")


def run(args: argparse.Namespace) -> None:
    """Ask once, or again and again."""
    from contextlib import suppress

    from dialogue.errors import InputError

    if args.every is not None and args.every < 1:
        raise InputError(f"--every is {args.every}; it must be a whole number of minutes, 1 or more.")
    with suppress(KeyboardInterrupt):
        while True:
            _ask(args)
            if args.every is None:
                break
            time.sleep(60 * args.every)
    tell_next("python -m crowd status", args.study, *given(args, "database"))


def _ask(args: argparse.Namespace) -> None:
    from crowd.arguments import market_of
    from crowd.marketplaces.paying import PayTerms, bill_of, record_look
    from crowd.study_folder import hit_in_force, opened
    from crowd.watching.progress import progress

    market = market_of(args)
    with opened(args.study, args.database) as store:
        bill = bill_of(market, store, PayTerms(), time.time())
        seen = record_look(store, bill)
        with store.read() as connection:
            now = progress(connection, hit_in_force(store, args.study).votes_per_pair)
    print(
        f"{market.title}: {seen.confirmed} visits confirmed, {seen.withdrawn} taken back, {seen.overdue} never listed."
    )
    print(f"Votes: {now.counted} of {now.wanted} count, {now.waiting} wait for {market.title}.")
    for problem in bill.look.problems:
        print(f"skipped: {problem}")
