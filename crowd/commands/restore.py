"""Make a study of a backup: into a new folder, and with --database into an empty PostgreSQL database.

What a server needs is there afterwards, and an older store becomes one of this version. It is a copy: if the first
study still runs, give this one secrets of its own (crowd rotate).
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where to, and from what."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the restored study; it must not have one")
    parser.add_argument("file", type=Path, metavar="FILE", help="what `crowd backup` wrote")
    parser.add_argument("--database", metavar="URL", help="postgresql+psycopg://... (default: STUDY/crowd.sqlite)")


def run(args: argparse.Namespace) -> None:
    """Restore, and say what is there."""
    from seedvote.crowd.backups import restore_study

    restored = restore_study(args.study, args.database, args.file)
    print(f"{args.study}: {restored['votes']} answers of {restored['raters']} raters, {restored['events']} events.")
    tell_next("python -m crowd status", args.study, *repeat_options(args, "database"))
