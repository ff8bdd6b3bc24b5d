"""Close a launch to new raters. Raters at work may finish; votes and payments are not changed."""

from __future__ import annotations

import argparse

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch."""
    from seedvote.crowd.arguments import add_launched

    add_launched(parser, "expire")


def run(args: argparse.Namespace) -> None:
    """Close it; without --yes, only say so."""
    from seedvote.crowd.arguments import again, launched_market

    with launched_market(args) as (_, market):
        if args.yes:
            print(market.stop_entry())
            tell_next("python -m crowd pay", args.study, *repeat_options(args, "database"))
        else:
            print(f"{market.title} would send no new raters. Add --yes to do it.")
            tell_next("python -m crowd expire", *again(args), "--yes")
