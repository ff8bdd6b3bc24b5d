"""Block a rater by hand: no further work, and no vote of theirs counts. Their pairs are offered to others again.

RATER is the person's id at the marketplace (or in ?rater=), the name on their invitation, or the hash in votes.jsonl.
They see the page of raters whom the gate blocked, and are paid for the work done. With --invitation the link by that
name lets nobody in any more, also if nobody has opened it yet. `unblock` takes both back.
"""

from __future__ import annotations

import argparse

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Study, person and reason."""
    from seedvote.crowd.arguments import add_rater

    add_rater(parser)
    parser.add_argument("--invitation", action="store_true", help="also take back the invitation by this name")
    parser.add_argument("--why", metavar="TEXT", help="kept in the event log")


def run(args: argparse.Namespace) -> None:
    """Decide, and say what followed."""

    from seedvote.crowd.arguments import decided_by_hand
    from seedvote.crowd.rating.deciding import find_rater, revoke_invitation
    from seedvote.crowd.study_folder import opened

    if args.invitation:
        with opened(args.study, args.database) as store:
            revoke_invitation(store, args.rater, store.now())
            came = find_rater(store, args.rater) is not None
        print("The invitation by this name lets nobody in any more.")
        if not came:
            print("Nobody has come by it.")
    if not args.invitation or came:
        print(decided_by_hand(args, "block", args.why))
    tell_next("python -m crowd status", args.study, *repeat_options(args, "database"))
