"""Write the example files that the other commands name: votes.csv, pairs.jsonl and hit.toml, in the folder examples/.

Example: python -m dialogue examples
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from seedvote.dialogue.shell.command_line import tell_next
from seedvote.dialogue.shell.wording import shipped

FILES = ("votes.csv", "pairs.jsonl", "hit.toml")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """OUT."""
    parser.add_argument("out", metavar="OUT", nargs="?", default="examples", help="folder to write (default examples)")


def run(args: argparse.Namespace) -> None:
    """Copy them; a file that is there already stays as it is."""
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)
    new = [name for name in FILES if not (out / name).exists()]
    for name in new:
        shutil.copyfile(shipped(f"examples/{name}"), out / name)
    present = [name for name in FILES if name not in new]
    print(
        f"{len(new)} files written to {out}/."
        + (f" Already there, and left alone: {', '.join(present)}." if present else "")
    )
    tell_next("python analyze_ties.py", out / "votes.csv", "--out", "runs/first")
