"""Pay the people of a launch: approve their work, pay bonuses, and see which visits the marketplace confirms.

Without --yes it prints whom it would pay what, and spends and changes nothing. Nobody is ever rejected, and work that
cannot be matched is left to you. Each payment is written in the ledger before it is sent, and is never sent again: what
got no answer is uncertain, and is settled by asking the marketplace, or by you with --confirm or --not-paid.
"""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from dialogue.command_line import given, tell_next

if TYPE_CHECKING:
    from crowd.marketplaces.market import Market
    from crowd.marketplaces.paying import Bill, PayTerms
    from crowd.store.store import Store

REASON = "Thank you for your careful work."
OWN = {"bonus": None, "per_answer": None, "compensate": None, "min_answers": 1, "reason": REASON}  # and their defaults


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch and what is paid."""
    from crowd.arguments import add_launched

    add_launched(parser, "pay")
    parser.add_argument("--bonus", metavar="AMOUNT", help="paid once for each visit with enough answers")
    parser.add_argument("--per-answer", metavar="AMOUNT", help="paid once for each visit, for each answer in it")
    parser.add_argument(
        "--compensate",
        metavar="AMOUNT",
        help="for each answer of those who worked and could not hand in (Prolific; MTurk: `crowd compensate`)",
    )
    parser.add_argument(
        "--min-answers", type=int, default=1, metavar="N", help="leave visits with fewer answers to you (default: 1)"
    )
    parser.add_argument("--reason", default=REASON, help="message to the worker with a bonus")
    parser.add_argument("--confirm", metavar="ID", help="you have looked: what was uncertain about this one was paid")
    parser.add_argument("--not-paid", metavar="ID", help="you have looked: it was not paid, and may be sent anew")


def run(args: argparse.Namespace) -> None:
    """Hold the two lists together, print what is due, and with --yes pay it."""
    from crowd.marketplaces.money_lock import money_lock

    with money_lock(args.study, args.database, needed=args.yes or args.confirm or args.not_paid):
        _run(args)


def _run(args: argparse.Namespace) -> None:
    from crowd.arguments import again, market_of
    from crowd.marketplaces import paying
    from crowd.marketplaces.receipt import bill_lines
    from crowd.study_folder import opened

    terms = _terms(args)
    with opened(args.study, args.database) as store:
        market = market_of(args, store)
        if args.confirm or args.not_paid:
            _decide(args, market, store)
            return
        bill = paying.bill_of(market, store, terms, time.time())
        print(f"{market.title}:")
        print("\n".join(bill_lines(bill, market.currency)))
        if not args.yes:
            print("Nothing was paid or changed. Add --yes to do it.")
            tell_next("python -m crowd pay", *again(args, **OWN), "--yes")
            return
        _check(args, store, bill, market)
        _settle(market, store, bill)
    tell_next("python -m crowd export", args.study, *given(args, "database"))


def _terms(args: argparse.Namespace) -> PayTerms:
    from crowd.marketplaces.money import money
    from crowd.marketplaces.paying import ZERO, PayTerms
    from dialogue.errors import InputError

    if args.min_answers < 1:
        raise InputError(f"--min-answers is {args.min_answers}; it must be a whole number, 1 or more.")
    bonus, each, lost = (money(text) if text else ZERO for text in (args.bonus, args.per_answer, args.compensate))
    return PayTerms(bonus, each, lost, args.min_answers, args.reason)


def _decide(args: argparse.Namespace, market: Market, store: Store) -> None:
    from crowd.marketplaces.ledger import PayoutLedger

    name = args.confirm or args.not_paid
    for row in PayoutLedger(store, market.source).decide(name, paid=bool(args.confirm)):
        print(f"{row.submission}: {row.purpose} of {row.amount} {row.currency} is {row.state}.")
    tell_next("python -m crowd pay", args.study, *given(args, "database"))


def _check(args: argparse.Namespace, store: Store, bill: Bill, market: Market) -> None:
    """The cap and the budget, before anything moves."""
    from crowd.arguments import options_of
    from crowd.marketplaces.ledger import check_cap, set_cap
    from crowd.marketplaces.options import LaunchOptions
    from dialogue.errors import InputError

    options = options_of(args, LaunchOptions)
    if options.cap is not None:
        set_cap(store, options.cap)
    if options.budget is not None and bill.cost > options.budget:
        raise InputError(f"the budget is {options.budget} {market.currency}, but this may cost {bill.cost:.2f}.")
    check_cap(store, [due.payout for due in bill.dues])


def _settle(market: Market, store: Store, bill: Bill) -> None:
    from crowd.marketplaces import paying
    from crowd.marketplaces.receipt import look_lines, paid_lines

    seen = paying.record_look(store, bill)
    closed, problems = paying.shut_out(market, store)
    paid = list(paying.pay(market, store, bill))
    open_ = paying.ask_about_the_rest(market, store)
    paid = paying.as_they_are(market, store, paid)
    print("\n".join([*paid_lines(paid, open_), *look_lines(seen, closed, [*bill.look.problems, *problems])]))
