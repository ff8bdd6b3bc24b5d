"""Erase one person from a study. Their votes stay, under a random name that leads to nobody.

RATER is the person's id at the marketplace (or in ?rater=), the name of an invitation, or the hash in votes.jsonl.
Export again afterwards, and delete older exports yourself.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from seedvote.dialogue.shell.command_line import repeat_options, tell_next


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Study and person."""
    parser.add_argument("study", type=Path, metavar="STUDY", help="folder of the study")
    parser.add_argument("rater", metavar="RATER", help="the person's id, or the hash in votes.jsonl")
    parser.add_argument("--database", metavar="URL", help="postgresql+psycopg://... (default: STUDY/crowd.sqlite)")
    parser.add_argument("--unpaid", action="store_true", help="even if `crowd pay` has not settled their visits yet")


def run(args: argparse.Namespace) -> None:
    """Forget the person, or say that nobody has this id."""

    from seedvote.crowd.marketplaces.paying import unpaid_visits, unsettled_payments
    from seedvote.crowd.rating.desk import Desk
    from seedvote.crowd.rating.personal_data import forget
    from seedvote.crowd.store.identity import invited_id
    from seedvote.crowd.study_folder import hit_in_force, opened
    from seedvote.dialogue.errors import InputError

    with opened(args.study, args.database) as store:
        hit = hit_in_force(store, args.study)
        desk = Desk(store, hit)
        for rater in (*map(desk.rater_id, (args.rater, invited_id(desk.keys.people, args.rater))), args.rater):
            if unsettled := unsettled_payments(store, rater):
                raise InputError(
                    f"{', '.join(unsettled)} of this person was sent and is not settled, and nobody could settle it "
                    "afterwards. Run `crowd pay` until it is settled. Nothing was forgotten."
                )
            if not args.unpaid and (owed := unpaid_visits(store, rater)):
                raise InputError(
                    f"{', '.join(owed)} of this person may still be due their pay, and nobody could tell afterwards. "
                    "Run `crowd pay` first, or add --unpaid and pay them on the marketplace's own page. Nothing was "
                    "forgotten."
                )
            votes_kept = forget(store, rater, votes_per_pair=hit.votes_per_pair, now=store.now())
            if votes_kept is not None:
                print(f"Forgotten. {votes_kept} answers are kept, and nothing links them to the person.")
                tell_next("python -m crowd export", args.study, *repeat_options(args, "database"))
                return
    raise InputError(
        "No rater of this study has that id. Give the id that the marketplace uses, or the hash in votes.jsonl."
    )
