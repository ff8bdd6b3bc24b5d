"""Bring raters from a marketplace to a served study.

Without --yes nothing is created: the checklist, the price and the whole cost are printed. --yes creates it where no
money moves (a sandbox, a mock), --live --yes where it does. `--prolific --rehearse` shows the whole line first, on this
machine alone: arrivals, screen-outs, returns and pay. A launch that was interrupted is continued by the same
command and creates nothing twice.
"""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from seedvote.dialogue.shell.command_line import dispatch, next_command, repeat_options, tell_next

if TYPE_CHECKING:
    from seedvote.crowd.marketplaces.checklist import Planned
    from seedvote.crowd.marketplaces.market import Marketplace
    from seedvote.crowd.marketplaces.options import LaunchOptions
    from seedvote.crowd.store.store import Store


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Which marketplace, where the page is, which workers, what it may cost."""
    from seedvote.crowd.arguments import add_launch

    add_launch(parser)


def run(args: argparse.Namespace) -> None:
    """Print the checklist; with --yes, create what it says."""
    from seedvote.crowd.arguments import chosen
    from seedvote.crowd.marketplaces.money_lock import money_lock

    (row,) = chosen(args)
    if args.rehearse:
        _rehearse_launch(args, row)
        return
    # Mephisto serves from here on, and pays by itself
    with money_lock(args.study, args.database, needed=args.yes and row.kept):
        _run_launch(args, row)


def _rehearse_launch(args: argparse.Namespace, row: Marketplace) -> None:
    from seedvote.crowd.arguments import again
    from seedvote.crowd.rehearsing import rehearse
    from seedvote.dialogue.errors import InputError

    if row.source != "prolific":
        raise InputError(f"--rehearse is for --prolific; {row.title} has no double on this machine.")
    typed = argparse.Namespace(**{**vars(args), "rehearse": False, "live": False, "minutes": 15, "prolific": False})
    place = argparse.Namespace(**{**vars(typed), "public_url": None})
    rehearse(args.study, args.minutes, again(place)[1:], seed=0, tell=print, type_command=_type_command)
    url = [] if args.public_url else ["--public-url", "https://YOUR.SERVER"]
    tell_next("python -m crowd launch", *again(typed), "--prolific", "--minutes", args.minutes, *url)


def _type_command(name: str, *words: object) -> None:
    """Show a command and run it."""
    from seedvote.crowd.__main__ import COMMANDS

    print(f"\n$ {next_command(f'python -m crowd {name}', *words)}", flush=True)
    dispatch("crowd", "", COMMANDS, [name, *map(str, words)])


def _run_launch(args: argparse.Namespace, row: Marketplace) -> None:
    from seedvote.crowd.arguments import again, options_of
    from seedvote.crowd.marketplaces.checklist import common_points, cost_lines, pay_lines, read_planned
    from seedvote.crowd.marketplaces.money import check_budget
    from seedvote.crowd.study_folder import hit_of, opened

    options = options_of(args, row.options)
    with opened(args.study, args.database) as store:
        study = read_planned(store, args.study, hit_of(args.study, None), options.pass_rate)
        market = row.launch(options, store)
        tried = [("self-test", _self_test(store, market))] if row.kept else []
        lines, price = market.plan_launch(study)
        check_budget(price.total, price.currency, options.budget)
        check_budget(price.total, price.currency, options.cap, "cap")
        lines += [*tried, *(pay_lines(study, options.minutes) if row.kept else [])]
        lines += [*common_points(study), *cost_lines(study, price, getattr(market, "screen_out", price.reward * 0))]
        print(f"{market.title}:")
        for name, fact in lines:
            print(f"  {name:<9} {fact}")
        sys.stdout.flush()  # Mephisto serves from here on: who waits for the address must not wait for a full buffer
        if args.yes and (row.trial or options.live):
            _create_launch(store, row.source, market, study, options)
            tell_next("python -m crowd status", args.study, *repeat_options(args, "database"))
            return
    print("Nothing was created. Read the list, then add --yes." if row.trial else NO_TRIAL.format(row.title))
    tell_next("python -m crowd launch", *again(args), *([] if row.trial or options.live else ["--live"]), "--yes")


NO_TRIAL = "Nothing was created. {} has no place without money: read the list, then add --live --yes."


def _self_test(store: Store, market: Any) -> str:
    from seedvote.crowd.marketplaces.self_test import arrive_and_leave
    from seedvote.crowd.store.store import settings

    with store.read() as connection:
        secret = settings(connection)["secret"]
    return arrive_and_leave(market.page_address(), market.make_visitor(), secret)


def _create_launch(store: Store, source: Any, market: Any, study: Planned, options: LaunchOptions) -> None:
    """The cap and the door before anything that lets people come or costs money."""
    from seedvote.crowd.marketplaces.caps import set_caps
    from seedvote.crowd.marketplaces.checklist import check_pay
    from seedvote.crowd.store.launches import open_door

    set_caps(store, options.cap, options.month_cap)
    if not hasattr(market, "list_tasks"):
        print(market.create_launch(store))
        return
    if options.live:
        check_pay(study, market.least_hourly, options.minutes, options.least_hourly)

    def open_its_door() -> None:
        if (tasks := market.list_tasks()) is not None:
            with store.write() as connection:
                open_door(connection, source, tasks)

    open_its_door()  # people come as soon as it is created
    print(market.create_launch(store))
    open_its_door()  # by then the task has a name
