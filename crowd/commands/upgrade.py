"""Bring the store of an older program up to this one, after a backup. Stop the servers first.

All steps happen in one transaction, so a store is either as it was or whole. A server does the same at its start,
without a backup. Nothing is done where the store is of this version.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study, and the backup that is made first."""
    from seedvote.crowd.arguments import add_study

    add_study(parser)
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--backup", type=Path, metavar="FILE", help="the backup to write first")
    how.add_argument("--no-backup", action="store_true", help="there is one already, e.g. of pg_dump")


def run(args: argparse.Namespace) -> None:
    """Save, migrate, and say from where to where."""
    from seedvote.crowd.backups import upgrade_study

    before, now = upgrade_study(args.study, args.database, args.backup)
    if before == now:
        print(f"The store has schema version {now} already: nothing to do.")
    else:
        print(f"Schema version {before} became {now}." + (f" As it was: {args.backup}" if args.backup else ""))
    tell_next("python -m crowd serve", args.study, *repeat_options(args, "database"))
