"""Pay the people of a launch: approve their work, pay bonuses, and see which visits the marketplace confirms.

Without --yes it prints whom it would pay what, and spends and changes nothing. Nobody is ever rejected, and work that
cannot be matched is left to you. Each payment is written in the ledger before it is sent, and is never sent again: what
got no answer is uncertain, and is settled by asking the marketplace, or by you with --confirm or --not-paid.

The exit code is 1 where a payment was refused or is uncertain; the last line says how many.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Collection, Mapping
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

from dialogue.command_line import given, tell_next

if TYPE_CHECKING:
    from crowd.marketplaces.market import Market
    from crowd.marketplaces.paying import Bill, PayTerms
    from crowd.store.store import Store

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
    from crowd.arguments import add_launched

    add_launched(parser, "pay")
    parser.add_argument("--bonus", metavar="AMOUNT", help="paid once for each visit with enough answers")
    parser.add_argument("--bonuses", type=Path, metavar="FILE", help="a table of visits (or workers) and amounts")
    parser.add_argument(
        "--bonus-name", default="", metavar="NAME", help="a visit gets one bonus of each name (default: one without)"
    )
    parser.add_argument("--per-answer", metavar="AMOUNT", help="paid once for each visit, for each answer in it")
    parser.add_argument(
        "--compensate",
        metavar="AMOUNT",
        help="for each answer of those who worked and could not hand in (Prolific; MTurk: `crowd compensate`)",
    )
    parser.add_argument(
        "--top-up", action="store_true", help="raise everybody to --least-hourly, where the median pay is below it"
    )
    parser.add_argument("--only", metavar="IDS", help="pay these visits alone: ids with commas, or a file of them")
    parser.add_argument("--except", "--without", dest="without", metavar="IDS", help="leave out these visits this time")
    parser.add_argument(
        "--min-answers", type=int, default=1, metavar="N", help="leave visits with fewer answers to you (default: 1)"
    )
    parser.add_argument("--reason", default=REASON, help="message to the worker with a bonus")
    parser.add_argument("--hold", metavar="ID", help="pay nothing for this visit until you release it; say --why")
    parser.add_argument("--why", metavar="TEXT", help="why it is held")
    parser.add_argument("--release", metavar="ID", help="pay a held visit again")
    parser.add_argument("--confirm", metavar="ID", help="you have looked: what was uncertain about this one was paid")
    parser.add_argument("--not-paid", metavar="ID", help="you have looked: it was not paid, and may be sent anew")


def run(args: argparse.Namespace) -> int:
    """Hold the two lists together, print what is due, and with --yes pay it."""
    from crowd.marketplaces.money_lock import money_lock

    deciding = args.confirm or args.not_paid or args.hold or args.release
    with money_lock(args.study, args.database, needed=args.yes or deciding):
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from crowd.arguments import again, market_of
    from crowd.marketplaces import paying
    from crowd.marketplaces.receipt import bill_lines
    from crowd.study_folder import opened

    terms = _terms(args)
    with opened(args.study, args.database) as store:
        market = market_of(args, store)
        if args.hold or args.release:
            _hold(args, market, store)
            return 0
        if args.confirm or args.not_paid:
            _decide(args, market, store)
            return 0
        bill = paying.bill_of(market, store, terms, time.time())
        print(f"{market.title}:")
        print("\n".join(bill_lines(bill, market.currency)))
        if not args.yes:
            print("Nothing was paid or changed. Add --yes to do it.")
            tell_next("python -m crowd pay", *again(args, **OWN), "--yes")
            return 0
        _check(args, store, bill, market)
        undone = _settle(market, store, bill)
    if undone:
        tell_next("python -m crowd pay", *again(args, **OWN), "--yes")
        sys.stdout.flush()
        print(f"Not all was paid: {undone}.", file=sys.stderr)
        return PARTLY
    tell_next("python -m crowd export", args.study, *given(args, "database"))
    return 0


def _terms(args: argparse.Namespace) -> PayTerms:
    from crowd.arguments import options_of
    from crowd.marketplaces.ledger import ZERO
    from crowd.marketplaces.money import money
    from crowd.marketplaces.options import LaunchOptions
    from crowd.marketplaces.paying import PayTerms
    from dialogue.errors import InputError

    if args.min_answers < 1:
        raise InputError(f"--min-answers is {args.min_answers}; it must be a whole number, 1 or more.")
    if bool(args.hold) != bool((args.why or "").strip()):
        raise InputError("--hold ID and --why TEXT go together: whoever pays later must know what to look at.")
    bonus, each, lost = (money(text) if text else ZERO for text in (args.bonus, args.per_answer, args.compensate))
    return PayTerms(
        bonus=bonus,
        bonuses=_bonuses(args.bonuses) if args.bonuses else {},
        bonus_name=args.bonus_name.strip(),
        per_answer=each,
        compensation=lost,
        least_hourly=options_of(args, LaunchOptions).least_hourly,
        top_up=args.top_up,
        min_answers=args.min_answers,
        reason=args.reason,
        only=_visits(args.only),
        without=_visits(args.without),
    )


def _visits(text: str | None) -> Collection[str]:
    """Ids with commas between them, or the words of a file."""
    if not text:
        return ()
    path = Path(text)
    words = path.read_text(encoding="utf-8-sig") if path.is_file() else text
    return frozenset(words.replace(",", " ").split())


def _bonuses(path: Path) -> Mapping[str, Decimal]:
    """A table with two columns: whom, and how much."""
    from crowd.marketplaces.money import money
    from dialogue.errors import InputError
    from dialogue.tables.reading import read_table
    from dialogue.tables.table import cell_text

    table = read_table(path)
    if len(table.names) != 2:
        raise InputError(f"{path} has {len(table.names)} columns; it must have two: whom, and the amount.")
    whom, amounts = (table.columns[name] for name in table.names)
    found: dict[str, Decimal] = {}
    for cell, amount in zip(whom, amounts, strict=True):
        name = cell_text(cell).strip()
        if name in found:
            raise InputError(f"{path} names {name} twice. Give each visit one amount.")
        found[name] = money(cell_text(amount).strip())
    return found


def _hold(args: argparse.Namespace, market: Market, store: Store) -> None:
    from crowd.marketplaces.paying import hold, release

    if args.hold:
        hold(store, market.source, args.hold, args.why.strip(), time.time())
        print(f"{args.hold} is held: nothing is paid for it until `crowd pay --release {args.hold}`.")
    else:
        release(store, market.source, args.release)
        print(f"{args.release} is paid again.")
    tell_next("python -m crowd pay", args.study, *given(args, "database"))


def _decide(args: argparse.Namespace, market: Market, store: Store) -> None:
    """The marketplace is asked once more, so that nobody is paid twice because somebody looked too early."""
    from crowd.marketplaces.ledger import PayoutLedger
    from crowd.marketplaces.paying import ask_about_the_rest

    name, ledger = args.confirm or args.not_paid, PayoutLedger(store, market.source)
    open_ = ledger.open_of(name, refused=bool(args.confirm))
    ask_about_the_rest(market, store, name)
    now = {(row.submission, row.purpose): row for row in ledger.rows()}
    rows = [now[before.submission, before.purpose] for before in open_]
    for row in rows:
        what = f"{row.submission}: {market.title} says that the {row.purpose} of {row.amount} {row.currency}"
        if row.state == "confirmed":
            print(f"{what} was paid.")
        if row.state == "intended":
            print(f"{what} was not paid. It is sent with the next `pay`.")
    if any(row.state not in ("confirmed", "intended") for row in rows):
        for row in ledger.decide(name, paid=bool(args.confirm)):
            print(f"{row.submission}: {row.purpose} of {row.amount} {row.currency} is {row.state}.")
    tell_next("python -m crowd pay", args.study, *given(args, "database"))


def _check(args: argparse.Namespace, store: Store, bill: Bill, market: Market) -> None:
    """The cap and the budget, before anything moves."""
    from crowd.arguments import options_of
    from crowd.marketplaces.ledger import check_cap, set_caps
    from crowd.marketplaces.options import LaunchOptions
    from dialogue.errors import InputError

    options = options_of(args, LaunchOptions)
    set_caps(store, options.cap, options.month_cap)
    if options.budget is not None and bill.cost > options.budget:
        raise InputError(f"the budget is {options.budget} {market.currency}, but this may cost {bill.cost:.2f}.")
    check_cap(store, [due.payout for due in bill.dues])


def _settle(market: Market, store: Store, bill: Bill) -> str:
    """Pay; what was not done, in words."""
    from crowd.marketplaces import paying
    from crowd.marketplaces.receipt import failures, look_lines, paid_lines

    booked = market.book(store)
    seen = paying.record_look(store, bill)
    closed, problems = paying.shut_out(market, store)
    paying.ask_about_the_rest(market, store)  # what is settled stands in nobody's way
    paid = list(paying.pay(market, store, bill))
    open_ = paying.ask_about_the_rest(market, store)
    paid = paying.as_they_are(market, store, paid)
    problems = [*bill.look.problems, *problems]
    print("\n".join([*paid_lines(paid, open_), *look_lines(seen, closed, problems), *(f"  {line}" for line in booked)]))
    return failures(paid, open_, problems)
