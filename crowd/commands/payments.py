"""Show what studies have cost, by month; with --csv, every payment as a line of a table.

`cost` is what left the account: places, bonuses, fees and VAT. A reward was paid for with its place, so its cost is 0.
The table names visits by the marketplace's ids, so only its owner may read it.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The studies, and where the table goes."""
    parser.add_argument(
        "studies", type=Path, nargs="+", metavar="STUDY", help="folder of a study; several are added up"
    )
    parser.add_argument("--csv", metavar="FILE", help="write every payment as a line; - is standard output")
    parser.add_argument("--month", metavar="YYYY-MM", help="this month alone (UTC)")
    parser.add_argument("--database", metavar="URL", help="of one study: postgresql+psycopg://... (default: its own)")


def run(args: argparse.Namespace) -> None:
    """Read the ledgers; nothing is asked of a marketplace and nothing changes."""
    from seedvote.crowd.marketplaces.books import entries_of, month_lines, months_of, write_entries
    from seedvote.crowd.marketplaces.caps import month_of
    from seedvote.crowd.study_folder import opened
    from seedvote.dialogue.errors import InputError
    from seedvote.dialogue.files import atomic

    if args.database and len(args.studies) > 1:
        raise InputError("--database is one study's: give one STUDY with it.")
    entries = []
    for study in args.studies:
        with opened(study, args.database) as store:
            entries += entries_of(study, store)
    if args.month:
        entries = [entry for entry in entries if month_of(entry.at) == args.month]
    if args.csv == "-":
        write_entries(entries, sys.stdout)
        return
    if args.csv:
        with atomic(args.csv) as file:
            write_entries(entries, file)
        Path(args.csv).chmod(0o600)
        print(f"{args.csv}: {len(entries)} payments.")
    print("\n".join(month_lines(months_of(entries))) if entries else "Nothing was paid yet.")
    tell_next("python -m crowd pay", args.studies[0], *repeat_options(args, "database"))
