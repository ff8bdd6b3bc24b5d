"""Pay the people of a launch: approve their work, pay bonuses, and see which visits the marketplace confirms.

Without --yes it prints whom it would pay what, and spends and changes nothing. Nobody is ever rejected, and work that
cannot be matched is left to you. Each payment is written in the ledger before it is sent, and is never sent again.
What got no answer is uncertain: the next `pay` asks the marketplace, or you settle it with --confirm or --not-paid.

The exit code is 1 where a payment was refused or is uncertain; the last line says how many.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import TYPE_CHECKING

from seedvote.dialogue.shell.command_line import repeat_options, tell_next

if TYPE_CHECKING:
    from seedvote.crowd.marketplaces.market import Market
    from seedvote.crowd.store.store import Store

REASON = "Thank you for your careful work."
OWN: dict[str, object] = {
    "bonus": None,
    "bonuses": None,
    "bonus_name": "",
    "per_answer": None,
    "compensate": None,
    "top_up": False,
}
OWN |= {"only": None, "without": None, "min_answers": 1, "reason": REASON}  # this command's options and their defaults
PARTLY = 1  # exit code: something was not done


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch and what is paid."""
    from seedvote.crowd.arguments import add_launched

    add_launched(parser, "pay")
    for option, metavar, text in (
        ("--bonus", "AMOUNT", "paid once for each visit with enough answers"),
        ("--bonuses", "FILE", "a table with two columns: visit or worker, and amount"),
        ("--per-answer", "AMOUNT", "paid once for each visit, for each answer in it"),
        (
            "--compensate",
            "AMOUNT",
            "for each answer of those who worked and could not hand in (MTurk: `crowd compensate`)",
        ),
        ("--only", "IDS", "pay these visits alone: ids with commas, or a file of them"),
        ("--hold", "ID", "pay nothing for this visit until you release it; say --why"),
        ("--why", "TEXT", "why it is held"),
        ("--release", "ID", "pay a held visit again"),
        ("--confirm", "ID", "you have looked: what was uncertain about this one was paid"),
        ("--not-paid", "ID", "you have looked: it was not paid, and may be sent anew"),
    ):
        parser.add_argument(option, metavar=metavar, help=text)
    parser.add_argument("--except", "--without", dest="without", metavar="IDS", help="leave out these visits this time")
    parser.add_argument("--bonus-name", default="", metavar="NAME", help="a visit gets one bonus of each name")
    parser.add_argument(
        "--top-up", action="store_true", help="raise everybody to --least-hourly, where the median is below"
    )
    fewest = "leave visits with fewer answers to you (default: 1)"
    parser.add_argument("--min-answers", type=int, default=1, metavar="N", help=fewest)
    parser.add_argument("--reason", default=REASON, help="message to the worker with a bonus")


def run(args: argparse.Namespace) -> int:
    """Hold the two lists together, print what is due, and with --yes pay it."""
    from seedvote.crowd.arguments import again, allow_spending, launched_market, pay_terms_of
    from seedvote.crowd.marketplaces.paying import bill_of, pay_bill
    from seedvote.crowd.marketplaces.receipt import bill_lines, failures, receipt_lines

    terms = pay_terms_of(args)
    decides = args.confirm or args.not_paid or args.hold or args.release  # a person says something of one payment
    with launched_market(args, moves_money=args.yes or decides) as (store, market):
        if decides:
            _say_decision(args, market, store)
            return 0
        bill = bill_of(market, store, terms, time.time())
        print(f"{market.title}:")
        print("\n".join(bill_lines(bill, market.currency)))
        if not args.yes:
            print("Nothing was paid or changed. Add --yes to do it.")
            tell_next("python -m crowd pay", *again(args, **OWN), "--yes")
            return 0
        allow_spending(args, store, market.currency, bill.cost, [due.payout for due in bill.dues])
        receipt = pay_bill(market, store, bill)
    print("\n".join(receipt_lines(receipt)))
    if undone := failures(receipt):
        tell_next("python -m crowd pay", *again(args, **OWN), "--yes")
        sys.stdout.flush()
        print(f"Not all was paid: {undone}.", file=sys.stderr)
        return PARTLY
    tell_next("python -m crowd export", args.study, *repeat_options(args, "database"))
    return 0


def _say_decision(args: argparse.Namespace, market: Market, store: Store) -> None:
    from seedvote.crowd.marketplaces.paying import hold_visit, release_visit, settle_by_hand

    if args.hold:
        print(hold_visit(store, market.source, args.hold, args.why.strip(), time.time()))
    elif args.release:
        print(release_visit(store, market.source, args.release))
    else:
        print("\n".join(settle_by_hand(market, store, args.confirm or args.not_paid, paid=bool(args.confirm))))
    tell_next("python -m crowd pay", args.study, *repeat_options(args, "database"))
