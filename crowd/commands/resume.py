"""Resume a paused or stopped study. With --yes, also reopen its launch on a marketplace."""

from __future__ import annotations

import argparse

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, its launch and for how long."""
    from seedvote.crowd.arguments import add_launched

    add_launched(parser, "resume")


def run(args: argparse.Namespace) -> None:
    """Set it in the store, which every server of the study obeys at the next request; then the marketplace."""
    from seedvote.crowd.arguments import again, market_of
    from seedvote.crowd.marketplaces.market import launched_on
    from seedvote.crowd.marketplaces.paying import shut_out
    from seedvote.crowd.study_folder import opened
    from seedvote.crowd.watching.progress import set_state

    with opened(args.study, args.database) as store:
        # Before anything changes: a wrong option, or a second launch that was not named, stops the command here.
        market = market_of(args, store) if any(row.market for row in launched_on(store)) else None
        set_state(store, "running")
        print("Running: raters can take part.")
        if market and args.yes:
            for problem in shut_out(market, store)[1]:
                print(f"skipped: {problem}")
            print(market.allow_entry())
    if market and not args.yes:
        print(f"Add --yes to let {market.title} send raters again.")
        tell_next("python -m crowd resume", *again(args), "--yes")
    else:
        tell_next("python -m crowd status", args.study, *repeat_options(args, "database"))
