"""Pause a study: raters are told to come back later; the pair a rater has open may still be answered."""

from __future__ import annotations

import argparse

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The study."""
    from seedvote.crowd.arguments import add_study

    add_study(parser)


def run(args: argparse.Namespace) -> None:
    """Set it in the store: every server of the study obeys at the next request."""
    from seedvote.crowd.study_folder import opened
    from seedvote.crowd.watching.progress import set_state

    with opened(args.study, args.database) as store:
        set_state(store, "paused")
    print("Paused: raters are told to come back later.")
    tell_next("python -m crowd resume", args.study, *repeat_options(args, "database"))
