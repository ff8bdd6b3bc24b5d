"""Show the versions, fonts, browsers and databases of this machine: what is missing, and how to get it.

Ends with 1 where something is missing that Seedvote needs. Paste what it prints into an issue: it names no study, no
password and no home folder.

Example: python -m dialogue doctor
"""

from __future__ import annotations

import argparse

from seedvote.dialogue.shell.command_line import tell_next
from seedvote.dialogue.shell.doctor import examine_machine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace) -> int:  # noqa: ARG001 (every command has it)
    """One line a thing; below those that are missing, what to type."""
    is_whole = True
    for row in examine_machine():
        print(f"{row.name:<18} {row.finding}")
        if row.remedy:
            print(f"{'':<18} -> {row.remedy}")
            is_whole = is_whole and not row.is_needed
    print("Everything that Seedvote needs is here." if is_whole else "Something is missing: see the arrows.")
    tell_next("python -m dialogue examples")
    return 0 if is_whole else 1
