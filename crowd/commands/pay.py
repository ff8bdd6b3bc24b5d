"""Pay the workers of a launch: approve their work, pay a bonus, and see which votes the marketplace confirms.

Without --yes it prints what would be paid, and spends and changes nothing. Nobody is ever rejected. Work that cannot be
matched is counted and left to you. A worker who failed the checks is paid for the work done and gets no further work.
"""

from __future__ import annotations

import argparse
import time
from decimal import Decimal
from typing import TYPE_CHECKING

from dialogue.command_line import given, tell_next

if TYPE_CHECKING:
    from crowd.marketplaces.paying import Bill

REASON = "Thank you for your careful work."


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch and the bonus."""
    from crowd.arguments import add_launched

    add_launched(parser, "pay")
    parser.add_argument("--bonus", metavar="AMOUNT", help="paid once for each sitting with answers")
    parser.add_argument("--reason", default=REASON, help="message to the worker with the bonus")


def run(args: argparse.Namespace) -> None:
    """Hold the two lists together, print what is due, and with --yes pay it."""
    from crowd.arguments import again, market_of
    from crowd.marketplaces import paying
    from crowd.marketplaces.money import money
    from crowd.study_folder import hit_in_force, opened

    market, bonus = market_of(args), money(args.bonus) if args.bonus else Decimal(0)
    with opened(args.study, args.database) as store:
        bill = paying.bill_of(market, store, bonus, args.reason, time.time())
        print(f"{market.title}:")
        _print_bill(bill)
        if not args.yes:
            print("Nothing was paid or changed. Add --yes to do it.")
            tell_next("python -m crowd pay", *again(args, bonus=None, reason=REASON), "--yes")
            return
        done = paying.pay(market, store, bill, hit_in_force(store, args.study))
    print(
        f"Approved {done.approved}, paid {done.bonuses} bonuses, set {done.set_aside} votes aside, "
        f"closed to {done.closed} workers."
    )
    tell_next("python -m crowd export", args.study, *given(args, "database"))


def _print_bill(bill: Bill) -> None:
    """Counts and money, no id of anybody."""
    found = bill.settlement
    print(f"  confirmed  {len(found.verified)} visits: the marketplace lists them for the worker who came")
    print(f"  approve    {bill.rewards}")
    print(f"  bonus      {len(bill.owed)} x {bill.bonus} (plus the fee)")
    print(f"  idle       {len(found.idle)} were submitted without an answer here: check them yourself")
    print(f"  unlisted   {len(found.unlisted)} have answers here but are not listed by the marketplace")
    print(f"  late       {len(bill.late)} of those are overdue: their votes will be set aside")
    print(f"  total      {bill.total:.2f} {bill.rewards.currency}")
