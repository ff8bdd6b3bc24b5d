"""Save a study as one file, also while its servers run: every vote that a rater was told is saved is in it.

FILE holds the store (SQLite or PostgreSQL), hit.toml and the pairs. It also holds the study's secrets and the ids that
marketplaces gave, so only its owner may read it. `crowd restore` makes a study of it again.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study and the file."""
    from seedvote.crowd.arguments import add_study

    add_study(parser)
    parser.add_argument("file", type=Path, metavar="FILE", help="the backup to write, e.g. study.zip")


def run(args: argparse.Namespace) -> None:
    """Save, look whether the file is whole, and say what is in it."""
    from seedvote.crowd.backups import save_study

    saved = save_study(args.study, args.database, args.file)
    print(f"{args.file}: {saved['votes']} answers of {saved['raters']} raters, {saved['events']} events.")
    tell_next("python -m crowd restore", "runs/restored", args.file)
