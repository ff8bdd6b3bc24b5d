"""Let a rater in again: a block or an exclusion by hand is lifted, and checks that were failed so far are forgiven.

RATER is the person's id at the marketplace (or in ?rater=), or the hash in votes.jsonl. Their votes count again as they
came; the gate goes on judging what they answer from now on. A rule of [exclude] in hit.toml is not lifted by this.
"""

from __future__ import annotations

import argparse

from dialogue.command_line import given, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Study and person."""
    from crowd.arguments import add_rater

    add_rater(parser)


def run(args: argparse.Namespace) -> None:
    """Decide, and say what followed."""
    from crowd.arguments import decided_by_hand

    print(decided_by_hand(args, None, None))
    tell_next("python -m crowd status", args.study, *given(args, "database"))
