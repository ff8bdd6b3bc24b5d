"""Close a launch: nobody new comes in; who is at work may finish, votes and payments stay as they are."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch."""
    from crowd.marketplaces.launch import add_door

    add_door(parser)


def run(args: argparse.Namespace) -> None:
    """Close it."""
    from crowd.marketplaces.market import market_of

    market = market_of(args)
    print(market.close() if args.yes else f"{market.name} would send nobody new. Add --yes to do it.")
