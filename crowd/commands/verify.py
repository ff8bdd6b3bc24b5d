"""Ask the marketplace which visits it stands behind: votes count once their visit is confirmed.

Nothing is paid. Visits that it took back (returned, timed out, rejected) or never listed are set aside, and their pairs
are offered again. With --every it goes on asking until it is stopped with Ctrl-C. A panel is not asked: it vouches for
visits by a list of ids (--list).
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from seedvote.dialogue.errors import InputError
from seedvote.dialogue.shell.command_line import repeat_options, tell_next

if TYPE_CHECKING:
    from seedvote.crowd.store.store import Store

FEW = 10  # ids that are printed


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The launch, and how often; or the panel's list."""
    from seedvote.crowd.arguments import add_launched

    add_launched(parser, "verify")
    parser.add_argument("--every", type=int, metavar="MINUTES", help="ask again every so many minutes")
    parser.add_argument("--list", type=Path, metavar="FILE", help="the panel's list of ids: those visits count")
    parser.add_argument("--columns", metavar="MAP", help="its columns, if named otherwise: person=RID,visit=SID")
    parser.add_argument("--final", action="store_true", help="the list is whole: set aside the visits not on it")
    parser.add_argument("--worked", type=Path, metavar="FILE", help="write who has worked, by the panel's ids, as CSV")


def run(args: argparse.Namespace) -> None:
    """Ask once, or again and again."""
    from contextlib import suppress

    if args.every is not None and args.every < 1:
        raise InputError(f"--every is {args.every}; it must be a whole number of minutes, 1 or more.")
    if (args.columns or args.final) and not args.list:
        raise InputError("--columns and --final speak of a list: add --list FILE.")
    if args.list or args.worked:
        _by_list(args)
    else:
        with suppress(KeyboardInterrupt):
            while True:
                _ask_and_go_on(args)
                if args.every is None:
                    break
                time.sleep(60 * args.every)
    tell_next("python -m crowd status", args.study, *repeat_options(args, "database"))


def _ask_and_go_on(args: argparse.Namespace) -> None:
    """With --every a marketplace that is busy or away for once is asked again next time; votes must not wait for it."""
    from seedvote.crowd.marketplaces.ledger import NotDone, Unsure

    try:
        _ask_market(args)
    except (NotDone, Unsure) as error:
        if args.every is None:
            raise
        print(f"{error} Asked again in {args.every} min.", flush=True)


def _ask_market(args: argparse.Namespace) -> None:
    from seedvote.crowd.arguments import launched_market
    from seedvote.crowd.marketplaces.caps import over_the_cap
    from seedvote.crowd.marketplaces.paying import PayTerms, bill_of, record_look

    with launched_market(args) as (store, market):
        bill = bill_of(market, store, PayTerms(), time.time())
        look = record_look(store, bill)
        booked = market.book_changes(store)
        print(
            f"{market.title}: {look.confirmed} visits confirmed, {look.withdrawn} taken back, {look.overdue} never "
            "listed."
        )
        _tell_votes(args, store, market.title)
        for line in [*booked, *over_the_cap(store)]:
            print(line)
    for problem in bill.look.problems:
        print(f"skipped: {problem}")


def _by_list(args: argparse.Namespace) -> None:
    """Take the word of a panel's list, or write one for it."""
    from seedvote.crowd.marketplaces.market import launched_on
    from seedvote.crowd.marketplaces.panel.market import panel_of, read_panel_list, vouch, write_worked
    from seedvote.crowd.study_folder import hit_in_force, opened

    with opened(args.study, args.database) as store:
        if "panel" not in [row.source for row in launched_on(store)]:
            raise InputError(
                f"{args.study} has no panel's door, so no list speaks of it: --list and --worked are for one."
            )
        panel = panel_of(hit_in_force(store, args.study).panel)
        if args.list:
            panel_list = read_panel_list(args.list, panel, _read_columns(args.columns))
            done = vouch(store, panel_list, store.now(), final=args.final)
            print(f"{args.list}: {len(panel_list.rows)} listed, {done.recorded.confirmed} visits newly confirmed.")
            if panel_list.empty:
                print(f"{panel_list.empty} lines name nobody.")
            if done.strangers:
                names = ", ".join(" ".join(filter(None, (row.person, row.visit))) for row in done.strangers[:FEW])
                more = f" and {len(done.strangers) - FEW} more" if len(done.strangers) > FEW else ""
                print(f"{len(done.strangers)} are listed and never came here: {names}{more}.")
            aside = f", {done.recorded.overdue} of them set aside now" if args.final else "; --final sets them aside"
            print(f"{done.unlisted} visits with answers are on no list{aside if done.unlisted else ''}.")
            _tell_votes(args, store, panel.name)
        if args.worked:
            print(f"{args.worked}: {write_worked(args.worked, store)} visits with work, by the panel's ids.")


def _read_columns(text: str | None) -> dict[str, str]:
    columns = {}
    for part in filter(None, (text or "").split(",")):
        name, equals, column = (piece.strip() for piece in part.partition("="))
        if name not in ("person", "visit") or not equals or not column:
            raise InputError(f"--columns: {part!r} is not person=NAME or visit=NAME.")
        columns[name] = column
    return columns


def _tell_votes(args: argparse.Namespace, store: Store, title: str) -> None:
    from seedvote.crowd.study_folder import hit_in_force
    from seedvote.crowd.watching.progress import progress

    with store.read() as connection:
        now = progress(connection, hit_in_force(store, args.study).votes_per_pair)
    print(f"Votes: {now.counted} of {now.wanted} count, {now.waiting} wait for {title}.")
