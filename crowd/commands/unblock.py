"""Let a rater in again: a block or an exclusion by hand is lifted, and checks that were failed so far are forgiven.

RATER is the person's id at the marketplace (or in ?rater=), the name on their invitation, or the hash in votes.jsonl.
Their votes count again as they came; the gate goes on judging what they answer from now on. An invitation by that name
that was taken back lets its person in again. A rule of [exclude] in hit.toml is not lifted by this.
"""

from __future__ import annotations

import argparse

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Study and person."""
    from seedvote.crowd.arguments import add_rater

    add_rater(parser)


def run(args: argparse.Namespace) -> None:
    """Decide, and say what followed."""

    from seedvote.crowd.arguments import decided_by_hand
    from seedvote.crowd.rating.deciding import admit_invitation, find_rater
    from seedvote.crowd.study_folder import opened

    with opened(args.study, args.database) as store:
        restored = admit_invitation(store, args.rater, store.now())
        came = find_rater(store, args.rater) is not None
    if restored:
        print("The invitation by this name lets its person in again.")
    if came or not restored:
        print(decided_by_hand(args, None, None))
    tell_next("python -m crowd status", args.study, *repeat_options(args, "database"))
