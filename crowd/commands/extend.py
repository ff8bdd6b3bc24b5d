"""Add sittings to a launch, so that pairs whose raters left or were blocked get their votes after all.

Without --sittings, as many as the missing votes need beyond the places that are still open. Without --yes the price is
printed and nothing is added.
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch and how many sittings."""
    from crowd.marketplaces.launch import add_door

    add_door(parser)
    parser.add_argument("--sittings", type=int, metavar="N", help="default: what the missing votes need")
    parser.add_argument("--days", type=int, default=7, help="MTurk: that the new HITs stay open (default: 7)")
    parser.add_argument("--fee-percent", metavar="P", help="Prolific: your account's service fee, to add it up")
    parser.add_argument("--budget", metavar="AMOUNT", help="stop if it may cost more")


def run(args: argparse.Namespace) -> None:
    """Say what it costs; with --yes, add."""
    from crowd.marketplaces.checklist import read_study
    from crowd.marketplaces.launch import check_budget, money
    from crowd.marketplaces.market import market_of, shut_out
    from crowd.web.serving import hit_of
    from dialogue.errors import InputError

    if args.sittings is not None and args.sittings < 1:
        raise InputError(f"--sittings is {args.sittings}; it is a whole number from 1.")
    market = market_of(args)
    study = read_study(args.study, hit_of(args.study, None), args.database)
    sittings = args.sittings or study.sittings
    if not sittings:
        print("Every pair has its votes; nothing to add.")
        return
    cost = market.more(sittings)
    check_budget(cost, money(args.budget) if args.budget else None)
    print(f"{market.name}: {cost}")
    if not args.yes:
        print("Nothing was added. Add --yes to do it.")
        return
    shut_out(market, args)
    print(market.extend(sittings))
