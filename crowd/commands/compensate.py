"""Pay workers of Mechanical Turk who answered and could not hand in: a HIT for each, which only that worker sees.

Without --yes it prints whom it would pay what, and opens nothing. Each HIT is a row of the ledger and is opened once,
inside the study's cap, and only when the visit cannot be handed in any more. Run it again, without --worker too: what
came in is approved, and the HIT and its qualification are deleted. Prolific pays such people by `pay --compensate`.
"""

from __future__ import annotations

import argparse
import time
from decimal import Decimal
from typing import TYPE_CHECKING

from seedvote.dialogue.shell.command_line import repeat_options, tell_next

if TYPE_CHECKING:
    from collections.abc import Mapping

    from seedvote.crowd.marketplaces.ledger import Payout
    from seedvote.crowd.marketplaces.mturk.market import MTurkMarket
    from seedvote.crowd.marketplaces.settling import MarketVisit
    from seedvote.crowd.store.store import Store

SAID = {"confirmed": "opened", "refused": "refused"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch, whom, and how much."""
    from seedvote.crowd.arguments import add_launched

    add_launched(parser, "compensate")
    parser.add_argument(
        "--worker",
        metavar="ID",
        action="append",
        help="MTurk's id of a worker or an assignment; may be repeated",
    )
    parser.add_argument("--amount", metavar="AMOUNT", help="reward of each HIT; MTurk's fee comes on top")


def run(args: argparse.Namespace) -> int:
    """Print whom; with --yes, open the HITs and settle those that came in. 1 where one was not opened."""
    from seedvote.crowd.arguments import again, launched_market
    from seedvote.crowd.marketplaces.mturk.compensating import collect, open_hits
    from seedvote.crowd.marketplaces.mturk.market import MTurkMarket
    from seedvote.dialogue.errors import InputError

    names = args.worker or []
    with launched_market(args, moves_money=args.yes) as (store, market):
        if not isinstance(market, MTurkMarket):
            raise InputError(f"{market.title} pays people who could not hand in by `crowd pay --compensate AMOUNT`.")
        if bool(names) != bool(args.amount):
            raise InputError("give --worker and --amount together, or neither: then what came in is approved.")
        due = _find_due(args, market, store)
        if not args.yes:
            print("Nothing was opened or paid. Add --yes to do it.")
            words = [word for name in names for word in ("--worker", name)]
            tell_next("python -m crowd compensate", *again(args, amount=None), *words, "--yes")
            return 0
        rows = open_hits(market, store, due)
        for row in rows:
            print(f"  {SAID.get(row.state, 'uncertain')}  {row.submission}  {row.amount:.2f}{_reason_text(row)}")
        for row, word in collect(market, store, [visit.key for visit in due]):
            print(f"  {row.submission}  {row.amount:.2f}  {word}")
    tell_next("python -m crowd compensate", args.study, *repeat_options(args, "database"), "--yes")
    return 0 if all(row.state == "confirmed" for row in rows) else 1


def _reason_text(row: Payout) -> str:
    return f": {row.why}" if row.why else ""


def _find_due(args: argparse.Namespace, market: MTurkMarket, store: Store) -> Mapping[MarketVisit, Payout]:
    """Whom, with the floor, the budget and the cap, before anything moves."""
    from seedvote.crowd.arguments import allow_spending, options_of
    from seedvote.crowd.marketplaces.money import money
    from seedvote.crowd.marketplaces.mturk.compensating import check_floor, to_compensate
    from seedvote.crowd.marketplaces.options import LaunchOptions
    from seedvote.crowd.marketplaces.receipt import visit_facts

    if not args.worker:
        return {}
    floor = options_of(args, LaunchOptions).least_hourly
    hourly = market.least_hourly[market.currency] if floor is None else floor
    due = to_compensate(market, store, args.worker, money(args.amount), time.time())
    for visit, row in due.items():
        check_floor(visit, row.amount, hourly)
        print(f"  {visit_facts(visit)}: {row.amount:.2f} {row.currency}, {row.cost:.2f} with the fee")
    cost = sum((row.cost for row in due.values()), Decimal(0))
    allow_spending(args, store, market.currency, cost, due.values())
    return due
