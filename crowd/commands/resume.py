"""Let a paused or stopped study go on; where it was launched on a marketplace, open that again too (with --yes)."""

from __future__ import annotations

import argparse

from dialogue.command_line import given, next_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, its launch and for how long."""
    from crowd.marketplaces.launch import add_door

    add_door(parser)
    parser.add_argument("--days", type=int, default=7, help="MTurk: that the HITs are open (default: 7)")


def run(args: argparse.Namespace) -> None:
    """Set it in the store, which every server of the study obeys at the next request; then the marketplace."""
    from crowd.marketplaces.market import launched_on, market_of, shut_out
    from crowd.watching.progress import set_state
    from crowd.web.serving import opened
    from dialogue.errors import InputError

    if args.days < 1:
        raise InputError(f"--days is {args.days}; it is a whole number from 1.")
    with opened(args.study, args.database) as store:
        set_state(store, "running")
    pause = next_command("python -m crowd pause", args.study, *given(args, "database"))
    print(f"Running. Pause with: {pause}")
    if not launched_on(args.study):
        return
    market = market_of(args)
    if not args.yes:
        print(f"Add --yes to let {market.name} send raters again.")
        return
    shut_out(market, args)
    print(market.open(args.days))
