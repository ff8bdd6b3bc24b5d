"""Pause a study: raters are told to come back later; what they have in hand may still be answered."""

from __future__ import annotations

import argparse
from pathlib import Path

from dialogue.command_line import given, next_command


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    parser.add_argument("--database", metavar="URL", help="postgresql+psycopg://... (default: STUDY/crowd.sqlite)")


def run(args: argparse.Namespace) -> None:
    """Set it in the store: every server of the study obeys at the next request."""
    from crowd.watching.progress import set_state
    from crowd.web.serving import opened

    with opened(args.study, args.database) as store:
        set_state(store, "paused")
    again = next_command("python -m crowd resume", args.study, *given(args, "database"))
    print(f"Paused. Go on with: {again}")
