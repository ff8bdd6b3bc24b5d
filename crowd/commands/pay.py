"""Settle with the marketplace: approve what was worked, pay a bonus, and see whose votes it confirms.

Without --yes nothing is spent or changed: what would be paid is printed. Nobody is rejected, ever; work that cannot be
matched is counted and left to you. A worker who failed the checks is paid for what was done, and is offered no more.
"""

from __future__ import annotations

import argparse
import time
from decimal import Decimal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from crowd.marketplaces.market import Market
    from crowd.marketplaces.settling import Listed, Settlement


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch and the bonus."""
    from crowd.marketplaces.launch import add_door

    add_door(parser)
    parser.add_argument("--bonus", metavar="AMOUNT", help="for each sitting that was worked and has had none")
    parser.add_argument("--reason", default="Thank you for your careful work.", help="what the worker reads with it")
    parser.add_argument("--fee-percent", metavar="P", help="Prolific: your account's service fee, to add it up")


def run(args: argparse.Namespace) -> None:
    """Hold the two lists together, say what it means, and with --yes do it."""
    from crowd.marketplaces import settling
    from crowd.marketplaces.launch import money
    from crowd.marketplaces.market import market_of, shut_out
    from crowd.web.serving import hit_of, opened

    market, bonus = market_of(args), money(args.bonus) if args.bonus else Decimal(0)
    with opened(args.study, args.database) as store:
        with store.read() as connection:
            here = settling.visits(connection, market.source)
        found, now = settling.settle(here, market.listed()), time.time()
        owed = market.owed_bonus([*found.approve, *found.paid], args.reason) if bonus else []
        late = [visit for visit in found.unlisted if now - visit.begun > market.deadline()]
        _say(market, found, owed, bonus, len(late))
        if not args.yes:
            print("Nothing was paid or changed. Add --yes to do it.")
            return
        with store.write() as connection:
            settling.record(connection, found, now)
            aside = settling.set_aside(connection, late, hit_of(args.study, None).votes_per_pair, now)
        closed = shut_out(market, args)
        market.approve(found.approve)
        market.pay_bonus(owed, bonus, args.reason)
    print(
        f"Approved {len(found.approve)}, paid {len(owed)} bonuses, set {aside} votes aside, closed to {closed} workers."
    )


def _say(market: Market, found: Settlement, owed: list[Listed], bonus: Decimal, late: int) -> None:
    """The dry run: counts and money, no id of anybody."""
    rewards = market.more(len(found.approve))
    total = rewards.total + len(owed) * market.bonus_cost(bonus)
    print(f"{market.name}:")
    print(f"  confirmed  {len(found.verified)} visits are listed for the worker who came")
    print(f"  approve    {rewards}")
    print(f"  bonus      {len(owed)} x {bonus} (and fee)")
    print(f"  idle       {len(found.idle)} handed in without an answer here: look at them yourself")
    print(f"  unlisted   {len(found.unlisted)} worked here and are not listed; {late} are past their time: set aside")
    print(f"  total      {total:.2f} {rewards.currency}")
