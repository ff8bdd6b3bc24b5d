"""Add sittings to a launch, to replace the votes of raters who left or were blocked.

By default it adds the sittings that the missing votes need, less the places that are still open. An extension that was
interrupted is finished first. Without --yes it prints the price and adds nothing.
"""

from __future__ import annotations

import argparse

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch and how many sittings."""
    from seedvote.crowd.arguments import add_launched

    add_launched(parser, "extend")
    parser.add_argument(
        "--sittings", type=int, metavar="N", help="sittings to add (default: as many as the missing votes need)"
    )


def run(args: argparse.Namespace) -> None:
    """Print what it costs; with --yes, add."""
    from seedvote.crowd.arguments import again, allow_spending, launched_market
    from seedvote.crowd.marketplaces.checklist import read_planned
    from seedvote.crowd.marketplaces.paying import shut_out
    from seedvote.crowd.study_folder import hit_of
    from seedvote.dialogue.errors import InputError

    if args.sittings is not None and args.sittings < 1:
        raise InputError(f"--sittings is {args.sittings}; it must be a whole number, 1 or more.")
    with launched_market(args, moves_money=args.yes) as (store, market):
        study = read_planned(store, args.study, hit_of(args.study, None))
        # what an interrupted command has planned comes before another plan
        if args.yes and (finished := market.finish_extension(store)):
            print(f"{market.title}: {finished} places of an earlier command, which had stopped, are there now.")
            if args.sittings:  # those were asked for before, by the same words
                tell_next("python -m crowd status", args.study, *repeat_options(args, "database"))
                return
        open_ = market.open_places()
        sittings = args.sittings or max(0, study.sittings - open_)
        print(f"{market.title}: {study.sittings} sittings are needed, {open_} places are open")
        if not sittings:
            print("There is nothing to add. Places that are closed are opened by `crowd resume`.")
            tell_next("python -m crowd pay", args.study, *repeat_options(args, "database"))
            return
        price = market.price_sittings(sittings)
        allow_spending(args, store, price.currency, price.total)
        print(f"{market.title}: {price}")
        if args.yes:
            for problem in shut_out(market, store)[1]:  # the blocked first: they would accept the new work in vain
                print(f"skipped: {problem}")
            print(market.add_sittings(store, sittings))
            tell_next("python -m crowd status", args.study, *repeat_options(args, "database"))
        else:
            print("Nothing was added. Add --yes to do it.")
            tell_next("python -m crowd extend", *again(args, sittings=None), "--yes")
