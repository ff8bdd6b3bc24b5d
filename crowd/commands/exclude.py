"""Exclude raters after the fact: their votes do not count, and they are not told.

With RATER, one person, by hand; --why is kept in the event log. RATER is the id at the marketplace (or in ?rater=), or
the hash in votes.jsonl. Without RATER, the rules of [exclude] in hit.toml are applied to everybody, as at every start
of a server and every export. Pairs that lose a vote are offered again. `unblock` takes an exclusion by hand back.
"""

from __future__ import annotations

import argparse

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Study, person and reason."""
    from seedvote.crowd.arguments import add_rater

    add_rater(parser, required=False)
    parser.add_argument("--why", metavar="TEXT", help="the reason; required with RATER")


def run(args: argparse.Namespace) -> None:
    """Decide, and say what followed."""

    from seedvote.crowd.arguments import decided_by_hand
    from seedvote.crowd.rating.excluding import exclude_by_rule
    from seedvote.crowd.study_folder import opened
    from seedvote.dialogue.errors import InputError

    if bool(args.rater) != bool(args.why):
        raise InputError('Excluding by hand needs both: crowd exclude STUDY RATER --why "...".')
    if args.rater:
        print(decided_by_hand(args, "exclude", args.why))
    else:
        with opened(args.study, args.database) as store:
            print(exclude_by_rule(store, store.now()))
    tell_next("python -m crowd status", args.study, *repeat_options(args, "database"))
